package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.TrainingLog;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;

/** How an encoder learns word order, without and with positions, and what its heads look at afterwards. */
final class TrainedHeads {

    /** Six definitions in order, and the first one shuffled. */
    private static final List<String> SENTENCES = List.of(
            "a small domesticated animal that is kept as a pet",
            "the act of moving from one place to another",
            "a person who writes books",
            "a room where food is prepared",
            "the process of becoming larger or longer",
            "a building where people live together",
            "pet a as kept is that animal domesticated small a");

    /** The greatest distance of two words that is drawn. */
    private static final int REACH = 4;

    private TrainedHeads() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "What do trained heads look at?",
                "A small encoder learns word order; these are the words that its heads attend to.");
        notebook.text("""
                The example's encoders learn to tell definitions of WordNet from shuffled ones. Without positions a sentence is a
                bag of words, and there is nothing to learn. With positions there is. These are the loss and the accuracy in
                training; the first model has no positions, the second one has. The accuracy of guessing is 0.5. The table has
                the means of the last tenth of the steps.""");
        Path model = TrainedModel.of(notebook, Encoding.NONE, Encoding.SINUSOIDAL);
        Map<Encoding, List<TrainingLog.Line>> trainings = EncoderFile.readLog(model).lines().stream()
                .collect(Collectors.groupingBy(TrainingLog.Line::encoding, LinkedHashMap::new, Collectors.toList()));
        notebook.row("%-14s %6s %7s %9s", "positions", "steps", "loss", "accuracy");
        trainings.forEach((encoding, lines) -> notebook.row(
                "%-14s %6d %7.3f %9.3f",
                encoding.title(),
                lines.size(),
                lastMean(lines, TrainingLog.Line::loss),
                lastMean(lines, TrainingLog.Line::accuracy)));
        int window = window(trainings.get(Encoding.NONE).size());
        notebook.pictures(
                "trained-heads-training",
                "The loss and the accuracy in training, without and with positions; each point is "
                        + (window == 1 ? "one step" : "the mean of " + window + " steps"),
                1,
                List.of(
                        curves("Loss", "cross entropy", trainings, TrainingLog.Line::loss),
                        curves("Accuracy", "fraction correct", trainings, TrainingLog.Line::accuracy)));

        notebook.text("""
                Which words does a word attend to? Each head of each layer computes weights from every word (row) to every word
                (column); the weights of a row add up to 1. These are all heads of the model with positions, for the sentence "a
                small domesticated animal that is kept as a pet".""");
        List<AttentionMaps> maps = AttentionMaps.of(model, SENTENCES);
        AttentionMaps inOrder = maps.get(0);
        int heads = inOrder.layers().get(0).size();
        List<int[]> all = new ArrayList<>();
        List<HeatMapChart> charts = new ArrayList<>();
        for (int layer = 0; layer < inOrder.layers().size(); layer++) {
            for (int head = 0; head < heads; head++) {
                all.add(new int[] {layer, head});
                charts.add(map(inOrder, layer, head));
                notebook.row("%s: %.3f", name(layer, head), variation(inOrder, layer, head));
            }
        }
        notebook.pictures(
                "trained-heads-maps",
                "The attention of each word (row) to each word (column) in every head, from 0 to 1 (red)",
                heads,
                charts);

        notebook.text("""
                A column of one color means that all words attend to the same word. The numbers measure how far a head is from
                that: the part of the attention that depends on the attending word, 0 if all rows are equal, near 1 if each word
                attends to a different word. A diagonal means that each word attends to a place relative to its own. Without positions
                there can be none: two equal words, such as the two *a* of this sentence, would have equal rows.

                This is the head with the largest number: its mean attention by the place of the attended word, where -1 is the
                word before and 1 the word after, over six definitions in order. The other line is the mean of all heads. Each
                place has the mean over the words that have a word there: the first word, for example, has none before it. So the
                columns do not add up to 1.""");
        int[] best = all.stream()
                .max(Comparator.comparingDouble(head -> variation(inOrder, head[0], head[1])))
                .orElseThrow();
        List<AttentionMaps> ordered = maps.subList(0, SENTENCES.size() - 1);
        double[] ofBest = byPlace(ordered, best[0], best[1]);
        double[] ofAll = new double[ofBest.length];
        for (int[] head : all) {
            double[] means = byPlace(ordered, head[0], head[1]);
            Arrays.setAll(ofAll, i -> ofAll[i] + means[i] / all.size());
        }
        String name = name(best[0], best[1]);
        notebook.row("%5s %17s %18s", "place", name, "mean of all heads");
        for (int i = 0; i < ofBest.length; i++) {
            notebook.row("%5d %17.3f %18.3f", i - REACH, ofBest[i], ofAll[i]);
        }
        XYChart byPlace = Drawing.lines("Where heads look", "place of the attended word", "mean attention");
        double[] x = Drawing.each(ofBest.length, i -> i - REACH);
        Drawing.line(byPlace, name, x, ofBest);
        Drawing.line(byPlace, "mean of all heads", x, ofAll);
        byPlace.getStyler().setYAxisMin(0.0);
        notebook.picture(
                "trained-heads-places",
                "The mean attention by the place of the attended word relative to the attending one",
                byPlace);

        notebook.text("""
                The same head with the words, in order and shuffled. Columns are the attended words.""");
        AttentionMaps shuffled = maps.get(SENTENCES.size() - 1);
        double greatest = Math.max(greatest(inOrder, best[0], best[1]), greatest(shuffled, best[0], best[1]));
        notebook.picture(
                "trained-heads-in-order",
                "The attention of each word (row) to each word (column): " + name,
                wordMap(inOrder, best[0], best[1], "In order: " + name, greatest));
        notebook.picture(
                "trained-heads-shuffled",
                "The same words shuffled, the same head",
                wordMap(shuffled, best[0], best[1], "Shuffled: " + name, greatest));

        notebook.text("""
                What stays in the same cells after the shuffling depends on the places. What moves with the words depends on the
                words. A head can use both: a query and a key are made of a word and its place.""");
    }

    private static double lastMean(List<TrainingLog.Line> lines, ToDoubleFunction<TrainingLog.Line> number) {
        int first = lines.size() - Math.max(1, Math.floorDiv(lines.size(), 10));
        return lines.stream().skip(first).mapToDouble(number).average().orElseThrow();
    }

    /**
     * The number of steps that one point of a curve stands for: 50 to 100 points, or every step of a short training.
     */
    private static int window(int steps) {
        return steps < 500 ? 1 : 10 * Math.floorDiv(steps, 500);
    }

    /** Draws points that are each the mean of several steps. */
    private static XYChart curves(
            String title,
            String yTitle,
            Map<Encoding, List<TrainingLog.Line>> trainings,
            ToDoubleFunction<TrainingLog.Line> number) {
        XYChart chart = Drawing.lines(title, "step", yTitle);
        trainings.forEach((encoding, lines) -> {
            int window = window(lines.size());
            int points = Math.floorDiv(lines.size(), window);
            Drawing.line(
                    chart,
                    encoding.title(),
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

    private static String name(int layer, int head) {
        return "layer " + (layer + 1) + ", head " + (head + 1);
    }

    /** Half of the mean distance between the rows of a map and their mean. */
    static double variation(AttentionMaps maps, int layer, int head) {
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

    /** The mean weights of the places -4 to 4. */
    static double[] byPlace(List<AttentionMaps> sentences, int layer, int head) {
        return Drawing.each(
                2 * REACH + 1,
                i -> sentences.stream()
                        .flatMapToDouble(maps -> IntStream.range(0, maps.words().size())
                                .filter(from -> from + i - REACH >= 0
                                        && from + i - REACH < maps.words().size())
                                .mapToDouble(from -> maps.weight(layer, head, from, from + i - REACH)))
                        .average()
                        .orElseThrow());
    }

    private static HeatMapChart map(AttentionMaps maps, int layer, int head) {
        String name = name(layer, head);
        HeatMapChart map = Drawing.map(
                "L" + name.substring(1),
                "attended word",
                "attending word",
                maps.words().size(),
                maps.words().size(),
                0,
                1,
                (row, column) -> maps.weight(layer, head, row, column));
        map.getStyler().setLegendVisible(false);
        return map;
    }

    /** The greatest weight, rounded up to tenths. */
    private static double greatest(AttentionMaps maps, int layer, int head) {
        double greatest =
                Arrays.stream(maps.layers().get(layer).get(head)).max().orElseThrow();
        return Math.ceil(10 * greatest) / 10;
    }

    private static HeatMapChart wordMap(AttentionMaps maps, int layer, int head, String title, double greatest) {
        return Drawing.wordMap(
                title,
                "attended word",
                "attending word",
                maps.words(),
                greatest,
                (row, column) -> maps.weight(layer, head, row, column));
    }
}
