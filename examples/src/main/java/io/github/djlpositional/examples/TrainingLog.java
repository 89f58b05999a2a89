package io.github.djlpositional.examples;

import ai.djl.metric.Metric;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;

/**
 * How trainings went, step by step: the trainer's own metrics, and the file {@value #FILE} that keeps them with the
 * model.
 */
public final class TrainingLog {

    private static final String FILE = "training.csv";
    private static final String POSITIONS = "positions";
    private static final String STEP = "step";
    private static final String LOSS = "loss";
    private static final String ACCURACY = "accuracy";

    private final List<Line> lines;

    private TrainingLog(List<Line> lines) {
        this.lines = lines;
    }

    /**
     * One step.
     *
     * @param encoding the kind of positions that the encoder has
     * @param step counted from 1
     * @param loss the mean loss of the step's batch
     * @param accuracy how many of the batch were right, from 0 to 1
     */
    public record Line(Encoding encoding, int step, double loss, double accuracy) {}

    /** Begins one. */
    static TrainingLog empty() {
        return new TrainingLog(new ArrayList<>());
    }

    /**
     * Returns the steps, of one training after the other.
     *
     * @return all lines
     */
    public List<Line> lines() {
        return List.copyOf(lines);
    }

    /** What a trainer has measured at each of its steps. */
    static TrainingLog of(Encoding encoding, Trainer trainer) {
        List<Line> lines = new ArrayList<>();
        List<Metric> losses = ofEachStep(trainer, trainer.getLoss());
        List<Metric> accuracies = ofEachStep(
                trainer,
                trainer.getEvaluators().stream()
                        .filter(evaluator -> evaluator != trainer.getLoss())
                        .findFirst()
                        .orElseThrow());
        for (int step = 0; step < losses.size(); step++) {
            lines.add(new Line(
                    encoding,
                    step + 1,
                    losses.get(step).getValue().doubleValue(),
                    accuracies.get(step).getValue().doubleValue()));
        }
        return new TrainingLog(lines);
    }

    /** Adds the steps of another training. */
    void addAll(TrainingLog other) {
        lines.addAll(other.lines);
    }

    private static List<Metric> ofEachStep(Trainer trainer, Evaluator evaluator) {
        return trainer.getMetrics()
                .getMetric(EvaluatorTrainingListener.metricName(evaluator, EvaluatorTrainingListener.TRAIN_ALL));
    }

    /** Writes it to a model's folder. */
    void write(Path folder) throws IOException {
        CSVFormat format = CSVFormat.DEFAULT
                .builder()
                .setHeader(POSITIONS, STEP, LOSS, ACCURACY)
                .setRecordSeparator('\n')
                .get();
        try (Writer out = Files.newBufferedWriter(folder.resolve(FILE));
                CSVPrinter csv = new CSVPrinter(out, format)) {
            for (Line line : lines) {
                csv.printRecord(
                        line.encoding(),
                        line.step(),
                        String.format(Locale.ROOT, "%.5f", line.loss()),
                        String.format(Locale.ROOT, "%.5f", line.accuracy()));
            }
        }
    }

    /**
     * Reads it from a model's folder.
     *
     * @param folder where {@code train-encoder} saved a model
     * @return what it logged
     */
    public static TrainingLog read(Path folder) {
        Path file = folder.resolve(FILE);
        CSVFormat format = CSVFormat.DEFAULT
                .builder()
                .setHeader()
                .setSkipHeaderRecord(true)
                .get();
        List<Line> lines = new ArrayList<>();
        try {
            FolderUpdate.finish(folder);
            try (Reader in = Files.newBufferedReader(file)) {
                for (CSVRecord line : format.parse(in)) {
                    lines.add(new Line(
                            Encoding.valueOf(line.get(POSITIONS).toUpperCase(Locale.ROOT)),
                            Integer.parseInt(line.get(STEP)),
                            Double.parseDouble(line.get(LOSS)),
                            Double.parseDouble(line.get(ACCURACY))));
                }
            }
        } catch (IOException | RuntimeException e) {
            throw new UserError(
                    "'" + file + "' is no log of a training (" + e + "): train a model again, with the program that"
                            + " draws it",
                    e);
        }
        return new TrainingLog(lines);
    }
}
