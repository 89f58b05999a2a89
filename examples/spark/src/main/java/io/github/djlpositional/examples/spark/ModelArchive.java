package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.EncoderLoader;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.apache.spark.SparkContext;

/**
 * A saved model on its way to the executors, which need no disk in common with the driver: Spark sends each of them a
 * zip.
 */
final class ModelArchive {

    /** Under which each executor finds the unpacked model with {@code SparkFiles}. */
    static final String NAME = "encoder";

    private ModelArchive() {}

    /**
     * Gives a model to Spark.
     *
     * @param model a folder, which is checked here, or a zip of one, which the executors check
     */
    static void send(Path model, SparkContext spark) {
        if (!Files.exists(model)) {
            throw new UserError("model '" + model
                    + "' is not there: train a model first, or name its folder, or a zip of it, with --model");
        }
        if (!Files.isDirectory(model)
                && !model.toString().toLowerCase(Locale.ROOT).endsWith(".zip")) {
            throw new UserError(
                    "model '" + model
                            + "' is neither a folder nor a zip: name the folder where it was saved, or a zip of it, with --model");
        }
        Path zip = Files.isDirectory(model) ? zipped(model) : model;
        try {
            spark.addArchive(zip.toUri() + "#" + NAME);
        } catch (Exception e) {
            // Scala's methods do not declare what they throw
            throw unreadable(model, e);
        }
    }

    /** What the user is told if Spark cannot unpack it. */
    private static UserError unreadable(Path model, Exception e) {
        return new UserError(
                "model '" + model + "' cannot be unpacked (" + e.getMessage()
                        + "): name the folder where it was saved, or a zip of it, with --model",
                e);
    }

    /** A new zip of the files that loading reads, and of no others: it goes to every executor's disk. */
    static Path zipped(Path folder) {
        List<Path> files = EncoderLoader.intactFiles(folder);
        for (Path file : files) {
            // it could lead to anything that the user can read
            if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                throw new UserError("model '" + folder + "' has a link for " + file.getFileName()
                        + ": allowed are files alone, since they are sent to all executors; copy the file there");
            }
        }
        try {
            Path zip = Files.createTempFile(NAME, ".zip");
            zip.toFile().deleteOnExit();
            try (OutputStream out = Files.newOutputStream(zip);
                    ZipOutputStream entries = new ZipOutputStream(out)) {
                for (Path file : files) {
                    entries.putNextEntry(new ZipEntry(file.getFileName().toString()));
                    try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
                        in.transferTo(entries);
                    }
                    entries.closeEntry();
                }
            }
            return zip;
        } catch (IOException e) {
            throw new UserError(
                    "model '" + folder + "' cannot be packed for the executors (" + e
                            + "): name another folder with --model, or make room in "
                            + System.getProperty("java.io.tmpdir"),
                    e);
        }
    }
}
