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
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Sentences in their order and shuffled: each sentence gives one example of both, with the label {@link #IN_ORDER} or
 * {@link #SHUFFLED}.
 *
 * <p>A batch holds sentences of about the same length, so that little of it is padding, and both examples of each, so
 * that what the words are says nothing about the label. A dataset for training draws new shuffles and a new order of
 * its batches for every epoch; one for evaluation gives the same examples every time.
 */
final class WordOrderDataset implements Dataset {

    static final int SHUFFLED = 0;
    static final int IN_ORDER = 1;

    /** A sentence's token ids, and whether they are in order. */
    private static final class Example {
        private final int[] ids;
        private final int label;

        Example(int[] ids, int label) {
            this.ids = ids;
            this.label = label;
        }
    }

    private final List<int[]> sentences;
    private final int batchSize;
    private final long seed;
    private final boolean newEveryEpoch;
    private int epoch;

    /**
     * Makes a dataset.
     *
     * @param sentences the token ids of each, at least two different ones in each
     * @param batchSize the number of examples in a batch
     * @param seed decides the shuffles
     * @param newEveryEpoch whether every epoch has shuffles of its own
     */
    WordOrderDataset(List<int[]> sentences, int batchSize, long seed, boolean newEveryEpoch) {
        this.sentences = sentences;
        this.batchSize = batchSize;
        this.seed = seed;
        this.newEveryEpoch = newEveryEpoch;
    }

    /** The number of batches in an epoch. */
    int batches() {
        return (2 * sentences.size() + batchSize - 1) / batchSize;
    }

    @Override
    public Iterable<Batch> getData(NDManager manager) {
        Random random = new Random(seed + (newEveryEpoch ? 7919L * epoch++ : 0));
        List<int[]> ordered = new ArrayList<>(sentences);
        Collections.shuffle(ordered, random);
        ordered.sort(Comparator.comparingInt(sentence -> sentence.length));
        List<Example> examples = new ArrayList<>(2 * ordered.size());
        for (int[] sentence : ordered) {
            examples.add(new Example(sentence, IN_ORDER));
            examples.add(new Example(shuffled(sentence, random), SHUFFLED));
        }
        List<Integer> starts = new ArrayList<>(
                IntStream.range(0, batches()).map(i -> i * batchSize).boxed().toList());
        Collections.shuffle(starts, random);
        return () -> batches(manager, examples, starts);
    }

    private Iterator<Batch> batches(NDManager manager, List<Example> examples, List<Integer> starts) {
        return new Iterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < starts.size();
            }

            @Override
            public Batch next() {
                int start = starts.get(next++);
                List<Example> chosen = examples.subList(start, Math.min(examples.size(), start + batchSize));
                return batch(manager.newSubManager(), chosen, next - 1, starts.size());
            }
        };
    }

    private static Batch batch(NDManager manager, List<Example> examples, int progress, int total) {
        int length =
                examples.stream().mapToInt(example -> example.ids.length).max().orElseThrow();
        int[] ids = new int[examples.size() * length];
        int[] labels = new int[examples.size()];
        for (int i = 0; i < examples.size(); i++) {
            int[] sentence = examples.get(i).ids;
            System.arraycopy(sentence, 0, ids, i * length, sentence.length);
            labels[i] = examples.get(i).label;
        }
        return new Batch(
                manager,
                new NDList(manager.create(ids, new Shape(examples.size(), length))),
                new NDList(manager.create(labels, new Shape(examples.size(), 1))),
                examples.size(),
                Batchifier.STACK,
                Batchifier.STACK,
                progress,
                total);
    }

    /** The sentence in another order. */
    private static int[] shuffled(int[] sentence, Random random) {
        int[] shuffled = sentence.clone();
        do {
            for (int i = shuffled.length - 1; i > 0; i--) {
                int j = random.nextInt(i + 1);
                int swapped = shuffled[i];
                shuffled[i] = shuffled[j];
                shuffled[j] = swapped;
            }
        } while (Arrays.equals(shuffled, sentence));
        return shuffled;
    }

    /** {@inheritDoc} There is nothing to prepare. */
    @Override
    public void prepare(Progress progress) {}
}
