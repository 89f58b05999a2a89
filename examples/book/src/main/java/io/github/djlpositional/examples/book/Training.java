package io.github.djlpositional.examples.book;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Judgement;
import io.github.djlpositional.examples.TrainEncoder;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Trains the encoders that the book shows, and writes their numbers as CSV, the files of {@link Measured}. */
final class Training {

    /** The number of definitions that the encoders are trained with. */
    static final int GLOSSES = 20_000;

    /** The sentences whose attention is written. */
    static final List<String> SENTENCES = List.of(
            "a small domesticated animal that is kept as a pet",
            "the act of moving from one place to another",
            "a person who writes books",
            "a room where food is prepared",
            "the process of becoming larger or longer",
            "a building where people live together");

    private Training() {}

    /** Trains two encoders with so many definitions, and writes their numbers to a folder. */
    static void run(Path folder, int glosses) throws IOException {
        // a row for each sentence, layer and head: the words, the two numbers, and the weights
        StringBuilder attention = new StringBuilder();
        for (AttentionMaps maps : AttentionMaps.of(train(folder, "none,sinusoidal", glosses), SENTENCES)) {
            for (int layer = 0; layer < maps.layers().size(); layer++) {
                List<double[]> heads = maps.layers().get(layer);
                for (int head = 0; head < heads.size(); head++) {
                    attention.append(String.join(" ", maps.words()) + "," + layer + "," + head);
                    append(attention, ",%.5f", heads.get(head));
                }
            }
        }
        Files.writeString(folder.resolve("attention.csv"), attention);
        // a row for each position of the learned table
        StringBuilder positions = new StringBuilder();
        Path learned = train(folder, "learned", glosses);
        try (ZooModel<String, Judgement> model = EncoderFile.load(learned, Engine.getEngine("PyTorch"), Device.cpu())) {
            NDArray table = model.getBlock().getParameters().stream()
                    .filter(parameter -> parameter.getKey().endsWith("encodings"))
                    .map(parameter -> parameter.getValue().getArray())
                    .findAny()
                    .orElseThrow();
            for (NDArray row : table.split(table.getShape().get(0))) {
                append(positions, ",%.6f", row.toType(DataType.FLOAT64, false).toDoubleArray());
            }
        }
        Files.writeString(folder.resolve("positions.csv"), positions.toString().replaceAll("(?m)^,", ""));
    }

    private static Path train(Path folder, String encodings, int glosses) {
        Path file = folder.resolve("model-" + encodings.replace(',', '-') + ".zip");
        String[] options = {"--encoding=" + encodings, "--glosses=" + glosses, "--held-out=1000", "--out=" + file};
        if (TrainEncoder.commandLine().execute(options) != 0) {
            throw new UserError("the model could not be trained: see the messages of the training above");
        }
        return file;
    }

    private static void append(StringBuilder csv, String format, double... numbers) {
        for (double number : numbers) {
            csv.append(String.format(Locale.ROOT, format, number));
        }
        csv.append('\n');
    }
}
