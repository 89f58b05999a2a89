package io.github.djlpositional.internal.options;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.options.TypeProvider;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
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
}
