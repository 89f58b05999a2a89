package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Is this sentence in its original order, or are its words shuffled?
 *
 * <p>Trains small transformer encoders on the definitions of WordNet, one without and one with positions. The first
 * cannot know: its attention and its mean treat a sentence as a bag of words, so it stays at chance. The second learns.
 */
@Command(
        name = "train-encoder",
        mixinStandardHelpOptions = true,
        versionProvider = ExamplesVersion.class,
        subcommands = {JudgeSentences.class, CompareEncodings.class, ServeUnderLoad.class},
        sortOptions = false,
        description = {
            "Train small transformer encoders to tell sentences in order from shuffled ones,",
            "without and with positional encodings, and save the last one."
        })
public final class TrainEncoder implements Callable<Integer> {

    private static final List<String> SENTENCES = List.of(
            "a small domesticated animal that is kept as a pet",
            "pet a as kept is that animal domesticated small a",
            "the act of moving from one place to another",
            "place the one act to of another moving from",
            "a person who writes books",
            "books who a writes person");

    @Spec
    private CommandSpec spec;

    @Mixin
    private EngineOptions engineOptions;

    @Mixin
    private TrainingOptions trainingOptions;

    @Option(
            names = "--encoding",
            paramLabel = "KIND",
            split = ",",
            defaultValue = "none,sinusoidal",
            description = "One or more of ${COMPLETION-CANDIDATES}, separated by commas (default: ${DEFAULT-VALUE}).")
    private List<Encoding> encodings;

    @Option(
            names = "--glosses",
            paramLabel = "N",
            defaultValue = "80000",
            description = "The number of sentences to learn from (default: ${DEFAULT-VALUE}).")
    private int glosses;

    @Option(
            names = "--held-out",
            paramLabel = "N",
            defaultValue = "5000",
            description = "The number of other sentences to measure with (default: ${DEFAULT-VALUE}).")
    private int heldOut;

