package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.EncoderTraining.Step;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Is this sentence in its original order, or are its words shuffled?
 *
 * <p>Trains small transformer encoders on the definitions of WordNet, one without and one with positions. The first
 * cannot know: its attention and its mean treat a sentence as a bag of words, so it gives both orders the same score.
 * The second learns.
 */
@Command(
        name = "train-encoder",
        subcommands = {
            JudgeSentences.class,
            InspectEncoder.class,
            CompareEncodings.class,
        },
        description = "Train small transformer encoders to distinguish sentences in order from shuffled ones, "
                + "without and with positional encodings, and save the last one.")
public final class TrainEncoder extends EngineCommand {

    private static final List<String> SENTENCES = List.of(
            "a small domesticated animal that is kept as a pet",
            "pet a as kept is that animal domesticated small a",
            "the act of moving from one place to another",
            "place the one act to of another moving from",
            "a person who writes books",
            "books who a writes person");

    private static final int PROOF_STEPS = 100;

    private static final int MEAN_OF = 20;

    @Mixin
    private TrainingOptions options;

    @Option(
            names = "--encoding",
            split = ",",
            description = "One or more kinds, separated by commas, such as rotary or alibi; an unknown one lists all.")
    private List<String> names = List.of("none", "sinusoidal");

    @Option(names = "--glosses", description = "The number of sentences for training.")
    private int glosses = 20_000;

    @Option(names = "--held-out", description = "The number of other sentences, for measuring.")
    private int heldOut = 5000;

    @Option(names = "--max-words", description = "Longer sentences are cut to this number of words.")
    private int maxWords = 16;

    @Option(names = "--seed", description = "The same seed gives the same result on the same machine.")
    private int seed = 1;

    @Option(names = "--out", description = "The file for the last encoder, a zip.")
    private Path file = Path.of("model.zip");

    private List<Encoding> encodings;

    /** Runs the program; {@code --help} lists the options. */
    public static void main(String[] args) {
        Program.optOutOfTracking();
        System.exit(commandLine().execute(args));
    }

    /** Returns the program, which {@code execute} runs without ending the JVM. */
    public static CommandLine commandLine() {
        return Program.commandLine(new TrainEncoder());
    }

    @Override
    protected void checkOptions() {
        options.check();
        encodings = names.stream().map(Task.SENTENCES::encoding).toList();
        Check.positive("--glosses", glosses);
        Check.positive("--held-out", heldOut);
        for (Encoding encoding : encodings) {
            // checks the sizes, also those of the encoding
            new TransformerEncoder(options.spec(encoding, options.vocabularySize, maxWords));
        }
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        options.chooseFor(device);
        AtomicFile.prepare(file);

        List<List<String>> sentences = Glosses.read(maxWords);
        Collections.shuffle(sentences, new Random(seed));
        if ((long) glosses + heldOut > sentences.size()) {
            throw new UserError(glosses + " glosses and " + heldOut + " held out: expected at most " + sentences.size()
                    + " in total; use fewer with --glosses or --held-out");
        }
        List<List<String>> training = sentences.subList(0, glosses);
        List<List<String>> measuring = sentences.subList(glosses, glosses + heldOut);
        Vocabulary vocabulary = Vocabulary.mostFrequent(training, options.vocabularySize);
        out.printf(
                Locale.ROOT,
                "%,d definitions from WordNet to learn from, %,d others held out; %,d token ids; %s %s on %s%n",
                training.size(),
                measuring.size(),
                vocabulary.size(),
                engine.getEngineName(),
                engine.getVersion(),
                device);

        List<String> rows = new ArrayList<>();
        Map<Encoding, List<Step>> log = new LinkedHashMap<>();
        WordOrderDataset test = options.dataset(vocabulary, measuring, seed, false);
        for (Encoding encoding : encodings) {
            EncoderSpec sizes = options.spec(encoding, vocabulary.size(), maxWords);
            out.printf("%nPositions: %s%n", encoding);
            try (Model model = EncoderFile.newModel(engine, device)) {
                long start = System.nanoTime();
                EncoderTraining trained = options.training(engine, device, seed);
                List<List<String>> learned = training;
                // a proof needs no long training
                boolean isProof = encoding == Encoding.NONE && encodings.size() > 1;
                if (isProof) {
                    trained = new EncoderTraining(engine, device, seed, 1, trained.learningRate());
                    learned = training.subList(0, Math.min(glosses, PROOF_STEPS * options.batchSize / 2));
                }
                WordOrderDataset examples = options.dataset(vocabulary, learned, seed, true);
                Block encoder = new TransformerEncoder(sizes);
                log.put(encoding, trained.train(encoder, new Shape(1, maxWords), examples, model, batch -> {}));
                double accuracy = Evaluation.accuracy(model, test);
                String time = Progress.minutesAndSeconds(Duration.ofNanos(System.nanoTime() - start));
                rows.add(String.format(Locale.ROOT, "%-12s %18.4f %8s", encoding, accuracy, time));
                if (isProof) {
                    out.println(proof(Evaluation.largestDifference(model, test), test.size()));
                }
                if (rows.size() == encodings.size()) {
                    printTable(out, rows, 2.0 * test.size());
                    Path picture =
                            file.resolveSibling(file.getFileName().toString().replaceAll("\\.zip$", "") + ".svg");
                    figure(log).save(picture);
                    EncoderFile.save(file, model, sizes, vocabulary);
                    out.printf("%nThe accuracy at each step: %s%n", picture);
                    requireSameAnswers(out, model, new SentenceTranslator(vocabulary, maxWords), measuring);
                }
            }
        }
    }

