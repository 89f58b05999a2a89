package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.SinusoidalEncoding;
import org.knowm.xchart.XYChart;

/** The errors of the usual formula and of this library, in single and in half precision. */
final class Precision {

    private static final int SIZE = 64;
    private static final int[] POSITIONS = {
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 999_999
    };

    private Precision() {}

    /** Computes the usual formula, with every step rounded to a format. */
    private static double usual(FloatFormat format, int position, int dimension) {
        double exponent = format.round(-Math.log(10_000) / SIZE * (dimension - dimension % 2));
        double rate = format.round(Math.exp(exponent));
        double angle = format.round(format.round(position) * rate);
        return format.round(dimension % 2 == 0 ? Math.sin(angle) : Math.cos(angle));
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("Precision");
        notebook.text("""
                Most programs compute sin(t · exp(-ln 10000 · 2k/d)) in single precision. The position multiplies the rounding
                error of the frequency, which for large positions becomes a large angle.""");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);
        double[] x = Drawing.each(POSITIONS.length, i -> POSITIONS[i]);
        double[][] errors = new double[4][POSITIONS.length];
        for (int i = 0; i < POSITIONS.length; i++) {
            int position = POSITIONS[i];
            float[] table = encoding.table(position, 1);
            for (int dimension = 0; dimension < SIZE; dimension++) {
                double exact = encoding.value(position, dimension);
                worse(errors[0], i, usual(FloatFormat.FLOAT16, position, dimension) - exact);
                worse(errors[1], i, usual(FloatFormat.FLOAT32, position, dimension) - exact);
                worse(errors[2], i, FloatFormat.FLOAT16.round(exact) - exact);
                worse(errors[3], i, table[dimension] - exact);
            }
        }
        notebook.row(
                "%8s  %14s %14s %14s %14s", "position", "usual fp16", "usual fp32", "library fp16", "library fp32");
        for (int i = 0; i < POSITIONS.length; i++) {
            notebook.row(
                    "%8d  %14.1e %14.1e %14.1e %14.1e",
                    POSITIONS[i], errors[0][i], errors[1][i], errors[2][i], errors[3][i]);
        }
        XYChart chart = Drawing.lines("Greatest error of the 64 values of a position", "position", "error");
        String[] names = {"usual, float16", "usual, float32", "this library, float16", "this library, float32"};
        for (int i = 0; i < names.length; i++) {
            Drawing.line(chart, names[i], x, errors[i]);
        }
        chart.getStyler().setXAxisLogarithmic(true).setYAxisLogarithmic(true);
        notebook.picture(
                "precision",
                "The usual formula loses digits as positions grow; this library rounds each value once",
                chart);
    }

    private static void worse(double[] errors, int index, double error) {
        // half precision has no positions beyond 65504; a logarithmic axis has no 0
        double size = Double.isNaN(error) ? 1 : Math.max(1e-10, Math.abs(error));
        errors[index] = Math.max(errors[index], size);
    }
}
