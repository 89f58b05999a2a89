package io.github.djlpositional.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.djlpositional.relative.AlibiBiasBlock;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Classes of a program, which only the class loader of its thread finds. */
public class OptionTypesTest {

    /** What an option of a program may be. */
    public interface Taste extends HasArguments {}

    /** One of them. */
    public record Sweet(int sugar) implements Taste {

        /** Creates it from its arguments. */
        public static Sweet fromArguments(Map<?, ?> arguments) {
            return new Sweet(Settings.value(Sweet.class, arguments, "sugar", Integer.class));
        }

        @Override
        public Map<String, Object> getArguments() {
            return Map.of("type", "Sweet", "sugar", sugar);
        }
    }

    /** A record with such an option. */
    record Dish(Taste taste) {}

    /** Names the class. */
    public static final class Provider implements TypeProvider {
        @Override
        public Map<String, Class<?>> types() {
            return Map.of("sweet", Sweet.class);
        }
    }

    /** Gives it the name of an encoding of the library, in another spelling. */
    public static final class SameName implements TypeProvider {
        @Override
        public Map<String, Class<?>> types() {
            return Map.of("Ali-bi", Sweet.class);
        }
    }

    @TempDir
    private Path folder;

    private final ClassLoader before = Thread.currentThread().getContextClassLoader();

    @BeforeEach
    void find() throws Exception {
        Files.createDirectories(folder.resolve("META-INF/services"));
        provide(Provider.class);
    }

    private void provide(Class<? extends TypeProvider> provider) throws Exception {
        Files.writeString(
                folder.resolve("META-INF/services").resolve(TypeProvider.class.getName()), provider.getName());
        URL[] urls = {folder.toUri().toURL()};
        Thread.currentThread().setContextClassLoader(new URLClassLoader(urls, before));
    }

    @AfterEach
    void restore() {
        Thread.currentThread().setContextClassLoader(before);
    }

    @Test
    void areFoundByName() {
        assertThat(OptionTypes.of(Taste.class)).isEqualTo(Map.of("sweet", Sweet.class));
        assertThat(OptionTypes.of(HasArguments.class)).containsEntry("ALiBi", AlibiBiasBlock.class);
    }

    @Test
    void areCreatedFromArgumentsAndDescribedAgain() {
        Map<String, Object> arguments = Map.of("taste", Map.of("type", "Sweet", "sugar", 3));
        Dish dish = Settings.create(Dish.class, arguments);
        assertThat(dish).isEqualTo(new Dish(new Sweet(3)));
        assertThat(Settings.toMap(dish)).isEqualTo(arguments);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Settings.create(Dish.class, Map.of("taste", Map.of("type", "AlibiBiasBlock"))))
                .withMessageContainingAll("'taste.type'", "AlibiBiasBlock", "[Sweet]");
    }

    @Test
    void ofTheSameNameAreRejected() throws Exception {
        provide(SameName.class);
        assertThatIllegalStateException()
                .isThrownBy(() -> OptionTypes.of(HasArguments.class))
                .withMessageContainingAll("alibi", Sweet.class.getName(), AlibiBiasBlock.class.getName());
    }
}
