package io.github.djlpositional.examples;

import ai.djl.metric.Metric;
import ai.djl.metric.Metrics;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.loss.Loss;
import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;

/**
 * The loss and the accuracy of each step of one or more trainings, from the metrics of the trainer.
 *
 * @param lines the steps of one training after the other
 */
public record TrainingLog(List<Line> lines) {

    private static final int MEAN_OF = 20;

    private static final CSVFormat CSV = CSVFormat.DEFAULT
            .builder()
            .setHeader("positions", "step", "loss", "accuracy")
            .setSkipHeaderRecord(true)
            .setRecordSeparator('\n')
            .get();

    /**
     * One step.
     *
     * @param encoding the encoder's kind of positional encoding
     * @param step counted from 1
     * @param loss the mean loss of the step's batch
     * @param accuracy the fraction of the batch that was classified correctly, from 0 to 1
     */
    public record Line(Encoding encoding, int step, double loss, double accuracy) {}

    /** Copies the lines. */
    public TrainingLog {
        lines = List.copyOf(lines);
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

    /** Reads the loss and the accuracy that {@link EncoderTraining} has measured at each step. */
    static TrainingLog of(Encoding encoding, Metrics metrics) {
        List<Metric> losses = metricsOf(metrics, Loss.softmaxCrossEntropyLoss());
        List<Metric> accuracies = metricsOf(metrics, new Accuracy());
        return new TrainingLog(IntStream.range(0, losses.size())
                .mapToObj(i -> new Line(
                        encoding,
                        i + 1,
                        losses.get(i).getValue().doubleValue(),
                        accuracies.get(i).getValue().doubleValue()))
                .toList());
    }

    private static List<Metric> metricsOf(Metrics metrics, Evaluator evaluator) {
        return metrics.getMetric(EvaluatorTrainingListener.metricName(evaluator, EvaluatorTrainingListener.TRAIN_ALL));
    }

    /**
     * Writes a row for each step.
     *
     * @return CSV with a heading
     */
    public String toCsv() {
        StringBuilder text = new StringBuilder(String.join(",", CSV.getHeader())).append('\n');
        lines.forEach(line -> text.append(
                String.format(Locale.ROOT, "%s,%d,%.5f,%.5f\n", line.encoding, line.step, line.loss, line.accuracy)));
        return text.toString();
    }

    /**
     * Reads what {@link #toCsv} wrote.
     *
     * @param csv CSV with a heading
     * @return the steps
     * @throws IOException if it is not CSV
     */
    public static TrainingLog parse(String csv) throws IOException {
        List<Line> lines = new ArrayList<>();
        for (CSVRecord line : CSV.parse(new StringReader(csv))) {
            lines.add(new Line(
                    Encoding.valueOf(line.get("positions").toUpperCase(Locale.ROOT)),
                    Integer.parseInt(line.get("step")),
                    Double.parseDouble(line.get("loss")),
                    Double.parseDouble(line.get("accuracy"))));
        }
        return new TrainingLog(lines);
    }
}
