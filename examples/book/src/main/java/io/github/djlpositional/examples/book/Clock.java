// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.circle;
import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.hands;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.Plots.plane;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jfree.chart.JFreeChart;

/** Sinusoids as the hands of a clock, as a formula computed by hand, and as a heat map. */
public final class Clock {

    public static void main(String... args) throws Exception {
        // %% hands
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(8);
        // ...
        List<JFreeChart> hands = new ArrayList<>();
        for (int m = 0; m < 4; m++) {
            double frequency = encoding.frequency(2 * m);
            print("pair %d: ω = %.3f, full turn in %.1f", m, frequency, 2 * Math.PI / frequency);
            hands.add(clock(encoding, m, each(7, i -> Math.rint(i / frequency))));
        }
        for (JFreeChart each : hands) {
            display(picture(each));
        }
        // %% read
        double[] positions = {25, 26, 250};
        print("pair   t = 25      t = 26     t = 250\n     sin   cos   sin   cos   sin   cos");
        for (int m : new int[] {0, 1, 2, 3}) {
            print("%d:%s", m, row(each(6, i -> encoding.value(positions[i / 2], 2 * m + i % 2))));
        }
        // ...
        List<JFreeChart> read = new ArrayList<>();
        for (int m = 0; m < 4; m++) {
            read.add(clock(encoding, m, positions));
        }
        for (JFreeChart each : read) {
            display(picture(each));
        }
        // %% hand
        double slow = Math.pow(10_000, -2 / 4.0); // d = 4, m = 1
        double[] byHand = {Math.sin(3), Math.cos(3), Math.sin(3 * slow), Math.cos(3 * slow)};
        // ...
        print("%.7f %.7f %.7f %.7f", byHand[0], byHand[1], byHand[2], byHand[3]);
        // %% library
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        PositionalEncodingBlock block =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        float[] row = block.encode(manager.create(new int[] {3})).toFloatArray();
        // ...
        print("%.7f %.7f %.7f %.7f", row[0], row[1], row[2], row[3]);
        manager.close();
        // %% map
        SinusoidalEncoding map = SinusoidalEncoding.vaswani(64);
        // ...
        display(picture(heatMap("Sinusoids", "dimension", "position t", -1, 1, 100, 64, map::value)));
        // %% waves
        for (int m : new int[] {0, 4, 8, 9, 10, 16, 24, 31}) {
            double wavelength = 2 * Math.PI / map.frequency(2 * m);
            print("pair %2d: full turn in %7.1f positions", m, wavelength);
        }
        // ...
        SinusoidalEncoding small = SinusoidalEncoding.vaswani(32);
        JFreeChart columns = lines("Pairs 3 and 4 of 16", "position t", "value");
        for (int i = 6; i < 10; i++) {
            int dimension = i;
            String name = "pair " + i / 2 + (i % 2 == 0 ? ", sine" : ", cosine");
            line(columns, name, 60, t -> small.value(t, dimension));
        }
        display(picture(columns));
        // %% unique
        double[] distances = each(2000, t -> Vectors.norm(each(64, i -> map.value(0, i) - map.value(t, i))));
        // ...
        double smallest = Arrays.stream(distances).skip(1).min().orElseThrow();
        print("from row 0 to row 1:           %.4f", distances[1]);
        print("from row 0 to row 1000:        %.4f", distances[1000]);
        print("smallest, rows 1 to 1999:      %.4f", smallest);
    }

    /** Draws a pair at some positions; hands that are close together share a label. */
    private static JFreeChart clock(SinusoidalEncoding encoding, int m, double... positions) {
        double[] x = each(positions.length, i -> encoding.value(positions[i], 2 * m + 1));
        double[] y = each(positions.length, i -> encoding.value(positions[i], 2 * m));
        String[] labels = new String[positions.length];
        for (int i = 0; i < labels.length; i++) {
            labels[i] = String.valueOf((int) positions[i]);
            if (i > 0 && Math.hypot(x[i] - x[i - 1], y[i] - y[i - 1]) < 0.2) {
                labels[i] = labels[i - 1] + "-" + labels[i];
                labels[i - 1] = "";
            }
        }
        JFreeChart chart = plane("Pair " + m, "cosine", "sine", 0, 0, 2);
        chart.removeLegend();
        circle(chart, "circle", 0, 0, 1);
        hands(chart, "hand", 0, 0, x, y, labels);
        return chart;
    }

    private static String row(double... values) {
        return Arrays.stream(values)
                .mapToObj(value -> String.format(Locale.ROOT, "%6.2f", value))
                .collect(Collectors.joining());
    }
}
