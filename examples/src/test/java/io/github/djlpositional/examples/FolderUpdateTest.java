package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is in a folder after an update that went well, that failed, and that was killed anywhere. */
class FolderUpdateTest {

    private static final Map<String, String> OLD = Map.of("a", "old", "b", "old", "other", "kept");
    private static final Map<String, String> NEW = Map.of("a", "new", "b", "new", "other", "kept");

    @TempDir
    private Path folder;

    @BeforeEach
    void writeOldFiles() throws IOException {
        for (Map.Entry<String, String> file : OLD.entrySet()) {
            Files.writeString(folder.resolve(file.getKey()), file.getValue());
        }
    }

    private static void writeNew(Path to) throws IOException {
        Files.writeString(to.resolve("a"), "new");
        Files.writeString(to.resolve("b"), "new");
    }

    /** Everything that is in the folder; of a folder within it, that it is one. */
    private Map<String, String> content() throws IOException {
        Map<String, String> content = new TreeMap<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                content.put(file.getFileName().toString(), Files.isDirectory(file) ? "folder" : Files.readString(file));
            }
        }
        return content;
    }

    @Test
    void newFilesReplaceTheOldOnes() throws IOException {
        FolderUpdate.of(folder, FolderUpdateTest::writeNew);
        assertThat(content()).isEqualTo(NEW);
    }

    @Test
    void oldFilesStayWhereTheNewOnesFail() throws IOException {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> FolderUpdate.of(folder, to -> {
                    writeNew(to);
                    throw new IOException("the disk is full");
                }))
                .withMessage("the disk is full");
        assertThat(content()).isEqualTo(OLD);
    }

    @Test
    void oldFilesStayWhereTheDiskIsFull() throws IOException {
        // Linux has a device that is always full
        Path full = Path.of("/dev/full");
        assumeTrue(Files.isWritable(full), "there is no /dev/full");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> FolderUpdate.of(folder, to -> {
                    Files.createSymbolicLink(to.resolve("a"), full);
                    try (OutputStream out = Files.newOutputStream(to.resolve("a"))) {
                        out.write(1);
                    }
                }))
                .withMessageContaining("No space left on device");
        assertThat(content()).isEqualTo(OLD);
    }

    @Test
    void newFilesThatAKilledProgramDidNotFinishAreNobodysAndGoWithTheNextUpdate() throws IOException {
        Path writing = Files.createDirectory(folder.resolve(".saving"));
        Files.writeString(writing.resolve("a"), "ne");
        FolderUpdate.finish(folder);
        assertThat(folder.resolve("a")).hasContent("old");
        FolderUpdate.of(folder, FolderUpdateTest::writeNew);
        assertThat(content()).isEqualTo(NEW);
    }

    @Test
    void newFilesThatAKilledProgramDidNotMoveAreMovedByTheNextReader() throws IOException {
        Path written = Files.createDirectory(folder.resolve(".saved"));
        writeNew(written);
        FolderUpdate.finish(folder);
        assertThat(content()).isEqualTo(NEW);
    }

    @Test
    void newFilesThatAKilledProgramMovedInPartAreMovedByTheNextReader() throws IOException {
        Path written = Files.createDirectory(folder.resolve(".saved"));
        writeNew(written);
        Files.move(written.resolve("b"), folder.resolve("moved"));
        Files.delete(folder.resolve("b"));
        Files.move(folder.resolve("moved"), folder.resolve("b"));
        FolderUpdate.finish(folder);
        assertThat(content()).isEqualTo(NEW);
    }

    @Test
    void interruptedThreadUpdatesAndStaysInterrupted() throws IOException {
        Thread.currentThread().interrupt();
        FolderUpdate.of(folder, FolderUpdateTest::writeNew);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(content()).isEqualTo(NEW);
    }
}
