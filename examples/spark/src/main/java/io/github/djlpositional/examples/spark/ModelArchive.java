package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.FolderUpdate;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.apache.spark.SparkContext;

/** A saved model on its way to the executors, which need no disk in common with the driver: Spark sends each of them a zip. */
final class ModelArchive {

    /** Under which each executor finds the unpacked model with {@code SparkFiles}. */
    static final String NAME = "encoder";

    private ModelArchive() {}

    /**
     * Gives a model to Spark.
     *
     * @param model a folder, or a zip of one
     */
    static void send(Path model, SparkContext spark) throws IOException {
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

    private static Path zipped(Path folder) throws IOException {
        FolderUpdate.finish(folder);
        Path zip = Files.createTempFile(NAME, ".zip");
        zip.toFile().deleteOnExit();
        try (OutputStream out = Files.newOutputStream(zip);
                ZipOutputStream entries = new ZipOutputStream(out);
                Stream<Path> listed = Files.list(folder)) {
            List<Path> files = listed.filter(Files::isRegularFile).sorted().toList();
            for (Path file : files) {
                entries.putNextEntry(new ZipEntry(file.getFileName().toString()));
                Files.copy(file, entries);
                entries.closeEntry();
            }
        }
        return zip;
    }
}