    /** Shows that an encoder without positions gives both orders of each sentence the same score. */
    private static String proof(double difference, int sentences) {
        if (difference > 1e-3) {
            throw new IllegalStateException("the scores of two orders differ by " + difference);
        }
        return String.format(
                Locale.ROOT,
                "Both orders of %,d sentences have the same score (largest difference %.0e), so 0.5000 is all it can reach.",
                sentences,
                difference);
    }

    /** Draws the mean accuracy of every {@value #MEAN_OF} steps, with a line for each training. */
    private static Figure figure(Map<Encoding, List<Step>> trainings) {
        LineChart chart =
                LineChart.of("What the encoder learned", "step", "accuracy").yRange(0.4, 1);
        trainings.forEach((encoding, steps) -> {
            int count = (steps.size() + MEAN_OF - 1) / MEAN_OF;
            chart.line(
                    encoding == Encoding.NONE ? "without positions" : encoding.title(),
                    LineChart.each(count, i -> Math.min(steps.size(), (i + 1) * MEAN_OF)),
                    LineChart.each(
                            count,
                            i -> steps.stream()
                                    .skip((long) i * MEAN_OF)
                                    .limit(MEAN_OF)
                                    .mapToDouble(Step::accuracy)
                                    .average()
                                    .orElseThrow()));
        });
        return new Figure(1, List.of(chart));
    }

    private void printTable(PrintWriter out, List<String> rows, double examples) {
        out.printf("%n%-12s %18s %8s%n", "positions", "held-out accuracy", "time");
        rows.forEach(out::println);
        out.printf(Locale.ROOT, "%-12s %18.4f ± %.4f%n", "chance", 0.5, 0.5 / Math.sqrt(examples));
        if (glosses < 80_000) {
            out.printf("%nWith --glosses 80000, sinusoidal positions reach 0.91 in about four times the time.%n");
        }
    }

    /** Loads the saved model, compares its answers with those of the trained one, and prints some. */
    private void requireSameAnswers(
            PrintWriter out, Model trained, SentenceTranslator translator, List<List<String>> measuring) {
        List<String> some = measuring.stream()
                .limit(500)
                .map(words -> String.join(" ", words))
                .toList();
        Engine engine = trained.getNDManager().getEngine();
        Device device = trained.getNDManager().getDevice();
        try (Predictor<String, Judgement> before = trained.newPredictor(translator);
                ZooModel<String, Judgement> loaded = EncoderFile.load(file, engine, device);
                Predictor<String, Judgement> after = loaded.newPredictor()) {
            if (!JudgeSentences.judge(after, some).equals(JudgeSentences.judge(before, some))) {
                throw new IllegalStateException("the saved model gives different answers from the trained one");
            }
            out.printf(
                    Locale.ROOT,
                    "The model: %s; loaded again, it gives the same answers to %d sentences.%n%n",
                    file,
                    some.size());
            JudgeSentences.print(out, SENTENCES, JudgeSentences.judge(after, SENTENCES));
        }
    }
}
