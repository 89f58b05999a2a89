package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/** The errors of sinusoids and of rotary embeddings in four formats, and where they come from. */
public final class Precision {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% digits
        for (int t : new int[] {1, 100, 10_000, 999_999}) {
            out.print("position %6d: %11.8f, exact %11.8f", t, usual(FLOAT32, t, 2), EXACT.value(t, 2));
        }
        // %% errors
        Map<String, Integer> formats = new LinkedHashMap<>();
        formats.put("bfloat16", BFLOAT16);
        formats.put("float16", FLOAT16);
        formats.put("float32", FLOAT32);
        // ...
        double[] positions = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4};
        LineChart chart = LineChart.of("Largest error of the 64 values of a position", "position", "error");
        formats.forEach((name, bits) ->
                chart.line("usual, " + name, positions, errors(positions, (t, i) -> usual(bits, t, i))));
        formats.forEach((name, bits) ->
                chart.line("once, " + name, positions, errors(positions, (t, i) -> round(EXACT.value(t, i), bits))));
        chart.xLogarithmic().yLogarithmic();
        out.print("%-16s %8s %8s %8s", "position", "1", "5000", "50000");
        chart.series()
                .forEach(line ->
                        out.print("%-16s %8.1e %8.1e %8.1e", line.name(), line.y()[0], line.y()[11], line.y()[14]));
        out.picture(chart);
        // %% integers
        for (int t : new int[] {255, 256, 257, 258, 2047, 2048, 2049, 2050, 5001}) {
            out.print("%4d: %.0f in bfloat16, %.0f in float16", t, round(t, BFLOAT16), round(t, FLOAT16));
        }
        // %% neighbors
        for (int t : new int[] {1, 2001, 2048, 5001, 20_001}) {
            double usual = step((p, i) -> usual(FLOAT16, p, i), t);
            double once = step((p, i) -> round(EXACT.value(p, i), FLOAT16), t);
            out.print("from %5d to the next: usual %.3f, once %.3f", t, usual, once);
        }
        // %% rotary
        int[] starts = {100, 1000, 10_000, 50_000};
        // ...
        out.print("%-27s %7s %7s %7s %7s", "first position", "100", "1000", "10000", "50000");
        for (String format : new String[] {"bfloat16", "float16"}) {
            int bits = formats.get(format);
            row(out, format + ", every step", starts, t -> score(bits, bits, bits, t));
            row(out, format + ", float32 angles", starts, t -> score(FLOAT32, bits, bits, t));
            row(out, format + ", result only", starts, t -> score(DOUBLE, DOUBLE, bits, t));
        }
        row(out, "float32, every step", starts, t -> score(FLOAT32, FLOAT32, FLOAT32, t));
        // %% library
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(64)
                .optMaxSequenceLength(60_000)
                .build();
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        // ...
        NDArray ones = manager.ones(new Shape(1, 1, 100, 64)).toType(DataType.FLOAT16, false);
        row(out, "library, FLOAT16", starts, t -> {
            NDArray numbers = manager.arange(t - 3, t + 97);
            NDArray rows = rotary.forward(new ParameterStore(manager, false), new NDList(ones, numbers), false)
                    .head()
                    .toType(DataType.FLOAT64, false)
                    .reshape(100, 64);
            return rows.get("3:")
                            .mul(rows.get(":97"))
                            .sum(new int[] {1})
                            .sub(64 * EXACT_SCORE)
                            .abs()
                            .max()
                            .getDouble()
                    / 64;
        });
        manager.close();
    }

    /** The significant bits of the formats. */
    private static final int BFLOAT16 = 8;

    private static final int FLOAT16 = 11;
    private static final int FLOAT32 = 24;
    private static final int DOUBLE = 53;

    private static final int SIZE = 64;

    private static final SinusoidalEncoding EXACT = SinusoidalEncoding.vaswani(SIZE);

    /** The score of a vector of ones and the one 3 positions before it, divided by 64. */
    private static final double EXACT_SCORE = EXACT.similarity(3) / 32;

    /** The nearest number with so many significant bits; ties go to the one with an even last bit. */
    private static double round(double value, int bits) {
        double spacing = Math.scalb(Math.ulp(value), 53 - bits);
        return Math.rint(value / spacing) * spacing;
    }

    /** The usual formula, with every step rounded. */
    private static double usual(int bits, int position, int dimension) {
        double angle = angle(bits, position, dimension / 2);
        return round(dimension % 2 == 0 ? Math.sin(angle) : Math.cos(angle), bits);
    }

    private static double angle(int bits, int position, int pair) {
        double exponent = round(-Math.log(10_000) / SIZE * 2 * pair, bits);
        return round(round(position, bits) * round(Math.exp(exponent), bits), bits);
    }

    /** Returns the largest error of a formula at each position. */
    private static double[] errors(double[] positions, HeatMapChart.Cells formula) {
        return each(positions.length, p -> {
            int t = (int) positions[p];
            return Arrays.stream(each(SIZE, i -> Math.abs(formula.value(t, i) - EXACT.value(t, i))))
                    .max()
                    .orElseThrow();
        });
    }

    /** Returns the distance of the vectors of a position and the next one. */
    private static double step(HeatMapChart.Cells formula, int t) {
        return Math.sqrt(Arrays.stream(each(SIZE, i -> Math.pow(formula.value(t + 1, i) - formula.value(t, i), 2)))
                .sum());
    }

    /** The largest error of 97 scores, each of a vector of ones and the one 3 positions before it, divided by 64. */
    private static double score(int ofAngle, int ofTable, int ofResult, int first) {
        return Arrays.stream(each(97, n -> {
                    double sum = 0;
                    for (int m = 0; m < SIZE / 2; m++) {
                        double q = angle(ofAngle, first + n, m);
                        double k = angle(ofAngle, first + n - 3, m);
                        for (int shift = 0; shift < 2; shift++) { // cos - sin, then sin + cos
                            sum += turned(q, shift, ofTable, ofResult) * turned(k, shift, ofTable, ofResult);
                        }
                    }
                    return Math.abs(sum / 64 - EXACT_SCORE);
                }))
                .max()
                .orElseThrow();
    }

    /** One of the two dimensions of the vector (1, 1) that is turned by an angle. */
    private static double turned(double angle, int dimension, int ofTable, int ofResult) {
        double cos = round(Math.cos(angle), ofTable);
        double sin = round(Math.sin(angle), ofTable);
        return round(dimension == 0 ? cos - sin : sin + cos, ofResult);
    }

    private static void row(Notebook out, String name, int[] starts, IntToDoubleFunction error) {
        double[] e = each(starts.length, i -> error.applyAsDouble(starts[i]));
        out.print("%-27s %7.0e %7.0e %7.0e %7.0e", name, e[0], e[1], e[2], e[3]);
    }
}
