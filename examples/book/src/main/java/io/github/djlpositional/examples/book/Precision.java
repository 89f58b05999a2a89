// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.logarithmicX;
import static io.github.djlpositional.examples.Plots.logarithmicY;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jfree.chart.JFreeChart;

/** The errors of sinusoids and of rotary embeddings in four formats, and where they come from. */
public final class Precision {

    public static void main(String... args) throws Exception {
        // %% digits
        for (int t : new int[] {1, 100, 10_000, 999_999}) {
            print("%6d: %11.8f, exact %11.8f", t, usual(FLOAT32, t, 2), EXACT.value(t, 2));
        }
        // %% errors
        Map<String, Integer> formats = new LinkedHashMap<>();
        formats.put("bfloat16", BFLOAT16);
        formats.put("float16", FLOAT16);
        formats.put("float32", FLOAT32);
        // ...
        double[] positions = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4};
        JFreeChart chart = lines("Largest error of the 64 values of a position", "position", "error");
        print("%-15s%8s%8s%8s", "position", "1", "5000", "50000");
        for (String way : new String[] {"usual, ", "once, "}) {
            formats.forEach((name, bits) -> {
                double[] error = each(positions.length, p -> {
                    int t = (int) positions[p];
                    return largest(each(64, i -> {
                        double value = way.startsWith("usual") ? usual(bits, t, i) : round(EXACT.value(t, i), bits);
                        return value - EXACT.value(t, i);
                    }));
                });
                print("%-15s%8.1e%8.1e%8.1e", way + name, error[0], error[11], error[14]);
                line(chart, way + name, positions, error);
            });
        }
        logarithmicX(chart);
        logarithmicY(chart);
        display(picture(chart));
        // %% integers
        for (int t : new int[] {255, 256, 257, 258, 2047, 2048, 2049, 2050, 5001}) {
            print("%4d: %.0f in bfloat16, %.0f in float16", t, round(t, BFLOAT16), round(t, FLOAT16));
        }
        // %% rotary
        // ...
        int[] starts = {100, 1000, 10_000, 50_000};
        print("%-16s%6s%6s%6s%6s", "first position", "100", "1000", "10000", "50000");
        formats.forEach((name, bits) -> {
            for (int ofAngle : bits == FLOAT32 ? new int[] {FLOAT32} : new int[] {bits, FLOAT32}) {
                String row = ofAngle == bits ? name : "  float32 angles";
                double[] e = each(4, i -> largest(each(97, n -> score(ofAngle, bits, starts[i] + n) - EXACT_SCORE)));
                print("%-16s%6.0e%6.0e%6.0e%6.0e", row, e[0], e[1], e[2], e[3]);
            }
        });
        // %% buffer
        for (int distance : new int[] {10, 100, 1000, 10_000}) {
            double exact = Vectors.mean(each(32, m -> Math.cos(frequency(m) * distance)));
            double cast = Vectors.mean(each(32, m -> Math.cos(round(frequency(m), BFLOAT16) * distance)));
            print("Δ = %5d: %6.3f, exact %6.3f", distance, cast, exact);
        }
    }

    /** The significant bits of the formats. */
    private static final int BFLOAT16 = 8;

    private static final int FLOAT16 = 11;
    private static final int FLOAT32 = 24;

    private static final SinusoidalEncoding EXACT = SinusoidalEncoding.vaswani(64);

    /** The score of a vector of ones and the one 3 positions before it, divided by 64. */
    private static final double EXACT_SCORE = EXACT.similarity(3) / 32;

    /** The nearest number with so many significant bits; ties go to the one with an even last bit. */
    private static double round(double value, int bits) {
        double spacing = Math.scalb(Math.ulp(value), 53 - bits);
        return Math.rint(value / spacing) * spacing;
    }

    private static double frequency(int m) {
        return Math.pow(10_000, -m / 32.0);
    }

    /** The usual formula, with every step rounded. */
    private static double usual(int bits, int t, int dimension) {
        double angle = angle(bits, t, dimension / 2);
        return round(dimension % 2 == 0 ? Math.sin(angle) : Math.cos(angle), bits);
    }

    private static double angle(int bits, int t, int m) {
        double exponent = round(-Math.log(10_000) / 64 * 2 * m, bits);
        return round(round(t, bits) * round(Math.exp(exponent), bits), bits);
    }

    private static double largest(double... errors) {
        return Arrays.stream(errors).map(Math::abs).max().orElseThrow();
    }

    /** The score of a vector of ones at a position and one 3 positions before it, divided by 64. */
    private static double score(int ofAngle, int bits, int t) {
        double[] q = rotated(ofAngle, bits, t);
        return Vectors.dot(q, rotated(ofAngle, bits, t - 3)) / 64;
    }

    /** A vector of 64 ones, rotated: cos - sin of each pair, then sin + cos. */
    private static double[] rotated(int ofAngle, int bits, int t) {
        return each(64, i -> {
            double angle = angle(ofAngle, t, i / 2);
            double cos = round(Math.cos(angle), bits);
            double sin = round(Math.sin(angle), bits);
            return round(i % 2 == 0 ? cos - sin : sin + cos, bits);
        });
    }
}
