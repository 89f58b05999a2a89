package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Drawing;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;

/** How an encoder learns word order, without and with positions, and its attention after the training. */
final class TrainingCurves {

    private static final String IN_ORDER = "a small domesticated animal that is kept as a pet";
    private static final String SHUFFLED = "pet a as kept is that animal domesticated small a";

    private TrainingCurves() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("Learning the order of words");
        notebook.text("""
                The example's encoders learn to distinguish definitions from WordNet from shuffled ones. Without positions a
                sentence is a bag of words, and there is nothing to learn. With positions there is.""");
        Path model = modelOf(notebook);
        Map<Encoding, List<TrainingLog.Line>> trainings = EncoderFile.readLog(model).lines().stream()
                .collect(Collectors.groupingBy(TrainingLog.Line::encoding, LinkedHashMap::new, Collectors.toList()));
        trainings.forEach((encoding, lines) -> notebook.row(
                "%-14s %d trained steps; mean of the last tenth: loss %.3f, accuracy %.3f",
                encoding,
                lines.size(),
                lastMean(lines, TrainingLog.Line::loss),
                lastMean(lines, TrainingLog.Line::accuracy)));
        notebook.picture(
                "training-loss",
                "The loss over the steps of the training, without and with positions",
                curves("Loss in training", "cross entropy", trainings, TrainingLog.Line::loss));
        notebook.picture(
                "training-accuracy",
                "The accuracy over the steps of the training: without positions it stays at one half",
                curves("Accuracy in training", "fraction correct", trainings, TrainingLog.Line::accuracy));

        notebook.text("""
                Which words does a word attend to? The attention of a head without positions depends only on the words. The
                following numbers show, for each head and a sentence in order, the part of its attention that depends on the
                attending word: 0 if all rows of its map are equal, near 1 if each word attends to different words.""");
        List<AttentionMaps> maps = AttentionMaps.of(model, List.of(IN_ORDER, SHUFFLED));
        AttentionMaps inOrder = maps.get(0);
        int bestLayer = 0;
        int bestHead = 0;
        for (int layer = 0; layer < inOrder.layers().size(); layer++) {
            for (int head = 0; head < inOrder.layers().get(layer).size(); head++) {
                notebook.row("layer %d, head %d: %.3f", layer + 1, head + 1, variation(inOrder, layer, head));
                if (variation(inOrder, layer, head) > variation(inOrder, bestLayer, bestHead)) {
                    bestLayer = layer;
                    bestHead = head;
                }
            }
        }
        String name = "layer " + (bestLayer + 1) + ", head " + (bestHead + 1);
        notebook.picture(
                "attention-in-order",
                "The attention of each word (row) to each word (column) in " + name + ", where the rows differ most",
                map(inOrder, bestLayer, bestHead, "In order: " + name));
        notebook.picture(
                "attention-shuffled",
                "The same words shuffled, the same head",
                map(maps.get(1), bestLayer, bestHead, "Shuffled: " + name));
    }

    /** Returns the file of the main job's model, or of a smaller one that is trained now. */
    private static Path modelOf(Notebook notebook) {
        if (Files.exists(notebook.model())) {
            notebook.text("The model is '" + notebook.model() + "'.");
            return notebook.model();
        }
        Path smaller = notebook.folder().resolve("model.zip");
        notebook.text("The model '" + notebook.model() + "' does not exist (java -jar train-encoder.jar creates it). A"
                + " smaller one is trained now, in about a minute.");
        int status = TrainEncoder.commandLine()
                .setOut(new PrintWriter(notebook.out(), true, StandardCharsets.UTF_8))
                .execute("--glosses", "20000", "--held-out", "1000", "--out", smaller.toString());
        if (status != 0) {
            throw new UserError(
                    "the smaller model could not be trained: see the messages of the training above, or name"
                            + " a trained model with --model");
        }
        return smaller;
    }

    private static double lastMean(List<TrainingLog.Line> lines, ToDoubleFunction<TrainingLog.Line> number) {
        int first = lines.size() - Math.max(1, Math.floorDiv(lines.size(), 10));
        return lines.stream().skip(first).mapToDouble(number).average().orElseThrow();
    }

    /** Draws 50 to 100 points, each the mean of several steps; a short training shows every step. */
    private static XYChart curves(
            String title,
            String yTitle,
            Map<Encoding, List<TrainingLog.Line>> trainings,
            ToDoubleFunction<TrainingLog.Line> number) {
        XYChart chart = Drawing.lines(title, "step", yTitle);
        trainings.forEach((encoding, lines) -> {
            int window = lines.size() < 500 ? 1 : 10 * Math.floorDiv(lines.size(), 500);
            int points = Math.floorDiv(lines.size(), window);
            Drawing.line(
                    chart,
                    encoding.toString(),
                    Drawing.each(
                            points, point -> lines.get((point + 1) * window - 1).step()),
                    Drawing.each(
                            points,
                            point -> lines.subList(point * window, (point + 1) * window).stream()
                                    .mapToDouble(number)
                                    .average()
                                    .orElseThrow()));
        });
        return chart;
    }

    /** Returns half of the mean distance between the rows of a map and their mean. */
    private static double variation(AttentionMaps maps, int layer, int head) {
        int words = maps.words().size();
        double sum = 0;
        for (int to = 0; to < words; to++) {
            int column = to;
            double[] weights = Drawing.each(words, from -> maps.weight(layer, head, from, column));
            double mean = Arrays.stream(weights).average().orElseThrow();
            sum += Arrays.stream(weights)
                    .map(weight -> Math.abs(weight - mean) / 2)
                    .sum();
        }
        return sum / words;
    }

    private static HeatMapChart map(AttentionMaps maps, int layer, int head, String title) {
        return Drawing.wordMap(
                title,
                "attended word",
                "attending word",
                maps.words(),
                (row, column) -> maps.weight(layer, head, row, column));
    }
}
