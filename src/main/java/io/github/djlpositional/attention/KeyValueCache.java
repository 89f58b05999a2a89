package io.github.djlpositional.attention;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Caches the keys and values of the tokens that a decoder has processed, so that the next step, a forward of the
 * following tokens, computes only its own. One cache holds the keys and values of all {@link MultiHeadAttentionBlock}s
 * of a model, for one sequence or batch of sequences.
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
 *   <li>A self-attention, whose input is {@code [x]} or has the same array as keys and queries, appends its keys and
 *       values. Explicit {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS} are cached with the keys;
 *       the start position is then only the number of cached tokens.
 *   <li>A cross-attention, for example over an encoder's output, caches its projected keys and values as long as its
 *       inputs are the same array objects, even closed ones, and computes them again for other objects. It does not
 *       detect a change of their content: after an in-place operation, pass a new array, or call {@link #clear} and
 *       start again. {@link MultiHeadAttentionBlock#MEMORY_POSITIONS} are cached with the keys, so that later steps may
 *       leave them out. Other positions replace them, and a later step with other keys needs positions too, except
 *       after {@link #select}, which selects their rows.
 *   <li>A distance bias, such as that of ALiBi, T5 or a network, is cached for up to twice as many distances as there
 *       are keys, (1, N, 2F), from the first step of one token on. Like the keys, cached biases do not change when the
 *       parameters do.
 *   <li>The {@linkplain Term#scoresOfTokens features} that an encoding computes of the keys, (B, capacity, W).
 *   <li>Masks of keys. A mask of the tokens of a step, (B, T), is appended to the previous ones, so that padding stays
 *       hidden in later steps. A mask of all tokens so far, (B, F), replaces them. The tokens of a step without a mask
 *       are visible. A mask with an axis of queries, (B, T, F) or (B, N, T, F), applies to its own step only. The mask
 *       of a cross-attention is cached with its keys: pass the mask again with other arrays, and after {@link #select}.
 * </ul>
 *
 * <p>The capacity doubles when needed, starting at 64 tokens or the capacity passed to the constructor: (B, K,
 * capacity, H) for keys and for values in each attention, on the device and in the data type of the model. An attention
 * with a window or chunks of w tokens caches the last w tokens and the latest step, with room for at most twice as
 * many. It caches more in two cases:
 *
 * <ul>
 *   <li>A window counts only visible tokens. After a step with a mask of keys, it keeps all tokens until w tokens
 *       without a mask have followed: pass the mask with the prompt, and none in steps without padding. A mask of all
 *       tokens so far does not bring back tokens that were dropped before.
 *   <li>With explicit positions, an attention with chunks, or with a window of positions, keeps all tokens, since any
 *       number of them may be within reach.
 * </ul>
 *
 * <h2>Decoding step by step</h2>
 *
 * In a self-attention that is not causal, an earlier query does not see later keys. The first step may be a prompt
 * whose tokens see each other in both directions, as in prefix language models; later steps have one token, or a mask
 * (B, T, F) or (B, N, T, F) that hides later keys.
 *
 * <p>A cache does not detect that a forward failed after its attentions, for example in an output layer. After a
 * forward that threw an exception, call {@link #rewind} with the previous length; then the step can be repeated:
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
 * <p>{@link #save} and {@link #load} continue in another process, from the same tokens.
 *
 * <h2>Exceptions</h2>
 *
 * A forward throws {@link IllegalArgumentException} for
 *
 * <ul>
 *   <li>a cache in training;
 *   <li>a step with a different batch size, data type or device than the previous steps, or a cache with the manager of
 *       another engine;
 *   <li>a mask of keys that fits neither the tokens of the step nor all tokens so far;
 *   <li>self-attentions to which one step adds different numbers of tokens, such as the attentions of an encoder that
 *       is passed the forward parameters of a decoder's step;
 *   <li>several tokens after the first step in a self-attention that is not causal and has no mask that differs between
 *       queries;
 *   <li>a causal cross-attention with fewer keys than there are tokens so far;
 *   <li>other keys without positions in a cross-attention, after a step whose keys had positions;
 *   <li>explicit positions after steps without them, in an attention whose chunks or window of positions has dropped
 *       tokens;
 *   <li>a cache without the start position that {@link #nextStep} returned, or with another one.
 * </ul>
 *
 * <p>A cache is for one thread at a time. A call while another thread is in an attention's forward with the cache, or
 * in a method that reads or changes the tokens, such as {@link #rewind} or {@link #join}, throws
 * {@link IllegalStateException}. A cache detects neither threads that take turns within one model's forward, which
 * mixes their steps, nor a thread that closes the parent manager, which may crash the JVM. A closed cache throws
 * {@link IllegalStateException} too.
 */
public final class KeyValueCache implements AutoCloseable {

    private static final String KEY = ForwardParameters.CACHE;

    private static final int INITIAL_CAPACITY = 64;

    /** The sum of a position and a shift is an integer. */
    private static final int LARGEST_SHIFT = 1 << 30;

    private final NDManager parent;
    private final NDManager manager;
    private final int capacity;
    private final IdentityHashMap<Block, CachedTokens> tokens = new IdentityHashMap<>();
    private final IdentityHashMap<Block, CachedMemory> memories = new IdentityHashMap<>();

    /** The number of tokens that each attention has processed. */
    private final IdentityHashMap<Block, Integer> lengths = new IdentityHashMap<>();

    private final InputMistakes mistakes = new InputMistakes();

    /** Whether a step has begun that has not reached an attention yet. */
    private boolean isPending;

    /** The position of the last step, and the number of tokens that its self-attentions add, 0 if not known yet. */
    private int stepStart;

    private int added;

    /** The index of the first token of each row; null unless rows were joined. */
    private int[] starts;

    /** Cross-attentions whose memory had positions, which must be given with its keys. */
    private final Set<Block> forgotten = Collections.newSetFromMap(new IdentityHashMap<>());

    /** The positions of the step that {@link #nextStep(int)} has begun; null for none. */
    private NDArray stepPositions;

    /** Held by the thread that uses the arrays. */
    private final ReentrantLock lock = new ReentrantLock();

    /**
     * Creates an empty cache with room for 64 tokens.
     *
     * @param manager the parent of the manager that the arrays are attached to; they are freed with it or by
     *     {@link #close}
     */
    public KeyValueCache(NDManager manager) {
        this(manager, INITIAL_CAPACITY);
    }

    /**
     * Creates an empty cache. Up to its capacity, appending tokens does not copy the earlier ones.
     *
     * @param manager the parent of the manager that the arrays are attached to; they are freed with it or by
     *     {@link #close}
     * @param capacity the initial capacity in tokens, at least 1
     * @throws IllegalArgumentException if the capacity is not positive
     */
    public KeyValueCache(NDManager manager, int capacity) {
        Check.positive("capacity", capacity);
        this.capacity = capacity;
        parent = manager;
        this.manager = manager.newSubManager();
    }

    /** {@return the number of tokens that all attentions have processed, which is the index of the next token} */
    public int getLength() {
        return lengths.values().stream().mapToInt(Integer::intValue).min().orElse(0);
    }

    /**
     * Begins the next step. Call it once for each forward of the whole model. Tokens that only some of the attentions
     * have processed are dropped.
     *
     * @return new forward parameters: this cache and the start position of the step; the caller may add others
     * @throws IllegalStateException if the previous step did not reach an attention: the forward parameters were not
     *     passed on, or the forward failed before it reached one and {@link #rewind} was not called
     */
    public PairList<String, Object> nextStep() {
        int length = exclusively(this::getLength);
        if (isPending) {
            throw new IllegalStateException(
                    "the step that nextStep() began at position " + length + " did not reach an attention"
                            + ": expected forward parameters that reach every MultiHeadAttentionBlock; pass them on in"
                            + " each block's forward (SequentialBlock does not), or call rewind(" + length
                            + ") if the forward failed; see docs/using.md#in-djls-containers");
        }
        rewind(length);
        isPending = true;
        PairList<String, Object> parameters = new PairList<>();
        parameters.add(KEY, this);
        parameters.add(ForwardParameters.START, length);
        return parameters;
    }

    /**
     * Begins the next step like {@link #nextStep()}. If the cached tokens have explicit positions, such as those of
     * rows that have {@linkplain #join joined}, the forward parameters also have
     * {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, (T) or (B, T) INT32: in each row, one more
     * than the position of the last token, and so on.
     *
     * @param count the number of tokens of the step, T
     * @return new forward parameters, valid until the next step
     * @throws IllegalArgumentException if the number is not positive, or the cached positions are on several axes or
     *     real numbers: call {@link #nextStep()}, and add the positions of the step
     * @throws IllegalStateException if the previous step did not reach an attention
     */
    public PairList<String, Object> nextStep(int count) {
        Check.positive("count", count);
        exclusively(() -> {
            tokens.values().forEach(CachedTokens::requireNextPosition);
            return null;
        });
        PairList<String, Object> parameters = nextStep();
        NDArray next = tokens.values().stream()
                .filter(cached -> !cached.isEmpty())
                .findFirst()
                .map(cached -> cached.nextPositions(count))
                .orElse(null);
        if (next != null) {
            closeStepPositions();
            stepPositions = next;
            parameters.add(ForwardParameters.POSITIONS, stepPositions);
        }
        return parameters;
    }

    /** Whether the positions of a step are those of {@link #nextStep(int)}. */
    boolean hasContinued(PairList<String, Object> params) {
        Object given = params.get(ForwardParameters.POSITIONS);
        return given != null && (given instanceof Positions positions ? positions.array() : given) == stepPositions;
    }

    private Device device() {
        return tokens.values().stream()
                .findFirst()
                .map(cached -> cached.keys().array().getDevice())
                .orElse(manager.getDevice());
    }

    private void closeStepPositions() {
        if (stepPositions != null) {
            stepPositions.close();
            stepPositions = null;
        }
    }

    /**
     * Drops the latest tokens, after a forward that failed or to replace them with others. This restores the state of
     * the cache at that length, which need not be the start of a step. Only a mask of all tokens is not reverted to the
     * mask that it replaced, nor the positions of a memory to those that they replaced, but for length 0, which drops
     * them.
     *
     * @param length the number of tokens to keep, from 0 to {@link #getLength}
     * @throws IllegalArgumentException if the cache holds fewer, if the window of an attention reaches back to tokens
     *     that are no longer cached, or if a shorter sequence that {@linkplain #join joined} would have no token left
     */
    public void rewind(int length) {
        exclusively(() -> {
            Check.between("length", length, 0, getLength());
            int smallest = starts == null ? 0 : 1 + Arrays.stream(starts).max().orElse(0);
            Check.that(
                    length == 0 || length >= smallest,
                    () -> "length " + length
                            + " is before the first token of a sequence that joined: expected at least " + smallest
                            + ", or 0 for no sequence; extract() the longer sequences first");
            tokens.values().forEach(cached -> cached.requireCached(length));
            if (length == 0) {
                // the next sequence may have another batch size
                tokens.values().forEach(CachedTokens::close);
                tokens.clear();
                // the positions of a memory are given with the first step
                memories.values().stream().filter(CachedMemory::hasPositions).forEach(CachedMemory::close);
                memories.values().removeIf(CachedMemory::hasPositions);
                forgotten.clear();
                forgetRows();
            }
            tokens.values().forEach(cached -> cached.rewind(length));
            lengths.replaceAll((attention, longer) -> length);
            isPending = false;
            added = 0;
            return null;
        });
    }

    /**
     * Keeps the longest common prefix of the tokens of this cache and a prompt, so that the next step processes only
     * the rest of the prompt, which has at least one token. Without such a prefix, or if the window of an attention
     * reaches back to tokens that are no longer cached, the cache is {@linkplain #clear cleared}.
     *
     * @param ids the ids of the cached tokens, as many as {@link #getLength}
     * @param prompt the ids of the prompt, one or more
     * @return the number of tokens that are kept, from 0 to one less than those of the prompt
     * @throws IllegalArgumentException if the numbers of ids do not fit, or if sequences of different lengths joined
     */
    public int rewindToPrefix(long[] ids, long[] prompt) {
        return exclusively(() -> {
            int length = getLength();
            Check.that(
                    ids.length == length,
                    () -> ids.length + " ids of " + length + " cached tokens: expected one for each; pass those of the"
                            + " prompt and of the tokens that were generated and processed");
            Check.that(prompt.length > 0, "no ids of a prompt: expected one or more; pass the ids of the prompt");
            requireAligned("a prefix");
            long batch = batch();
            Check.that(
                    batch <= 1, () -> "a prefix of " + batch + " sequences: expected one sequence; extract() it first");
            int difference = Arrays.mismatch(ids, prompt);
            int common = Math.min(difference < 0 ? length : difference, prompt.length - 1);
            if (common > 0 && tokens.values().stream().allMatch(cached -> cached.isCached(common))) {
                rewind(common);
                return common;
            }
            clear();
            return 0;
        });
    }

    /**
     * Removes tokens in the middle, so that the cache has room for later ones: context shift, StreamingLLM. The later
     * tokens move to the places of the removed ones. If their positions are their indices, they become smaller too, and
     * cached keys are rotated to them; positions that were passed with the tokens stay, see {@link #shift}.
     *
     * <p>An attention then computes what it would if the tokens had not been there. The layers of a model before it do
     * not: their results for the later tokens were computed with the removed ones. Absolute encodings at the input of a
     * model do not move either.
     *
     * <p>Each removal rounds the later keys again: in half precision, remove many tokens at once.
     *
     * @param from the index of the first token to remove, from 0
     * @param to one more than the index of the last, up to {@link #getLength}
     * @throws IllegalArgumentException if the range is not within the cached tokens, the window of an attention would
     *     reach back to tokens that are no longer cached, an encoding cannot move keys to other positions, or sequences
     *     of different lengths have {@linkplain #join joined}; the cache is then unchanged
     */
    public void remove(int from, int to) {
        exclusively(() -> {
            rewind(getLength());
            Check.between("from", from, 0, getLength());
            Check.between("to", to, from, getLength());
            requireAligned("tokens " + from + " to " + (to - 1));
            if (from == to || to == getLength()) {
                rewind(from == to ? getLength() : from);
                return null;
            }
            tokens.values().forEach(cached -> cached.requireRemovable(from, to));
            change(to, from - to, CachedTokens::haveConsecutivePositions, cached -> cached.remove(from, to));
            lengths.replaceAll((attention, length) -> length - (to - from));
            return null;
        });
    }

    /**
     * Adds a number to the positions that were passed with the tokens from an index on, such as after {@link #remove},
     * and rotates their cached keys to them.
     *
     * @param from the index of the first token
     * @param added the number, which may be negative
     * @throws IllegalArgumentException if the index is not that of a cached token, the positions of the tokens are
     *     their indices, a position would be out of range, or an encoding cannot move keys to other positions; the
     *     cache is then unchanged
     */
    public void shift(int from, int added) {
        exclusively(() -> {
            rewind(getLength());
            Check.between("from", from, 0, Math.max(0, getLength() - 1));
            Check.that(
                    !tokens.isEmpty() && tokens.values().stream().noneMatch(CachedTokens::haveConsecutivePositions),
                    () -> "a shift of tokens by " + added
                            + ", whose positions are their indices: expected positions that"
                            + " were passed with the tokens; call remove() to move tokens to other indices");
            Check.between("added", added, -LARGEST_SHIFT, LARGEST_SHIFT);
            change(from, added, cached -> true, cached -> {});
            return null;
        });
    }

    /** Encodes tokens for other positions, then changes the tokens of all attentions, or those of none. */
    private void change(int from, int added, Predicate<CachedTokens> isMoved, Consumer<CachedTokens> change) {
        IdentityHashMap<CachedTokens, CachedTokens.Moved> moved = new IdentityHashMap<>();
        try {
            tokens.values().stream().filter(isMoved).forEach(cached -> moved.put(cached, cached.moved(from, added)));
            tokens.values().forEach(change);
            moved.forEach(CachedTokens::replace);
        } finally {
            moved.values().forEach(CachedTokens.Moved::close);
        }
    }

    /** The number of sequences; 0 without tokens of a self-attention. */
    private long batch() {
        return tokens.values().stream()
                .filter(cached -> !cached.isEmpty())
                .mapToLong(cached -> cached.keys().batch())
                .findFirst()
                .orElse(0);
    }

    private void requireAligned(String what) {
        Check.that(
                starts == null || Arrays.stream(starts).allMatch(start -> start == 0),
                () -> what + " of sequences of different lengths: expected one sequence; extract() it first");
    }

    private void forgetRows() {
        starts = null;
        closeStepPositions();
    }

    /**
     * Adds the sequences of another cache after those of this one, so that one forward continues all of them: requests
     * join a running batch. An empty cache takes over the sequences of the other, which does not change.
     *
     * <p>The last tokens of all sequences are beside each other. Shorter sequences are padded before their first token;
     * the padding is hidden, and {@link #getLength} is the length of the longest. Sequences of different lengths have
     * positions of their own, so every later step begins with {@link #nextStep(int)}. To let sequences leave, call
     * {@link #select} with the others.
     *
     * <p>A cross-attention forgets its memory: pass the memory of all sequences at the next step, with its mask and
     * positions.
     *
     * @param other another cache that the same attentions have filled
     * @throws IllegalArgumentException if other attentions have filled it, or the data types, devices, or axes of
     *     positions differ; this cache is then unchanged
     */
    public void join(KeyValueCache other) {
        Check.that(other != this, "a cache joins itself: expected another; join its fork() to repeat its sequences");
        exclusively(() -> other.exclusively(() -> {
            other.rewind(other.getLength());
            rewind(getLength());
            requireJoins(other);
            int length = getLength();
            int last = Math.max(length, other.getLength());
            IdentityHashMap<Block, CachedTokens> joined = new IdentityHashMap<>();
            for (Map.Entry<Block, CachedTokens> each : other.tokens.entrySet()) {
                CachedTokens own = tokens.get(each.getKey());
                joined.put(
                        each.getKey(),
                        own == null ? each.getValue().copy(manager, null) : own.followedByRows(each.getValue()));
            }
            boolean isFirst = tokens.isEmpty();
            boolean areAligned = starts == null && other.starts == null && length == other.getLength();
            int[] own = isFirst ? new int[0] : firstTokens(last - length);
            int[] added = other.firstTokens(last - other.getLength());
            if (isFirst) {
                starts = other.starts == null ? null : added;
            } else {
                starts = areAligned
                        ? null
                        : IntStream.concat(Arrays.stream(own), Arrays.stream(added))
                                .toArray();
            }
            lengths.clear();
            other.lengths.keySet().forEach(attention -> lengths.put(attention, last));
            tokens.values().forEach(CachedTokens::close);
            tokens.clear();
            tokens.putAll(joined);
            forgotten.addAll(withMemoryPositions());
            forgotten.addAll(other.withMemoryPositions());
            memories.values().forEach(CachedMemory::close);
            memories.clear();
            return null;
        }));
    }

    /** The cross-attentions whose memory has positions, or had them. */
    private Set<Block> withMemoryPositions() {
        Set<Block> all = new HashSet<>(forgotten);
        memories.forEach((attention, memory) -> {
            if (memory.hasPositions()) {
                all.add(attention);
            }
        });
        return all;
    }

    /** Whether the memory of a cross-attention had positions, which must be given with its keys. */
    boolean hasForgottenPositions(Block attention) {
        return forgotten.contains(attention);
    }

    private void requireJoins(KeyValueCache other) {
        other.tokens.values().removeIf(CachedTokens::isEmpty);
        tokens.values().removeIf(CachedTokens::isEmpty);
        Check.that(
                !other.tokens.isEmpty(),
                "a cache without tokens joins another: expected the keys of a prompt; process it with nextStep() first");
        if (other.manager.getEngine() != manager.getEngine()) {
            throw DataTypes.otherEngine(
                    "the sequences", other.manager.getEngine(), manager.getEngine(), "the KeyValueCache");
        }
        Check.that(
                other.lengths.keySet().containsAll(other.tokens.keySet()),
                () -> "a cache joins another after a step that only " + other.lengths.size()
                        + " attentions have processed: expected all; clear() the cache, and process the prompt again");
        if (tokens.isEmpty()) {
            return;
        }
        Check.that(
                lengths.keySet().equals(other.lengths.keySet())
                        && tokens.keySet().equals(other.tokens.keySet()),
                () -> "a cache of " + other.lengths.size() + " attentions joins another of " + lengths.size()
                        + ": expected the same attentions in both; process the prompts with the same model");
        tokens.forEach((attention, cached) -> cached.requireJoins(other.tokens.get(attention)));
    }

    /** The index of the first token of each row, after it grows by a number. */
    private int[] firstTokens(int moved) {
        int[] first = starts == null ? new int[(int) batch()] : starts.clone();
        Arrays.setAll(first, row -> first[row] + moved);
        return first;
    }

    /**
     * {@return a copy of some sequences of the batch, without the padding that all of them have; a child of the same
     * manager, closed by the caller} To continue it, use {@link #nextStep(int)}. A cross-attention projects its keys
     * and values again at the next step.
     *
     * @param rows indices of the batch, in any order
     * @throws IllegalArgumentException if there are none, or one is out of range
     */
    public KeyValueCache extract(int... rows) {
        Check.that(rows.length > 0, "no rows: expected one or more; pass the indices of the sequences to extract");
        return exclusively(() -> {
            tokens.values().removeIf(CachedTokens::isEmpty);
            Check.that(
                    !lengths.isEmpty(),
                    "the cache has no tokens: expected those of a prompt; process it with nextStep() first");
            try (NDArray indices = HostData.integers(manager, device(), new Shape(rows.length), i -> rows[i])) {
                requireRows(indices);
                return fork(attention -> true, indices);
            }
        });
    }

    /** Drops the padding that all rows have. */
    private void dropPadding() {
        int common = starts == null ? 0 : Arrays.stream(starts).min().orElse(0);
        if (common > 0) {
            tokens.values().forEach(cached -> cached.moveBack(common));
            lengths.replaceAll((attention, length) -> length - common);
            Arrays.setAll(starts, row -> starts[row] - common);
        }
    }

    private void selectStarts(NDArray rows) {
        if (starts != null) {
            double[] indices = HostData.doubles(rows);
            int[] selected = new int[indices.length];
            Arrays.setAll(selected, row -> starts[(int) indices[row]]);
            starts = selected;
            dropPadding();
        }
    }

    private void requireRows(NDArray rows) {
        // a step that failed may leave an attention without keys
        tokens.values().removeIf(CachedTokens::isEmpty);
        tokens.values().forEach(cached -> cached.requireRows(rows));
        memories.values().forEach(memory -> memory.requireRows(rows));
    }

    /**
     * Selects sequences of the batch, in any order, such as the best beams of a beam search or the sequences that are
     * not finished. A cross-attention projects its keys and values again at the next step. If rows have
     * {@linkplain #join joined}, the padding that all selected rows have is dropped, so that {@link #getLength} may be
     * less.
     *
     * @param rows indices of the batch, (n) of an integer type; an index may occur several times
     * @throws IllegalArgumentException if the rows have another rank, data type or engine, there are none, or one is
     *     out of range; the cache is then unchanged
     */
    public void select(NDArray rows) {
        Check.that(
                rows.getShape().dimension() == 1 && rows.getDataType().isInteger() && rows.size() > 0,
                () -> "rows " + rows.getShape() + " of type " + rows.getDataType()
                        + ": expected one or more integers, (n); pass the indices of the sequences to select");
        exclusively(() -> {
            Engine engine = rows.getManager().getEngine();
            if (engine != manager.getEngine()) {
                throw DataTypes.otherEngine("rows " + rows.getShape(), engine, manager.getEngine(), "KeyValueCache");
            }
            requireRows(rows);
            tokens.values().forEach(cached -> cached.select(rows));
            memories.replaceAll((attention, memory) -> {
                try (memory) {
                    return memory.select(manager, rows);
                }
            });
            selectStarts(rows);
            return null;
        });
    }

    /**
     * {@return a copy of this cache, for another continuation of the same sequences; a child of the same manager,
     * closed by the caller}
     */
    public KeyValueCache fork() {
        return fork(attention -> true, null);
    }

    /** A copy of the parts of some attentions, and of some rows of the batch; null for all rows. */
    private KeyValueCache fork(Predicate<Block> isCopied, NDArray rows) {
        return exclusively(() -> {
            KeyValueCache copy = new KeyValueCache(parent, capacity);
            copy.starts = starts;
            forgotten.stream().filter(isCopied).forEach(copy.forgotten::add);
            for (Block attention : lengths.keySet().stream().filter(isCopied).toList()) {
                copy.lengths.put(attention, lengths.get(attention));
                if (tokens.containsKey(attention)) {
                    copy.tokens.put(attention, tokens.get(attention).copy(copy.manager, rows));
                }
                if (memories.containsKey(attention) && rows == null) {
                    copy.putMemory(attention, memories.get(attention));
                } else if (memories.containsKey(attention)) {
                    copy.memories.put(attention, memories.get(attention).select(copy.manager, rows));
                }
            }
            if (rows != null) {
                copy.selectStarts(rows);
            }
            return copy;
        });
    }

    /**
     * Saves the tokens of all self-attentions, for another process, or for later; see {@link #load}. Tokens that only
     * some of the attentions have processed are dropped. If this fails, an earlier file stays as it was.
     *
     * <p>A file has no memory of a cross-attention, which belongs to arrays of this process: pass it again at the next
     * step, with its mask and {@link MultiHeadAttentionBlock#MEMORY_POSITIONS}.
     *
     * @param file the file, which is replaced if it exists
     * @param model the block that has processed the tokens, such as {@code model.getBlock()}; an attention is known by
     *     the names of the children that lead to it
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if an attention that has processed tokens is not within the model, or its keys
     *     have more than 2<sup>31</sup> - 1 bytes
     * @throws IllegalStateException if there are no tokens of a self-attention
     */
    public void save(Path file, Block model) throws IOException {
        try {
            exclusively(() -> {
                rewind(getLength());
                tokens.values().removeIf(CachedTokens::isEmpty);
                if (tokens.isEmpty()) {
                    throw new IllegalStateException("a cache without tokens cannot be saved: expected the keys of a"
                            + " prompt; process it with nextStep() first");
                }
                CacheFile.Sequences sequences = new CacheFile.Sequences(
                        getLength(),
                        batch(),
                        starts == null ? null : Arrays.stream(starts).boxed().toList());
                try {
                    new CacheFile(file, model)
                            .write(new CacheFile.Contents(
                                    sequences, List.copyOf(lengths.keySet()), tokens, withMemoryPositions()));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                return null;
            });
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /**
     * {@return a cache with the tokens that another has {@linkplain #save saved}, closed by the caller} Decoding
     * continues as with the other cache. The file may come from another process, device or engine that has the data
     * type; only rounding differs then.
     *
     * <p>The model must be the one that processed the tokens: this checks the attentions and their options, and not the
     * values of parameters. No memory is allocated for a file that does not have as many bytes as it says, and no
     * object is created from a name in it.
     *
     * @param file the file
     * @param model the block that will continue, with the same attentions; it need not be initialized
     * @param manager the parent of the manager that the arrays are attached to, on its device; they are freed with it
     *     or by {@link #close}
     * @throws IOException if the file cannot be read
     * @throws MalformedModelException if the file is damaged, or the model has other attentions
     * @throws IllegalArgumentException if the machine has no memory for the arrays
     */
    public static KeyValueCache load(Path file, Block model, NDManager manager)
            throws IOException, MalformedModelException {
        KeyValueCache cache = new KeyValueCache(manager);
        boolean isComplete = false;
        try {
            CacheFile.Contents contents = new CacheFile(file, model).read(cache.manager, cache.capacity);
            CacheFile.Sequences sequences = contents.sequences();
            contents.attentions().forEach(attention -> cache.lengths.put(attention, sequences.length()));
            cache.tokens.putAll(contents.tokens());
            cache.forgotten.addAll(contents.forgotten());
            cache.starts = sequences.starts() == null
                    ? null
                    : sequences.starts().stream().mapToInt(start -> start).toArray();
            isComplete = true;
            return cache;
        } finally {
            if (!isComplete) {
                cache.close();
            }
        }
    }

    /** Frees all keys and values, so that another sequence can begin. */
    public void clear() {
        exclusively(() -> {
            lengths.clear();
            isPending = false;
            added = 0;
            tokens.values().forEach(CachedTokens::close);
            tokens.clear();
            memories.values().forEach(CachedMemory::close);
            memories.clear();
            forgotten.clear();
            forgetRows();
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

    /** Runs an action on the arrays while no other thread may write to them or free them. */
    <T> T exclusively(Supplier<T> action) {
        if (!lock.tryLock()) {
            throw new IllegalStateException("another thread is using this KeyValueCache: expected one thread at a time;"
                    + " create a cache for each thread, or fork() the cache for it");
        }
        try {
            if (!manager.isOpen()) {
                throw new IllegalStateException("the KeyValueCache, or the manager that it was created with, is closed:"
                        + " expected an open one; create another with new KeyValueCache(manager) and start again");
            }
            return action.get();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the cache in the forward parameters, whose step has now reached an attention; null for none. */
    static KeyValueCache from(PairList<String, Object> params, boolean training) {
        KeyValueCache cache = find(params);
        if (cache != null) {
            cache.isPending = false;
            Check.that(
                    !training, "a KeyValueCache was given in training: expected inference; train on whole sequences");
            requireStart(params);
        }
        return cache;
    }

    /**
     * Returns a copy of an attention's part of the cache in the forward parameters, as it was before their step; null
     * for none.
     */
    static KeyValueCache copyFrom(PairList<String, Object> params, Block attention) {
        KeyValueCache cache = find(params);
        if (cache == null) {
            return null;
        }
        requireStart(params);
        int start = ForwardParameters.start(params, ForwardParameters.UNLIMITED);
        KeyValueCache copy = cache.fork(each -> each == attention, null);
        try {
            copy.rewind(Math.min(start, copy.getLength()));
            return copy;
        } catch (IllegalArgumentException e) {
            copy.close();
            throw e;
        }
    }

    private static KeyValueCache find(PairList<String, Object> params) {
        Object found = params == null ? null : params.get(KEY);
        Check.that(
                found == null || found instanceof KeyValueCache,
                () -> KEY + " is a " + Settings.classOf(found)
                        + ": expected a KeyValueCache; pass the result of its nextStep()");
        return (KeyValueCache) found;
    }

    private static void requireStart(PairList<String, Object> params) {
        Check.that(
                params.get(ForwardParameters.START) != null,
                "a KeyValueCache was given without " + ForwardParameters.START
                        + ": expected both, as nextStep() returns them; pass its result to every block");
    }

    /** Checks that the arrays of a step can be attached to the manager of this cache. */
    void requireEngineOf(NDArray input) {
        Engine engine = input.getManager().getEngine();
        if (engine != manager.getEngine()) {
            throw DataTypes.otherEngine("the KeyValueCache", manager.getEngine(), engine, "input " + input.getShape());
        }
    }

    /** Begins the step of a self-attention that adds tokens; drops the tokens of a step that failed. */
    CachedTokens beginStep(MultiHeadAttentionBlock attention, PairList<String, Object> params, int count) {
        int length = lengths.getOrDefault(attention, 0);
        int start = ForwardParameters.start(params, ForwardParameters.UNLIMITED);
        Check.that(
                start == length,
                () -> ForwardParameters.START + " is " + start + ", but the cache holds " + length
                        + " tokens: expected the same number; call nextStep() once for the whole model, use each"
                        + " attention once in a step, or start again with clear(); attention: " + attention);
        CachedTokens cached =
                tokens.containsKey(attention) ? tokens.get(attention) : new CachedTokens(manager, attention, capacity);
        Check.that(
                cached.length() >= length,
                () -> "a step [x] at position " + start
                        + " follows steps of cross-attention: expected the same kind of input in"
                        + " all steps; pass the keys of all tokens, or start again with clear(); attention: "
                        + attention);
        added = stepStart == start ? added : 0;
        stepStart = start;
        Check.that(
                added == 0 || added == count,
                () -> "a step adds " + count + " tokens to an attention but added " + added + " to an earlier one, "
                        + "with the same " + KEY + ": expected the same number; pass nextStep() only to the decoder");
        added = count;
        tokens.put(attention, cached);
        cached.rewind(length);
        return cached;
    }

    InputMistakes mistakes() {
        return mistakes;
    }

    /** Sets the number of tokens that an attention has processed. */
    void commit(Block attention, int length) {
        lengths.put(attention, length);
    }

    /** The memory of the previous step of a cross-attention; null for none. */
    CachedMemory memoryOf(Block attention) {
        return memories.get(attention);
    }

    /** Caches a copy of a memory. */
    void putMemory(Block attention, CachedMemory memory) {
        CachedMemory before = memories.put(attention, memory.copy(manager));
        forgotten.remove(attention);
        if (before != null) {
            before.close();
        }
    }
}
