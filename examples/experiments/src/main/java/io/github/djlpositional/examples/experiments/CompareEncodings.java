package io.github.djlpositional.examples.experiments;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metrics;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Dataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.training.tracker.WarmUpTracker;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Which kind of positional encoding learns best, and which still works on inputs that are larger than the trained ones?
 *
 * <p>Trains a small transformer with each kind, several times with different initial weights, and measures it on
 * examples that it has not seen: as large as the trained ones, and larger.
 */
@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        showDefaultValues = true,
        description = "Train a small transformer with each kind of positional encoding, measure it on other examples,"
                + " as large as the trained ones and larger, and print, save and draw the table.")
final class CompareEncodings implements Callable<Integer> {

    private static final int MOST_WARM_UP_STEPS = 200;

    @Spec
    private CommandSpec spec;

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

    @Option(names = "--engine", description = "PyTorch or MXNet. Default: the one that DJL chooses.")
    private String engineName;

    @Option(names = "--device", description = "cpu, or gpu0 and so on. Default: the first GPU, if there is one.")
    private String deviceName;

    @Override
    public Integer call() throws IOException, TranslateException {
        PrintWriter out = spec.commandLine().getOut();
        Engine engine;
        Device device;
        Experiment experiment;
        List<Encoding> encodings;
        try {
            encodings = names == null
                    ? task.encodings()
                    : names.stream().map(task::encoding).toList();
            examples = positive("--examples", examples, task.examples);
            epochs = positive("--epochs", epochs, task.epochs);
            seeds = positive("--seeds", seeds, task.seeds);
            if (quick) {
                examples = Math.min(examples, task.quickExamples);
                epochs = 1;
            }
            engine = engineName == null ? Engine.getInstance() : Engine.getEngine(engineName);
            device = Device.fromName(deviceName, engine);
            if (device.isGpu() && device.getDeviceId() >= engine.getGpuCount()) {
                throw new IllegalArgumentException("--device " + deviceName + ": expected cpu, or one of the "
                        + engine.getGpuCount() + " GPUs of this machine; set another --device");
            }
            experiment = switch (task) {
                case SENTENCES -> new SentenceExperiment(examples, quick, device);
                case TEXT -> new TextExperiment(examples, quick);
                case PICTURES -> new PictureExperiment(examples, quick);
            };
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
        // before a long computation
        folder = Files.createDirectories(Objects.requireNonNullElse(folder, Path.of("comparison-" + task)));

        Experiment.Description description = experiment.description();
        out.printf("%s; %s on %s%n", description.examples(), engine.getEngineName(), device);
        Comparison comparison = new Comparison(description);
        long start = System.nanoTime();
        int trained = 0;
        for (int seed = 1; seed <= seeds; seed++) {
            for (Encoding encoding : encodings) {
                compare(encoding, experiment, engine, device, seed, comparison);
                comparison.save(folder.resolve("comparison.csv"));
                trained++;
                int left = seeds * encodings.size() - trained;
                Duration time = Duration.ofNanos((System.nanoTime() - start) / trained * left);
                out.printf("%d trainings left, %d:%02d minutes%n", left, time.toMinutes(), time.toSecondsPart());
                out.flush();
            }
            experiment.saveMore(folder);
        }
        comparison.print(out);
        comparison.draw(folder.resolve("comparison.png"));
        out.printf("%nSaved to %s%n", folder);
        return 0;
    }

    private static int positive(String name, Integer value, int byDefault) {
        if (value != null && value < 1) {
            throw new IllegalArgumentException(name + " " + value + ": expected 1 or more; set another " + name);
        }
        return Objects.requireNonNullElse(value, byDefault);
    }

    /** Trains a transformer, saves it, and measures it on each size. */
    private void compare(
            Encoding encoding, Experiment experiment, Engine engine, Device device, int seed, Comparison comparison)
            throws IOException, TranslateException {
        try (Model model = Model.newInstance(encoding.toString(), device, engine.getEngineName())) {
            long start = System.nanoTime();
            model.setBlock(experiment.block(encoding));
            Dataset training = experiment.training(seed, model.getNDManager());
            train(model, experiment.description(), training, seed, epochs);
            Duration time = Duration.ofNanos(System.nanoTime() - start);
            model.setProperty("Epoch", Integer.toString(seed));
            experiment.save(model, folder.resolve(encoding.toString()));
            long parameters = model.getBlock().getParameters().values().stream()
                    .mapToLong(parameter -> parameter.getArray().size())
                    .sum();
            for (Encoding variant : experiment.variants(encoding)) {
                Map<String, Double> measured = experiment.measure(model, variant);
                comparison.add(variant, parameters, measured);
                String numbers = measured.values().stream()
                        .map(number -> String.format(Locale.ROOT, "%.4f", number))
                        .collect(Collectors.joining(" "));
                spec.commandLine()
                        .getOut()
                        .printf("%-20s seed %d: %s, %d s%n", variant, seed, numbers, time.toSeconds());
            }
        }
    }

    /**
     * Trains a model with Adam. The learning rate rises over the first tenth of the steps, at most 200, and then
     * decreases to almost zero along a cosine.
     */
    static void train(Model model, Experiment.Description description, Dataset examples, int seed, int epochs)
            throws IOException, TranslateException {
        int steps = epochs * description.batches();
        Tracker rate = WarmUpTracker.builder()
                .optWarmUpSteps(Math.min(MOST_WARM_UP_STEPS, Math.max(1, steps / 10)))
                .setMainTracker(Tracker.cosine()
                        .setBaseValue(description.learningRate())
                        .optFinalValue(description.learningRate() / 1000)
                        .setMaxUpdates(steps)
                        .build())
                .build();
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {model.getNDManager().getDevice()})
                .optOptimizer(Optimizer.adam().optLearningRateTracker(rate).build())
                .addEvaluator(new Accuracy("accuracy", -1))
                .addTrainingListeners(TrainingListener.Defaults.logging());
        model.getNDManager().getEngine().setRandomSeed(seed);
        try (Trainer trainer = model.newTrainer(config)) {
            trainer.setMetrics(new Metrics());
            trainer.initialize(description.input());
            EasyTrain.fit(trainer, epochs, examples, null);
        }
    }
}
