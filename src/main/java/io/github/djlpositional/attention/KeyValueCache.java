package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.StartPosition;
import java.util.IdentityHashMap;

/**
 * The keys and values of the positions that a decoder has seen, so that a further step, a forward of the tokens that follow,
 * computes its own alone. One cache serves every {@link MultiHeadAttentionBlock} of a model, and one sequence, or batch of
 * sequences, from its first position on.
 *
 * <pre>{@code
 * try (KeyValueCache cache = new KeyValueCache(manager)) {
 *     NDArray next = prompt;                                     // (B, T), then (B, 1)
 *     for (int step = 0; step < 100; step++) {
 *         NDArray output = decoder.forward(store, new NDList(next), false, cache.nextStep()).head();
 *         next = choose(output);
 *     }
 * }
 * }</pre>
 *
 * <p>{@link #nextStep} also carries the position of the step's first token, for the absolute encodings of this library. The
 * model has to hand forward parameters on to its blocks, which DJL's {@link ai.djl.nn.SequentialBlock} does not.
 *
 * <p>Positions are added by self-attention, an input {@code [x]} or the very same array as keys and queries. An attention
 * over other arrays, an encoder's output, keeps its projected keys and values here as long as it is given the same objects
 * with the same content, and computes them anew for others. In a self-attention that is not causal the result differs from
 * that of a forward over the whole sequence: an earlier query does not see later keys.
 *
 * <p>The cache grows by doubling, from room for 64 positions: (B, N, capacity, H) for keys and for values in each attention, on
 * the device and in the data type of the model. After a forward that failed, the next step begins where that one began; if
 * it was the first and did not reach all attentions, after {@link #clear}. A forward throws {@link IllegalArgumentException}
 * with a cache in training, for a step of another batch size, data type or device than those before, and for a start position
 * that is not the number of positions that the cache holds. The cache is not to be used by several threads at once, nor for a
 * model that uses one attention block twice in a forward.
 */
public final class KeyValueCache implements AutoCloseable {

    /** The key of the forward parameter that gives an attention its cache. */
    public static final String KEY = "keyValueCache";

    private static final int FIRST_CAPACITY = 64;

    private final NDManager manager;
    private final IdentityHashMap<Block, Steps> steps = new IdentityHashMap<>();
    private final IdentityHashMap<Block, Source> sources = new IdentityHashMap<>();

    /**
     * Makes an empty cache.
     *
     * @param manager its arrays are attached to a child of this one, and are freed with it or with {@link #close}
     */
    public KeyValueCache(NDManager manager) {
        this.manager = manager.newSubManager();
    }

    /**
     * Returns the number of positions whose keys and values every attention holds, which is the position of the next token.
     *
     * @return from 0
     */
    public int getLength() {
        return steps.values().stream().mapToInt(entry -> entry.length).min().orElse(0);
    }

    /**
     * Begins the next step: returns the forward parameters for it, this cache and the position that the step begins at. To be
     * called once for a forward of the whole model. What a forward that failed has left in some of the attentions is dropped.
     *
     * @return new parameters, to which others may be added
     */
    public PairList<String, Object> nextStep() {
        int length = getLength();
        steps.values().forEach(entry -> entry.length = length);
        PairList<String, Object> parameters = new PairList<>();
        parameters.add(KEY, this);
        parameters.add(StartPosition.KEY, length);
        return parameters;
    }

    /** Frees all keys and values, for another sequence. */
    public void clear() {
        steps.values().forEach(Steps::close);
        steps.clear();
        sources.values().forEach(Source::close);
        sources.clear();
    }

    /** Frees everything; the cache cannot be used again. */
    @Override
    public void close() {
        clear();
        manager.close();
    }

    /** The cache among a forward's parameters; null where there is none. */
    static KeyValueCache in(PairList<String, Object> params, boolean training) {
        Object found = params == null ? null : params.get(KEY);
        if (found == null) {
            return null;
        }
        if (!(found instanceof KeyValueCache cache)) {
            throw new IllegalArgumentException(KEY + " is a " + found.getClass().getSimpleName()
                    + ": allowed is a KeyValueCache; pass the forward its nextStep()");
        }
        if (training) {
            throw new IllegalArgumentException(
                    "a KeyValueCache was given in training: allowed is inference alone; train on whole sequences");
        }
        return cache;
    }

    /** What the steps of an attention over its own input have left. */
    Steps stepsOf(Block attention, PairList<String, Object> params) {
        Steps entry = steps.get(attention);
        int length = entry == null ? 0 : entry.length;
        if (params.get(StartPosition.KEY) != null) {
            int start = StartPosition.of(params, 0, StartPosition.UNLIMITED);
            if (start != length) {
                throw new IllegalArgumentException(StartPosition.KEY + " is " + start + ", but the cache holds "
                        + length + " positions of " + attention
                        + ": allowed is the same; pass nextStep() of the cache, once for the whole model, or begin anew"
                        + " with clear()");
            }
        }
        return steps.computeIfAbsent(attention, key -> new Steps(manager));
    }

