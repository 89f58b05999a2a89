package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RotaryScaling;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;

/** Rotary embeddings beyond the trained length: the angles of each pair under each scaling. */
final class ContextExtension {

    /** The heads of Llama 2: 64 pairs with the base 10,000, trained with 4,096 positions. */
    private static final int HEAD_SIZE = 128;

    private static final int PAIRS = HEAD_SIZE / 2;
    private static final double BASE = 10_000;
    private static final int TRAINED = 4096;

    /** {@code long_factor} of Phi-3-mini-128k-instruct. */
    private static final double[] PHI_3_LONG = {
        1.03, 1.05, 1.05, 1.08, 1.23, 1.23, 1.3, 1.45, 1.6, 1.65, 1.9, 2.86, 3.69, 5.42, 5.49, 5.49, 9.09, 11.58, 15.66,
        15.77, 15.79, 18.36, 21.99, 23.08, 30.01, 32.35, 32.59, 35.56, 39.95, 53.84, 56.2, 57.95, 59.29, 59.77, 59.92,
        61.19, 61.96, 62.5, 63.37, 63.48, 63.48, 63.66, 63.85, 64.08, 64.76, 64.8, 64.81, 64.81
    };

    /** Each has one color in all pictures. */
    private static final List<String> LINES = List.of("none", "linear", "NTK-aware", "YaRN", "Llama 3", "LongRoPE");

