package io.github.djlpositional.examples;

import io.github.djlpositional.examples.EncoderTraining.Step;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The loss and the accuracy of each step of one or more trainings.
 *
 * @param lines the steps of one training after the other
 */
public record TrainingLog(List<Line> lines) {

    private static final int MEAN_OF = 20;

    /**
     * One step.
     *
     * @param encoding the encoder's kind of positional encoding
     * @param step counted from 1
     * @param loss the mean loss of the step's batch
     * @param accuracy the fraction of the batch that was classified correctly, from 0 to 1
     */
    public record Line(Encoding encoding, int step, double loss, double accuracy) {}

    static List<Line> lines(Encoding encoding, List<Step> steps) {
        return IntStream.range(0, steps.size())
                .mapToObj(i -> new Line(
                        encoding, i + 1, steps.get(i).loss(), steps.get(i).accuracy()))
                .toList();
    }

    /** Draws the mean accuracy of every {@value #MEAN_OF} steps, with a line for each training. */
    Figure figure() {
        LineChart chart =
                LineChart.of("What the encoder learned", "step", "accuracy").yRange(0.4, 1);
        Map<Encoding, List<Line>> trainings =
                lines.stream().collect(Collectors.groupingBy(Line::encoding, LinkedHashMap::new, Collectors.toList()));
        trainings.forEach((encoding, steps) -> {
            int count = (steps.size() + MEAN_OF - 1) / MEAN_OF;
            chart.line(
                    encoding == Encoding.NONE ? "without positions" : encoding.title(),
                    LineChart.each(count, i -> Math.min(steps.size(), (i + 1) * MEAN_OF)),
                    LineChart.each(
                            count,
                            i -> steps.subList(i * MEAN_OF, Math.min(steps.size(), (i + 1) * MEAN_OF)).stream()
                                    .mapToDouble(Line::accuracy)
                                    .average()
                                    .orElseThrow()));
        });
        return new Figure(1, List.of(chart));
    }

    /** Writes a heading, and a row for each step. */
    public String toCsv() {
        return lines.stream()
                .map(line -> String.format(
                        Locale.ROOT, "%s,%d,%.5f,%.5f\n", line.encoding, line.step, line.loss, line.accuracy))
                .collect(Collectors.joining("", "positions,step,loss,accuracy\n", ""));
    }

    /** Reads what {@link #toCsv} wrote. */
    public static TrainingLog parse(String csv) {
        List<Line> lines = csv.lines()
                .skip(1)
                .map(line -> line.split(",", -1))
                .map(line -> new Line(
                        Encoding.valueOf(line[0].toUpperCase(Locale.ROOT)),
                        Integer.parseInt(line[1]),
                        Double.parseDouble(line[2]),
                        Double.parseDouble(line[3])))
                .toList();
        return new TrainingLog(lines);
    }
}
