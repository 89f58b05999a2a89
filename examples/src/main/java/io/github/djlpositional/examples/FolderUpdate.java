package io.github.djlpositional.examples;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * Replaces files of a folder, all or none: a program that is killed meanwhile, or finds the disk full, leaves the old
 * ones or the new ones, and never some of each.
 *
 * <p>The new files are written to {@value #WRITING} within the folder. Once they are on the disk, renaming that to
 * {@value #WRITTEN} decides: before it the old files count, after it the new ones, each of which then moves over its
 * predecessor. {@link #finish} does what a killed program has left to be done; whoever reads the folder calls it
 * before.
 */
public final class FolderUpdate {

    private static final String WRITING = ".saving";
    private static final String WRITTEN = ".saved";

    private FolderUpdate() {}

    /** Writes the new files. */
    @FunctionalInterface
    public interface Writer {
        /**
         * Writes them.
         *
         * @param folder an empty folder
         * @throws IOException if that fails; the old files then stay
         */
        void writeTo(Path folder) throws IOException;
    }

    /**
     * Makes a folder for what is yet to be computed, so that what cannot be saved is known before.
     *
     * @param folder it may be there
     * @throws UserError if it cannot be made or written to
     */
    public static void prepare(Path folder) {
        try {
            Files.createDirectories(folder);
            Files.delete(Files.createTempFile(folder, "writable", ".tmp"));
        } catch (IOException e) {
            throw new UserError(
                    "output folder '" + folder + "' cannot be written to (" + e + "): name another with --out", e);
        }
    }

    /**
     * Replaces files, or adds them. Others stay as they are.
     *
     * @param folder where they belong; it is there
     * @param writer writes them
     * @throws IOException if they cannot be written; the old files then stay
     */
    public static void of(Path folder, Writer writer) throws IOException {
        finish(folder);
        Path writing = folder.resolve(WRITING);
        // what a killed program has left
        delete(writing);
        Files.createDirectory(writing);
        boolean isWritten = false;
        try {
            writer.writeTo(writing);
            for (Path file : filesIn(writing)) {
                force(file);
            }
            forceEntries(writing);
            isWritten = true;
        } finally {
            if (!isWritten) {
                // a full disk has better use for the room
                delete(writing);
            }
        }
        Files.move(writing, folder.resolve(WRITTEN), StandardCopyOption.ATOMIC_MOVE);
        forceEntries(folder);
        finish(folder);
    }

    /**
     * Moves new files that a killed program has written, but not moved.
     *
     * @param folder where they belong
     * @throws IOException if they cannot be moved
     */
    public static void finish(Path folder) throws IOException {
        Path written = folder.resolve(WRITTEN);
        if (!Files.isDirectory(written)) {
            return;
        }
        try {
            for (Path file : filesIn(written)) {
                Files.move(file, folder.resolve(file.getFileName()), StandardCopyOption.ATOMIC_MOVE);
            }
            forceEntries(folder);
            Files.delete(written);
        } catch (NoSuchFileException e) {
            if (Files.exists(written)) {
                throw e;
            }
            // another program, which reads or writes the same folder, has done it at the same time
        }
    }

    /** Until it is on the disk: a name may be there before its bytes are. An interrupt does not keep it from that. */
    private static void force(Path file) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.getFD().sync();
        }
    }

    /** The names in a folder, likewise: a file's bytes may be on the disk before the entry that leads to them. */
    private static void forceEntries(Path folder) throws IOException {
        boolean wasInterrupted = Thread.interrupted();
        boolean isForced = false;
        try {
            while (!isForced) {
                try (FileChannel entries = FileChannel.open(folder, StandardOpenOption.READ)) {
                    entries.force(true);
                    isForced = true;
                } catch (ClosedByInterruptException e) {
                    wasInterrupted |= Thread.interrupted();
                } catch (AccessDeniedException e) {
                    // Windows opens no folder
                    isForced = true;
                }
            }
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void delete(Path folder) throws IOException {
        if (Files.isDirectory(folder)) {
            for (Path file : filesIn(folder)) {
                Files.delete(file);
            }
            Files.delete(folder);
        }
    }

    private static List<Path> filesIn(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }
}
