package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Locale;
import java.util.stream.IntStream;

/** How to read the heat map of sinusoidal encodings: its rows, its columns, and its right half. */
final class HeatMap {

    private HeatMap() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("The picture that everyone knows", "The table of sinusoids, row by row and column by column.");
        notebook.question("""
                Every introduction shows this picture. What can one see in it, and what not?""");
        notebook.heading("Rows are positions");
        notebook.text("""
                [The clock](SinesAsAClock.html) gave each position the points of its hands. Here they are side by side:
                the encodings of 100 positions in 64 dimensions. Each row is a position, from 0 at the top. It is the vector that
                is added to the word at this position. Each column is a dimension.""");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(64);
        notebook.picture(
                "heat-map",
                "100 positions in 64 dimensions, from -1 (blue) to 1 (red)",
                HeatMapChart.of("Sinusoidal encodings", "dimension", "position", 100, 64, encoding::value));

        notebook.text("""
                Point at a cell to read its number.""");
        notebook.play("heatmap");

        notebook.text("""
                Row 0 is striped: the angle of every hand is 0, so sines are 0 and cosines are 1. In row 1, the first hand has
                turned far, and the last is where it was.""");
        for (int position : new int[] {0, 1}) {
            double[] row = each(64, dimension -> encoding.value(position, dimension));
            notebook.row("position %d begins with %s", position, four(row, 0));
            notebook.row("           ends with   %s", four(row, 60));
        }

        notebook.heading("Columns are waves");
        notebook.text("""
                A column is a wave. Waves become longer to the right, from 6 positions to 47,000. In the right half,
                a wave is much longer than the 100 rows of the picture, and the last columns hardly change here. They change
                over tens of thousands of positions.""");
        for (int dimension : new int[] {0, 8, 16, 24, 32, 40, 48, 62}) {
            double wavelength = 2 * Math.PI / encoding.frequency(dimension);
            notebook.row("dimension %2d: a wave of %7.1f positions", dimension, wavelength);
        }

        notebook.text("""
                Four neighboring columns as curves, in 32 dimensions. Dimensions 6 and 7 are the sine and the cosine of one
                angle, a quarter of a wave apart. Dimensions 8 and 9 are the next pair, with longer waves.""");
        SinusoidalEncoding small = SinusoidalEncoding.vaswani(32);
        LineChart columns = LineChart.of("Dimensions 6 to 9 of 32", "position", "value");
        for (int dimension = 6; dimension <= 9; dimension++) {
            int current = dimension;
            columns.line(
                    dimension + (dimension % 2 == 0 ? " (sine)" : " (cosine)"),
                    60,
                    position -> small.value(position, current));
        }
        notebook.picture("heat-map-columns", "Two pairs of a sine and a cosine", columns);

        notebook.heading("No row occurs twice");
        notebook.text("""
                Are there two positions with the same row? The left columns come back close to the same values again and
                again. But of 2000 rows no two are equal. None are nearer to each other than neighbors are. No
                eye sees this in the picture; the table shows it.""");
        float[] table = encoding.table(0, 2000);
        double least = Double.MAX_VALUE;
        for (int a = 0; a < 2000; a++) {
            for (int b = a + 1; b < 2000; b++) {
                least = Math.min(least, distance(table, a, b));
            }
        }
        notebook.row("least distance of any two positions:  %.4f", least);
        notebook.row("distance of positions 1000 and 1001:  %.4f", distance(table, 1000, 1001));
        notebook.row("distance of positions 0 and 1000:     %.4f", distance(table, 0, 1000));

        notebook.recap("""
                A row is the vector that is added to a word; a column is a wave; the left half tells neighbors apart,
                the right half tells far positions apart in a very long text.""");
        notebook.exercise(
                """
                In the 64 dimensions of the map, how many pairs make at least one full turn within 100 positions? What do the other
                dimensions do in a text of 100 words?""",
                String.format(
                        Locale.ROOT,
                        "%d of 32 pairs: pair 9 needs 83.8 positions for a turn, pair 10 already 111.7. The others change slowly or hardly at all: the last ones add nearly the same numbers"
                                + " to every word. The [next chapter](AddedToAWord.html) makes use of that.",
                        IntStream.range(0, 32)
                                .filter(pair -> 100 * encoding.frequency(2 * pair) >= 2 * Math.PI)
                                .count()));
        notebook.sources(
                "[Vaswani et al., Attention Is All You Need (2017), section 3.5](https://arxiv.org/abs/1706.03762)");
        notebook.text("""
                These rows are added to words. [What does that do to a word?](AddedToAWord.html)""");
    }

    private static String four(double[] row, int from) {
        return String.format("%7.4f %7.4f %7.4f %7.4f", row[from], row[from + 1], row[from + 2], row[from + 3]);
    }

    /** Returns the distance of two rows of a table with 64 columns. */
    private static double distance(float[] table, int a, int b) {
        double sum = 0;
        for (int i = 0; i < 64; i++) {
            double difference = table[64 * a + i] - table[64 * b + i];
            sum += difference * difference;
        }
        return Math.sqrt(sum);
    }
}
