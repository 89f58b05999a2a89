package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.types.Shape;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Which kind of positional encoding learns best, and which still works on inputs that are larger than the trained ones?
 *
 * <p>Trains a small encoder with each kind, several times with different initial weights, and measures it on examples
 * that it has not seen: as large as the trained ones, and larger.
 */
@Command(
        name = "compare",
        description = "Train a small encoder with each kind of positional encoding, measure it on other examples, as"
                + " large as the trained ones and larger, and print, save and draw the table.")
final class CompareEncodings extends EngineCommand {

    @Option(
            names = "--on",
            description = "${COMPLETION-CANDIDATES}: whether a definition's words are in order, the next character of"
                    + " a play, or whether a digit's rows and columns are in order.")
    private Task task = Task.SENTENCES;

    @Option(
            names = "--encoding",
            split = ",",
            description = "One or more kinds, separated by commas. Default: all that --on has.")
    private List<String> names;

    @Option(
            names = "--examples",
            description = "The number of sentences, windows of text or pictures to learn from. Default: depends on"
                    + " --on (40000, 32000, 100).")
    private Integer examples;

    @Option(names = "--epochs", description = "The number of passes over them. Default: depends on --on (3, 1, 20).")
    private Integer epochs;

    @Option(
            names = "--seeds",
            description = "The number of trainings of each kind, with different weights and shuffles. Default: depends"
                    + " on --on (3, 3, 5).")
    private Integer seeds;

    @Option(
            names = "--quick",
            description = "Use few examples and one epoch, regardless of other options. This shows that everything"
                    + " runs; the numbers are meaningless.")
    private boolean quick;

    @Option(
            names = "--out",
            description = "The folder for the table and the picture. Default: comparison-sentences, -text, -pictures.")
    private Path folder;

    private List<Encoding> encodings;

    @Override
    protected void checkOptions() {
        encodings = names == null
                ? task.encodings()
                : names.stream().map(task::encoding).toList();
        examples = Objects.requireNonNullElse(examples, task.examples);
        epochs = Objects.requireNonNullElse(epochs, task.epochs);
        seeds = Objects.requireNonNullElse(seeds, task.seeds);
        Check.positive("--examples", examples);
        Check.positive("--epochs", epochs);
        Check.positive("--seeds", seeds);
        folder = Objects.requireNonNullElse(folder, Path.of("comparison-" + task));
        if (quick) {
            examples = Math.min(examples, task.quickExamples);
            epochs = 1;
        }
    }

    private Experiment experiment(Device device) throws IOException {
        return switch (task) {
            case SENTENCES -> new SentenceExperiment(examples, quick, device);
            case TEXT -> new TextExperiment(examples, quick);
            case PICTURES -> new PictureExperiment(examples, quick);
        };
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        Path table = folder.resolve("comparison.csv");
        AtomicFile.prepare(table);

        Experiment experiment = experiment(device);
        Experiment.Description description = experiment.description();
        out.println(description.examples());
        Comparison comparison = new Comparison(description);
        for (int seed = 1; seed <= seeds; seed++) {
            EncoderTraining training = new EncoderTraining(engine, device, seed, epochs, description.learningRate());
            for (Encoding encoding : encodings) {
                compare(encoding, experiment, training, comparison, out);
                comparison.save(table);
            }
            experiment.saveMore(folder);
        }
        comparison.print(out);
        comparison.draw(folder.resolve("comparison.svg"));
        out.printf("%nSaved to %s%n", folder);
    }

    /** Trains an encoder, and measures it on each size. */
    private static void compare(
            Encoding encoding, Experiment experiment, EncoderTraining training, Comparison comparison, PrintWriter out)
            throws IOException {
        try (Model model = Model.newInstance(
                "compared", training.device(), training.engine().getEngineName())) {
            long start = System.nanoTime();
            Minibatches examples = experiment.training(training.seed());
            Shape input = experiment.description().input();
            training.train(experiment.block(encoding), input, examples, model, batch -> {});
            Duration time = Duration.ofNanos(System.nanoTime() - start);
            long parameters = model.getBlock().getParameters().values().stream()
                    .mapToLong(parameter -> parameter.getArray().size())
                    .sum();
            for (Encoding variant : experiment.variants(encoding)) {
                Map<String, Double> measured = experiment.measure(model, variant);
                comparison.add(variant, parameters, measured);
                String numbers = measured.values().stream()
                        .map(number -> String.format(Locale.ROOT, "%.4f", number))
                        .collect(Collectors.joining(" "));
                out.printf(
                        Locale.ROOT, "%-20s seed %d: %s, %d s%n", variant, training.seed(), numbers, time.toSeconds());
            }
        }
    }
}
