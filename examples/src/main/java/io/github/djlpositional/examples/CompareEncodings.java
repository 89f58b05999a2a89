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
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Which kind of positions learns best, and which still works on sentences that are longer than any it was trained on?
 *
 * <p>Trains an encoder with each kind on short definitions, some times with other weights at the start, and measures it
 * on definitions that it has not seen: as short, longer, and much longer.
 */
@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Train an encoder with each kind of positions on glosses of at most " + LengthClass.TRAINED_WORDS
                    + " words,",
            "measure it on others as short, longer and much longer, and print, save and draw the table."
        })
final class CompareEncodings implements Callable<Integer> {

    private static final int WARM_UP_SENTENCES = 2000;

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
            description = "One or more kinds, separated by commas (default: all, ${DEFAULT-VALUE}).")
    private List<Encoding> encodings = List.of(Encoding.values());

    @Option(
            names = "--glosses",
            paramLabel = "N",
            defaultValue = "40000",
            description = "The number of sentences to learn from (default: ${DEFAULT-VALUE}).")
    private int glosses;

    @Option(
            names = "--held-out",
            paramLabel = "N",
            defaultValue = "2000",
            description = "The greatest number of other sentences of each length (default: ${DEFAULT-VALUE}).")
    private int heldOut;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            defaultValue = "3",
            description = "How often each is trained, with other weights and shuffles (default: ${DEFAULT-VALUE}).")
    private int seeds;

    @Option(
            names = "--quick",
            description =
                    "Few sentences, small encoders and one epoch, whatever else is asked for: shows that everything"
                            + " runs, and says nothing about the encodings.")
    private boolean quick;

    @Option(
            names = "--out",
            paramLabel = "FOLDER",
            defaultValue = "comparison",
            description = "Where the table and the picture are saved (default: ${DEFAULT-VALUE}).")
    private Path folder;

    @Override
    public Integer call() throws IOException {
        if (quick) {
            glosses = Math.min(glosses, 500);
            heldOut = Math.min(heldOut, 50);
            trainingOptions.beQuick();
        }
        trainingOptions.require();
        OptionChecks.requireAtLeast(spec, "--glosses", glosses, 1);
        OptionChecks.requireAtLeast(spec, "--held-out", heldOut, 1);
        OptionChecks.requireAtLeast(spec, "--seeds", seeds, 1);
        Engine engine = engineOptions.startEngine();
        Device device = engineOptions.deviceOf(engine);
        ComparisonFiles files = new ComparisonFiles(folder);

        List<List<String>> sentences = Glosses.read(Integer.MAX_VALUE);
        Collections.shuffle(sentences, new Random(1));
        List<List<String>> training = sentences.stream()
                .filter(words -> words.size() <= LengthClass.TRAINED_WORDS)
                .limit(glosses)
                .toList();
        if (training.size() < glosses) {
            throw new UserError(glosses + " glosses of at most " + LengthClass.TRAINED_WORDS
                    + " words are more than the " + training.size() + " that there are: choose fewer with --glosses");
        }
        Vocabulary vocabulary = Vocabulary.mostFrequent(training, trainingOptions.vocabularySize());
        Map<LengthClass, WordOrderDataset> measuring = new EnumMap<>(LengthClass.class);
        PrintWriter out = spec.commandLine().getOut();
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
        out.flush();

        warmUp(engine, device, vocabulary, training);
        List<ComparisonRun> runs = new ArrayList<>();
        for (int seed = 1; seed <= seeds; seed++) {
            for (Encoding encoding : encodings) {
                EncoderSpec sizes = trainingOptions.spec(encoding, vocabulary.size(), LengthClass.MUCH_LONGER.most());
                try (Model model = EncoderFolder.newModel(engine, device)) {
                    runs.add(run(
                            sizes,
                            seed,
                            model,
                            trainingOptions.training(engine, device, seed),
                            trainingOptions.dataset(vocabulary, training, seed, true),
                            measuring));
                }
                out.println(runs.get(runs.size() - 1));
                out.flush();
                files.saveRuns(runs);
            }
        }
        List<ComparisonRow> rows = ComparisonRow.of(runs);
        print(out, rows);
        files.save(rows);
        out.printf("%nSaved to %s%n", folder);
        return 0;
    }

    /** Trains a little with every kind, so that no measured one pays for what is done but once. */
    private void warmUp(Engine engine, Device device, Vocabulary vocabulary, List<List<String>> training)
            throws IOException {
        List<List<String>> few = training.subList(0, Math.min(training.size(), WARM_UP_SENTENCES));
        for (Encoding encoding : encodings) {
            EncoderSpec sizes = trainingOptions.spec(encoding, vocabulary.size(), LengthClass.MUCH_LONGER.most());
            WordOrderDataset sentences = trainingOptions.dataset(vocabulary, few, 1, false);
            try (Model model = EncoderFolder.newModel(engine, device)) {
                new EncoderTraining(engine, device, 1, 1, 0.001f).train(sizes, sentences, model);
                Evaluation.of(model, sentences);
            }
        }
    }

    private static void print(PrintWriter out, List<ComparisonRow> rows) {
        out.printf("%nheld-out accuracy, mean ± half of the range over the seeds%n%-14s", "positions");
        for (LengthClass length : LengthClass.values()) {
            out.printf(" %15s", length + " words");
        }
        out.printf(" %10s %11s %18s%n", "parameters", "training", "inference of 1000");
        for (ComparisonRow row : rows) {
            out.printf("%-14s", row.encoding());
            row.accuracies().values().forEach(accuracy -> out.printf(" %15s", accuracy));
            out.printf(
                    Locale.ROOT,
                    " %,10d %9.1f s %15.1f ms%n",
                    row.parameters(),
                    row.trainingSeconds(),
                    row.inferenceMillis());
        }
        out.flush();
    }

    private static ComparisonRun run(
            EncoderSpec sizes,
            int seed,
            Model model,
            EncoderTraining training,
            WordOrderDataset sentences,
            Map<LengthClass, WordOrderDataset> measuring)
            throws IOException {
        long start = System.nanoTime();
        training.train(sizes, sentences, model);
        Duration trainingTime = Duration.ofNanos(System.nanoTime() - start);
        Map<LengthClass, Evaluation> evaluations = new EnumMap<>(LengthClass.class);
        measuring.forEach((length, dataset) -> evaluations.put(length, Evaluation.of(model, dataset)));
        long parameters = model.getBlock().getParameters().stream()
                .mapToLong(entry -> entry.getValue().getArray().size())
                .sum();
        return new ComparisonRun(sizes.encoding(), seed, evaluations, parameters, trainingTime);
    }
}
