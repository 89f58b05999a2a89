package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The position tables of a published model and of the example beside sinusoids: similarities, and the waves in them.
 */
final class LearnedTables {

    private LearnedTables() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "What does a learned table learn?",
                "Waves in the table of a published model, and the beginning of a sentence in another.");
        notebook.question("""
                Sinusoids are waves because a formula says so. If a model is free to choose its positions, does it choose
                waves?""");
        notebook.heading("The table of a published model");
        notebook.text("""
                A learned table gives each position a vector of free numbers. Nothing tells the model that positions 7 and 8
                are neighbors; training has to find it out. The sentence encoder all-MiniLM-L6-v2 is a published model of the
                BERT family with such a table: 512 positions of 384 numbers. Here it is beside the sinusoids of the same size.""");
        double[][] learned = SentenceEncoder.positionTable();
        double[][] sinusoids = sinusoids(512, 384);
        notebook.row("%-10s %8s %10s", "position", "learned", "sinusoids");
        for (int position : new int[] {0, 1, 2, 100, 511}) {
            notebook.row("%-10d %8.3f %10.3f", position, length(learned[position]), length(sinusoids[position]));
        }

        notebook.text("""
                These are the lengths of the vectors. All sinusoids have the length √(384 / 2). In the learned table, that of
                position 0 is about five times as long as the next ones. In BERT this is always the position of the same token,
                `[CLS]`, so its vector can also hold what belongs to that token.

                The cosine of two vectors tells how similar they are, whatever their lengths. Near positions are similar in
                both tables, and in both the similarity depends mostly on the *distance*: along a diagonal of the picture the color
                hardly changes. The learned table also has stripes. For sinusoids the dependence follows from the formula. The model has learned it, for all positions but 0.""");
        int count = 100;
        notebook.pictures(
                "learned-tables-similarity",
                "The cosine between the first 100 positions: both depend on the distance, and the learned one has stripes",
                2,
                List.of(
                        similarity("Learned by all-MiniLM-L6-v2", learned, count),
                        similarity("Sinusoids", sinusoids, count)));

        notebook.text("""
                The mean over all pairs at a distance, without position 0, shows the difference. The similarity of sinusoids falls
                slowly and almost without waves. In the learned table, a position is *less* similar to the third than to the sixth
                after it.""");
        double[] byDistance = LineChart.each(120, distance -> meanCosine(learned, distance));
        double[] ofSinusoids = LineChart.each(120, distance -> meanCosine(sinusoids, distance));
        notebook.row("%-10s %8s %10s", "distance", "learned", "sinusoids");
        for (int distance : new int[] {1, 3, 6, 9, 12, 17, 25, 52, 100}) {
            notebook.row("%-10d %8.3f %10.3f", distance, byDistance[distance], ofSinusoids[distance]);
        }
        LineChart similarity = LineChart.of("Mean similarity by distance", "distance in positions", "cosine");
        similarity.line("learned", 120, distance -> byDistance[distance]);
        similarity.line("sinusoids", 120, distance -> ofSinusoids[distance]);
        notebook.picture(
                "learned-tables-distance",
                "The learned similarity rises and falls with the distance; that of sinusoids falls slowly",
                similarity);

        notebook.heading("Which waves?");
        notebook.text("""
                Waves of which lengths add up to this? The discrete Fourier transform splits each of the 384 columns, less its
                mean, into waves that fit 1, 2, 3, … times into the positions 1 to 511. This is the share of each wave in the
                squares of all columns together.""");
        notebook.formula("p_k = \\frac{\\sum_d |F_{k,d}|^2}{\\sum_{k > 0} \\sum_d |F_{k,d}|^2}");
        notebook.formula("F_{k,d} = \\sum_{t=0}^{n-1} x_{t,d} \\, e^{-2 \\pi i k t / n}");
        double[] ofLearned = waves(learned);
        double[] ofFormula = waves(sinusoids);
        notebook.row("%-24s %8s %10s", "waves of", "learned", "sinusoids");
        double[][] bands = {{255, 511}, {127, 171}, {46, 64}, {16, 21}, {5.4, 6.7}};
        for (double[] band : bands) {
            notebook.row(
                    "%5.1f to %5.1f positions %6.1f %% %8.1f %%",
                    band[0], band[1], 100 * share(ofLearned, band), 100 * share(ofFormula, band));
        }
        notebook.row(
                "%-24s %6.1f %% %8.1f %%",
                "together",
                100
                        * Arrays.stream(bands)
                                .mapToDouble(band -> share(ofLearned, band))
                                .sum(),
                100
                        * Arrays.stream(bands)
                                .mapToDouble(band -> share(ofFormula, band))
                                .sum());

        notebook.text("""
                Five ranges of lengths hold 88 % of the learned table. Four of them are peaks in the picture, at about 6, 18, 54 and
                150 positions. The fifth is not a wave that one can resolve: what fits once or twice into the table is a slow
                *drift* from its beginning to its end. The sinusoids have waves of all lengths from 6 on, with more of the
                long ones.""");
        int waves = ofLearned.length;
        double[] periods = LineChart.each(waves, i -> 511.0 / (waves - i));
        LineChart spectrum = LineChart.of("The waves in both tables", "length of the wave in positions", "share");
        spectrum.line("learned", periods, LineChart.each(waves, i -> ofLearned[waves - 1 - i]));
        spectrum.line("sinusoids", periods, LineChart.each(waves, i -> ofFormula[waves - 1 - i]));
        spectrum.xLogarithmic();
        notebook.picture(
                "learned-tables-waves",
                "The learned table has four peaks, each about three times as long as the one before, and a drift on the right",
                spectrum);

        notebook.text("""
                The model was not told to, and has learned waves: of four lengths from about 6 to about 150 positions, each
                roughly three times the one before, and a drift. That is the idea of the sinusoids, a geometric sequence of
                wavelengths, with four lengths instead of 192.""");
        notebook.heading("Another task, another table");
        notebook.text("""
                Does every learned table become a table of waves? The example's own encoder has one too, with 16 positions of 64
                numbers, for another task: is this definition in order, or shuffled?""");
        double[][] own = TrainedModel.positions(notebook);
        notebook.row("%-10s %8s %24s", "position", "length", "cosine to the next one");
        for (int position = 0; position < own.length - 1; position++) {
            notebook.row(
                    "%-10d %8.3f %24.3f", position, length(own[position]), cosine(own[position], own[position + 1]));
        }
        notebook.pictures(
                "learned-tables-own",
                "The cosine between positions: the example's table tells the first ones apart, sinusoids treat all alike",
                2,
                List.of(
                        similarity("Learned by the example", own, own.length),
                        similarity("Sinusoids", sinusoids(own.length, own[0].length), own.length)));

        notebook.text("""
                No stripes. All vectors began as small random numbers, of about the length 0.16. The first five have become different
                from each other and from all others, and from the sixth on all have become alike. A likely reason: definitions begin
                in a few ways, *a person who*, *the act of*, *of or relating to*, so that the first words tell most about the order.
                For the rest of a sentence, *not at the beginning* is enough.

                A learned table contains what its task needs, and for some tasks that is less than a position. Two more things that
                the formula has and a table does not: the formula treats position 3 and position 300 alike, and it does not end. That of
                all-MiniLM-L6-v2 ends at position 511, and contains nothing about position 512.""");
        notebook.recap("""
                A learned table holds what its task needs: for a published model waves of four lengths and a drift, for a small
                task only the beginning of a sentence; it ends where its training ended.""");
        notebook.exercise("""
                How many numbers does a table of 4,096 positions and 4,096 dimensions learn, and how often is the row
                of the last position trained if only one text in a hundred is that long?""", """
                4,096² ≈ 16.8 million numbers. The row of the last position gets a gradient from one text in a hundred; the row
                of position 0 from every text. Far rows are the least trained.""");
        notebook.sources(
                "[Wang, Chen, What Do Position Embeddings Learn? (2020)](https://arxiv.org/abs/2010.04903)",
                "[Devlin et al., BERT (2019)](https://arxiv.org/abs/1810.04805)");
        notebook.text("""
                What a table cannot say about a new position, a function of the *distance* can:
                [Four ways to use the distance](BiasesOfDistance.html).""");
    }

    private static double[][] sinusoids(int count, int size) {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(size);
        return IntStream.range(0, count)
                .mapToObj(position -> LineChart.each(size, dimension -> encoding.value(position, dimension)))
                .toArray(double[][]::new);
    }

    private static HeatMapChart similarity(String title, double[][] table, int count) {
        return HeatMapChart.of(
                title, "position", "position", count, count, (row, column) -> cosine(table[row], table[column]));
    }

    private static double length(double[] vector) {
        return Math.sqrt(Arrays.stream(vector).map(x -> x * x).sum());
    }

    private static double cosine(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum() / length(a) / length(b);
    }

    /** The mean cosine of positions at a distance, without position 0. */
    private static double meanCosine(double[][] table, int distance) {
        return IntStream.range(1, table.length - distance)
                .mapToDouble(position -> cosine(table[position], table[position + distance]))
                .average()
                .orElseThrow();
    }

    /** The share of each wave, from the longest to the shortest: wave k fits k + 1 times into positions 1 to 511. */
    private static double[] waves(double[][] table) {
        int n = table.length - 1;
        double[] cosines = LineChart.each(n, i -> Math.cos(2 * Math.PI * i / n));
        double[] sines = LineChart.each(n, i -> Math.sin(2 * Math.PI * i / n));
        double[] sums = new double[n / 2];
        for (int dimension = 0; dimension < table[0].length; dimension++) {
            int d = dimension;
            double mean = IntStream.rangeClosed(1, n)
                    .mapToDouble(t -> table[t][d])
                    .average()
                    .orElseThrow();
            double[] column = LineChart.each(n, t -> table[t + 1][d] - mean);
            for (int k = 1; k <= n / 2; k++) {
                double real = 0;
                double imaginary = 0;
                for (int t = 0; t < n; t++) {
                    real += column[t] * cosines[k * t % n];
                    imaginary += column[t] * sines[k * t % n];
                }
                sums[k - 1] += real * real + imaginary * imaginary;
            }
        }
        double all = Arrays.stream(sums).sum();
        return Arrays.stream(sums).map(sum -> sum / all).toArray();
    }

    /** The share of the waves in a range of lengths. */
    private static double share(double[] waves, double... band) {
        return IntStream.range(0, waves.length)
                .filter(k -> 511.0 / (k + 1) >= band[0] && 511.0 / (k + 1) <= band[1])
                .mapToDouble(k -> waves[k])
                .sum();
    }
}
