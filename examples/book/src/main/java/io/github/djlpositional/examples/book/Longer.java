// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.mark;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import io.github.djlpositional.examples.experiments.Encoding;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RotaryScaling;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jfree.chart.JFreeChart;

/** Texts longer than in training: the angles of each scaling of rotary embeddings, and the losses of all methods. */
public final class Longer {

    public static void main(String... args) throws Exception {
        // %% turns
        Frequencies llama2 = RotaryScaling.none().frequencies(128, 10_000); // heads of 128 dimensions
        double[] turns = each(64, m -> 4096 * llama2.get(m) / (2 * Math.PI));
        int full = (int) Arrays.stream(turns).filter(turn -> turn >= 1).count();
        // ...
        for (int m : new int[] {0, 20, 45, 46, 63}) {
            print("pair %2d: %9.5f full turns", m, turns[m]);
        }
        print("%d pairs make a full turn, %d do not", full, 64 - full);
        // %% scalings
        Map<String, RotaryScaling> scalings = new LinkedHashMap<>(); // for 8 times as many tokens
        scalings.put("none", RotaryScaling.none());
        scalings.put("linear", RotaryScaling.linear(8));
        scalings.put("NTK-aware", RotaryScaling.ntkAware(8));
        scalings.put("YaRN", RotaryScaling.yarn(8, 4096));
        scalings.put("Llama 3.1's rule", RotaryScaling.llama3(8, 1, 4, 4096));
        // ...
        JFreeChart chart = lines("Farthest angle at 8 times the length", "pair", "relative to the training");
        print("%-16s %6s %8s %6s", "", "beyond", "farthest", "first");
        scalings.forEach((name, scaling) -> {
            Frequencies scaled = scaling.frequencies(128, 10_000);
            double[] farther = each(64, m -> 8 * scaled.get(m) / llama2.get(m));
            double[] slow = Arrays.copyOfRange(farther, full, 64);
            long beyond = Arrays.stream(slow).filter(angle -> angle > 1 + 1e-9).count();
            double farthest = Arrays.stream(slow).max().orElseThrow();
            print("%-16s %6d %8.2f %6.3f", name, beyond, farthest, scaled.get(0));
            line(chart, name.equals("linear") ? "linear: as far as in the training" : name, 64, m -> farther[m]);
        });
        mark(chart, "from here on no full turn", full - 0.5, 0, 8);
        display(picture(chart));
        // %% losses
        Map<String, double[]> losses = Measured.of(Measured.TEXT, "mean");
        List<String> scaled = List.of("rotary", "rotary_linear", "rotary_ntk", "rotary_yarn");
        // ...
        print("characters   none   linear NTK    YaRN");
        for (int size = 1; size < 8; size++) {
            print("%-12s %s", 32 * size + 1 + "–" + (32 * size + 32), numbers("mean", scaled, size));
        }
        print("smallest     %s", numbers("least", scaled, 7));
        print("largest      %s", numbers("greatest", scaled, 7));
        display(picture(chart(scaled)));
        // %% kinds
        List<String> kinds = losses.keySet().stream()
                .filter(kind -> !scaled.contains(kind) || kind.equals("rotary"))
                .sorted(Comparator.comparingDouble(kind -> losses.get(kind)[7] - losses.get(kind)[1]))
                .toList();
        // ...
        print("%-13s%6s %5s %7s", "characters", "change", "33–64", "225–256");
        for (String kind : kinds) {
            double change = losses.get(kind)[7] - losses.get(kind)[1];
            print("%-14s%5.2f%s", name(kind), change, row(Measured.TEXT, kind, 1, 7));
        }
        display(picture(chart(List.of("none", "sinusoidal", "rotary", "t5", "alibi", "kerple", "gaussian"))));
        // %% sentences
        Map<String, double[]> accuracies = Measured.of(Measured.SENTENCES, "mean");
        // ...
        print("%-14s %4s %5s", "words", "5–16", "25–40");
        for (String kind : accuracies.keySet().stream()
                .sorted(Comparator.comparingDouble(kind -> -accuracies.get(kind)[2]))
                .toList()) {
            print("%-14s%s", name(kind), row(Measured.SENTENCES, kind, 0, 2));
        }
    }

    private static String name(String kind) {
        String title = Encoding.valueOf(kind.toUpperCase(Locale.ROOT)).title();
        return title.replace("distance ", "").replace("sinusoidal, ", "sine, ");
    }

    private static String numbers(String statistic, List<String> kinds, int size) {
        Map<String, double[]> rows = Measured.of(Measured.TEXT, statistic);
        double[] n = each(4, i -> rows.get(kinds.get(i))[size]);
        return String.format(Locale.ROOT, "%.2f   %.2f   %.2f   %.2f", n[0], n[1], n[2], n[3]);
    }

    /** The means at some sizes, and the smallest and largest of the three trainings at the last one. */
    private static String row(String file, String kind, int... sizes) {
        StringBuilder row = new StringBuilder();
        for (int size : sizes) {
            row.append(String.format(
                    Locale.ROOT, "%5.2f", Measured.of(file, "mean").get(kind)[size]));
        }
        int last = sizes[sizes.length - 1];
        double smallest = Measured.of(file, "least").get(kind)[last];
        double largest = Measured.of(file, "greatest").get(kind)[last];
        return row + String.format(Locale.ROOT, " %.2f–%.2f", smallest, largest);
    }

    private static JFreeChart chart(List<String> kinds) {
        JFreeChart chart = lines("Loss by position, trained on 64", "position", "loss");
        for (String kind : kinds) {
            double[] loss = Measured.of(Measured.TEXT, "mean").get(kind);
            line(chart, name(kind), each(8, i -> 32 * i + 16.5), loss);
        }
        mark(chart, "end of the trained length (64)", 64, 1.9, 4.5);
        return chart;
    }
}
