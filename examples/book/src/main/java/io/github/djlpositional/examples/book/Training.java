package io.github.djlpositional.examples.book;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Judgement;
import io.github.djlpositional.examples.TrainEncoder;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/** Trains the encoders that the book shows, and writes their numbers as CSV, the files of {@link Trained}. */
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
        Path pair = train(folder, "none,sinusoidal", glosses);
        write(folder, "attention", attention(AttentionMaps.of(pair, SENTENCES)));
        write(folder, "positions", table(train(folder, "learned", glosses)));
    }

    private static Path train(Path folder, String encodings, int glosses) {
        Path file = folder.resolve("model-" + encodings.replace(',', '-') + ".zip");
        AtomicFile.prepare(file);
        int status = TrainEncoder.commandLine()
                .execute(
                        "--encoding",
                        encodings,
                        "--glosses",
                        Integer.toString(glosses),
                        "--held-out",
                        "1000",
                        "--out",
                        file.toString());
        if (status != 0) {
            throw new UserError("the model could not be trained: see the messages of the training above");
        }
        return file;
    }

    private static void write(Path folder, String name, String csv) throws IOException {
        AtomicFile.write(folder.resolve(name + ".csv"), out -> out.write(csv.getBytes(StandardCharsets.UTF_8)));
    }

    /** A row for each sentence, layer and head: the words, the two numbers, and the weights. */
    private static String attention(List<AttentionMaps> sentences) {
        StringBuilder csv = new StringBuilder();
        for (AttentionMaps maps : sentences) {
            for (int layer = 0; layer < maps.layers().size(); layer++) {
                List<double[]> heads = maps.layers().get(layer);
                for (int head = 0; head < heads.size(); head++) {
                    csv.append("%s,%d,%d,%s%n"
                            .formatted(String.join(" ", maps.words()), layer, head, numbers("%.5f", heads.get(head))));
                }
            }
        }
        return csv.toString().replace("\r\n", "\n");
    }

    /** A row for each position of the learned table of a saved encoder. */
    private static String table(Path file) {
        try (ZooModel<String, Judgement> model = EncoderFile.load(file, Engine.getEngine("PyTorch"), Device.cpu())) {
            NDArray table = model.getBlock().getParameters().stream()
                    .filter(parameter -> parameter.getKey().endsWith("encodings"))
                    .map(parameter -> parameter.getValue().getArray())
                    .findAny()
                    .orElseThrow();
            StringBuilder csv = new StringBuilder();
            for (NDArray row : table.split(table.getShape().get(0))) {
                double[] numbers = new double[(int) row.size()];
                for (int i = 0; i < numbers.length; i++) {
                    numbers[i] = row.getFloat(0, i);
                }
                csv.append(numbers("%.6f", numbers)).append('\n');
            }
            return csv.toString();
        }
    }

    private static String numbers(String format, double... numbers) {
        return DoubleStream.of(numbers)
                .mapToObj(number -> String.format(Locale.ROOT, format, number))
                .collect(Collectors.joining(","));
    }
}
