package io.github.djlpositional.examples;

import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;
import java.util.stream.LongStream;

/**
 * The numbers of an axis.
 *
 * @param isLogarithmic true if a power of ten has the same length everywhere
 */
record Axis(double smallest, double largest, boolean isLogarithmic) {

    /** A label beside an axis, and its place from 0 (left or bottom) to 1. */
    record Tick(double place, String label) {}

    /** Returns the axis with the ends of data where it has none, and a margin for each of them. */
    Axis fit(DoubleStream data, double margin) {
        double[] numbers =
                data.filter(number -> Double.isFinite(scaled(number))).sorted().toArray();
        double first = numbers[0];
        double last = numbers[numbers.length - 1];
        // a line of one height is in the middle
        double space = first == last ? 1 : isLogarithmic ? 0 : margin * (last - first);
        return new Axis(
                Double.isNaN(smallest) ? first - space : smallest,
                Double.isNaN(largest) ? last + space : largest,
                isLogarithmic);
    }

    private double scaled(double number) {
        return isLogarithmic ? Math.log10(number) : number;
    }

    /** Returns 0 for the smallest number and 1 for the largest. */
    double place(double number) {
        return (scaled(number) - scaled(smallest)) / (scaled(largest) - scaled(smallest));
    }

    /** Returns labels of about the given number at most: multiples of a round step, or powers of ten. */
    List<Tick> ticks(double most) {
        double from = scaled(smallest);
        double to = scaled(largest);
        double step = Math.max(isLogarithmic ? 1 : 0, roundStep((to - from) / most));
        boolean arePowers = isLogarithmic && from < -4 - 1e-9; // then all labels have the same form
        return LongStream.rangeClosed((long) Math.ceil(from / step - 1e-9), (long) Math.floor(to / step + 1e-9))
                .mapToDouble(n -> n * step)
                .mapToObj(n -> {
                    double number = isLogarithmic ? Math.pow(10, n) : n;
                    String label = arePowers ? String.format(Locale.ROOT, "1e%.0f", n) : label(number);
                    return new Tick(place(number), label.replace("-", "−"));
                })
                .toList();
    }

    /** Returns the first of 1, 2 or 5 times a power of ten that is not less. */
    static double roundStep(double smallest) {
        double power = Math.pow(10, Math.floor(Math.log10(smallest) + 1e-9));
        return DoubleStream.of(power, 2 * power, 5 * power, 10 * power)
                .filter(step -> step > smallest * (1 - 1e-9))
                .findFirst()
                .orElseThrow();
    }

    static String label(double number) {
        boolean isLong = number != 0 && (Math.abs(number) < 1e-4 || Math.abs(number) >= 1e6);
        return (isLong
                        ? String.format(Locale.ROOT, "%.0e", number).replaceFirst("e([-+])0?", "e$1")
                        : String.format(Locale.ROOT, "%,.6f", number).replaceFirst("\\.?0+$", ""))
                .replace("e+", "e")
                .replace("-", "−");
    }
}
