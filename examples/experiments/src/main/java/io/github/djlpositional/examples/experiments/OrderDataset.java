package io.github.djlpositional.examples.experiments;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.Batchifier;
import ai.djl.util.Progress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Things whose parts are in order or shuffled. Each gives two examples, with the labels {@link #IN_ORDER} and
 * {@link #SHUFFLED}.
 *
 * <p>A batch contains both examples of a thing, so that the parts themselves do not reveal the label. A training
 * dataset has new shuffles and a new order of batches in every epoch; an evaluation dataset always has the same
 * examples. DJL's {@link ai.djl.training.dataset.ArrayDataset} has neither, and would pad all sentences to the same
 * length, which doubles the time.
 *
 * @param <E> the type of the things
 */
abstract class OrderDataset<E> implements Dataset {

    /** The label of a thing whose parts are shuffled. */
    static final int SHUFFLED = 0;

    /** The label of a thing whose parts are in order. */
    static final int IN_ORDER = 1;

    private final List<E> inOrder;
    private final int batchSize;
    private final long seed;
    private final boolean newEveryEpoch;
    private int epoch;

    OrderDataset(List<E> inOrder, int batchSize, long seed, boolean newEveryEpoch) {
        this.inOrder = inOrder;
        this.batchSize = batchSize;
        this.seed = seed;
        this.newEveryEpoch = newEveryEpoch;
    }

    /** Returns a new thing with the parts of the given one in a different order. */
    abstract E shuffled(E thing, Random random);

    /** Creates the input of an encoder, (B, …). */
    abstract NDArray input(NDManager manager, List<E> things);

    /** Sorts the things of an epoch, which come in random order. Neighbors are in one batch. */
    void arrange(List<E> things) {}

    /** Returns the number of batches in an epoch, at least 1. */
    final int batches() {
        return (2 * inOrder.size() + batchSize - 1) / batchSize;
    }

    @Override
    public final void prepare(Progress progress) {}

    @Override
    public final Iterable<Batch> getData(NDManager manager) {
        Random random = new Random(seed + (newEveryEpoch ? 7919L * epoch++ : 0));
        List<E> things = new ArrayList<>(inOrder);
        Collections.shuffle(things, random);
        arrange(things);
        // in order at even indices, shuffled at odd ones
        List<E> examples = new ArrayList<>(2 * things.size());
        for (E thing : things) {
            examples.add(thing);
            examples.add(shuffled(thing, random));
        }
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, batches()).boxed().toList());
        Collections.shuffle(order, random);
        return () -> IntStream.range(0, order.size())
                .mapToObj(i -> batch(manager.newSubManager(), examples, order.get(i) * batchSize, i))
                .iterator();
    }

    private Batch batch(NDManager manager, List<E> examples, int start, int number) {
        List<E> chosen = examples.subList(start, Math.min(examples.size(), start + batchSize));
        int[] labels = IntStream.range(start, start + chosen.size())
                .map(i -> i % 2 == 0 ? IN_ORDER : SHUFFLED)
                .toArray();
        return new Batch(
                manager,
                new NDList(input(manager, chosen)),
                new NDList(manager.create(labels)),
                chosen.size(),
                Batchifier.STACK,
                Batchifier.STACK,
                number,
                batches());
    }
}
