package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.llama.GenerateText;
import io.github.djlpositional.examples.pictures.ComparePictures;
import io.github.djlpositional.examples.sentences.MeasureEncoder;
import io.github.djlpositional.examples.sentences.SearchDefinitions;
import io.github.djlpositional.examples.sentences.StretchPositions;
import io.github.djlpositional.examples.sentences.TuneEncoder;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Is this sentence in its original order, or are its words shuffled?
 *
 * <p>Trains small transformer encoders on the definitions of WordNet, one without and one with positions. The first
 * cannot know: its attention and its mean treat a sentence as a bag of words, so its accuracy stays at chance. The
 * second learns.
 */
@Command(
        name = "train-encoder",
        subcommands = {
            JudgeSentences.class,
            CompareEncodings.class,
            ComparePictures.class,
            CompareText.class,
            ServeUnderLoad.class,
            GenerateText.class,
            SearchDefinitions.class,
            MeasureEncoder.class,
            TuneEncoder.class,
            StretchPositions.class,
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

    @Mixin
    private TrainingOptions trainingOptions;

    @Option(
            names = "--encoding",
            split = ",",
            completionCandidates = Encoding.Names.class,
            description = "One or more of ${COMPLETION-CANDIDATES}, separated by commas.")
    private List<Encoding> encodings = List.of(Encoding.NONE, Encoding.SINUSOIDAL);

    @Option(names = "--glosses", description = "The number of sentences for training.")
    private int glosses = 80_000;

    @Option(names = "--held-out", description = "The number of other sentences, for measuring.")
    private int heldOut = 5000;

    @Option(names = "--max-words", description = "Longer sentences are cut to this number of words.")
    private int maxWords = 16;

    @Option(names = "--seed", description = "The same seed gives the same result on the same machine.")
    private int seed = 1;

    @Option(names = "--out", description = "The file for the last encoder, a zip.")
    private Path file = Path.of("model.zip");

    /** The message of an interrupted run; null after the end. */
    private static volatile String interrupted = "interrupted";

    /** One encoder's row in the table. */
    private record Result(Encoding encoding, double accuracy, Duration time) {}

    /**
     * Runs the program.
     *
     * @param args the options; {@code --help} lists them
     */
    public static void main(String[] args) {
        Program.optOutOfTracking();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            if (interrupted != null) {
                System.err.println();
                System.err.println(interrupted);
            }
        }));
        int status = commandLine().execute(args);
        interrupted = null;
        System.exit(status);
    }

    /**
     * Returns the program, which {@code execute} runs without ending the JVM.
     *
     * @return a new command line
     */
    public static CommandLine commandLine() {
        return Program.commandLine(new TrainEncoder());
    }

    @Override
    protected void checkOptions() {
        trainingOptions.check();
        Check.positive("--glosses", glosses);
        Check.positive("--held-out", heldOut);
        Check.between("--max-words", maxWords, 2, EncoderSpec.MOST_WORDS);
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        trainingOptions.chooseFor(device);
        AtomicFile.prepare(file);
        interrupted = "interrupted: the model was not saved";

        List<List<String>> sentences = Glosses.read(maxWords);
        Collections.shuffle(sentences, new Random(seed));
        if ((long) glosses + heldOut > sentences.size()) {
            throw new UserError(glosses + " glosses and " + heldOut + " held out: expected at most " + sentences.size()
                    + " in total; use fewer with --glosses or --held-out");
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
        List<TrainingLog.Line> log = new ArrayList<>();
        for (Encoding encoding : encodings) {
            EncoderSpec sizes = trainingOptions.spec(encoding, vocabulary.size(), maxWords);
            out.printf("%nPositions: %s%n", encoding);
            try (Model model = EncoderFile.newModel(engine, device)) {
                long start = System.nanoTime();
                log.addAll(trainingOptions
                        .training(engine, device, seed)
                        .train(sizes, trainingOptions.dataset(vocabulary, training, seed, true), model)
                        .lines());
                double accuracy = Evaluation.of(model, trainingOptions.dataset(vocabulary, measuring, seed, false))
                        .accuracy();
                results.add(new Result(encoding, accuracy, Duration.ofNanos(System.nanoTime() - start)));
                if (results.size() == encodings.size()) {
                    printTable(out, results);
                    EncoderFile.save(file, model, sizes, vocabulary, new TrainingLog(log));
                    interrupted = "interrupted";
                    requireSameAnswers(out, model, EncoderFactory.classifier(vocabulary, sizes), measuring);
                }
            }
        }
    }

    private static void printTable(PrintWriter out, List<Result> results) {
        out.printf("%n%-12s %18s %8s%n", "positions", "held-out accuracy", "time");
        for (Result result : results) {
            out.printf(
                    Locale.ROOT,
                    "%-12s %18.4f %8s%n",
                    result.encoding(),
                    result.accuracy(),
                    Progress.minutesAndSeconds(result.time()));
        }
    }

    /** Loads the saved model, compares its answers with those of the trained one, and prints some. */
    private void requireSameAnswers(
            PrintWriter out,
            Model trained,
            SentenceTranslator<Classifications> translator,
            List<List<String>> measuring) {
        List<String> some = measuring.stream()
                .limit(500)
                .map(words -> String.join(" ", words))
                .toList();
        Engine engine = trained.getNDManager().getEngine();
        Device device = trained.getNDManager().getDevice();
        try (Predictor<String, Classifications> before = trained.newPredictor(translator);
                ZooModel<String, Classifications> loaded =
                        EncoderFile.load(file, engine, device, Classifications.class);
                Predictor<String, Classifications> after = loaded.newPredictor()) {
            if (!JudgeSentences.inOrder(after, some).equals(JudgeSentences.inOrder(before, some))) {
                throw new IllegalStateException("the saved model gives different answers from the trained one");
            }
            out.printf(
                    Locale.ROOT,
                    "%nSaved to %s; loaded again, it gives the same answers to %d sentences.%n%n",
                    file,
                    some.size());
            JudgeSentences.print(out, SENTENCES, JudgeSentences.inOrder(after, SENTENCES));
        }
    }
}
