package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import java.io.IOException;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import picocli.CommandLine;

/** Are the words of a definition in order? On definitions as short as the trained ones, longer, and much longer. */
final class SentenceExperiment implements Experiment {

    private static final int TRAINED = TransformerEncoder.TRAINED_WORDS;
    private static final int LONGEST = 40;

    private static final String[] SMALL = {
        "--vocabulary=300", "--size=16", "--layers=1", "--heads=2", "--feed-forward=32"
    };

    private final TrainingOptions options;
    private final List<List<String>> learned;
    private final Vocabulary vocabulary;
    private final Map<String, WordOrderDataset> measuring = new LinkedHashMap<>();

    SentenceExperiment(int count, boolean quick, Device device) throws IOException {
        options = CommandLine.populateCommand(new TrainingOptions(), quick ? SMALL : new String[0]);
        options.chooseFor(device);
        List<List<String>> sentences = Glosses.read(Integer.MAX_VALUE);
        Collections.shuffle(sentences, new Random(1));
        learned = heldOut(sentences, Set.of(), 1, TRAINED, count);
        if (learned.size() < count) {
            throw new UserError(count + " definitions of at most " + TRAINED + " words: expected at most "
                    + learned.size() + "; use fewer with --examples");
        }
        vocabulary = Vocabulary.mostFrequent(learned, options.vocabularySize);
        Set<List<String>> known = new HashSet<>(learned);
        for (int[] range : new int[][] {{5, TRAINED}, {TRAINED + 1, 24}, {25, LONGEST}}) {
            List<List<String>> others = heldOut(sentences, known, range[0], range[1], quick ? 50 : 2000);
            measuring.put(range[0] + "-" + range[1], options.dataset(vocabulary, others, 1, false));
        }
    }

    /** Returns sentences of some lengths that are not known. */
    static List<List<String>> heldOut(
            List<List<String>> sentences, Set<List<String>> known, int shortest, int longest, int count) {
        return sentences.stream()
                .filter(words -> words.size() >= shortest && words.size() <= longest && !known.contains(words))
                .limit(count)
                .toList();
    }

    @Override
    public Description description() {
        String examples = String.format(
                Locale.ROOT,
                "%,d definitions of at most %d words to learn from, others of %s held out",
                learned.size(),
                TRAINED,
                String.join(", ", measuring.keySet()));
        String title = "Trained on at most " + TRAINED + " words, tested on others";
        return new Description(examples, title, "accuracy", "words", options.learningRate, new Shape(1, LONGEST));
    }

    @Override
    public Block block(Encoding encoding) {
        return new TransformerEncoder(options.spec(encoding, vocabulary.size(), LONGEST));
    }

    @Override
    public Minibatches training(int seed) {
        return options.dataset(vocabulary, learned, seed, true);
    }

    @Override
    public Map<String, Double> measure(Model trained, Encoding as) {
        Map<String, Double> accuracies = new LinkedHashMap<>();
        measuring.forEach((length, dataset) -> accuracies.put(length, Evaluation.accuracy(trained, dataset)));
        return accuracies;
    }
}
