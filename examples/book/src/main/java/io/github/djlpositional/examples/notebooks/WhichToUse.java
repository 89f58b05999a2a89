package io.github.djlpositional.examples.notebooks;

import ai.djl.nn.Block;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.DistanceNetworkBiasBlock;
import io.github.djlpositional.relative.KerpleBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A decision in a page: the encoding for each case, its line of code, and what was measured. */
final class WhichToUse {

    private WhichToUse() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Which to use",
                "A decision in a page: the case, the encoding, its line of code, its quality and cost.");
        notebook.question("""
                You have a task. Which of all these encodings should you take?""");
        notebook.heading("The decision");
        notebook.text("""
                1. Is the model trained already? Use **its own** encoding, in every detail: another one gives wrong
                   answers, not errors ([conventions](Conventions.html)).
                2. Are texts longer than in training? Take one that [continues](LengthExtrapolation.html): a **network
                   of the distance**; in a decoder **KERPLE** is nearly as good, with two numbers for each head. For a
                   trained rotary model, **a scaling**.
                3. Is it a picture? **Sinusoids of row and column** ([rows and columns](TwoDimensions.html)), with
                   coordinates scaled to those of the training if the same scene has more patches.
                4. Can you not change the attention? **Sinusoids** at its input.
                5. Is the length fixed and small, and is there much data? A **learned** table will do.
                6. Otherwise: **rotary**. It has no parameters, most published decoders use it, and at the trained
                   length it is among the best encoders here; small language models with it are 0.03 to 0.07 behind
                   the best.

                One line of code for each, for 512 dimensions in 8 heads:""");
        Map<String, Block> lines = new LinkedHashMap<>();
        lines.put("rotary", RotaryEmbeddingBlock.builder().setHeadSize(64).build());
        lines.put(
                "distance network",
                DistanceNetworkBiasBlock.builder()
                        .setHeadCount(8)
                        .setHiddenSize(32)
                        .build());
        lines.put("KERPLE", KerpleBiasBlock.builder().setHeadCount(8).build());
        lines.put(
                "rotary, scaled",
                RotaryEmbeddingBlock.builder()
                        .setHeadSize(64)
                        .optScaling(RotaryScaling.yarn(4, 2048))
                        .build());
        lines.put(
                "rows and columns",
                GridPositionalEncodingBlock.builder()
                        .setEncoding(GridEncoding.visionTransformer(512))
                        .build());
        lines.put(
                "sinusoids",
                PositionalEncodingBlock.builder().setEmbeddingSize(512).build());
        lines.put(
                "learned",
                LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(512)
                        .optMaxSequenceLength(256)
                        .build());
        lines.forEach(
                (name, block) -> notebook.row("%-17s %s", name, block.getClass().getSimpleName()));

        notebook.heading("What was measured");
        notebook.text("""
                The picture shows the two measurements made with this library: at the trained length (to the right is
                better) and at a much greater one (up is better). For encoders it is the accuracy of telling sentences
                from shuffled ones; for causal language models the loss, with its sign changed. On the gray line,
                nothing is lost by the length.""");
        Map<String, double[]> accuracies =
                MeasuredTable.of(MeasuredTable.SENTENCES, "mean").rows();
        Map<String, double[]> losses =
                MeasuredTable.of(MeasuredTable.TEXT, "mean").rows();
        LineChart encoders = LineChart.of("Encoders", "accuracy, trained length", "accuracy, 25 to 40 words");
        LineChart decoders = LineChart.of("Language models", "-loss, trained length", "-loss, four times the length");
        encoders.behind("the same", new double[] {0.6, 1}, new double[] {0.6, 1});
        decoders.behind("the same", new double[] {-2.25, -1.95}, new double[] {-2.25, -1.95});
        notebook.row("%-18s %6s %7s %10s %8s", "", "5-16", "25-40", "33-64", "225-256");
        notebook.row("%-18s %14s %19s", "", "words", "characters");
        for (String kind :
                List.of("rotary", "distance_network", "kerple", "sandwich", "alibi", "sinusoidal", "learned")) {
            String title = Encoding.valueOf(kind.toUpperCase(Locale.ROOT)).title();
            double[] accuracy = accuracies.get(kind);
            double[] loss = losses.get(kind);
            notebook.row("%-18s %6.3f %7.3f %10.2f %8.2f", title, accuracy[0], accuracy[2], loss[1], loss[7]);
            encoders.points(title, new double[] {accuracy[0]}, new double[] {accuracy[2]});
            decoders.points(title, new double[] {-loss[1]}, new double[] {-loss[7]});
        }
        notebook.pictures(
                "which-to-use",
                "The trained length against a much greater one; on the gray line nothing is lost",
                2,
                List.of(encoders, decoders));

        notebook.text("""
                What does it cost? Added positions cost one addition for the whole model. Rotary, ALiBi, T5's bias and
                KERPLE make attention at inference take 1.0 to 1.1 times as long as without positions, a network of
                the distance 0.9 to 1.2 times, Shaw's vectors 1.8 times; differences below 20 % are within the
                variation of the machine. The guide's pages *How to choose* and *Performance* have all times, more
                cases and the limits of these measurements: small models, one task each.""");
        notebook.recap("""
                Use rotary, unless the model is trained already, its texts get much longer than in training, its inputs are
                pictures, or you cannot change its attention.""");
        notebook.exercise("""
                You train an encoder of search queries, of at most 32 words, and never longer. Which one do you take, and what would
                change your mind?""", """
                Rotary: at the trained length it is among the best, has no parameters and costs little. A network of
                the distance is nearly as good, and it kept its accuracy at more than twice the trained length, in
                case a longer query does arrive. If the attention is a fixed block of another library, sinusoids at
                the input.""");
        notebook.sources(
                "[Su et al., RoFormer (2021)](https://arxiv.org/abs/2104.09864)",
                "[Chi et al., KERPLE (2022)](https://arxiv.org/abs/2205.09921)",
                "[Wang et al., CrossFormer (2021)](https://arxiv.org/abs/2108.00154)");
        notebook.text("""
                The lines above are parts of a model. [In your model](GettingStarted.html) shows where they go.""");
    }
}
