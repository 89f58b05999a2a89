package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The content of a file after a write that failed, and after one that was killed. */
class AtomicFileTest {

    private static final byte[] NEW = "new".getBytes(StandardCharsets.UTF_8);

    @TempDir
    private Path folder;

    private void assertOnlyFileHas(String content) {
        assertThat(folder.toFile().list()).containsExactly("a");
        assertThat(folder.resolve("a")).hasContent(content);
    }

    @Test
    void keepsTheOldContentIfWritingFails() throws IOException {
        Path file = Files.writeString(folder.resolve("a"), "old");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> AtomicFile.write(file, out -> {
                    out.write(NEW);
                    throw new IOException("failure");
                }))
                .withMessage("failure");
        assertOnlyFileHas("old");
    }

    @Test
    void overwritesTheUnfinishedFileOfAKilledProgram() throws IOException {
        Path file = Files.writeString(folder.resolve("a"), "old");
        Files.writeString(folder.resolve("a.saving"), "a longer unfinished content");
        AtomicFile.write(file, out -> out.write(NEW));
        assertOnlyFileHas("new");
    }
}
