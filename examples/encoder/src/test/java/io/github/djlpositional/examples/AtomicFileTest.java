package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The content of a file after a write that succeeded, that failed, and that was killed. */
class AtomicFileTest {

    private static final byte[] NEW = "new".getBytes(StandardCharsets.UTF_8);

    @TempDir
    private Path folder;

    private Path file;
    private Path unfinished;

    @BeforeEach
    void writeOldContent() throws IOException {
        file = Files.writeString(folder.resolve("a"), "old");
        unfinished = folder.resolve("a.saving");
    }

    private void assertOnlyFileHas(String content) {
        assertThat(folder).isDirectoryContaining(file::equals);
        assertThat(folder.toFile().list()).hasSize(1);
        assertThat(file).hasContent(content);
    }

    @Test
    void keepsTheOldContentIfWritingFails() {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> AtomicFile.write(file, out -> {
                    out.write(NEW);
                    throw new IOException("failure");
                }))
                .withMessage("failure");
        assertOnlyFileHas("old");
    }

    @Test
    void keepsTheOldContentIfTheDiskIsFull() throws IOException {
        // a Linux device that is always full
        Path full = Path.of("/dev/full");
        assumeTrue(Files.isWritable(full), "there is no /dev/full");
        Files.createSymbolicLink(unfinished, full);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> AtomicFile.write(file, out -> out.write(NEW)))
                .withMessageContaining("No space left on device");
        assertOnlyFileHas("old");
    }

    @Test
    void overwritesTheUnfinishedFileOfAKilledProgram() throws IOException {
        Files.writeString(unfinished, "a longer unfinished content");
        assertThat(file).hasContent("old");
        AtomicFile.write(file, out -> out.write(NEW));
        assertOnlyFileHas("new");
    }
}
