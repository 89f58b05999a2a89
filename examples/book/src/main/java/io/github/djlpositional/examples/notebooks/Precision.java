package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;

/** The errors of the usual formula and of this library, in single and in half precision. */
final class Precision {

    private static final int SIZE = 64;
    private static final SinusoidalEncoding ENCODING = SinusoidalEncoding.vaswani(SIZE);

    private Precision() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "How exact are the numbers?",
                "Why a table computed in float16 is wrong at position 5000, and how to avoid it.");
        notebook.question("""
                A model runs in float16 and its texts get longer. When do its positions go wrong, and can it be avoided?""");
        notebook.heading("Errors grow with the position");
        notebook.text("""
                Most programs compute sinusoids in float32, and lose digits at large positions. Below is their formula. Each step
                is rounded to 24 bits. The position multiplies the rounding error of the frequency. For a large position the error
                of the angle is large, and so is that of the sine.""");
        notebook.formula("PE(t, 2k) = \\sin (t \\, e^{-2k \\, \\ln(10000) / d})");
        notebook.text("Dimension 2 of 64, once with each step rounded to float32, and once exact. The digits run out:");
        for (int t : new int[] {1, 100, 10_000, 999_999}) {
            notebook.row(
                    "position %6d: %11.8f, exact %11.8f", t, usual(FloatFormat.FLOAT32, t, 2), ENCODING.value(t, 2));
        }

        notebook.heading("Both formats, both ways");
        notebook.text("""
                The greatest error of the 64 values of a position, for both formats. This library computes each value in double
                precision or better, and rounds it once, to the nearest number of the format. So its error does not grow. The last
                position is 999,999, and 50,000 for the usual formula in float16, which ends at 65,504.""");
        double[] positions = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 999_999};
        double[] halfPositions = Arrays.copyOf(positions, 15); // float16 ends at 65504
        LineChart chart = LineChart.of("Greatest error of the 64 values of a position", "position", "error");
        chart.line("usual, float16", halfPositions, errors(halfPositions, (t, i) -> usual(FloatFormat.FLOAT16, t, i)));
        chart.line("usual, float32", positions, errors(positions, (t, i) -> usual(FloatFormat.FLOAT32, t, i)));
        chart.line("library, float16", positions, errors(positions, (t, i) -> library(FloatFormat.FLOAT16, t, i)));
        chart.line("library, float32", positions, errors(positions, (t, i) -> ENCODING.table(t, 1)[i]));
        chart.xLogarithmic().yLogarithmic();
        notebook.row("%-17s %8s %8s %8s", "position", "1", "5000", "last");
        chart.series()
                .forEach(line -> notebook.row(
                        "%-17s %8.1e %8.1e %8.1e", line.name(), line.y()[0], line.y()[11], last(line.y())));
        notebook.picture("precision", "The usual formula loses digits as positions grow", chart);

        notebook.heading("Where float16 fails");
        notebook.text("""
                In float16 the position itself is rounded. Above 2048 only even numbers are left, so two neighbors get the same
                vector. Above 4096 only multiples of four are left, then of eight and so on, and from 65,520 on only infinity.""");
        for (int t : new int[] {2047, 2048, 2049, 2050, 5001, 5002, 70_000}) {
            notebook.row("%5d in float16 is %.0f", t, FloatFormat.FLOAT16.round(t));
        }

        notebook.text("""
                The remedy: compute the table once in double precision, and round the values, not the
                angles. Does an error matter? Below is what float16 does to the [rotation of a step](ShiftAsRotation.html): the
                distance of two neighbors, which should be the same everywhere.""");
        for (int t : new int[] {1, 2001, 2048, 5001, 20_001}) {
            notebook.row(
                    "from %5d to the next: usual %.3f, library %.3f",
                    t,
                    step((p, i) -> usual(FloatFormat.FLOAT16, p, i), t),
                    step((p, i) -> library(FloatFormat.FLOAT16, p, i), t));
        }
        notebook.recap("""
                In float16 the steps are visibly wrong at 2000, and from 2048 on neighbors are equal. The error of an
                angle is the position times the error of the frequency; compute in double precision, and round once.""");
        notebook.exercise("""
                bfloat16 has 8 significant bits. Up to which position is every position itself exact, and what are the first two
                different positions with the same vector?""", """
                Up to 2⁸ = 256. 257 lies in the middle between 256 and 258 and is rounded to the even one, 256: so 256 and 257 get
                the same vector. In float16, with 11 bits, it is 2048 and 2049, as above.""");
        notebook.sources("[Goldberg, What Every Computer Scientist Should Know About Floating-Point Arithmetic (1991)]"
                + "(https://doi.org/10.1145/103162.103163)");
    }

    /** Computes the usual formula, with every step rounded to a format. */
    private static double usual(FloatFormat format, int position, int dimension) {
        double exponent = format.round(-Math.log(10_000) / SIZE * (dimension - dimension % 2));
        double rate = format.round(Math.exp(exponent));
        double angle = format.round(format.round(position) * rate);
        return format.round(dimension % 2 == 0 ? Math.sin(angle) : Math.cos(angle));
    }

    private static double library(FloatFormat format, int position, int dimension) {
        return format.round(ENCODING.value(position, dimension));
    }

    /** Returns the greatest error of a formula at each position. */
    private static double[] errors(double[] positions, HeatMapChart.Cells formula) {
        return each(positions.length, p -> {
            int t = (int) positions[p];
            double[] errors = each(SIZE, i -> Math.abs(formula.value(t, i) - ENCODING.value(t, i)));
            return Arrays.stream(errors).max().getAsDouble();
        });
    }

    /** Returns the distance of the vectors of a position and the next one. */
    private static double step(HeatMapChart.Cells formula, int t) {
        double[] squares = each(SIZE, i -> Math.pow(formula.value(t + 1, i) - formula.value(t, i), 2));
        return Math.sqrt(Arrays.stream(squares).sum());
    }

    private static double last(double... values) {
        return values[values.length - 1];
    }
}
