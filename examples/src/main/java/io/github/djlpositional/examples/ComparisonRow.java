package io.github.djlpositional.examples;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * What the runs with one kind of positions have in common.
 *
 * @param encoding the kind
 * @param accuracies one for each length
 * @param parameters the number of trained numbers
 * @param trainingSeconds the median
 * @param inferenceMillis for 1000 sentences, the median
 */
record ComparisonRow(
        Encoding encoding,
        Map<LengthClass, Spread> accuracies,
        long parameters,
        double trainingSeconds,
        double inferenceMillis) {

    /**
     * Some numbers' mean and range.
     *
     * @param mean the mean
     * @param least the smallest
     * @param greatest the greatest
     */
    record Spread(double mean, double least, double greatest) {

        static Spread of(List<ComparisonRun> runs, ToDoubleFunction<ComparisonRun> number) {
            var summary = runs.stream().mapToDouble(number).summaryStatistics();
            return new Spread(summary.getAverage(), summary.getMin(), summary.getMax());
        }

        /** Half of the range. */
        double half() {
            return (greatest - least) / 2;
        }

        @Override
        public String toString() {
            return String.format(Locale.ROOT, "%.3f ± %.3f", mean, half());
        }
    }

    /** The middle one, of an even number the upper: what else the machine did in one run does not move it. */
    private static double median(List<ComparisonRun> runs, ToDoubleFunction<ComparisonRun> number) {
        return runs.stream().mapToDouble(number).sorted().toArray()[Math.floorDiv(runs.size(), 2)];
    }

    /** One row for each kind, in the order of the runs. */
    static List<ComparisonRow> of(List<ComparisonRun> runs) {
        Map<Encoding, List<ComparisonRun>> byKind = new LinkedHashMap<>();
        runs.forEach(run -> byKind.computeIfAbsent(run.encoding(), kind -> new ArrayList<>())
                .add(run));
        return byKind.entrySet().stream()
                .map(entry -> of(entry.getKey(), entry.getValue()))
                .toList();
    }

    private static ComparisonRow of(Encoding encoding, List<ComparisonRun> runs) {
        Map<LengthClass, Spread> accuracies = new EnumMap<>(LengthClass.class);
        for (LengthClass length : LengthClass.values()) {
            accuracies.put(
                    length, Spread.of(runs, run -> run.evaluations().get(length).accuracy()));
        }
        return new ComparisonRow(
                encoding,
                accuracies,
                runs.get(0).parameters(),
                median(runs, ComparisonRun::trainingSeconds),
                median(runs, ComparisonRun::inferenceMillis));
    }
}
