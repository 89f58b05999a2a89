package io.github.djlpositional.examples;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.Batchifier;
import ai.djl.util.Progress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Sentences in order and shuffled. Each sentence gives two examples, with the labels {@link #IN_ORDER} and
 * {@link #SHUFFLED}.
 *
 * <p>A batch contains sentences of similar lengths, so that it has little padding, and both examples of a sentence, so
 * that the words themselves do not reveal the label. A training dataset has new shuffles and a new order of batches in
 * every epoch; an evaluation dataset always has the same examples.
 */
final class WordOrderDataset implements Dataset {

    static final int SHUFFLED = 0;
    static final int IN_ORDER = 1;

    private final List<int[]> sentences;
    private final int batchSize;
    private final long seed;
    private final boolean newEveryEpoch;
    private int epoch;

    /**
     * Creates a dataset.
     *
     * @param sentences the token ids of each sentence, at least two of them different
     * @param batchSize the number of examples in a batch
     * @param seed determines the shuffles
     * @param newEveryEpoch whether every epoch has different shuffles
     */
    WordOrderDataset(List<int[]> sentences, int batchSize, long seed, boolean newEveryEpoch) {
        this.sentences = sentences;
        this.batchSize = batchSize;
        this.seed = seed;
        this.newEveryEpoch = newEveryEpoch;
    }

    /** Returns the number of batches in an epoch. */
    int batches() {
        return (2 * sentences.size() + batchSize - 1) / batchSize;
    }

    @Override
    public Iterable<Batch> getData(NDManager manager) {
        Random random = new Random(seed + (newEveryEpoch ? 7919L * epoch++ : 0));
        List<int[]> ordered = new ArrayList<>(sentences);
        Collections.shuffle(ordered, random);
        ordered.sort(Comparator.comparingInt(sentence -> sentence.length));
        // in order at even indices, shuffled at odd ones
        List<int[]> examples = new ArrayList<>(2 * ordered.size());
        for (int[] sentence : ordered) {
            examples.add(sentence);
            examples.add(shuffled(sentence, random));
        }
        List<Integer> starts = new ArrayList<>(
                IntStream.range(0, batches()).map(i -> i * batchSize).boxed().toList());
        Collections.shuffle(starts, random);
        return () -> IntStream.range(0, starts.size())
                .mapToObj(i -> batch(manager.newSubManager(), examples, starts.get(i), i, starts.size()))
                .iterator();
    }

    private Batch batch(NDManager manager, List<int[]> examples, int start, int progress, int total) {
        List<int[]> chosen = examples.subList(start, Math.min(examples.size(), start + batchSize));
        int length = chosen.stream().mapToInt(ids -> ids.length).max().orElseThrow();
        int[] ids = new int[chosen.size() * length];
        int[] labels = new int[chosen.size()];
        for (int i = 0; i < chosen.size(); i++) {
            int[] sentence = chosen.get(i);
            System.arraycopy(sentence, 0, ids, i * length, sentence.length);
            labels[i] = (start + i) % 2 == 0 ? IN_ORDER : SHUFFLED;
        }
        return new Batch(
                manager,
                new NDList(manager.create(ids, new Shape(chosen.size(), length))),
                new NDList(manager.create(labels, new Shape(chosen.size(), 1))),
                chosen.size(),
                Batchifier.STACK,
                Batchifier.STACK,
                progress,
                total);
    }

    /** Returns the sentence in a different order. */
    private static int[] shuffled(int[] sentence, Random random) {
        List<Integer> ids = new ArrayList<>(Arrays.stream(sentence).boxed().toList());
        List<Integer> inOrder = List.copyOf(ids);
        do {
            Collections.shuffle(ids, random);
        } while (ids.equals(inOrder));
        return ids.stream().mapToInt(Integer::intValue).toArray();
    }

    /** {@inheritDoc} Does nothing. */
    @Override
    public void prepare(Progress progress) {}
}
