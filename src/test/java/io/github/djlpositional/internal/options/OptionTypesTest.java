package io.github.djlpositional.internal.options;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.options.TypeProvider;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names of a program's classes; OwnEncodingTest has classes that are found and created by name. */
public class OptionTypesTest {

    /** Gives a type the name of an encoding of the library, in another spelling. */
    public static final class SameName implements TypeProvider {
        @Override
        public Map<String, Class<?>> types() {
            return Map.of("Ali-bi", RotaryEmbeddingBlock.class);
        }
    }

    @Test
    void ofTheSameNameAreRejected(@TempDir Path folder) throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.writeString(services.resolve(TypeProvider.class.getName()), SameName.class.getName());
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader program =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, before)) {
            Thread.currentThread().setContextClassLoader(program);
            assertThatIllegalStateException()
                    .isThrownBy(() -> OptionTypes.of(HasArguments.class))
                    .withMessageContainingAll(
                            "alibi", RotaryEmbeddingBlock.class.getName(), AlibiBiasBlock.class.getName());
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    /** Has the sizes that its factory asks for, and rejects arguments that it does not know. */
    public record Strict(int headCount, int embeddingSize, String name) {
        public static Strict fromArguments(Map<?, ?> arguments) {
            if (!Set.of("type", "headCount", "embeddingSize", "name").containsAll(arguments.keySet())) {
                throw new IllegalArgumentException("unknown argument in " + arguments.keySet());
            }
            int embeddingSize = arguments.containsKey("embeddingSize") ? (int) arguments.get("embeddingSize") : -1;
            return new Strict((int) arguments.get("headCount"), embeddingSize, (String) arguments.get("name"));
        }
    }

    /** Takes no size. */
    public record Small(String name) {
        public static Small fromArguments(Map<?, ?> arguments) {
            if (!arguments.keySet().equals(Set.of("name"))) {
                throw new IllegalArgumentException("unknown argument in " + arguments.keySet());
            }
            return new Small((String) arguments.get("name"));
        }
    }

    @Test
    void withoutABuilderGetTheSizesThatTheirFactoryTakes() {
        Map<String, Integer> sizes = Map.of("headCount", 2, "headSize", 4, "embeddingSize", 8);
        assertThat(OptionTypes.create(Strict.class, Map.of("name", "a"), sizes)).isEqualTo(new Strict(2, 8, "a"));
        assertThat(OptionTypes.create(Strict.class, Map.of("headCount", 3), sizes))
                .isEqualTo(new Strict(3, 8, null));
        assertThat(OptionTypes.create(Small.class, Map.of("name", "a"), sizes)).isEqualTo(new Small("a"));
    }

    /** A factory often reads an argument without a check. */
    @Test
    void withoutAnArgumentAreRejected() {
        assertAll(
                rejected(() -> OptionTypes.create(Strict.class, Map.of("name", "a"), Map.of()), "Strict", "[name]"),
                rejected(
                        () -> OptionTypes.create(Strict.class, Map.of("headCount", "2"), Map.of()),
                        "Strict",
                        "[headCount]",
                        "String"));
    }
}