    private ContextExtension() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "A longer context than in training",
                "Each scaling slows rotary pairs down in its own way, so that a model can read a longer text.");
        notebook.question("""
                A model with [rotary embeddings](RotaryPairs.html) has been trained with 4,096 positions. Can it read 32,768?""");
        notebook.heading("Which angles are new?");
        notebook.text("""
                In each pair of dimensions, the model has met the angles of the distances in its training. What are the angles of
                a text that is twice or eight times as long? The numbers here are those of Llama 2: heads of 128
                dimensions, so 64 pairs, with the base 10,000. These are the turns of some pairs over the 4,096 positions.""");
        Frequencies trained = RotaryScaling.none().frequencies(HEAD_SIZE, BASE);
        for (int pair : new int[] {0, 20, 45, 46, 63}) {
            notebook.row("pair %2d: %9.5f turns", pair, turns(trained, pair, TRAINED));
        }
        long full = IntStream.range(0, PAIRS)
                .filter(pair -> turns(trained, pair, TRAINED) >= 1)
                .count();
        notebook.row("%d pairs make a full turn, %d do not", full, PAIRS - full);

        notebook.text("""
                The fast pairs make hundreds of turns and have passed through the whole circle. The slow pairs make less than one
                turn: at twice the length they reach a part of the circle that the model has never met.

                This looks at each pair separately, and so do all scalings below. It is not the whole truth: at a new distance
                even the fast pairs have angles in a *combination* that no shorter distance has.""");
        notebook.text("""
                Choose a longer text and a scaling: which pairs reach angles that are new?""");
        notebook.play("contexts");
        notebook.heading("Scalings");
        notebook.text("""
                A *scaling* changes the frequencies to avoid this. The picture shows them for eight times the length;
                *none* is without a scaling.""");
        Map<String, RotaryScaling> scalings = scalings(8);
        double[] pairsOfLlama = LineChart.each(PAIRS, pair -> pair);
        LineChart ratio = LineChart.of("Frequency with a scaling for 8 times the length", "pair", "scaled / unscaled");
        scalings.forEach((name, scaling) -> {
            Frequencies scaled = scaling.frequencies(HEAD_SIZE, BASE);
            double[] ratios = LineChart.each(PAIRS, pair -> scaled.get(pair) / trained.get(pair));
            ratio.line(LINES.indexOf(name), name, pairsOfLlama, ratios);
        });
        ratio.yRange(0.0, Double.NaN);
        notebook.picture(
                "context-extension-ratio",
                "What each scaling does to the frequencies, with the fast pairs on the left. YaRN and Llama 3 cover the"
                        + " line without scaling on the left, and that of linear scaling on the right",
                ratio);

        notebook.text("""
                - **Linear** (Chen et al., 2023) divides all frequencies by 8. The angles then lie within the range of the training, but
                  between those that were met: whole positions become eighths. Neighboring words, which the fast pairs tell
                  apart, are an eighth as far from each other.
                - **NTK-aware** (bloc97, 2023) raises the base, so that the first pair is kept and the last one divided by 8.
                - **YaRN** (Peng et al., 2023) keeps pairs that make more than 32 turns, divides those that make less than one,
                  and mixes between them.
                - **Llama 3** does the same between 4 turns and 1, mixed differently.

                How many pairs reach angles outside those of the training? A pair with a full turn has met all of them; for the
                other 18, the greatest angle at the new length is compared with that at 4,096.""");
        for (int factor : new int[] {2, 8}) {
            notebook.row("%d times    beyond  farthest  first pair", factor);
            for (Map.Entry<String, RotaryScaling> scaling : scalings(factor).entrySet()) {
                Frequencies scaled = scaling.getValue().frequencies(HEAD_SIZE, BASE);
                double[] farther = farther(trained, scaled, factor);
                notebook.row("%-10s %7d %9.2f %11.3f", scaling.getKey(), beyond(farther), max(farther), scaled.get(0));
            }
        }

        notebook.text("""
                *Beyond* is the number of pairs, *farthest* the greatest angle of any of the 18, relative to the greatest of that
                pair in training, and *first pair* the angle in radians between neighboring words in the fastest pair. NTK-aware
                scaling brings only the last pair inside; its others are too fast, though by less than without scaling. The
                picture shows the pairs from 40 on. Linear scaling divides by as much as the length has grown, so its line is
                also that of the training. From pair 46 on, where this line is below one turn, no other line may be above it.""");
        double[] slow = LineChart.each(PAIRS - 40, i -> 40.0 + i);
        LineChart angles = LineChart.of("Turns of the slow pairs over 32,768 positions", "pair", "turns");
        angles.line(7, "one turn", slow, LineChart.each(slow.length, i -> 1));
        scalings.forEach((name, scaling) -> {
            Frequencies scaled = scaling.frequencies(HEAD_SIZE, BASE);
            double[] turns = LineChart.each(slow.length, i -> turns(scaled, 40 + i, 8 * TRAINED));
            angles.line(LINES.indexOf(name), name, slow, turns);
        });
        angles.yLogarithmic();
        notebook.picture(
                "context-extension-turns",
                "The turns of the slow pairs over 8 times the length; with linear scaling they are those of the training."
                        + " From pair 46 on, YaRN and Llama 3 cover the line of linear scaling",
                angles);

        notebook.heading("A search instead of a formula");
        notebook.text("""
                **LongRoPE** (Ding et al., 2024) has no formula. A search finds a divisor for each pair and model. Those of
                Phi-3 mini with 128k positions are published: one for each of 48 pairs, trained with 4,096 positions and extended
                32 times. Beside them are three of the scalings above for the same model.""");
        int extended = 32 * TRAINED;
        Map<String, RotaryScaling> ofPhi3 = new LinkedHashMap<>();
        ofPhi3.put("linear", RotaryScaling.linear(32));
        ofPhi3.put("NTK-aware", RotaryScaling.ntkAware(32));
        ofPhi3.put("YaRN", RotaryScaling.yarn(32, TRAINED));
        ofPhi3.put("LongRoPE", RotaryScaling.longRope(PHI_3_LONG, PHI_3_LONG, TRAINED, extended, extended));
        int pairs = PHI_3_LONG.length;
        Frequencies unscaled = RotaryScaling.none().frequencies(2 * pairs, BASE);
        LineChart searched = LineChart.of("Phi-3 mini, 32 times the length", "pair", "divisor");
        notebook.row("%-10s %7s %7s %7s %7s", "pair", "0", "12", "24", "47");
        ofPhi3.forEach((name, scaling) -> {
            Frequencies scaled = scaling.frequencies(2 * pairs, BASE);
            double[] divisors = LineChart.each(pairs, pair -> unscaled.get(pair) / scaled.get(pair));
            notebook.row("%-10s %7.3f %7.3f %7.3f %7.3f", name, divisors[0], divisors[12], divisors[24], divisors[47]);
            searched.line(LINES.indexOf(name), name, LineChart.each(pairs, pair -> pair), divisors);
        });
        searched.yRange(0.0, Double.NaN);
        notebook.picture(
                "context-extension-longrope",
                "By what each scaling divides the frequencies of Phi-3 mini; those of LongRoPE were found by a search",
                searched);

        notebook.text("""
                The search slows the fast pairs a little, and the slow ones by up to 64.8, twice what the length asks for. How much
                of the angles of the training do the slow pairs then use?""");
        RotaryScaling longRope = ofPhi3.get("LongRoPE");
        notebook.row("LongRoPE    beyond  farthest");
        for (int factor : new int[] {2, 8, 32}) {
            double[] farther = farther(unscaled, longRope.frequencies(2 * pairs, BASE), factor);
            notebook.row("%2d times %9d %9.2f", factor, beyond(farther), max(farther));
        }
        notebook.row("factor of cosines and sines, explained below: %.4f", longRope.attentionFactor());

        notebook.text("""
                Even at 32 times the length, they use about half of the range that they met.""");
        notebook.heading("What does a model make of it?");
        notebook.text("""
                Angles are a reason, not a result. `train-encoder.jar compare --on text` has measured a result: a small
                causal model of characters with rotary embeddings, trained on windows of 64 characters, reads windows
                of 256, without a scaling and with three of them, for four times the length, without further training.
                The table has the mean loss in nats by position; predicting only how frequent each character is would
                have 3.32.""");
        MeasuredTable losses = MeasuredTable.of(MeasuredTable.TEXT, "mean");
        double[] middles = LineChart.each(losses.sizes().size(), i -> 32 * i + 16.5);
        LineChart measured = LineChart.of("Loss by position, trained on 64", "position", "loss");
        Map<String, String> models = new LinkedHashMap<>();
        models.put("none", "rotary");
        models.put("linear", "rotary_linear");
        models.put("NTK-aware", "rotary_ntk");
        models.put("YaRN", "rotary_yarn");
        notebook.row("%-10s %7s %7s %7s %7s", "position", "33-64", "65-96", "129-160", "225-256");
        models.forEach((name, model) -> {
            double[] loss = losses.rows().get(model);
            notebook.row("%-10s %7.2f %7.2f %7.2f %7.2f", name, loss[1], loss[2], loss[4], loss[7]);
            measured.line(LINES.indexOf(name), name, middles, loss);
        });
        measured.mark("trained", 64, 2, 3.8);
        notebook.picture(
                "context-extension-loss",
                "The loss of one trained model by position; the dashed line is the end of the trained windows",
                measured);

        notebook.text("""
                Without a scaling, the loss rises half a window after the trained length, and the model is soon worse
                than knowing how frequent each character is. Linear scaling, whose angles are all *within* the range,
                is bad from the first character on: being within the range is not enough, and without further training
                the crowded fast pairs are useless. NTK-aware scaling slows them less, and holds for about two and a
                half times the length. The model has only 8 pairs, of which three make a full turn over 64 positions.
                YaRN keeps the first, divides the next two by 1.33 and 2, and the others by 4; it holds to the end, at
                a price of almost 0.2 at the trained length.

                YaRN and LongRoPE also multiply cosines and sines by a factor above 1, which makes the attention of a long text
                sharper. All scalings are options of the same block: `RotaryEmbeddingBlock.builder().optScaling(…)`.""");
        notebook.recap("""
                Not without a change: the slow pairs reach angles that training has not met. A scaling slows pairs
                down so that their angles stay within the trained range, or near it; in a small model at four times
                its length, YaRN, which keeps the fast pairs, held to the end without further training.""");
        notebook.exercise(
                """
                At 8,192 positions, how far has the slowest pair of Llama 2 turned, relative to the training? By which factor must a
                scaling divide its frequency?""",
                String.format(
                        Locale.ROOT,
                        "%.4f turns instead of %.4f, twice as far, so by 2. Every pair that makes less than one turn needs the same"
                                + " factor, which is why YaRN divides all of them by it.",
                        turns(trained, 63, 2 * TRAINED),
                        turns(trained, 63, TRAINED)));
        notebook.sources(
                "[Chen et al., Extending Context Window via Positional Interpolation (2023)](https://arxiv.org/abs/2306.15595)",
                "[Peng et al., YaRN (2023)](https://arxiv.org/abs/2309.00071)",
                "[Ding et al., LongRoPE (2024)](https://arxiv.org/abs/2402.13753)");
        notebook.text("""
                So far all positions followed a formula. The next chapters let the model learn them, beginning with
                [learned tables](LearnedTables.html).""");
    }

    private static Map<String, RotaryScaling> scalings(int factor) {
        Map<String, RotaryScaling> scalings = new LinkedHashMap<>();
        scalings.put("none", RotaryScaling.none());
        scalings.put("linear", RotaryScaling.linear(factor));
        scalings.put("NTK-aware", RotaryScaling.ntkAware(factor));
        scalings.put("YaRN", RotaryScaling.yarn(factor, TRAINED));
        scalings.put("Llama 3", RotaryScaling.llama3(factor, 1, 4, TRAINED));
        return scalings;
    }

    private static double turns(Frequencies frequencies, int pair, int length) {
        return frequencies.get(pair) * length / (2 * Math.PI);
    }

    /** The greatest angle of a longer text relative to that in training, of each pair that made no full turn. */
    private static double[] farther(Frequencies trained, Frequencies scaled, int factor) {
        return IntStream.range(0, trained.size())
                .filter(pair -> turns(trained, pair, TRAINED) < 1)
                .mapToDouble(pair -> factor * scaled.get(pair) / trained.get(pair))
                .toArray();
    }

    private static double max(double... numbers) {
        return Arrays.stream(numbers).max().orElseThrow();
    }

    /** Counts numbers above 1; the frequencies are rounded. */
    private static long beyond(double... farther) {
        return Arrays.stream(farther).filter(angle -> angle > 1 + 1e-12).count();
    }
}
