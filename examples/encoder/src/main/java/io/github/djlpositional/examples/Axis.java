package io.github.djlpositional.examples;

import java.util.Arrays;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * The numbers of an axis.
 *
 * @param isLogarithmic true if a power of ten has the same length everywhere
 */
record Axis(double least, double greatest, boolean isLogarithmic) {

    /** Returns the axis with the ends of data where it has none, and a margin for each of them. */
    Axis fit(double[] data, double margin) {
        double[] numbers = Arrays.stream(data)
                .filter(number -> Double.isFinite(number) && (!isLogarithmic || number > 0))
                .sorted()
                .toArray();
        double first = numbers[0];
        double last = numbers[numbers.length - 1];
        // a line of one height is in the middle
        double space = first == last ? 1 : isLogarithmic ? 0 : margin * (last - first);
        return new Axis(
                Double.isNaN(least) ? first - space : least,
                Double.isNaN(greatest) ? last + space : greatest,
                isLogarithmic);
    }

    /** Returns 0 for the least number and 1 for the greatest. */
    double place(double number) {
        return isLogarithmic
                ? Math.log(number / least) / Math.log(greatest / least)
                : (number - least) / (greatest - least);
    }

    /**
     * Returns round numbers whose labels do not touch.
     *
     * @param length the length of the axis
     * @param space the space that the label of a number needs
     */
    double[] ticks(double length, ToDoubleFunction<String> space) {
        int power = (int) Math.floor(Math.log10((greatest - least) / 100));
        for (int i = 0; ; i++) {
            double[] ticks = isLogarithmic ? powers(i + 1) : multiples(roundStep(power, i));
            double widest = Arrays.stream(ticks)
                    .mapToObj(this::label)
                    .mapToDouble(space)
                    .max()
                    .orElse(0);
            if (ticks.length < 2 || widest * (ticks.length - 1) < length) {
                return ticks;
            }
        }
    }

    /** Returns 1, 2 or 5 times a power of ten, increasing with i. */
    static double roundStep(int power, int i) {
        return new double[] {1, 2, 5}[i % 3] * Math.pow(10, power + Math.floorDiv(i, 3));
    }

    private double[] multiples(double step) {
        long first = (long) Math.ceil(least / step - 1e-9);
        long last = (long) Math.floor(greatest / step + 1e-9);
        return LongStream.rangeClosed(first, last)
                .mapToDouble(n -> step >= 1 ? n * step : n / Math.rint(1 / step))
                .toArray();
    }

    private double[] powers(int step) {
        int first = (int) Math.ceil(Math.log10(least) - 1e-9);
        int last = (int) Math.floor(Math.log10(greatest) + 1e-9);
        return IntStream.rangeClosed(first, last)
                .filter(power -> Math.floorMod(power, step) == 0)
                .mapToDouble(power -> Math.pow(10, power))
                .toArray();
    }

    String label(double number) {
        if (isLogarithmic && (number < 1e-3 || number > 1e5)) {
            return "10"
                    + Long.toString(Math.round(Math.log10(number)))
                            .chars()
                            .mapToObj(c -> c == '-' ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹".substring(c - '0', c - '0' + 1))
                            .collect(Collectors.joining());
        }
        return String.format(Locale.ROOT, "%,.6f", number)
                .replaceFirst("\\.?0+$", "")
                .replace("-", "−");
    }
}
