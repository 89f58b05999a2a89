package io.github.djlpositional.examples;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.Batch;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Windows of one long text, whose tokens are predicted from the tokens before them. Input: ids (B, T). Labels: the ids
 * that follow each of them, (B · T, 1).
 */
final class TextWindows extends Minibatches {

    private final int[] ids;
    private final int length;
    private final int[] starts;

    private TextWindows(int[] ids, int length, int batchSize, int... starts) {
        super(starts.length, batchSize);
        this.ids = ids;
        this.length = length;
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

    @Override
    protected Iterable<Batch> getData(NDManager manager) {
        return () -> IntStream.range(0, batches())
                .mapToObj(i -> batch(manager.newSubManager(), i))
                .iterator();
    }

    private Batch batch(NDManager manager, int index) {
        int[] chosen = Arrays.copyOfRange(starts, index * batchSize, Math.min(starts.length, (index + 1) * batchSize));
        NDArray inputs = manager.create(tokens(0, chosen), new Shape(chosen.length, length));
        return batch(manager, new NDList(inputs), tokens(1, chosen));
    }

    /** Returns the tokens of windows that are moved by some tokens. */
    private int[] tokens(int moved, int... from) {
        return Arrays.stream(from)
                .flatMap(start -> Arrays.stream(ids, start + moved, start + moved + length))
                .toArray();
    }
}
