package io.github.djlpositional.examples;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.Batchifier;
import ai.djl.util.Progress;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Windows of one long text, whose tokens are predicted from the tokens before them. Input: ids (B, T). Labels: the ids
 * that follow each of them, (B · T, 1).
 */
final class TextWindows implements Dataset {

    private final int[] ids;
    private final int length;
    private final int batchSize;
    private final int[] starts;

    private TextWindows(int[] ids, int length, int batchSize, int... starts) {
        this.ids = ids;
        this.length = length;
        this.batchSize = batchSize;
        this.starts = starts;
    }

    /** Creates random windows, for training. */
    static TextWindows random(int[] ids, int length, int batchSize, int batches, int seed) {
        int[] starts = new Random(seed)
                .ints((long) batches * batchSize, 0, ids.length - length)
                .toArray();
        return new TextWindows(ids, length, batchSize, starts);
    }

    /** Creates windows at equal distances, for measuring. */
    static TextWindows every(int distance, int[] ids, int length, int batchSize) {
        int[] starts = IntStream.iterate(0, start -> start + length < ids.length, start -> start + distance)
                .toArray();
        return new TextWindows(ids, length, batchSize, starts);
    }

    /** Returns the number of windows. */
    int size() {
        return starts.length;
    }

    /** Returns the number of batches. */
    int batches() {
        return (starts.length + batchSize - 1) / batchSize;
    }

    @Override
    public Iterable<Batch> getData(NDManager manager) {
        return () -> IntStream.range(0, batches())
                .mapToObj(i -> batch(manager.newSubManager(), i))
                .iterator();
    }

    private Batch batch(NDManager manager, int index) {
        int[] chosen = Arrays.copyOfRange(starts, index * batchSize, Math.min(starts.length, (index + 1) * batchSize));
        int[] inputs = tokens(chosen);
        int[] labels = tokens(Arrays.stream(chosen).map(start -> start + 1).toArray());
        return new Batch(
                manager,
                new NDList(manager.create(inputs, new Shape(chosen.length, length))),
                new NDList(manager.create(labels, new Shape(labels.length, 1))),
                chosen.length,
                Batchifier.STACK,
                Batchifier.STACK,
                index,
                batches());
    }

    private int[] tokens(int... from) {
        return Arrays.stream(from)
                .flatMap(start -> Arrays.stream(ids, start, start + length))
                .toArray();
    }

    /** {@inheritDoc} Does nothing. */
    @Override
    public void prepare(Progress progress) {}
}
