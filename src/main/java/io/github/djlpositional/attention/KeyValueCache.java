package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import java.util.IdentityHashMap;

/**
 * The keys and values of the positions that a decoder has processed, so that the next step, a forward of the tokens
 * that follow, computes only its own. One cache serves all {@link MultiHeadAttentionBlock}s of a model, for one
 * sequence or batch of sequences.
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
 * <p>{@link #nextStep} also carries the position of the step's first token, for the absolute encodings of this library.
 * The model has to pass forward parameters to its blocks, which DJL's {@link ai.djl.nn.SequentialBlock} does not do.
 *
 * <p>Positions are added by self-attention: an input {@code [x]}, or the same array as keys and queries. An attention
 * over other arrays, such as an encoder's output, keeps its projected keys and values here as long as it is given the
 * same objects with the same content, and computes them again for others. In a self-attention that is not causal, the
 * result differs from that of a forward over the whole sequence: an earlier query does not see later keys.
 *
 * <p>The capacity doubles when needed, starting at 64 positions: (B, N, capacity, H) for keys and for values in each
 * attention, on the device and in the data type of the model.
 *
 * <p>A cache cannot know that a forward failed behind its attentions, for example in an output layer. After a forward
 * that threw an exception, call {@link #rewind} with the length from before it, and the step can be repeated:
 *
 * <pre>{@code
 * int length = cache.getLength();
 * try {
 *     output = decoder.forward(store, inputs, false, cache.nextStep());
 * } catch (RuntimeException e) {
 *     cache.rewind(length);
 *     throw e;
 * }
 * }</pre>
 *
 * <p>A forward throws {@link IllegalArgumentException} for a cache in training, for a step of another batch size, data
 * type or device than the previous ones, for a cache without the start position that {@link #nextStep} gave with it or
 * with another one, and for a step that begins with all tokens that the cache holds: after the first step, a decoder is
 * given only the tokens that follow. The cache must not be used by several threads at once, nor by a model that uses
 * one attention block twice in a forward.
 */
public final class KeyValueCache implements AutoCloseable {

    /** The key of the forward parameter that holds the cache. */
    public static final String KEY = Positions.CACHE;

    private static final int FIRST_CAPACITY = 64;

    /** Values of one token, computed twice, differ by less than this fraction of the greatest, in FLOAT16 too. */
    private static final double SAME = 0.01;

    private final NDManager manager;
    private final IdentityHashMap<Block, Steps> steps = new IdentityHashMap<>();
    private final IdentityHashMap<Block, Source> sources = new IdentityHashMap<>();

    /** The number of positions that each attention has processed. */
    private final IdentityHashMap<Block, Integer> lengths = new IdentityHashMap<>();

    /** Whether a step was begun that has not reached an attention yet. */
    private boolean isPending;

    /**
     * Creates an empty cache.
     *
     * @param manager the parent of the manager that the arrays are attached to; they are freed with it or by
     *     {@link #close}
     */
    public KeyValueCache(NDManager manager) {
        this.manager = manager.newSubManager();
    }

    /** {@return the number of positions that all attentions have processed, which is the position of the next token} */
    public int getLength() {
        return lengths.values().stream().mapToInt(Integer::intValue).min().orElse(0);
    }

    /**
     * Begins the next step. Call it once for each forward of the whole model. Positions that only some of the
     * attentions have processed are dropped.
     *
     * @return new forward parameters: this cache, and the position that the step begins at; others may be added
     * @throws IllegalStateException if the previous step did not reach an attention: the forward parameters were not
     *     handed on, or the forward failed before and {@link #rewind} was not called
     */
    public PairList<String, Object> nextStep() {
        int length = getLength();
        if (isPending) {
            throw new IllegalStateException(
                    "the step that nextStep() began at position " + length + " did not reach an attention"
                            + ": expected forward parameters that reach every MultiHeadAttentionBlock; hand them on in each"
                            + " block's forward (SequentialBlock does not), or call rewind(" + length
                            + ") if the forward failed");
        }
        rewind(length);
        isPending = true;
        PairList<String, Object> parameters = new PairList<>();
        parameters.add(KEY, this);
        parameters.add(Positions.START, length);
        return parameters;
    }

    /**
     * Drops the last positions, after a forward that failed or to replace them by others.
     *
     * @param length the number of positions to keep, from 0 to {@link #getLength}
     * @throws IllegalArgumentException if the cache holds fewer
     */
    public void rewind(int length) {
        Check.between("length", length, 0, getLength());
        lengths.replaceAll((attention, longer) -> length);
        isPending = false;
    }