    /** The keys and values that an attention over other arrays has projected; null where they were others. */
    Source sourceOf(Block attention, NDArray keys, NDArray values) {
        Source found = sources.get(attention);
        return found != null && found.givenKeys == keys && found.givenValues == values ? found : null;
    }

    /** Keeps projected keys and values for the arrays that they come from. */
    void put(Block attention, NDArray givenKeys, NDArray givenValues, NDArray keys, NDArray values) {
        Source before =
                sources.put(attention, new Source(givenKeys, givenValues, kept(manager, keys), kept(manager, values)));
        if (before != null) {
            before.close();
        }
    }

    /** The numbers of an array, to be kept: without what led to them, and past any scope. */
    private static NDArray kept(NDManager manager, NDArray array) {
        NDArray plain = array.stopGradient();
        NDScope.unregister(plain);
        plain.attach(manager);
        return plain;
    }

    /** Projected keys and values, (B, N, F, H), and what they were projected from. */
    record Source(NDArray givenKeys, NDArray givenValues, NDArray keys, NDArray values) implements AutoCloseable {
        @Override
        public void close() {
            keys.close();
            values.close();
        }
    }

    /** The keys and values of one attention's positions. */
    static final class Steps implements AutoCloseable {
        private final NDManager manager;
        private NDArray keys;
        private NDArray values;
        private int length;

        private Steps(NDManager manager) {
            this.manager = manager;
        }

        /** Counts positions as held. */
        void done(int newLength) {
            length = newLength;
        }

        /** How many positions are held. */
        int length() {
            return length;
        }

        /** Writes the keys and values of further positions, (B, N, T, H), behind those that are held. */
        void write(NDArray newKeys, NDArray newValues) {
            if (keys != null) {
                requireSame(newKeys);
            }
            long end = length + newKeys.getShape().get(2);
            keys = written(keys, newKeys, end);
            values = written(values, newValues, end);
        }

        private void requireSame(NDArray newKeys) {
            Shape given = newKeys.getShape();
            Shape held = keys.getShape();
            if (given.get(0) != held.get(0)
                    || newKeys.getDataType() != keys.getDataType()
                    || !newKeys.getDevice().equals(keys.getDevice())) {
                throw new IllegalArgumentException(
                        "a step with batch size " + given.get(0) + ", " + newKeys.getDataType()
                                + " on " + newKeys.getDevice() + " does not fit the cache's " + held.get(0) + ", "
                                + keys.getDataType() + " on " + keys.getDevice()
                                + ": allowed is the same throughout a sequence; begin another one with clear()");
            }
        }

        private NDArray written(NDArray held, NDArray added, long end) {
            NDArray room = held == null || held.getShape().get(2) < end ? grown(held, added, end) : held;
            // without its gradient, or each step would add to a graph that nobody asks for
            try (NDArray plain = added.stopGradient()) {
                room.set(NDIndex.sliceAxis(2, length, end), plain);
            } catch (RuntimeException e) {
                if (room != held) {
                    room.close();
                }
                throw e;
            }
            if (held != null && room != held) {
                held.close();
            }
            return room;
        }

        /** Twice the room, with the positions that are held in it. */
        private NDArray grown(NDArray held, NDArray added, long end) {
            long capacity = held == null ? FIRST_CAPACITY : 2 * held.getShape().get(2);
            Shape shape = added.getShape();
            NDArray room = manager.create(
                    new Shape(shape.get(0), shape.get(1), Math.max(capacity, end), shape.get(3)),
                    added.getDataType(),
                    added.getDevice());
            NDScope.unregister(room);
            if (held != null && length > 0) {
                try (NDArray done = first(held, manager, length)) {
                    room.set(NDIndex.sliceAxis(2, 0, length), done);
                } catch (RuntimeException e) {
                    room.close();
                    throw e;
                }
            }
            return room;
        }

        /** The first keys, (B, N, count, H): a new array. */
        NDArray keys(NDManager receiver, int count) {
            return first(keys, receiver, count);
        }

        /** The first values, (B, N, count, H): a new array. */
        NDArray values(NDManager receiver, int count) {
            return first(values, receiver, count);
        }

        private static NDArray first(NDArray held, NDManager receiver, int count) {
            return held.get(receiver, NDIndex.sliceAxis(2, 0, count));
        }

        @Override
        public void close() {
            if (keys != null) {
                keys.close();
            }
            if (values != null) {
                values.close();
            }
        }
    }
}
