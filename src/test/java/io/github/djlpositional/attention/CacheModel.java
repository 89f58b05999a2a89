package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.internal.ForwardParameters;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A cache of attentions that are called one after the other, and the tokens that it should hold, of two sequences
 * unless {@link #batch} sets another number. Each step appends random tokens, and compares their outputs with a forward
 * of the whole sequence. Positions and masks that are set before a step belong to that step.
 */
final class CacheModel {

    /** FLOAT64: 2^-53 of sums of at most 70 products of numbers below 100. */
    private static final double TOLERANCE = 1e-12;

    /** A mask with an axis of queries, for some queries and all keys up to the last of them. */
    interface QueryMask {
        NDArray of(int firstQuery, int count);
    }

    private record Attention(MultiHeadAttentionBlock block, boolean isCross) {}

    /** What a step is given beside its tokens; null for none. */
    private static final class Extras {
        private PairList<String, Object> params;
        private NDArray positions;
        private NDArray mask;
        private QueryMask queryMask;
        private NDArray memoryMask;
        private NDArray memoryPositions;
        private NDArray maskOfLast;
        private boolean isTraining;
    }

    private final NDManager manager;
    private final KeyValueCache cache;
    private final List<Attention> attentions = new ArrayList<>();
    private final Random seeds;
    private Extras extras = new Extras();
    private long batch;

    // the tokens so far, (B, T, D), and their positions and mask, (B, T); null for none
    private NDArray tokens;
    private NDArray positions;
    private NDArray mask;

    /** The index of the first token with explicit positions; the positions of earlier tokens are their indices. */
    private int firstExplicit;

    /** What cross-attentions see, (B, 4, D), and which of it is visible, (B, 4); null for all. */
    private NDArray memory;

    private NDArray memoryMask;

    /** The positions of the memory, (4) or (B, 4); null for indices. */
    private NDArray memoryPositions;

    /** Whether only some of the attentions have processed a first step. */
    private boolean isPartial;

    /** A cache without tokens, for self-attentions. */
    CacheModel(NDManager manager, KeyValueCache cache, MultiHeadAttentionBlock.Builder... selfAttentions) {
        this(manager, cache, new Random(1));
        for (MultiHeadAttentionBlock.Builder each : selfAttentions) {
            add(each, false);
        }
        batch(2);
    }

    private CacheModel(NDManager manager, KeyValueCache cache, Random seeds) {
        this.manager = manager;
        this.cache = cache;
        this.seeds = seeds;
    }

    private CacheModel add(MultiHeadAttentionBlock.Builder builder, boolean isCross) {
        MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64);
        block.freezeParameters(true);
        attentions.add(new Attention(block, isCross));
        return this;
    }

    /** Uses parameters with gradients, as after training; with {@code true}, frozen ones, as for inference. */
    CacheModel frozen(boolean isFrozen) {
        attentions.forEach(each -> each.block.freezeParameters(isFrozen));
        return this;
    }

    /** Adds an attention of the tokens to four tokens of an encoder's output. */
    CacheModel crossAttention(MultiHeadAttentionBlock.Builder builder) {
        return add(builder, true);
    }

    /** Sets the number of sequences of an empty cache, or of wrong steps. */
    CacheModel batch(long size) {
        batch = size;
        memory = tokens == null ? numbers(manager, 9, DataType.FLOAT64, size, 4, SIZE) : memory;
        return this;
    }

    KeyValueCache cache() {
        return cache;
    }

    private int length() {
        return tokens == null ? 0 : (int) tokens.size(1);
    }

    /** Sets the positions of the next step, (T) or (B, T). */
    CacheModel at(NDArray stepPositions) {
        extras.positions = stepPositions;
        return this;
    }

    /** Sets the same positions of all sequences: INT64 if all are whole numbers, otherwise FLOAT64. */
    CacheModel at(double... stepPositions) {
        return at(reals(stepPositions).reshape(stepPositions.length));
    }

    /** Sets the positions of each sequence. */
    CacheModel atRows(double[]... rows) {
        return at(reals(rows));
    }

    private NDArray reals(double[]... rows) {
        NDArray reals = manager.create(rows);
        return reals.round().contentEquals(reals) ? reals.toType(DataType.INT64, false) : reals;
    }

    /** Sets a mask of the tokens of the next step, or of all tokens up to its last one. */
    CacheModel mask(NDArray stepMask) {
        extras.mask = stepMask;
        return this;
    }

    CacheModel mask(int[]... rows) {
        return mask(manager.create(rows).toType(DataType.FLOAT32, false));
    }

    /** Sets a mask with an axis of queries, of the next step only. */
    CacheModel queryMask(QueryMask stepMask) {
        extras.queryMask = stepMask;
        return this;
    }

    /** Sets the mask of the memory from the next step on. */
    CacheModel memoryMask(int[]... rows) {
        extras.memoryMask = manager.create(rows).toType(DataType.FLOAT32, false);
        return this;
    }

    /** Sets the positions of the memory, (4) or (B, 4), from the next step on. */
    CacheModel memoryAt(NDArray ofMemory) {
        extras.memoryPositions = ofMemory;
        return this;
    }

    /** Sets the positions of the memory of each sequence, or of all. */
    CacheModel memoryAt(double[]... rows) {
        return memoryAt(reals(rows));
    }

    /** Replaces the memory. */
    CacheModel memory(NDArray other) {
        memory = other;
        memoryPositions = null;
        return this;
    }

    /** Sets forward parameters in place of a call of {@link KeyValueCache#nextStep} in the next step. */
    CacheModel with(PairList<String, Object> params) {
        extras.params = params;
        return this;
    }

    CacheModel inTraining() {
        extras.isTraining = true;
        return this;
    }

    /** The next tokens of all sequences. */
    CacheModel step(int count) {
        requireLength();
        Extras step = takeExtras();
        NDArray x = nextTokens(count);
        NDArray y = forward(attentions, params(step), x, step, length());
        append(x, step);
        memoryPositions = step.memoryPositions == null ? memoryPositions : step.memoryPositions;
        PairList<String, Object> whole = new PairList<>();
        if (memoryPositions != null) {
            whole.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, memoryPositions);
        }
        if (positions != null) {
            whole.add(PositionalEncodingBlock.POSITIONS, positions);
        }
        Extras all = new Extras();
        all.mask = mask;
        all.queryMask = step.queryMask;
        all.memoryMask = memoryMask;
        NDArray expected = forward(attentions, whole, tokens, all, 0);
        requireClose(y, doubles(expected.get(":, {}:", length() - count)), TOLERANCE);
        isPartial = false;
        requireLength();
        return this;
    }

    /** A step of each number of tokens. */
    CacheModel steps(int... counts) {
        for (int count : counts) {
            step(count);
        }
        return this;
    }

    /** Steps of one token each. */
    CacheModel singleSteps(int times) {
        for (int i = 0; i < times; i++) {
            step(1);
        }
        return this;
    }

    /** A step of one of the attentions only. */
    CacheModel stepOf(int attention, int count) {
        Extras step = takeExtras();
        forward(List.of(attentions.get(attention)), params(step), nextTokens(count), step, length());
        isPartial |= length() == 0;
        return this;
    }

    /** A step that the last attention rejects, after the others have processed its tokens. */
    CacheModel failingStep(int count) {
        Extras step = takeExtras();
        step.maskOfLast = manager.ones(new Shape(batch, 1, 99));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> forward(attentions, params(step), nextTokens(count), step, length()))
                .withMessageContaining("mask");
        isPartial = true;
        return this;
    }

    private Extras takeExtras() {
        Extras taken = extras;
        extras = new Extras();
        return taken;
    }

    private NDArray nextTokens(int count) {
        return numbers(manager, seeds.nextLong(), DataType.FLOAT64, batch, count, SIZE);
    }

    private PairList<String, Object> params(Extras step) {
        PairList<String, Object> params = step.params == null ? cache.nextStep() : step.params;
        if (step.positions != null) {
            params.add(PositionalEncodingBlock.POSITIONS, step.positions);
        }
        if (step.memoryPositions != null) {
            params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, step.memoryPositions);
        }
        return params;
    }

    private NDArray forward(
            List<Attention> called, PairList<String, Object> params, NDArray x, Extras step, int firstQuery) {
        NDArray y = x;
        for (Attention each : called) {
            NDList inputs = each.isCross ? new NDList(memory, y, memory) : new NDList(y);
            NDArray added = each.isCross
                    ? step.memoryMask
                    : step.queryMask != null ? step.queryMask.of(firstQuery, (int) x.size(1)) : step.mask;
            boolean isLast = each.equals(called.get(called.size() - 1));
            if (isLast && step.maskOfLast != null) {
                added = step.maskOfLast;
            }
            if (added != null) {
                inputs.add(added);
            }
            PairList<String, Object> own =
                    each.isCross ? params : ForwardParameters.without(MultiHeadAttentionBlock.MEMORY_POSITIONS, params);
            y = each.block
                    .forward(new ParameterStore(manager, false), inputs, step.isTraining, own)
                    .head();
        }
        return y;
    }

    private void append(NDArray x, Extras step) {
        int before = length();
        long count = x.size(1);
        if (step.positions != null) {
            Shape shape = new Shape(batch, count);
            NDArray later = step.positions.reshape(-1, count).broadcast(shape);
            NDArray earlier = positions != null || before == 0
                    ? positions
                    : manager.arange(before)
                            .toType(DataType.INT64, false)
                            .reshape(1, before)
                            .broadcast(new Shape(batch, before));
            firstExplicit = positions == null ? before : firstExplicit;
            positions = earlier == null ? later : concatenated(earlier, later);
        }
        NDArray later = step.mask == null ? manager.ones(new Shape(batch, count)) : floats(step.mask);
        NDArray earlier = mask == null && before > 0 ? manager.ones(new Shape(batch, before)) : mask;
        mask = later.size(1) == before + count ? later : earlier.concat(later, 1);
        tokens = tokens == null ? x : tokens.concat(x, 1);
        memoryMask = step.memoryMask == null ? memoryMask : step.memoryMask;
    }

    private static NDArray floats(NDArray array) {
        return array.toType(DataType.FLOAT32, false);
    }

    /** Positions of different data types become FLOAT64. */
    private static NDArray concatenated(NDArray earlier, NDArray later) {
        DataType type = earlier.getDataType() == later.getDataType() ? earlier.getDataType() : DataType.FLOAT64;
        return earlier.toType(type, false).concat(later.toType(type, false), 1);
    }

    /** The cache has as many tokens as the sequence. */
    private void requireLength() {
        if (!isPartial) {
            assertThat(cache.getLength()).isEqualTo(length());
        }
    }

    CacheModel rewind(int length) {
        cache.rewind(length);
        truncate(length);
        return this;
    }

    /** Removes tokens, of which those after the last explicit position keep theirs. */
    CacheModel remove(int from, int to) {
        cache.remove(from, to);
        tokens = without(tokens, from, to);
        mask = without(mask, from, to);
        positions = positions == null ? null : without(positions, from, to);
        firstExplicit = Math.min(firstExplicit, from);
        requireLength();
        return this;
    }

    private static NDArray without(NDArray array, int from, int to) {
        NDArray later = array.get(":, " + to + ":");
        return from == 0 ? later : array.get(":, :" + from).concat(later, 1);
    }

    /** Adds a number to the positions of tokens. */
    CacheModel shift(int from, int added) {
        cache.shift(from, added);
        NDArray moved = positions.get(":, " + from + ":").add(added);
        positions = from == 0 ? moved : positions.get(":, :" + from).concat(moved, 1);
        return this;
    }

    CacheModel clear() {
        cache.clear();
        truncate(0);
        return this;
    }

    private void truncate(int length) {
        isPartial = false;
        if (length < length()) {
            tokens = first(length, tokens);
            mask = first(length, mask);
            positions = length > firstExplicit ? first(length, positions) : null;
        }
        requireLength();
    }

    private static NDArray first(int length, NDArray array) {
        return length == 0 || array == null ? null : array.get(":, :" + length);
    }

    CacheModel select(long... rows) {
        return select(manager.create(rows));
    }

    CacheModel select(NDArray rows) {
        cache.select(rows);
        tokens = tokens.get(rows);
        mask = mask.get(rows);
        positions = positions == null ? null : positions.get(rows);
        memory = memory.get(rows);
        boolean areByRow =
                memoryPositions != null && memoryPositions.getShape().dimension() > 1 && memoryPositions.size(0) > 1;
        memoryPositions = areByRow ? memoryPositions.get(rows) : memoryPositions;
        batch = rows.size();
        requireLength();
        return this;
    }

    /** A copy whose next tokens are others. */
    CacheModel fork() {
        return with(cache.fork());
    }

    /** A copy that was saved and loaded. Its memory has to be passed with its mask and its positions. */
    CacheModel reloaded() {
        CacheModel copy = with(SavedCache.reloaded(
                manager, cache, attentions.stream().map(Attention::block).toList()));
        copy.extras.memoryMask = memoryMask;
        copy.extras.memoryPositions = memoryPositions;
        return copy;
    }

    private CacheModel with(KeyValueCache copied) {
        CacheModel copy = new CacheModel(manager, copied, seeds);
        copy.attentions.addAll(attentions);
        copy.batch = batch;
        copy.tokens = tokens;
        copy.positions = positions;
        copy.firstExplicit = firstExplicit;
        copy.mask = mask;
        copy.memory = memory;
        copy.memoryMask = memoryMask;
        copy.memoryPositions = memoryPositions;
        copy.requireLength();
        return copy;
    }
}
