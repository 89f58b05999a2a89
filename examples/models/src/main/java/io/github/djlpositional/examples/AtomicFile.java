package io.github.djlpositional.examples;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Replaces a file atomically. The new content is written to a second file in the same folder, which is then renamed. A
 * reader finds the old or the new content, even if the program is killed or the disk is full.
 */
public final class AtomicFile {

    private AtomicFile() {}

    /** Writes the content of a file to a stream, which the caller closes. */
    @FunctionalInterface
    public interface Content {
        void writeTo(OutputStream out) throws IOException;
    }

    /**
     * Creates the folder of a file that will be written later, so that an invalid path is reported before a long
     * computation.
     */
    public static void prepare(Path file) {
        Path folder = file.toAbsolutePath().getParent();
        try {
            if (folder == null || Files.isDirectory(file)) {
                throw new FileSystemException(file.toString(), null, "is a folder");
            }
            Files.createDirectories(folder);
            Files.delete(Files.createTempFile(folder, "writable", ".tmp"));
        } catch (IOException e) {
            throw new UserError("output '" + file + "' cannot be written (" + e + "): use another path with --out", e);
        }
    }

    /** Replaces or creates a file. If it cannot be written, the old file is kept. */
    public static void write(Path file, Content content) throws IOException {
        Path written = file.resolveSibling(file.getFileName() + ".saving");
        try {
            try (FileOutputStream out = new FileOutputStream(written.toFile())) {
                content.writeTo(out);
                // the content must be on the disk before the name refers to it
                out.getFD().sync();
            }
            Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(written);
        }
    }
}
