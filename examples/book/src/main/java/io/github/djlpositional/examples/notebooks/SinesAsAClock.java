package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import ai.djl.ndarray.NDManager;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Sinusoids as the hands of a clock, as a formula, and computed by hand. */
final class SinesAsAClock {

    private SinesAsAClock() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("Sines as a clock", "A position as the hands of clocks, from a fast one to a very slow one.");
        notebook.question("""
                [Smooth bits](FirstIdeas.html) repeat at different speeds. How does one read a position from them?""");
        notebook.heading("Four hands");
        notebook.text("""
                A clock shows the time with hands that turn at different speeds. The second hand tells near times apart, the hour
                hand far ones, and no hand ever jumps. Sinusoidal encodings do this with positions. Each pair of dimensions is
                the point of a hand. The angle begins at the right and grows counterclockwise, so the point is the cosine and
                the sine of the angle.

                With 8 dimensions there are 4 hands. The first turns by 1 radian a position, and each of the others ten times
                slower than the one before. The numbers in the picture are positions.""");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(8);
        List<LineChart> hands = new ArrayList<>();
        for (int pair = 0; pair < 4; pair++) {
            double speed = encoding.frequency(2 * pair);
            notebook.row("pair %d: %.3f radians a step, a turn in %.1f steps", pair, speed, 2 * Math.PI / speed);
            double[] positions = each(7, i -> Math.rint(i / speed));
            hands.add(clock("Pair " + pair, encoding, pair, positions));
        }
        notebook.pictures(
                "sines-as-a-clock-hands",
                "The four hands of an encoding with 8 dimensions, at different positions: each is ten times slower than the one before",
                2,
                hands);

        notebook.text("""
                To read a position, begin with the slowest hand: it says roughly where. Each faster hand makes this
                more exact, as the minute hand does for the hour hand. From 25 to 26 pair 0 turns by 57 degrees; pair
                2 turns by half a degree only, but it is elsewhere at position 250. In the rows below, each hand has
                two numbers, its sine and its cosine, each rounded to two decimals.""");
        notebook.row("     pair 0      pair 1      pair 2      pair 3");
        for (double position : new double[] {25, 26, 250}) {
            notebook.row("%3.0f: %s", position, rounded(each(8, i -> encoding.value(position, i))));
        }
        List<LineChart> read = new ArrayList<>();
        for (int pair = 0; pair < 4; pair++) {
            read.add(clock("Pair " + pair, encoding, pair, 25, 26, 250));
        }
        notebook.pictures("sines-as-a-clock-read", "Positions 25, 26 and 250, read from the four hands", 2, read);

        notebook.text("""
                Move the position and watch the hands; here each is named by its two dimensions. A larger *base*, the
                10000 of the formula below, makes all hands but the first slower.""");
        notebook.play("sinusoids");
        notebook.heading("Why a sine and a cosine?");
        notebook.text("""
                Why two numbers for a hand? The sine is only the height of its point, and two points of a circle have the same
                height. In dimension 100 of 512, positions 22 and 35 have nearly the same sine, but different cosines. Positions
                16 and 22 have nearly the same cosine, but different sines.""");
        SinusoidalEncoding large = SinusoidalEncoding.vaswani(512);
        for (double position : new double[] {16, 22, 35}) {
            notebook.row(
                    "position %.0f: sine %+.4f, cosine %+.4f",
                    position, large.value(position, 100), large.value(position, 101));
        }
        notebook.picture(
                "sines-as-a-clock-pair",
                "22 and 35 have nearly the same height; 22 is nearly below 16",
                clock("Dimensions 100 and 101 of 512", large, 50, 16, 22, 35));

        notebook.heading("The formula, by hand");
        notebook.text("""
                As a formula (Vaswani et al., *Attention Is All You Need*, 2017), with *t* for the position, *d* for the number of
                dimensions and *k* for the pair:""");
        notebook.formula("PE(t, 2k) = \\sin \\, \\frac{t}{10000^{2k/d}}");
        notebook.formula("PE(t, 2k + 1) = \\cos \\, \\frac{t}{10000^{2k/d}}");
        notebook.text("Position 3 with 4 dimensions, by hand:");
        double[] byHand = new double[4];
        for (int pair = 0; pair < 2; pair++) {
            double divisor = Math.pow(10_000, 2 * pair / 4.0);
            double angle = 3 / divisor;
            byHand[2 * pair] = Math.sin(angle);
            byHand[2 * pair + 1] = Math.cos(angle);
            notebook.row("pair %d: 10000^(%d/4) = %.0f, angle 3/%3$.0f = %.4f", pair, 2 * pair, divisor, angle);
            notebook.row("        sin = %.10f, cos = %.10f", byHand[2 * pair], byHand[2 * pair + 1]);
        }

        notebook.text(
                "The library has the same numbers, as a function of plain Java and as a block that returns floats:");
        SinusoidalEncoding small = SinusoidalEncoding.vaswani(4);
        double[] computed = each(4, i -> small.value(3, i));
        notebook.result("SinusoidalEncoding", Arrays.toString(computed));
        NDManager manager = NDManager.newBaseManager();
        PositionalEncodingBlock block =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        float[] encoded = block.encode(manager.create(new int[] {3})).toFloatArray();
        manager.close();
        notebook.result("PositionalEncodingBlock", Arrays.toString(encoded));
        double[] differences = each(4, i -> Math.abs(computed[i] - byHand[i]));
        notebook.result(
                "SinusoidalEncoding, greatest difference from the numbers by hand",
                Arrays.stream(differences).max().getAsDouble());

        notebook.recap("""
                Each pair of dimensions is a hand of a clock; fast hands tell neighbors apart, slow ones tell far positions
                apart.""");
        notebook.exercise("""
                With 4 dimensions, the hands turn by 1 and by 1/100 radian a step. After how many positions is the
                slower hand back at its start? Can two positions below that have the same vector?""", String.format(Locale.ROOT, """
                        After 2π · 100 = %.1f positions. Two whole numbers below that never have the same vector: the second hand
                        is at different angles for all of them.""", 2 * Math.PI / small.frequency(2)));
        notebook.sources(
                "[Vaswani et al., Attention Is All You Need (2017), section 3.5](https://arxiv.org/abs/1706.03762)");
        notebook.text("""
                All hands at all positions in one picture: [the heat map](HeatMap.html).""");
    }

    /** Draws a pair of dimensions at some positions; hands that are close together share a label. */
    private static LineChart clock(String title, SinusoidalEncoding encoding, int pair, double... positions) {
        double[] x = each(positions.length, i -> encoding.value(positions[i], 2 * pair + 1));
        double[] y = each(positions.length, i -> encoding.value(positions[i], 2 * pair));
        String[] labels = new String[positions.length];
        for (int i = 0; i < labels.length; i++) {
            labels[i] = String.format("%.0f", positions[i]);
            if (i > 0 && Math.hypot(x[i] - x[i - 1], y[i] - y[i - 1]) < 0.2) {
                labels[i] = labels[i - 1] + "-" + labels[i];
                labels[i - 1] = "";
            }
        }
        LineChart chart = LineChart.plane(title, "cosine", "sine", 0, 0, 2.1);
        chart.hideLegend();
        chart.circle("circle", 0, 0, 1);
        chart.hands("hand", 0, 0, x, y, labels);
        return chart;
    }

    private static String rounded(double... values) {
        StringBuilder row = new StringBuilder();
        for (double value : values) {
            row.append(String.format("%6.2f", value));
        }
        return row.toString();
    }
}
