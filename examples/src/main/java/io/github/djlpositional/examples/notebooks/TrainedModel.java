package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.TrainEncoder;
import io.github.djlpositional.examples.TrainingLog;
import io.github.djlpositional.examples.UserError;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** The encoders of {@code train-encoder} for the chapters that show one. */
public final class TrainedModel {

    private TrainedModel() {}

    /**
     * Returns the model of the notebook if it was trained with these positions, otherwise a smaller one that is trained
     * now.
     *
     * @param notebook the notebook, whose output shows the training
     * @param encodings the positions in the order of the training; the encoder of the last one is saved
     * @return a file that {@code train-encoder} saved
     * @throws UserError if the model of the notebook is not a saved encoder, or the training fails
     */
    public static Path of(Notebook notebook, Encoding... encodings) {
        Path given = notebook.model();
        if (Files.exists(given) && trained(given).equals(List.of(encodings))) {
            notebook.row("The model is '%s'.", given.getFileName());
            return given;
        }
        String names = Arrays.stream(encodings).map(Encoding::toString).collect(Collectors.joining(","));
        Path smaller = notebook.folder().resolve("model-" + names.replace(',', '-') + ".zip");
        notebook.row("'%s' %s.", given.getFileName(), Files.exists(given) ? "has other positions" : "does not exist");
        notebook.row("A smaller model is trained now, in about a minute.");
        int status = TrainEncoder.commandLine()
                .setOut(new PrintWriter(notebook.out(), true, StandardCharsets.UTF_8))
                .execute(
                        "--encoding",
                        names,
                        "--glosses",
                        Integer.toString(notebook.glosses()),
                        "--held-out",
                        "1000",
                        "--out",
                        smaller.toString());
        if (status != 0) {
            throw new UserError("the smaller model could not be trained: see the messages of the training above, or"
                    + " name a trained model with --model");
        }
        return smaller;
    }

    private static List<Encoding> trained(Path file) {
        return EncoderFile.readLog(file).lines().stream()
                .map(TrainingLog.Line::encoding)
                .distinct()
                .toList();
    }
}
