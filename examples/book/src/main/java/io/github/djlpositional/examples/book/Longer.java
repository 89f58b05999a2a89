package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RotaryScaling;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;

/** Texts longer than in training: the angles of each scaling of rotary embeddings, and the losses of all kinds. */
public final class Longer {

    @SuppressWarnings("UnusedVariable") // a page shows how blocks are built
    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% turns
        Frequencies llama2 = RotaryScaling.none().frequencies(128, 10_000); // heads of 128 dimensions
        double[] turns = each(64, m -> 4096 * llama2.get(m) / (2 * Math.PI));
        long full = Arrays.stream(turns).filter(turn -> turn >= 1).count();
        // ...
        for (int m : new int[] {0, 20, 45, 46, 63}) {
            out.print("pair %2d: %9.5f turns in 4,096 tokens", m, turns[m]);
        }
        out.print("%d pairs make a full turn, %d do not", full, 64 - full);
        // %% scalings
        RotaryScaling yarn = RotaryScaling.yarn(8, 4096); // for 8 times as many tokens
        Frequencies slowed = yarn.frequencies(128, 10_000);
        // ...
        LineChart ratios = LineChart.of("Frequency with a scaling for 8 times", "pair", "scaled / unscaled");
        LineChart ends = LineChart.of("Turns in 32,768 tokens, and in training", "pair", "turns");
        for (int factor : new int[] {2, 8}) {
            out.print("%-10s %6s %9s %11s", factor + " times", "beyond", "farthest", "first pair");
            for (Map.Entry<String, RotaryScaling> scaling : scalings(factor).entrySet()) {
                Frequencies scaled = scaling.getValue().frequencies(128, 10_000);
                double[] farther = each(64, m -> factor * scaled.get(m) / llama2.get(m));
                out.print("%-10s %s %11.3f", scaling.getKey(), beyond((int) full, farther), scaled.get(0));
                if (factor == 8) {
                    ratios.line(scaling.getKey(), 64, m -> farther[m] / 8);
                    double[] slow = each(24, i -> 40 + i);
                    ends.line(scaling.getKey(), slow, each(24, i -> farther[40 + i] * turns[40 + i]));
                }
            }
        }
        ends.line(7, "trained", each(24, i -> 40 + i), each(24, i -> turns[40 + i]));
        out.pictures(2, ratios.yRange(0.0, Double.NaN), ends.yLogarithmic());
        // %% losses
        Map<String, double[]> losses = Measured.of(Measured.TEXT, "mean");
        // ...
        List<String> scaled = List.of("rotary", "rotary_linear", "rotary_ntk", "rotary_yarn");
        out.print("tokens from          33    65    97   129   225  trainings");
        for (String kind : scaled) {
            out.print("%s", row(Measured.TEXT, kind, 1, 2, 3, 4, 7));
        }
        out.picture(chart(scaled));
        // %% kinds
        List<String> kinds = losses.keySet().stream()
                .filter(kind -> !scaled.contains(kind) || kind.equals("rotary"))
                .sorted(Comparator.comparingDouble(kind -> losses.get(kind)[7] - losses.get(kind)[1]))
                .toList();
        // ...
        out.print("%-17s %5s %5s  %-15s %7s  %s", "tokens from", "33", "225", "three trainings", "change", "far");
        for (String kind : kinds) {
            double change = losses.get(kind)[7] - losses.get(kind)[1];
            out.print("%s  %9.2f  %s", row(Measured.TEXT, kind, 1, 7), change, far(kind));
        }
        out.picture(chart(List.of("none", "sinusoidal", "rotary", "t5", "alibi", "kerple", "gaussian")));
        // %% sentences
        Map<String, double[]> accuracies = Measured.of(Measured.SENTENCES, "mean");
        // ...
        out.print("%-19s %5s %5s %5s  %s", "words from", "5", "17", "25", "three trainings");
        for (String kind : accuracies.keySet().stream()
                .sorted(Comparator.comparingDouble(kind -> -accuracies.get(kind)[2]))
                .toList()) {
            out.print("%s", row(Measured.SENTENCES, kind, 0, 1, 2));
        }
        LineChart groups = LineChart.of("Four groups of kinds", "words", "mean accuracy");
        GROUPS.forEach((name, members) -> {
            double[] mean = each(
                    3,
                    size -> Arrays.stream(members.split(" "))
                            .mapToDouble(kind -> accuracies.get(kind)[size])
                            .average()
                            .orElseThrow());
            out.print("%-23s %.2f  %.2f  %.2f", name, mean[0], mean[1], mean[2]);
            groups.line(name, new double[] {10.5, 20.5, 32.5}, mean); // the middles of the ranges
        });
        groups.mark("trained", 16, 0.7, 1);
        out.picture(groups);
    }

    private static final Map<String, String> GROUPS = new TreeMap<>(Map.of(
            "direction, continues", "distance_network transformer_xl",
            "direction, untrained", "rotary t5 shaw disentangled",
            "no direction, continues", "alibi kerple kerple_power sandwich fire",
            "added to the input", "sinusoidal sinusoidal_unit sinusoidal_scaled learned"));

    private static Map<String, RotaryScaling> scalings(int factor) {
        Map<String, RotaryScaling> scalings = new LinkedHashMap<>();
        scalings.put("none", RotaryScaling.none());
        scalings.put("linear", RotaryScaling.linear(factor));
        scalings.put("NTK-aware", RotaryScaling.ntkAware(factor));
        scalings.put("YaRN", RotaryScaling.yarn(factor, 4096));
        scalings.put("Llama 3.1", RotaryScaling.llama3(factor, 1, 4, 4096));
        return scalings;
    }

    /**
     * How many pairs without a full turn reach new angles, and the farthest; relative to the angles of the training.
     */
    private static String beyond(int first, double... angles) {
        double[] slow = Arrays.copyOfRange(angles, first, angles.length);
        long count = Arrays.stream(slow).filter(angle -> angle > 1 + 1e-9).count();
        return String.format(
                Locale.ROOT, "%6d %9.2f", count, Arrays.stream(slow).max().orElseThrow());
    }

    /** The means at some sizes, and the smallest and largest of the three trainings at the last one. */
    private static String row(String file, String kind, int... sizes) {
        String name = Encoding.valueOf(kind.toUpperCase(Locale.ROOT)).title();
        StringBuilder row = new StringBuilder(String.format("%-" + (file.equals(Measured.TEXT) ? 17 : 19) + "s", name));
        for (int size : sizes) {
            row.append(String.format(
                    Locale.ROOT, " %5.2f", Measured.of(file, "mean").get(kind)[size]));
        }
        int last = sizes[sizes.length - 1];
        double smallest = Measured.of(file, "least").get(kind)[last];
        double largest = Measured.of(file, "greatest").get(kind)[last];
        return row + String.format(Locale.ROOT, "  %.2f to %.2f", smallest, largest);
    }

    private static LineChart chart(List<String> kinds) {
        LineChart chart = LineChart.of("Loss by position, trained on 64", "position", "loss");
        for (String kind : kinds) {
            String name = Encoding.valueOf(kind.toUpperCase(Locale.ROOT)).title();
            double[] loss = Measured.of(Measured.TEXT, "mean").get(kind);
            chart.line(name, each(8, i -> 32 * i + 16.5), loss);
        }
        chart.mark("trained", 64, 1.9, 4.5);
        return chart;
    }

    /** The mean share of distances of 64 and more in the weights of the last of 256 equal characters. */
    private static String far(String kind) {
        OptionalDouble share = Measured.heads("biases-text", kind).values().stream()
                .mapToDouble(bias -> {
                    double[] powers = each(256, distance -> Math.exp(bias[distance]));
                    return Arrays.stream(powers).skip(64).sum()
                            / Arrays.stream(powers).sum();
                })
                .average();
        return share.isPresent() ? String.format(Locale.ROOT, "%.2f", share.getAsDouble()) : "";
    }
}