    /** Frees all keys and values, so that another sequence can begin. */
    public void clear() {
        lengths.clear();
        isPending = false;
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

    /** The cache among the parameters of a forward; null if there is none. */
    static KeyValueCache in(PairList<String, Object> params, boolean training) {
        Object found = params == null ? null : params.get(KEY);
        if (found == null) {
            Positions.requireSpelling(params);
            return null;
        }
        Check.that(
                found instanceof KeyValueCache,
                () -> KEY + " is a " + found.getClass().getSimpleName()
                        + ": expected a KeyValueCache; pass its nextStep() to the forward");
        KeyValueCache cache = (KeyValueCache) found;
        cache.isPending = false;
        Positions.requireSpelling(params);
        Check.that(!training, "a KeyValueCache was given in training: expected inference; train on whole sequences");
        Check.that(
                params.get(Positions.START) != null,
                "a KeyValueCache was given without " + Positions.START
                        + ": expected both, as nextStep() returns them; pass its result to every block");
        return cache;
    }

    /** The positions of a self-attention. */
    Steps stepsOf(Block attention, PairList<String, Object> params) {
        int length = lengths.getOrDefault(attention, 0);
        int start = Positions.start(params, 0, Positions.UNLIMITED);
        Check.that(
                start == length,
                () -> Positions.START + " is " + start + ", but the cache holds " + length + " positions of "
                        + attention
                        + ": expected the same; pass nextStep() of the cache once for the whole model, or start again"
                        + " with clear()");
        Steps entry = steps.computeIfAbsent(attention, key -> new Steps(manager));
        entry.length = length;
        return entry;
    }

    /** Sets the number of positions that an attention has processed. */
    void done(Block attention, int length) {
        lengths.put(attention, length);
    }

    /** The projected keys and values of an attention over other arrays; null if those were other objects. */
    Source sourceOf(Block attention, NDArray keys, NDArray values) {
        Source found = sources.get(attention);
        return found != null && found.givenKeys == keys && found.givenValues == values ? found : null;
    }

    /** Keeps projected keys and values together with the arrays that they were projected from. */
    void keep(Block attention, NDArray givenKeys, NDArray givenValues, NDArray keys, NDArray values) {
        Source before =
                sources.put(attention, new Source(givenKeys, givenValues, kept(manager, keys), kept(manager, values)));
        if (before != null) {
            before.close();
        }
    }

    /** The values of an array without their gradient, kept beyond any scope. */
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

        /** The number of positions. */
        int length() {
            return length;
        }

        /**
         * Writes the keys and values of further positions, (B, N, T, H). They count once {@link #done(Block, int)} is
         * called.
         */
        void write(NDArray newKeys, NDArray newValues) {
            if (keys != null) {
                requireSame(newKeys);
                requireFollowing(newValues);
            }
            long end = length + newKeys.getShape().get(2);
            keys = written(keys, newKeys, end);
            values = written(values, newValues, end);
        }

        private void requireSame(NDArray newKeys) {
            Shape given = newKeys.getShape();
            Shape held = keys.getShape();
            Check.that(
                    given.get(0) == held.get(0)
                            && newKeys.getDataType() == keys.getDataType()
                            && newKeys.getDevice().equals(keys.getDevice()),
                    () -> "a step with batch size " + given.get(0) + ", " + newKeys.getDataType() + " on "
                            + newKeys.getDevice() + " does not fit the cache's " + held.get(0) + ", "
                            + keys.getDataType() + " on " + keys.getDevice()
                            + ": expected the same throughout a sequence; start another one with clear()");
        }

        /** Refuses a step that repeats what the cache holds; only a layer that sees no positions can tell. */
        private void requireFollowing(NDArray newValues) {
            if (length < 2 || newValues.getShape().get(2) <= length || !HostData.isHost(newValues.getDevice())) {
                return;
            }
            try (NDArray held = first(values, values.getManager(), length);
                    NDArray repeated = newValues.get(NDIndex.sliceAxis(2, 0, length));
                    NDArray difference = held.sub(repeated)) {
                Check.that(
                        greatest(difference) > SAME * greatest(held),
                        () -> "a step of " + newValues.getShape().get(2) + " tokens begins with the " + length
                                + " that the cache holds: expected the tokens that follow; pass only those");
            }
        }

        private static double greatest(NDArray array) {
            try (NDArray absolute = array.abs();
                    NDArray greatest = absolute.max()) {
                return HostData.doubles(greatest)[0];
            }
        }

        private NDArray written(NDArray held, NDArray added, long end) {
            NDArray room = held == null || held.getShape().get(2) < end ? grown(held, added, end) : held;
            // without its gradient, otherwise each step would extend a graph that is never used
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

        /** An array of at least twice the capacity, with the present positions. */
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
