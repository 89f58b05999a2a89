package io.github.djlpositional.examples.experiments;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.modality.nlp.DefaultVocabulary;
import ai.djl.modality.nlp.Vocabulary;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.SavedBlockFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Are the words of a definition in order? On definitions as short as the trained ones, longer, and much longer. */
final class SentenceExperiment implements Experiment {

    /** The name of a saved model, and of its property with the tokens, separated by spaces. */
    static final String MODEL = "encoder";

    static final String VOCABULARY = "vocabulary";

    private static final String PADDING = "<pad>";
    private static final int TRAINED = 16;
    private static final int LONGEST = 40;

    private final boolean quick;
    private final boolean onGpu;
    private final List<List<String>> learned;
    private final Vocabulary vocabulary;
    private final Map<String, WordOrderDataset> measuring = new LinkedHashMap<>();
    private final Description description;

    SentenceExperiment(int count, boolean quick, Device device) throws IOException {
        this.quick = quick;
        onGpu = device.isGpu();
        List<List<String>> sentences = Glosses.read();
        Collections.shuffle(sentences, new Random(1));
        learned = heldOut(sentences, Set.of(), 1, TRAINED, count);
        if (learned.size() < count) {
            throw new IllegalArgumentException(count + " definitions of at most " + TRAINED
                    + " words: expected at most " + learned.size() + "; use fewer with --examples");
        }
        vocabulary = DefaultVocabulary.builder()
                .add(List.of(PADDING)) // its id is 0
                .addAll(learned)
                .optReservedTokens(List.of(PADDING))
                .optUnknownToken()
                .optMaxTokens(quick ? 300 : 2500)
                .build();
        Set<List<String>> known = new HashSet<>(learned);
        for (int[] range : new int[][] {{5, TRAINED}, {TRAINED + 1, 24}, {25, LONGEST}}) {
            List<List<String>> others = heldOut(sentences, known, range[0], range[1], quick ? 50 : 2000);
            measuring.put(range[0] + "-" + range[1], dataset(others, 1, false));
        }
        String examples = String.format(
                Locale.ROOT,
                "%,d definitions of at most %d words to learn from, others of %s held out",
                learned.size(),
                TRAINED,
                String.join(", ", measuring.keySet()));
        String title = "Trained on at most " + TRAINED + " words, tested on others";
        int batches = dataset(learned, 1, true).batches();
        description = new Description(
                examples, title, "accuracy", "words", batches, onGpu ? 0.004f : 0.002f, new Shape(1, LONGEST));
    }

    /** Returns sentences of some lengths that are not known. */
    private static List<List<String>> heldOut(
            List<List<String>> sentences, Set<List<String>> known, int shortest, int longest, int count) {
        return sentences.stream()
                .filter(words -> words.size() >= shortest && words.size() <= longest && !known.contains(words))
                .limit(count)
                .toList();
    }

    /**
     * Returns the sentences as examples. On a GPU, a step takes as long as its calls, so padding costs nothing. Batches
     * of all lengths learn better, and keep the accuracy when they are larger.
     */
    private WordOrderDataset dataset(List<List<String>> sentences, int seed, boolean isTraining) {
        List<int[]> ids = sentences.stream()
                .map(words -> words.stream()
                        .mapToInt(word -> (int) vocabulary.getIndex(word))
                        .toArray())
                // a sentence of unknown words has no order
                .filter(sentence -> Arrays.stream(sentence).distinct().count() >= 2)
                .toList();
        return new WordOrderDataset(ids, onGpu ? 512 : 128, seed, isTraining, isTraining && onGpu);
    }

    @Override
    public Description description() {
        return description;
    }

    @Override
    public TransformerStackBlock block(Encoding encoding) {
        int size = Math.toIntExact(vocabulary.size());
        return quick ? encoder(encoding, size, LONGEST, 16, 2, 1) : encoder(encoding, size, LONGEST, 64, 4, 3);
    }

    /**
     * Builds a small sentence classifier based on the encoder of Vaswani et al. (2017): ids (B, T) to a score for each
     * class, (B, 2).
     */
    static TransformerStackBlock encoder(
            Encoding encoding, int vocabularySize, int longest, int size, int heads, int layers) {
        Encoding.Sizes sizes = new Encoding.Sizes(size, heads, TRAINED, longest, false);
        return TransformerStackBlock.builder()
                .optInput(encoding.input(
                        InputEmbeddingBlock.builder()
                                .setVocabularySize(vocabularySize)
                                .optPaddingIndex(0),
                        sizes))
                .setLayers(layers, () -> encoding.layer(sizes))
                .optPooling(Pooling.MEAN)
                .optOutputSize(2)
                .build();
    }

    @Override
    public WordOrderDataset training(int seed, NDManager manager) {
        return dataset(learned, seed, true);
    }

    @Override
    public Map<String, Double> measure(Model trained, Encoding as) throws IOException, TranslateException {
        Map<String, Double> accuracies = new LinkedHashMap<>();
        for (Map.Entry<String, WordOrderDataset> sentences : measuring.entrySet()) {
            double accuracy = Evaluation.accuracy(trained.getNDManager(), trained.getBlock(), sentences.getValue());
            accuracies.put(sentences.getKey(), accuracy);
        }
        return accuracies;
    }

    @Override
    public void save(Model trained, Path folder) throws IOException {
        trained.setProperty(
                VOCABULARY,
                LongStream.range(0, vocabulary.size())
                        .mapToObj(vocabulary::getToken)
                        .collect(Collectors.joining(" ")));
        trained.save(folder, MODEL);
        SavedBlockFactory.describe(trained.getBlock(), folder);
    }
}
