package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.options.Check;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * The keys and values of the positions that a decoder has processed, so that the next step, a forward of the tokens
 * that follow, computes only its own. One cache is for all {@link MultiHeadAttentionBlock}s of a model, and for one
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
 * The model has to pass forward parameters to its blocks, which DJL's {@link ai.djl.nn.SequentialBlock} does not do. A
 * model must not use one attention block twice in a forward.
 *
 * <h2>What is cached</h2>
 *
 * <ul>
 *   <li>Self-attention, which is an input {@code [x]}, or the same array as keys and queries, adds its keys and values.
 *       {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS} among the forward parameters are held with
 *       the keys; the start position then only says how many tokens the cache holds.
 *   <li>An attention over other arrays, such as an encoder's output, caches its projected keys and values as long as it
 *       is given the same array objects, even after they were closed, and computes them again for others. It does not
 *       notice a change of their content: after an operation in place, give a new array, or call {@link #clear} and
 *       start again.
 *   <li>A bias of distances, such as ALiBi's, T5's or a network's, is cached for up to twice as many distances as there
 *       are keys, (1, N, 2F), from the first step of one token on. Like the keys, the biases are computed with the
 *       parameters of that time.
 *   <li>A {@code TransformerStackBlock} that masks padding adds which tokens are padding.
 * </ul>
 *
 * <p>The capacity doubles when needed, starting at 64 positions or the capacity of the constructor: (B, K, capacity, H)
 * for keys and for values in each attention, on the device and in the data type of the model. An attention with a
 * window or chunks of w positions holds the last w and the latest step, in room for at most twice as many. With
 * explicit positions, chunks hold all, since a chunk may then have any number of tokens.
 *
 * <h2>Steps</h2>
 *
 * In a self-attention that is not causal, an earlier query does not see later keys. The first step may be a prompt that
 * sees itself in both directions, as in prefix language models; later steps have one token, or a mask (B, T, F) or (B,
 * N, T, F) that hides later keys.
 *
 * <p>After a step with a mask that is the same for each query, (B, F), every step has such a mask of all tokens so far.
 * A mask that differs between queries counts for its own step only.
 *
 * <p>A cache cannot know that a forward failed after its attentions, for example in an output layer. After a forward
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
 * <h2>Exceptions</h2>
 *
 * A forward throws {@link IllegalArgumentException} for
 *
 * <ul>
 *   <li>a cache in training;
 *   <li>a step of another batch size, data type or device than the previous ones;
 *   <li>a step without a mask after a step with one of keys;
 *   <li>several tokens after the first step in a self-attention that is not causal and has no mask that differs between
 *       queries;
 *   <li>a step that gives a causal attention over other arrays fewer keys than there are tokens so far;
 *   <li>a cache without the start position that {@link #nextStep} gave with it, or with another one.
 * </ul>
 *
 * <p>A cache is for one thread at a time. A call while another thread is in an attention's forward with the cache, or
 * in {@link #rewind}, {@link #select}, {@link #fork} or {@link #clear}, throws {@link IllegalStateException}. A cache
 * cannot detect threads that take turns within one model's forward, which mixes their steps, nor that another thread
 * closes the parent manager, which may abort the JVM. A closed cache throws {@link IllegalStateException} too.
 */
public final class KeyValueCache implements AutoCloseable {

    /** The key of the forward parameter that holds the cache. */
    public static final String KEY = Positions.CACHE;

    private static final int FIRST_CAPACITY = 64;

    private final NDManager parent;
    private final NDManager manager;
    private final int capacity;
    private final IdentityHashMap<Block, Steps> steps = new IdentityHashMap<>();
    private final IdentityHashMap<Block, Source> sources = new IdentityHashMap<>();

    /** The padding that each stack of layers has masked. */
    private final IdentityHashMap<Block, Padding> paddings = new IdentityHashMap<>();

    /** The number of positions that each attention has processed. */
    private final IdentityHashMap<Block, Integer> lengths = new IdentityHashMap<>();

    /** The first position of the first step whose mask later steps of an attention need too. */
    private final IdentityHashMap<Block, Integer> masked = new IdentityHashMap<>();

    private final InputMistakes mistakes = new InputMistakes();

    /** Whether a step was begun that has not reached an attention yet. */
    private boolean isPending;

    /** Held by the thread that uses the arrays. */
    private final ReentrantLock lock = new ReentrantLock();

    /**
     * Creates an empty cache with room for 64 positions.
     *
     * @param manager the parent of the manager that the arrays are attached to; they are freed with it or by
     *     {@link #close}
     */
    public KeyValueCache(NDManager manager) {
        this(manager, FIRST_CAPACITY);
    }

    /**
     * Creates an empty cache. Up to its capacity, adding positions copies none of the earlier ones.
     *
     * @param manager the parent of the manager that the arrays are attached to; they are freed with it or by
     *     {@link #close}
     * @param capacity the number of positions to make room for at first, at least 1
     * @throws IllegalArgumentException if the capacity is not positive
     */
    public KeyValueCache(NDManager manager, int capacity) {
        Check.positive("capacity", capacity);
        this.capacity = capacity;
        parent = manager;
        this.manager = manager.newSubManager();
    }

    /** {@return the number of positions that all attentions have processed, which is the index of the next token} */
    public int getLength() {
        return lengths.values().stream().mapToInt(Integer::intValue).min().orElse(0);
    }

    /**
     * Begins the next step. Call it once for each forward of the whole model. Positions that only some of the
     * attentions have processed are dropped.
     *
     * @return new forward parameters: this cache, and the position that the step begins at; others may be added
     * @throws IllegalStateException if the previous step did not reach an attention: the forward parameters were not
     *     passed on, or the forward failed before and {@link #rewind} was not called
     */
    public PairList<String, Object> nextStep() {
        int length = exclusively(this::getLength);
        if (isPending) {
            throw new IllegalStateException(
                    "the step that nextStep() began at position " + length + " did not reach an attention"
                            + ": expected forward parameters that reach every MultiHeadAttentionBlock; hand them on in each"
                            + " block's forward (SequentialBlock does not), or call rewind(" + length
                            + ") if the forward failed; see docs/using.md#in-djls-containers");
        }
        rewind(length);
        isPending = true;
        PairList<String, Object> parameters = new PairList<>();
        parameters.add(KEY, this);
        parameters.add(Positions.START, length);
        return parameters;
    }

    /**
     * Drops the last positions, after a forward that failed or to replace them by others. The cache is then as it was
     * when it had this length, at the start of a step or within one. Explicit positions are read, which waits for a
     * GPU.
     *
     * @param length the number of positions to keep, from 0 to {@link #getLength}
     * @throws IllegalArgumentException if the cache holds fewer, or if the window of an attention reaches back to
     *     positions that are no longer held
     */
    public void rewind(int length) {
        exclusively(() -> {
            Check.between("length", length, 0, getLength());
            steps.values().forEach(entry -> entry.requireHeld(length));
            if (length == 0) {
                // what follows may have another batch size
                steps.values().forEach(Steps::close);
                steps.clear();
            }
            paddings.replaceAll((stack, padding) -> padding.cut(manager, length));
            steps.values().forEach(entry -> entry.rewind(length));
            lengths.replaceAll((attention, longer) -> length);
            masked.values().removeIf(start -> start >= length);
            isPending = false;
            return null;
        });
    }

    /**
     * Keeps some of the sequences in a new order, such as the best beams of a beam search, or those that are not
     * finished. A cross-attention projects its keys and values again at the next step.
     *
     * @param rows indices of the batch, (n) of an integer type; an index may occur several times
     * @throws IllegalArgumentException if the rows have another rank or data type, there are none, or one is out of
     *     range; nothing has changed then
     */
    public void select(NDArray rows) {
        Check.that(
                rows.getShape().dimension() == 1 && rows.getDataType().isInteger() && rows.size() > 0,
                () -> "rows " + rows.getShape() + " of type " + rows.getDataType()
                        + ": expected one integer or more, (n); give the indices of the sequences to keep");
        exclusively(() -> {
            // a step that failed may have left one without keys
            steps.values().removeIf(entry -> entry.keys == null);
            steps.values().forEach(entry -> entry.requireRows(rows));
            steps.values().forEach(entry -> entry.select(rows));
            paddings.replaceAll((stack, padding) -> padding.select(manager, rows));
            sources.values().forEach(Source::close);
            sources.clear();
            return null;
        });
    }

    /**
     * {@return a copy of this cache, for another continuation of the same sequences; a child of the same manager,
     * closed by the caller}
     */
    public KeyValueCache fork() {
        return exclusively(() -> {
            KeyValueCache copy = new KeyValueCache(parent, capacity);
            copy.lengths.putAll(lengths);
            copy.masked.putAll(masked);
            steps.forEach((attention, entry) -> copy.steps.put(attention, entry.copy(copy)));
            paddings.forEach((stack, padding) -> copy.paddings.put(stack, padding.copy(copy.manager)));
            sources.forEach((attention, source) ->
                    copy.keep(attention, source.keysInput, source.valuesInput, source.keys, source.values));
            return copy;
        });
    }

    /** Frees all keys and values, so that another sequence can begin. */
    public void clear() {
        exclusively(() -> {
            lengths.clear();
            masked.clear();
            isPending = false;
            steps.values().forEach(Steps::close);
            steps.clear();
            paddings.values().forEach(Padding::close);
            paddings.clear();
            sources.values().forEach(Source::close);
            sources.clear();
            return null;
        });
    }

    /** Frees everything; the cache cannot be used again. */
    @Override
    public void close() {
        if (manager.isOpen()) {
            clear();
            manager.close();
        }
    }

    /** Runs an action on the arrays, which no other thread may write or free meanwhile. */
    <T> T exclusively(Supplier<T> use) {
        if (!lock.tryLock()) {
            throw new IllegalStateException("another thread is using this KeyValueCache: expected one thread at a time;"
                    + " create a cache for each thread, or give it a fork()");
        }
        try {
            if (!manager.isOpen()) {
                throw new IllegalStateException("the KeyValueCache is closed, or the manager that it was created with:"
                        + " expected an open one; create another with new KeyValueCache(manager) and begin again");
            }
            return use.get();
        } finally {
            lock.unlock();
        }
    }

    /**
     * The cache among the parameters of a forward; null for none.
     *
     * @hidden
     */
    public static KeyValueCache in(PairList<String, Object> params, boolean training) {
        Object found = params == null ? null : params.get(KEY);
        Check.that(
                found == null || found instanceof KeyValueCache,
                () -> KEY + " is a " + found.getClass().getSimpleName()
                        + ": expected a KeyValueCache; pass its nextStep() to the forward");
        KeyValueCache cache = (KeyValueCache) found;
        if (cache == null) {
            return null;
        }
        cache.isPending = false;
        Check.that(!training, "a KeyValueCache was given in training: expected inference; train on whole sequences");
        Check.that(
                params.get(Positions.START) != null,
                "a KeyValueCache was given without " + Positions.START
                        + ": expected both, as nextStep() returns them; pass its result to every block");
        return cache;
    }

    /** The positions of a self-attention. */
    Steps stepsOf(MultiHeadAttentionBlock attention, PairList<String, Object> params) {
        int length = lengths.getOrDefault(attention, 0);
        int start = Positions.start(params, Positions.UNLIMITED);
        Check.that(
                start == length,
                () -> Positions.START + " is " + start + ", but the cache holds " + length + " positions of "
                        + attention
                        + ": expected the same; pass nextStep() of the cache once for the whole model, or start again"
                        + " with clear()");
        Steps entry = steps.containsKey(attention) ? steps.get(attention) : new Steps(this, attention);
        Check.that(
                entry.length() >= length,
                () -> "a step [x] at position " + start + " follows steps that gave " + attention
                        + " other arrays as keys: expected one of both for all steps; give the keys of all tokens, or start"
                        + " again with clear()");
        steps.put(attention, entry);
        entry.rewind(length);
        return entry;
    }

    /**
     * Returns which of all tokens up to those of a step are not padding, (B, F), INT32, which belongs to this object;
     * null if all are known not to be.
     *
     * @param stack the block that masks padding
     * @param ofStep which of the step's tokens are not padding, (B, T), INT32
     * @param isWithoutPadding whether none of them is known to be
     * @param first the index of the first of them
     * @hidden
     */
    public NDArray maskOf(Block stack, NDArray ofStep, boolean isWithoutPadding, int first) {
        return exclusively(() -> {
            Padding known = paddings.getOrDefault(stack, new Padding(0, null));
            long batch = ofStep.getShape().get(0);
            Shape earlier = new Shape(batch, first);
            Shape held = known.mask == null ? new Shape(batch, known.length) : known.mask.getShape();
            Check.that(
                    held.equals(earlier),
                    () -> "a step " + ofStep.getShape() + " without a mask at position " + first
                            + " follows tokens " + held + " without one: expected " + earlier
                            + "; give a mask of all tokens so far, (B, F), at every step or at none, or start again with"
                            + " clear()");
            NDArray all = known.mask == null && isWithoutPadding ? null : ofStep.duplicate();
            if (all != null && first > 0) {
                try (NDArray added = all;
                        NDArray before = known.mask == null
                                ? manager.ones(earlier, DataType.INT32, ofStep.getDevice())
                                : known.mask) {
                    all = before.concat(added, 1);
                }
            }
            paddings.put(
                    stack,
                    new Padding(first + (int) ofStep.getShape().get(1), all == null ? null : owned(manager, all)));
            return all;
        });
    }

    /** Rejects a step without a mask if an earlier one changes its scores too. */
    void requireMask(Block attention, AttentionInputs inputs) {
        Check.that(inputs.mask() != null || !masked.containsKey(attention), () -> {
            long keys = inputs.keys().getShape().get(1) + (inputs.isSelf() ? lengths.get(attention) : 0);
            return "a step without a mask follows a step with one, which changes the scores of this one too: expected the mask of"
                    + " all keys, (B, " + keys
                    + "); give it at every step";
        });
    }

    /**
     * Sets the number of positions that an attention has processed.
     *
     * @param hasMaskOfKeys whether the last step had a mask that is the same for each query
     */
    void commit(Block attention, int length, boolean hasMaskOfKeys) {
        int start = lengths.getOrDefault(attention, 0);
        if (hasMaskOfKeys) {
            masked.putIfAbsent(attention, start);
        }
        lengths.put(attention, length);
    }

    /** The projected keys and values of an attention over other arrays; null if those were other objects. */
    Source sourceOf(Block attention, NDArray keys, NDArray values) {
        Source found = sources.get(attention);
        return found != null && found.keysInput == keys && found.valuesInput == values ? found : null;
    }

    /** Rejects a step of a causal attention with only its own keys: it would not see those of earlier steps. */
    void requireEarlierKeys(MultiHeadAttentionBlock attention, int start, int length, long keys) {
        Check.that(
                start == 0
                        || !(sources.containsKey(attention) || steps.containsKey(attention))
                        || !attention.visibility().isCausal()
                        || keys >= start + length,
                () -> "a step of " + length + " tokens at position " + start + " gives " + attention
                        + ", which is causal, "
                        + keys
                        + " keys: expected [x], or the same array as keys and queries, so that the cache keeps the"
                        + " keys, or at least " + (start + length)
                        + "; or build a cross-attention with optCausal(false)");
    }

    /** Keeps projected keys and values together with the arrays that they were projected from. */
    void keep(Block attention, NDArray keysInput, NDArray valuesInput, NDArray keys, NDArray values) {
        Source before = sources.put(
                attention, new Source(keysInput, valuesInput, detached(manager, keys), detached(manager, values)));
        if (before != null) {
            before.close();
        }
    }

    /** The values of an array without their gradient, beyond any scope. */
    private static NDArray detached(NDManager manager, NDArray array) {
        return owned(manager, array.stopGradient());
    }

    private static NDArray owned(NDManager manager, NDArray created) {
        NDScope.unregister(created);
        created.attach(manager);
        return created;
    }

    /** Projected keys and values, (B, N, F, H), and what they were projected from. */
    record Source(NDArray keysInput, NDArray valuesInput, NDArray keys, NDArray values) implements AutoCloseable {
        @Override
        public void close() {
            keys.close();
            values.close();
        }
    }

    /**
     * The padding among the first tokens.
     *
     * @param mask which of them are not padding, (B, length), INT32; null if all are known not to be
     */
    private record Padding(int length, NDArray mask) implements AutoCloseable {

        Padding cut(NDManager manager, int shorter) {
            if (length <= shorter) {
                return this;
            }
            try (this) {
                boolean hasMask = mask != null && shorter > 0;
                return new Padding(
                        shorter, hasMask ? owned(manager, mask.get(NDIndex.sliceAxis(1, 0, shorter))) : null);
            }
        }

        Padding select(NDManager manager, NDArray rows) {
            return mask == null ? this : new Padding(length, Steps.selected(manager, mask, rows));
        }

        Padding copy(NDManager manager) {
            return new Padding(length, Steps.copied(mask, manager));
        }

        @Override
        public void close() {
            Steps.closeAll(mask);
        }
    }

    /** The keys and values of one attention's positions. */
    static final class Steps implements AutoCloseable {
        private final KeyValueCache cache;
        private final NDManager manager;
        private final MultiHeadAttentionBlock attention;

        /** (B, N, room, H). */
        private NDArray keys;

        private NDArray values;

        /** Arrays that depend on parameters and distances only, by name. */
        private final Map<String, NDArray> byName = new HashMap<>();

        /** The index of the first token in the arrays, of which the first ones may have been dropped. */
        private int origin;

        /**
         * The tokens that were written and are held, including a failed step until it is rewound. Their positions are
         * (…, n), and belong to this object.
         */
        private Positions tokens = Positions.of(0, 0);

        /** The length and the end of the positions before the last tokens were written, which may be rejected. */
        private int lengthBefore;

        private int endBefore;

        /** The index of the first token with an explicit position. */
        private int firstExplicit;

        private Steps(KeyValueCache cache, MultiHeadAttentionBlock attention) {
            this.cache = cache;
            this.attention = attention;
            manager = cache.manager;
        }

        /**
         * The number of tokens that a query from an index on may see, up to and including its own; null for all. With
         * explicit positions, a chunk may have any number of tokens.
         */
        private Integer reach(int next) {
            boolean isExplicit = tokens.positions() != null && next > firstExplicit;
            Visibility visibility = attention.visibility();
            return isExplicit && visibility.chunkSize() != null ? null : visibility.reach();
        }

        /** The number of tokens so far. */
        int length() {
            return tokens.first() + tokens.length();
        }

        /** Continues at an index, as if no token from there on had been written. */
        void rewind(int next) {
            if (next == length()) {
                return;
            }
            int count = next - tokens.first();
            try (Temporaries own = new Temporaries()) {
                Positions rest =
                        next > firstExplicit ? tokens.part(own, 0, count) : Positions.of(tokens.first(), count);
                int end = next <= lengthBefore ? endBefore : rest.end();
                NDArray positions = copied(rest.positions(), manager);
                closeAll(tokens.positions());
                tokens = new Positions(rest.first(), count, positions, end);
            }
        }

        void requireHeld(int next) {
            int before = reach(next) == null ? 0 : reach(next) - 1;
            Check.that(
                    tokens.first() <= Math.max(0, next - before),
                    () -> "length " + next + ": expected at least " + (tokens.first() + before)
                            + ", since the window of " + attention
                            + " would reach back to positions that are no longer held; call clear() and process the"
                            + " sequence again");
        }

        void requireRows(NDArray rows) {
            DataTypes.requireSameEngine(rows, keys, "cached keys");
            Indices.requireBelow(rows, (int) keys.getShape().get(0), "row", "give indices of the batch");
        }

        /**
         * Makes room for the keys and values of further tokens, (B, N, T, H), and drops the tokens that no query from
         * there on can see, but for one more to rewind by one step. The keys and values are then written by
         * {@link #write} or {@link #step}, and count once {@link KeyValueCache#commit} is called. Returns the tokens
         * that are held; their positions belong to this object.
         */
        Positions append(NDArray newKeys, NDArray newValues, Positions added) {
            if (keys != null) {
                requireSame(newKeys);
                if (tokens.length() > 0 && tokens.first() == 0) {
                    cache.mistakes.checkStep(newValues, length(), () -> values(manager));
                }
            }
            Check.that(
                    tokens.positions() == null || added.positions() != null,
                    () -> "a step of " + added.length() + " tokens without " + Positions.POSITIONS
                            + " follows steps with positions: expected positions for every step; add them to the forward"
                            + " parameters");
            int length = length();
            int first = reach(length) == null ? tokens.first() : Math.max(tokens.first(), length - reach(length));
            int needed = length + added.length() - first;
            boolean isFull = keys == null || length + added.length() - origin > room();
            try (Temporaries own = new Temporaries()) {
                Positions held = tokens.part(own, first - tokens.first(), length - first);
                Positions together = held.followedBy(own, added);
                if (isFull) {
                    long room = Math.max(needed, keys == null ? firstRoom() : Math.min(2L * room(), 2L * needed));
                    NDArray movedKeys = own.add(moved(keys, first, newKeys, room));
                    NDArray movedValues = own.add(moved(values, first, newValues, room));
                    closeAll(keys, values);
                    keys = own.keep(movedKeys);
                    values = own.keep(movedValues);
                    origin = first;
                }
                closeAll(tokens.positions());
                lengthBefore = length;
                endBefore = tokens.end();
                firstExplicit = tokens.positions() == null ? length : firstExplicit;
                tokens = together;
                if (tokens.positions() != null) {
                    own.keep(owned(manager, tokens.positions()));
                }
            }
            return tokens;
        }

        private int room() {
            return (int) keys.getShape().get(2);
        }

        private int firstRoom() {
            return reach(0) == null ? cache.capacity : Math.min(cache.capacity, 2 * reach(0));
        }

        private static void closeAll(NDArray... arrays) {
            for (NDArray array : arrays) {
                if (array != null) {
                    array.close();
                }
            }
        }

        private void requireSame(NDArray newKeys) {
            Shape added = newKeys.getShape();
            Shape held = keys.getShape();
            Check.that(
                    added.get(0) == held.get(0)
                            && newKeys.getDataType() == keys.getDataType()
                            && newKeys.getDevice().equals(keys.getDevice()),
                    () -> "a step with batch size " + added.get(0) + ", " + newKeys.getDataType() + " on "
                            + newKeys.getDevice() + " does not fit the cache's " + held.get(0) + ", "
                            + keys.getDataType() + " on " + keys.getDevice()
                            + ": expected the same throughout a sequence; start another one with clear()");
        }

        /** A larger array with the keys or values that are held. */
        private NDArray moved(NDArray held, int first, NDArray added, long room) {
            Shape shape = Shape.update(added.getShape(), 2, room);
            try (Temporaries own = new Temporaries()) {
                NDArray larger = own.add(manager.create(shape, added.getDataType(), added.getDevice()));
                NDScope.unregister(larger);
                if (length() > first) {
                    put(larger, own.add(from(first, held, manager)), 0);
                }
                return own.keep(larger);
            }
        }

        /** Writes the keys and values of the last tokens, for which there is room. */
        void write(NDArray newKeys, NDArray newValues) {
            int at = length() - origin - (int) newKeys.getShape().get(2);
            put(keys, newKeys, at);
            put(values, newValues, at);
        }

        /**
         * Writes the key and the value of the last token, and returns the result of its query, (B, K, N / K, H).
         *
         * @param firstKey the index of the first key that the query sees
         * @param bias what is added to the scores, (1 or N, n or more), the nearest distance last; null for nothing
         * @param scale the factor of the scores, a number; null for 1 / √H
         */
        NDArray step(
                TorchFunctions functions,
                NDArray query,
                NDArray key,
                NDArray value,
                int firstKey,
                NDArray bias,
                NDArray scale) {
            return functions.step(
                    query, key, value, keys, values, firstKey - origin, length() - 1 - origin, bias, scale);
        }

        private static void put(NDArray array, NDArray added, int at) {
            // without its gradient, otherwise each step would extend a graph that is never used
            try (NDArray plain = added.stopGradient()) {
                array.set(NDIndex.sliceAxis(2, at, at + added.getShape().get(2)), plain);
            }
        }

        /**
         * An array that depends on parameters and distances only: from an earlier step, or else computed for twice as
         * many distances. It belongs to this object. Null if null was computed.
         *
         * @param axis the axis of the distances, the nearest last
         * @param count the number of distances that are needed; 0 if the array does not depend on distances
         */
        NDArray cached(String name, int axis, int count, IntFunction<NDArray> computed) {
            NDArray before = byName.get(name);
            if (before != null && before.getShape().get(axis) >= count) {
                return before;
            }
            try (NDArray longer = computed.apply(Math.min(2 * count, Positions.UNLIMITED))) {
                if (longer != null) {
                    byName.put(name, detached(manager, longer));
                    closeAll(before);
                }
            }
            return byName.get(name);
        }

        /** The keys of the tokens that are held, (B, N, n, H): a new array. */
        NDArray keys(NDManager receiver) {
            return from(tokens.first(), keys, receiver);
        }

        /** Their values, (B, N, n, H): a new array. */
        NDArray values(NDManager receiver) {
            return from(tokens.first(), values, receiver);
        }

        private NDArray from(int first, NDArray held, NDManager receiver) {
            return held.get(receiver, NDIndex.sliceAxis(2, first - origin, length() - origin));
        }

        void select(NDArray rows) {
            keys = selected(manager, keys, rows);
            values = selected(manager, values, rows);
            NDArray positions = tokens.positions();
            if (positions != null
                    && positions.getShape().get(positions.getShape().dimension() - 2) > 1) {
                tokens = new Positions(
                        tokens.first(), tokens.length(), selected(manager, positions, rows), tokens.end());
            }
        }

        /** Some rows along the batch's axis, in place of an array. */
        private static NDArray selected(NDManager manager, NDArray array, NDArray rows) {
            Shape shape = array.getShape();
            // the batch is the first axis of keys and values, and the last but one of positions and masks
            int axis = shape.dimension() == 4 ? 0 : shape.dimension() - 2;
            try (Temporaries own = new Temporaries()) {
                NDArray first = axis == 0 ? array : own.add(array.swapAxes(0, 1));
                Shape others = first.getShape().slice(1);
                NDArray flat = own.add(first.reshape(shape.get(axis), others.size()));
                NDArray chosen = own.add(Indices.lookUp(rows, flat, manager));
                NDArray shaped = own.add(chosen.reshape(new Shape(rows.size()).addAll(others)));
                NDArray result = axis == 0 ? own.keep(shaped) : shaped.swapAxes(0, 1);
                array.close();
                return owned(manager, result);
            }
        }

        /** The same steps with arrays of their own. */
        Steps copy(KeyValueCache receiver) {
            Steps copy = new Steps(receiver, attention);
            copy.keys = copied(keys, copy.manager);
            copy.values = copied(values, copy.manager);
            NDArray positions = copied(tokens.positions(), copy.manager);
            copy.tokens = new Positions(tokens.first(), tokens.length(), positions, tokens.end());
            copy.origin = origin;
            copy.firstExplicit = firstExplicit;
            return copy;
        }

        private static NDArray copied(NDArray array, NDManager receiver) {
            return array == null ? null : owned(receiver, array.duplicate());
        }

        @Override
        public void close() {
            closeAll(keys, values, tokens.positions());
            byName.values().forEach(NDArray::close);
        }
    }
}
