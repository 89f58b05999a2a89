package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.TrainEncoder;
import io.github.djlpositional.examples.TrainingLog;
import io.github.djlpositional.examples.UserError;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;

/** How an encoder learns word order, without and with positions, and what its attention looks at afterwards. */
public final class TrainingCurves {

    private static final String IN_ORDER = "a small domesticated animal that is kept as a pet";
    private static final String SHUFFLED = "pet a as kept is that animal domesticated small a";

    private TrainingCurves() {}

    /**
     * Runs the notebook.
     *
     * @param args {@code --out FOLDER}, {@code --model FOLDER}
     */
    public static void main(String[] args) {
        Notebook.main(TrainingCurves::write, TrainingCurves.class, args);
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("Learning the order of words");
        notebook.text("""
                The examples' encoders are told of definitions from WordNet, half of them shuffled, which is which. Without
                positions a sentence is a bag of words: there is nothing to learn. With them, there is.""");
        Path model = modelOf(notebook);
        Map<Encoding, List<TrainingLog.Line>> trainings = new LinkedHashMap<>();
        for (TrainingLog.Line line : TrainingLog.read(model).lines()) {
            trainings.computeIfAbsent(line.encoding(), key -> new ArrayList<>()).add(line);
        }
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
                curves(
                        "Accuracy in training",
                        "part of the batch that is right",
                        trainings,
                        TrainingLog.Line::accuracy));

        notebook.text("""
                What does a word look at? A head that knows nothing of places looks the same way from every word but for what the
                words mean. So here is, for each head and a sentence in order, the part of its attention that depends on who
                looks: 0 where all rows of its map are the same, near 1 where every word looks elsewhere.""");
        List<AttentionMaps> maps = AttentionMaps.of(model, List.of(IN_ORDER, SHUFFLED));
        AttentionMaps inOrder = maps.get(0);
        int bestLayer = 0;
        int bestHead = 0;
        for (int layer = 0; layer < inOrder.layers().size(); layer++) {
            for (int head = 0; head < inOrder.layers().get(layer).size(); head++) {
                notebook.row("layer %d, head %d: %.3f", layer + 1, head + 1, ofPlaces(inOrder, layer, head));
                if (ofPlaces(inOrder, layer, head) > ofPlaces(inOrder, bestLayer, bestHead)) {
                    bestLayer = layer;
                    bestHead = head;
                }
            }
        }
        String which = "layer " + (bestLayer + 1) + ", head " + (bestHead + 1);
        notebook.picture(
                "attention-in-order",
                "What each word (row) looks at (column) in " + which + ", where that depends most on who looks",
                map(inOrder, bestLayer, bestHead, "In order: " + which));
        notebook.picture(
                "attention-shuffled",
                "The same words shuffled, the same head",
                map(maps.get(1), bestLayer, bestHead, "Shuffled: " + which));
    }

    /** The folder of the main job's model, or of a smaller one that is trained now. */
    private static Path modelOf(Notebook notebook) {
        if (Files.isDirectory(notebook.model())) {
            notebook.text("The model is that in '" + notebook.model() + "'.");
            return notebook.model();
        }
        Path smaller = notebook.folder().resolve("model");
        notebook.text("There is no model in '" + notebook.model()
                + "' (java -jar train-encoder.jar trains one): a smaller" + " one is trained now, in about a minute.");
        int status = TrainEncoder.commandLine()
                .setOut(new PrintWriter(notebook.out(), true, StandardCharsets.UTF_8))
                .execute("--glosses", "20000", "--held-out", "1000", "--out", smaller.toString());
        if (status != 0) {
            throw new UserError("the smaller model could not be trained: see what the training says above, or name a"
                    + " trained one with --model");
        }
        return smaller;
    }

    private static double lastMean(List<TrainingLog.Line> lines, ToDoubleFunction<TrainingLog.Line> number) {
        int first = lines.size() - Math.max(1, Math.floorDiv(lines.size(), 10));
        return lines.stream().skip(first).mapToDouble(number).average().orElseThrow();
    }

    /** Each point is the mean of so many steps that there are 50 to 100; a short training shows every step. */
    private static XYChart curves(
            String title,
            String yTitle,
            Map<Encoding, List<TrainingLog.Line>> trainings,
            ToDoubleFunction<TrainingLog.Line> number) {
        XYChart chart = Drawing.lines(title, "step", yTitle);
        trainings.forEach((encoding, lines) -> {
            int window = lines.size() < 500 ? 1 : 10 * Math.floorDiv(lines.size(), 500);
            int points = Math.floorDiv(lines.size(), window);
            double[] x = new double[points];
            double[] y = new double[points];
            for (int point = 0; point < points; point++) {
                List<TrainingLog.Line> some = lines.subList(point * window, (point + 1) * window);
                x[point] = some.get(some.size() - 1).step();
                y[point] = some.stream().mapToDouble(number).average().orElseThrow();
            }
            Drawing.line(chart, encoding.toString(), x, y);
        });
        return chart;
    }

    /** Half of how far the rows of a map are from their mean, on average. */
    private static double ofPlaces(AttentionMaps maps, int layer, int head) {
        int words = maps.words().size();
        double sum = 0;
        for (int to = 0; to < words; to++) {
            double mean = 0;
            for (int from = 0; from < words; from++) {
                mean += maps.weight(layer, head, from, to) / words;
            }
            for (int from = 0; from < words; from++) {
                sum += Math.abs(maps.weight(layer, head, from, to) - mean) / 2;
            }
        }
        return sum / words;
    }

    private static HeatMapChart map(AttentionMaps maps, int layer, int head, String title) {
        return Drawing.wordMap(
                title, "is looked at", "looks", maps.words(), (column, row) -> maps.weight(layer, head, row, column));
    }
}
