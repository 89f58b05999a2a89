package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.TransformerEncoder;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/** Which encodings still work on sentences longer than the training sentences, and why: the measured tables, drawn. */
final class LengthExtrapolation {

    private LengthExtrapolation() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Sentences longer than in training",
                "Small models with and without positions read longer texts than in their training; why some can.");
        notebook.question("""
                No sentence of the training had more than 16 words. Which kinds still work on 40, and why these?""");
        notebook.heading("Measured on sentences");
        notebook.text("""
                The [overview](RelativePositions.html) showed what the kinds can say. `train-encoder.jar compare` has measured
                what they are worth: small encoders learned to tell definitions from shuffled ones, three times with each kind,
                with sentences of at most 16 words. They were tested with others of 5 to 16 words, of 17 to 24, and of 25 to 40.
                The numbers are the fraction of correct answers; 0.5 is chance. The last column is half of the range of
                the three trainings, for the longest sentences.

                Some kinds are variants. *Sinusoidal, N(0, 1)* starts with [longer words](AddedToAWord.html); *sinusoidal,
                scaled* multiplies its word vectors by the square root of their size, as the paper does. *KERPLE, power* lowers a
                score with a power of the distance instead of its logarithm.""");
        Map<String, double[]> accuracies = accuracies("mean");
        Map<String, double[]> least = accuracies("least");
        Map<String, double[]> greatest = accuracies("greatest");
        List<String> kinds = accuracies.keySet().stream()
                .sorted(Comparator.comparingDouble(kind -> -accuracies.get(kind)[2]))
                .toList();
        notebook.row("%-19s %6s %6s %6s %6s", "words", "5-16", "17-24", "25-40", "±");
        for (String kind : kinds) {
            double[] means = accuracies.get(kind);
            double range = greatest.get(kind)[2] - least.get(kind)[2];
            notebook.row("%-19s %6.3f %6.3f %6.3f %6.3f", kind, means[0], means[1], means[2], range / 2);
        }
        // the middles of the ranges
        double[] words = {10.5, 20.5, 32.5};
        List<LineChart> charts = new ArrayList<>();
        for (String kind : kinds) {
            LineChart chart = LineChart.of(kind, "words", "accuracy");
            accuracies.forEach((other, accuracy) -> chart.behind(other + " behind", words, accuracy));
            chart.mark("trained", TransformerEncoder.TRAINED_WORDS, 0.5, 1);
            chart.line(1, kind, words, accuracies.get(kind));
            chart.yRange(0.5, 1.0).hideLegend();
            charts.add(chart);
        }
        notebook.pictures(
                "length-extrapolation",
                "Accuracy by the length of the sentence: each kind in color, the others in gray behind it. A point is the middle of a"
                        + " group of lengths, the vertical line the longest sentence in training; the axis begins at"
                        + " chance, 0.5",
                4,
                charts);

        notebook.heading("Why the winners win");
        notebook.text("""
                All relative kinds but Shaw are better with 17 to 24 words than with 5 to 16. The likely reason is the task: in
                a longer shuffled sentence, more words are in the wrong place. Beyond that, two questions sort the kinds:

                - Does it *tell before from after*? ALiBi, KERPLE, Sandwich and FIRE get the distance without its sign.
                - Does it *continue*: does its number for a new distance follow from a function that is fixed (ALiBi,
                  Sandwich) or was fitted at other distances (KERPLE, FIRE, the distance network, Transformer-XL)?
                  Shaw, T5 and DeBERTa learn a number or a vector for each place or bucket, and those of new distances
                  were not trained here. Rotary is a fixed function too, but queries and keys were trained only with
                  the angles of the trained distances. Transformer-XL's sinusoids also reach new angles; that it works
                  nevertheless is a result of this measurement, not of its formula.

                These are the means of the groups.""");
        Map<String, List<String>> groups = new LinkedHashMap<>();
        groups.put("direction, continues", List.of("distance network", "Transformer-XL"));
        groups.put("direction, does not", List.of("rotary", "T5", "Shaw", "DeBERTa"));
        groups.put("no direction, continues", List.of("ALiBi", "KERPLE", "KERPLE, power", "Sandwich", "FIRE"));
        groups.put("added to the input", List.of("sinusoidal", "sinusoidal, N(0, 1)", "sinusoidal, scaled", "learned"));
        LineChart means = LineChart.of("Four groups of kinds", "words", "mean accuracy");
        notebook.row("%-24s %6s %6s %6s", "words", "5-16", "17-24", "25-40");
        groups.forEach((name, members) -> {
            double[] mean = each(
                    3,
                    length -> members.stream()
                            .mapToDouble(kind -> accuracies.get(kind)[length])
                            .average()
                            .orElseThrow());
            notebook.row("%-24s %6.3f %6.3f %6.3f", name, mean[0], mean[1], mean[2]);
            means.line(name, words, mean);
        });
        notebook.picture(
                "length-extrapolation-groups",
                "The direction decides up to 24 words, the continuation at 25 to 40; the group that has both is the best",
                means);

        notebook.text("""
                Knowing the direction is worth six points at the trained length, and still two at 17 to 24 words; at
                25 to 40, continuing decides. Two kinds do not fit: DeBERTa reaches 0.97 although its far buckets are
                untrained, and rotary is level with ALiBi.

                It is not enough that a bias *falls*. Sandwich's does not only fall: as the
                [similarity](Similarity.html) of two sinusoids it rises at some distances, and it is the best of its
                group. These are the distances up to 40 at which its bias, of 128 dimensions, is higher than one step
                before.""");
        SinusoidalEncoding sandwich = SinusoidalEncoding.vaswani(128);
        notebook.result(
                "distances where Sandwich rises",
                IntStream.rangeClosed(1, 40)
                        .filter(d -> sandwich.similarity(d) > sandwich.similarity(d - 1))
                        .boxed()
                        .toList());

        notebook.heading("Measured on a text");
        notebook.text("""
                If this explanation is right, something else must follow: in a causal model all keys are before the
                query, so the direction comes for free, and only the continuation should count. `train-encoder.jar
                compare --on text` has measured it: models of characters, trained on windows of 64 of a play, read windows
                of 256. The numbers are the losses (lower is better) at the end of the trained length and at the end
                of the window; the changes are of the unrounded losses. *Gaussian*, measured here only, lowers a score
                with the square of the distance, over a width that each head learns.

                For the learned biases, *far* is the share of the attention that the last query gives to distances of 64 and
                more if all characters are the same: the mean of the heads.""");
        Map<String, double[]> losses =
                MeasuredTable.of(MeasuredTable.TEXT, "mean").rows();
        notebook.row("%-18s %7s %8s %7s %6s", "positions", "33-64", "225-256", "change", "far");
        for (String kind : losses.keySet().stream()
                .filter(kind -> !kind.startsWith("rotary_"))
                .sorted(Comparator.comparingDouble(kind -> losses.get(kind)[7] - losses.get(kind)[1]))
                .toList()) {
            double[] loss = losses.get(kind);
            notebook.row(
                    "%-18s %7.2f %8.2f %7.2f %6s", titleOf(kind), loss[1], loss[7], loss[7] - loss[1], farShare(kind));
        }
        LineChart text = LineChart.of("Loss by position, trained on 64", "position", "loss");
        double[] positions = each(8, i -> 32 * i + 16.5);
        for (String kind : List.of("none", "sinusoidal", "rotary", "t5", "alibi", "kerple", "gaussian")) {
            text.line(titleOf(kind), positions, losses.get(kind));
        }
        text.mark("trained", 64, 1.9, 4.5);
        notebook.picture("length-extrapolation-text", "The loss by position of seven of the kinds", text);

        notebook.text("""
                It does follow. The kinds without direction that continue keep their loss to the end, FIRE apart, and
                all but ALiBi are now level with the best. Those that do not continue lose, except Shaw. T5 shows why:
                its last bucket begins within the trained length, so it was trained, but almost three quarters of the
                attention go to new distances. Shaw keeps its loss here, because its last vector, for 16 characters
                and more, was trained with distances up to 63; with sentences of 16 words it was not. FIRE is the
                other exception: its far share is nearly 0. A likely reason is that its function gets the distance
                relative to the length of the text so far, so that in a longer text all its *near* distances change.

                Of the learned biases, those that give new distances little or no weight keep their loss, except FIRE.
                So this measures that far positions *do no harm*. It does not show that a model uses them; in a play,
                the last few words say most about the next character.""");
        notebook.recap("""
                A kind works on longer texts if its numbers for new distances follow from trained ones; in an encoder,
                telling before from after helps too.""");
        notebook.exercise("""
                Why does T5's bias get slowly worse with the length of the text, although all distances beyond 64
                share the last bucket, which was trained?""", """
                The bucket begins at distance 59, so its number was trained with at most five keys of a window, and
                the weight of a bucket grows with the number of keys in it: with some 200 keys instead of five, the
                same bias takes a much larger share of the softmax. The column *far* shows it.""");
        notebook.sources(
                "[Press, Smith, Lewis, Train Short, Test Long (2022)](https://arxiv.org/abs/2108.12409)",
                "[Kazemnejad et al., The Impact of Positional Encoding on Length Generalization (2023)](https://arxiv.org/abs/2305.19466)",
                "[Chi et al., Dissecting Transformer Length Extrapolation (2023)](https://arxiv.org/abs/2212.10356)");
        notebook.text("""
                A text has one axis. [Rows and columns](TwoDimensions.html) are two.""");
    }

    /** Returns the accuracies by the kind in words, one for each range of lengths. */
    static Map<String, double[]> accuracies(String statistic) throws IOException {
        Map<String, double[]> titled = new LinkedHashMap<>();
        MeasuredTable.of(MeasuredTable.SENTENCES, statistic)
                .rows()
                .forEach((kind, numbers) -> titled.put(titleOf(kind), numbers));
        return titled;
    }

    private static String titleOf(String kind) {
        return Encoding.valueOf(kind.toUpperCase(Locale.ROOT)).title();
    }

    /** The mean share of the keys that are 64 characters or more before the last query; empty for other kinds. */
    private static String farShare(String kind) throws IOException {
        OptionalDouble share = TrainedBias.of(kind).values().stream()
                .mapToDouble(bias -> {
                    double greatest = Arrays.stream(bias).max().orElseThrow();
                    double[] powers = each(bias.length, i -> Math.exp(bias[i] - greatest));
                    return Arrays.stream(powers).skip(64).sum()
                            / Arrays.stream(powers).sum();
                })
                .average();
        return share.isPresent() ? String.format(Locale.ROOT, "%.2f", share.getAsDouble()) : "";
    }
}