    @Option(
            names = "--max-words",
            paramLabel = "N",
            defaultValue = "16",
            description = "Longer sentences are cut to this (default: ${DEFAULT-VALUE}).")
    private int maxWords;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "The same seed gives the same result on the same machine (default: ${DEFAULT-VALUE}).")
    private int seed;

    @Option(
            names = "--out",
            paramLabel = "FOLDER",
            defaultValue = "model",
            description = "Where the last encoder is saved (default: ${DEFAULT-VALUE}).")
    private Path folder;

    /** How far the program is, for what an interrupt says. */
    private enum State {
        STARTED,
        TRAINING,
        SAVED,
        FINISHED
    }

    private static final AtomicReference<State> STATE = new AtomicReference<>(State.STARTED);

    /** One encoder's line in the table. */
    private record Result(Encoding encoding, double accuracy, Duration time) {}

    /**
     * Runs the program.
     *
     * @param args its options; {@code --help} lists them
     */
    public static void main(String[] args) {
        // DJL would call home once a day, and waits for an answer where there is no network
        System.setProperty("OPT_OUT_TRACKING", "true");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            if (STATE.get() != State.FINISHED) {
                System.err.println();
                System.err.println(
                        STATE.get() == State.TRAINING ? "interrupted: the model was not saved" : "interrupted");
            }
        }));
        int status = commandLine().execute(args);
        STATE.set(State.FINISHED);
        System.exit(status);
    }

    /**
     * Returns the program, which {@code execute} runs without ending the JVM.
     *
     * @return a new command line
     */
    public static CommandLine commandLine() {
        return UserError.inOneLine(new CommandLine(new TrainEncoder()).setCaseInsensitiveEnumValuesAllowed(true));
    }

    @Override
    public Integer call() throws IOException {
        requireOptions();
        PrintWriter out = spec.commandLine().getOut();
        Engine engine = engineOptions.startEngine();
        Device device = engineOptions.deviceOf(engine);
        FolderUpdate.prepare(folder);
        STATE.set(State.TRAINING);

        List<List<String>> sentences = Glosses.read(maxWords);
        Collections.shuffle(sentences, new Random(seed));
        if ((long) glosses + heldOut > sentences.size()) {
            throw new UserError(glosses + " glosses and " + heldOut + " held out are more than the " + sentences.size()
                    + " that there are: choose fewer with --glosses or --held-out");
        }
        List<List<String>> training = sentences.subList(0, glosses);
        List<List<String>> measuring = sentences.subList(glosses, glosses + heldOut);
        Vocabulary vocabulary = Vocabulary.mostFrequent(training, trainingOptions.vocabularySize());
        out.printf(
                Locale.ROOT,
                "%,d definitions from WordNet to learn from, %,d others held out; %,d token ids; %s %s on %s%n",
                training.size(),
                measuring.size(),
                vocabulary.size(),
                engine.getEngineName(),
                engine.getVersion(),
                device);

        List<Result> results = new ArrayList<>();
        TrainingLog log = TrainingLog.empty();
        for (Encoding encoding : encodings) {
            boolean last = results.size() == encodings.size() - 1;
            EncoderSpec sizes = trainingOptions.spec(encoding, vocabulary.size(), maxWords);
            out.printf("%nPositions: %s%n", encoding);
            out.flush();
            try (Model model = EncoderFolder.newModel(engine, device)) {
                results.add(train(
                        engine,
                        device,
                        sizes,
                        model,
                        trainingOptions.dataset(vocabulary, training, seed, true),
                        trainingOptions.dataset(vocabulary, measuring, seed, false),
                        log));
                if (last) {
                    printTable(out, results);
                    saveAndCompare(out, engine, device, model, sizes, vocabulary, measuring, log);
                }
            }
        }
        return 0;
    }

    private Result train(
            Engine engine,
            Device device,
            EncoderSpec sizes,
            Model model,
            WordOrderDataset training,
            WordOrderDataset measuring,
            TrainingLog log)
            throws IOException {
        long start = System.nanoTime();
        log.addAll(trainingOptions.training(engine, device, seed).train(sizes, training, model));
        double accuracy = Evaluation.of(model, measuring).accuracy();
        return new Result(sizes.encoding(), accuracy, Duration.ofNanos(System.nanoTime() - start));
    }

    private static void printTable(PrintWriter out, List<Result> results) {
        out.printf("%n%-12s %18s %8s%n", "positions", "held-out accuracy", "time");
        for (Result result : results) {
            out.printf(
                    Locale.ROOT,
                    "%-12s %18.4f %8s%n",
                    result.encoding(),
                    result.accuracy(),
                    MinutesAndSeconds.of(result.time()));
        }
        out.flush();
    }

    private void saveAndCompare(
            PrintWriter out,
            Engine engine,
            Device device,
            Model model,
            EncoderSpec sizes,
            Vocabulary vocabulary,
            List<List<String>> measuring,
            TrainingLog log)
            throws IOException {
        List<String> some = measuring.stream()
                .limit(500)
                .map(words -> String.join(" ", words))
                .toList();
        EncoderFolder.save(folder, model, sizes, vocabulary, log);
        STATE.set(State.SAVED);
        List<Double> before;
        try (SavedEncoder trained = SavedEncoder.of(model, sizes, vocabulary)) {
            before = trained.judge(some);
        }
        try (SavedEncoder loaded = SavedEncoder.load(folder, engine, device)) {
            if (!loaded.judge(some).equals(before)) {
                throw new IllegalStateException("the saved model gives other answers than the trained one");
            }
            out.printf(
                    Locale.ROOT,
                    "%nSaved to %s; loaded again, it gives the same answers to %d sentences.%n%n",
                    folder,
                    some.size());
            JudgeSentences.print(out, SENTENCES, loaded.judge(SENTENCES));
        }
    }

    private void requireOptions() {
        trainingOptions.require();
        OptionChecks.requireAtLeast(spec, "--glosses", glosses, 1);
        OptionChecks.requireAtLeast(spec, "--held-out", heldOut, 1);
        OptionChecks.requireAtLeast(spec, "--max-words", maxWords, 2);
        OptionChecks.requireAtMost(spec, "--max-words", maxWords, EncoderSpec.MOST_WORDS);
    }
}
