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
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Which kind of positional encoding learns best, and which still works on sentences that are longer than the training
 * sentences?
 *
 * <p>Trains an encoder of each kind on short definitions, several times with different initial weights, and measures it
 * on definitions that it has not seen: as short, longer, and much longer.
 */
@Command(
        name = "compare",
        description = "Train an encoder with each kind of positional encoding on glosses of at most "
                + LengthClass.TRAINED_WORDS
                + " words, "
                + "measure it on others that are as short, longer and much longer, and print, save and draw the table.")
final class CompareEncodings extends EngineCommand {

    private static final int WARM_UP_SENTENCES = 2000;

    @Mixin
    private TrainingOptions trainingOptions;

    @Option(names = "--encoding", split = ",", description = "One or more kinds, separated by commas.")
    private List<Encoding> encodings = Encoding.values();

    @Option(names = "--glosses", description = "The number of sentences for training.")
    private int glosses = 40_000;

    @Option(names = "--held-out", description = "The maximum number of other sentences of each length.")
    private int heldOut = 2000;

    @Option(
            names = "--seeds",
            description = "The number of trainings of each kind, with different weights and shuffles.")
    private int seeds = 3;

    @Option(
            names = "--quick",
            description =
                    "Use few sentences, small encoders and one epoch, regardless of other options. This shows that"
                            + " everything runs; the accuracies are meaningless.")
    private boolean quick;

    @Option(names = "--out", description = "The folder for the tables and the picture.")
    private Path folder = Path.of("comparison");

    @Override
    protected void checkOptions() {
        trainingOptions.check();
        Check.positive("--glosses", glosses);
        Check.positive("--held-out", heldOut);
        Check.positive("--seeds", seeds);
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        if (quick) {
            glosses = Math.min(glosses, 500);
            heldOut = Math.min(heldOut, 50);
            trainingOptions.beQuick();
        }
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        trainingOptions.chooseFor(device);
        AtomicFile.prepare(folder.resolve("runs.csv"));

        List<List<String>> sentences = Glosses.read(Integer.MAX_VALUE);
        Collections.shuffle(sentences, new Random(1));
        List<List<String>> training = sentences.stream()
                .filter(words -> words.size() <= LengthClass.TRAINED_WORDS)
                .limit(glosses)
                .toList();
        if (training.size() < glosses) {
            throw new UserError(glosses + " glosses of at most " + LengthClass.TRAINED_WORDS
                    + " words: expected at most " + training.size() + "; use fewer with --glosses");
        }
        Vocabulary vocabulary = Vocabulary.mostFrequent(training, trainingOptions.vocabularySize());
        Map<LengthClass, WordOrderDataset> measuring = new EnumMap<>(LengthClass.class);
        out.printf(
                Locale.ROOT,
                "%,d definitions of at most %d words to learn from%n",
                training.size(),
                LengthClass.TRAINED_WORDS);
        for (LengthClass length : LengthClass.values()) {
            List<List<String>> others = length.heldOut(sentences, training, heldOut);
            out.printf(Locale.ROOT, "%,d of %s words held out%n", others.size(), length);
            measuring.put(length, trainingOptions.dataset(vocabulary, others, 1, false));
        }

        // brief trainings, so that no measured run includes one-time costs
        WordOrderDataset few = trainingOptions.dataset(
                vocabulary, training.subList(0, Math.min(training.size(), WARM_UP_SENTENCES)), 1, false);
        for (Encoding encoding : encodings) {
            EncoderTraining brief = new EncoderTraining(engine, device, 1, 1, 0.001f);
            run(sizes(encoding, vocabulary), brief, few, Map.of(LengthClass.TRAINED, few));
        }
        List<Comparison.Run> runs = new ArrayList<>();
        for (int seed = 1; seed <= seeds; seed++) {
            for (Encoding encoding : encodings) {
                runs.add(run(
                        sizes(encoding, vocabulary),
                        trainingOptions.training(engine, device, seed),
                        trainingOptions.dataset(vocabulary, training, seed, true),
                        measuring));
                out.println(runs.get(runs.size() - 1));
                Comparison.saveRuns(folder, Comparison.Measure.ACCURACY, runs);
            }
        }
        Comparison.publish(
                out,
                folder,
                Comparison.Measure.ACCURACY,
                "Trained on at most " + LengthClass.TRAINED_WORDS + " words, tested on others",
                "words",
                runs);
    }

    private EncoderSpec sizes(Encoding encoding, Vocabulary vocabulary) {
        return trainingOptions.spec(encoding, vocabulary.size(), LengthClass.MUCH_LONGER.most());
    }

    /** Trains an encoder, and measures it on each length. */
    private static Comparison.Run run(
            EncoderSpec sizes,
            EncoderTraining training,
            WordOrderDataset sentences,
            Map<LengthClass, WordOrderDataset> measuring)
            throws IOException {
        try (Model model = EncoderFile.newModel(training.engine(), training.device())) {
            long start = System.nanoTime();
            training.train(sizes, sentences, model);
            Duration time = Duration.ofNanos(System.nanoTime() - start);
            Map<String, Evaluation> evaluations = new LinkedHashMap<>();
            measuring.forEach((length, dataset) -> evaluations.put(length.toString(), Evaluation.of(model, dataset)));
            return Comparison.Run.of(
                    sizes.encoding(), training.seed(), evaluations, Comparison.parametersOf(model.getBlock()), time);
        }
    }
}
