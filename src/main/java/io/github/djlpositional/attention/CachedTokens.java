package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TokenColumn;
import io.github.djlpositional.options.Check;
import java.util.HashMap;
import java.util.Map;

/**
 * The tokens of one self-attention in a {@link KeyValueCache}: columns of keys, values, masks and numbers of encodings,
 * and positions. Tokens that were written count once the cache commits them; until then, a rewind drops them.
 */
final class CachedTokens implements AutoCloseable {

    private final NDManager manager;
    private final MultiHeadAttentionBlock attention;

    /** The initial capacity, in tokens. */
    private final int capacity;

    /** (B, N, n, H). */
    private final TokenColumn keys;

    private final TokenColumn values;

    /** 1 for each visible token and 0 for others, (B, n), INT32; empty until a step has a mask. */
    private final TokenColumn mask;

    /** The numbers that encodings have for the tokens, (B, n, W). */
    private final Map<RelativeEncoding, TokenColumn> numbers = new HashMap<>();

    /** The cached tokens. Their positions are (…, n), and belong to this object. */
    private Positions tokens = Positions.of(0, 0);

    /** The index of the first token with an explicit position. */
    private int firstExplicit;

    /** The length, and the end of the positions, before the latest step, which a rewind may drop. */
    private int lengthBefore;

    private int endBefore;

    private final AttentionCall.Shared shared;

    CachedTokens(NDManager manager, MultiHeadAttentionBlock attention, int capacity) {
        this(
                manager,
                attention,
                capacity,
                new TokenColumn(manager, 2),
                new TokenColumn(manager, 2),
                new TokenColumn(manager, 1));
    }

    private CachedTokens(
            NDManager manager,
            MultiHeadAttentionBlock attention,
            int capacity,
            TokenColumn keys,
            TokenColumn values,
            TokenColumn mask) {
        this.manager = manager;
        this.attention = attention;
        this.capacity = capacity;
        this.keys = keys;
        this.values = values;
        this.mask = mask;
        shared = new AttentionCall.Shared(created -> {
            try (created) {
                return TokenColumn.owned(manager, created.stopGradient());
            }
        });
    }

    /**
     * The number of tokens, up to and including its own, that a query at or after an index may see; null for all. With
     * explicit positions, a chunk may have any number of tokens.
     */
    private Integer reach(int next) {
        boolean isExplicit = tokens.positions() != null && next > firstExplicit;
        MultiHeadAttentionBlockOptions options = attention.options();
        return isExplicit && options.chunkSize() != null ? null : options.reach();
    }

    /** The number of tokens so far. */
    int length() {
        return tokens.first() + tokens.length();
    }

    boolean isEmpty() {
        return keys.isEmpty();
    }

    /** Drops the tokens from an index on. */
    void rewind(int next) {
        keys.truncate(next);
        values.truncate(next);
        mask.truncate(next);
        numbers.values().forEach(column -> column.truncate(next));
        if (next == length()) {
            return;
        }
        int count = next - tokens.first();
        try (Temporaries temporaries = new Temporaries()) {
            Positions rest =
                    next > firstExplicit ? tokens.part(temporaries, 0, count) : Positions.of(tokens.first(), count);
            int end = next <= lengthBefore ? endBefore : rest.end();
            NDArray positions = copied(rest.positions(), manager);
            closePositions();
            tokens = new Positions(rest.first(), count, positions, end);
        }
    }

    void requireCached(int next) {
        int before = reach(next) == null ? 0 : reach(next) - 1;
        Check.that(
                tokens.first() <= Math.max(0, next - before),
                () -> "length " + next + ": expected at least " + (tokens.first() + before)
                        + ", since a window would reach back to positions that are no longer cached; call clear() and process"
                        + " the sequence again; attention: " + attention);
    }

    void requireRows(NDArray rows) {
        Indices.requireBelow(rows, (int) keys.batch(), "row", "pass indices within the batch");
    }

    /**
     * Makes room for further tokens, and drops tokens that no later query can see, except those that a rewind by one
     * step needs. The keys and values are then written by {@link #write} or a {@link Step}. Returns the cached tokens,
     * whose positions belong to this object.
     *
     * @param shape the shape of the keys and of the values, (B, K, T, H)
     * @param like an array of their data type and device
     * @param added the positions of the new tokens
     * @param visibleKeys which tokens of the step, (B, T), or which of all tokens so far, (B, F), are visible; null if
     *     all tokens of the step are
     */
    Positions append(Shape shape, NDArray like, Positions added, NDArray visibleKeys) {
        int length = length();
        keys.requireFits(shape, like);
        Check.that(
                tokens.positions() == null || added.positions() != null,
                () -> "a step of " + added.length() + " tokens without " + Positions.POSITIONS
                        + " follows steps with positions: expected positions for every step; add them to the forward"
                        + " parameters");
        int first = reach(length) == null ? tokens.first() : Math.max(tokens.first(), length - reach(length));
        try (Temporaries temporaries = new Temporaries()) {
            Positions cached = tokens.part(temporaries, first - tokens.first(), length - first);
            Positions allTokens = cached.followedBy(temporaries, added);
            keys.reserve(shape, like, first, room());
            values.reserve(shape, like, first, room());
            appendMask(temporaries, shape, like, visibleKeys, first, room());
            closePositions();
            lengthBefore = length;
            endBefore = tokens.end();
            firstExplicit = tokens.positions() == null ? length : firstExplicit;
            tokens = allTokens;
            if (tokens.positions() != null) {
                temporaries.remove(TokenColumn.owned(manager, tokens.positions()));
            }
        }
        return tokens;
    }

    /** The initial room of a column, in tokens. */
    private int room() {
        return reach(0) == null ? capacity : Math.min(capacity, 2 * reach(0));
    }

    /**
     * Appends the mask of a step, or replaces the cached mask with one of all tokens. Tokens without a mask are
     * visible.
     */
    private void appendMask(
            Temporaries temporaries, Shape shape, NDArray like, NDArray visibleKeys, int first, int room) {
        if (visibleKeys == null && mask.isEmpty()) {
            return;
        }
        long batch = shape.get(0);
        int end = keys.end();
        int length = end - (int) shape.get(2);
        boolean coversAllTokens = visibleKeys != null && visibleKeys.getShape().get(1) == end;
        boolean isFirst = mask.isEmpty();
        NDArray added = temporaries.addResult(() -> {
            NDArray visible = visibleKeys == null ? ones(like, batch, (long) end - length) : zerosAndOnes(visibleKeys);
            if (coversAllTokens) {
                return visible.get(NDIndex.sliceAxis(1, first, end));
            }
            boolean hasEarlier = isFirst && length > first;
            return hasEarlier ? ones(like, batch, (long) length - first).concat(visible, 1) : visible;
        });
        if (isFirst || coversAllTokens) {
            mask.restart(first);
        }
        mask.reserve(added.getShape(), added, first, room);
        mask.write(added);
    }

    /** 1 for each number of a mask that is not 0, INT32: a new array. */
    private static NDArray zerosAndOnes(NDArray mask) {
        NDArray hidden = Arithmetic.toType(mask.logicalNot(), DataType.INT32);
        return ones(hidden, hidden.getShape().get(0), hidden.getShape().get(1)).sub(hidden);
    }

    private static NDArray ones(NDArray like, long batch, long count) {
        return like.getManager().ones(new Shape(batch, count), DataType.INT32, like.getDevice());
    }

    /** Writes the keys and values of the last tokens, for which there is room, and the numbers of encodings. */
    void write(NDArray newKeys, NDArray newValues, Map<RelativeEncoding, NDArray> newNumbers) {
        keys.write(newKeys);
        values.write(newValues);
        newNumbers.forEach((encoding, added) -> {
            TokenColumn column = numbers.computeIfAbsent(encoding, key -> new TokenColumn(manager, 1));
            column.reserve(added.getShape(), added, tokens.first(), room());
            column.write(added);
        });
    }

    /** Warns of a step that begins with the cached tokens. */
    void checkStep(NDArray newValues, InputMistakes mistakes) {
        if (lengthBefore > 0 && tokens.first() == 0) {
            mistakes.checkStep(
                    newValues, lengthBefore, () -> values.array().get(manager, NDIndex.sliceAxis(2, 0, lengthBefore)));
        }
    }

    /** The columns of keys, (B, K, n, H), and values. */
    TokenColumn keys() {
        return keys;
    }

    TokenColumn values() {
        return values;
    }

    /** Arrays that depend on parameters and distances only. */
    AttentionCall.Shared shared() {
        return shared;
    }

    /** The keys of the cached tokens, (B, N, n, H): a new array. */
    NDArray keys(NDManager receiver) {
        return keys.view(receiver, tokens.first());
    }

    /** The values of the cached tokens, (B, N, n, H): a new array. */
    NDArray values(NDManager receiver) {
        return values.view(receiver, tokens.first());
    }

    /** The numbers that encodings have for the cached tokens, (B, n, W): new arrays. */
    Map<RelativeEncoding, NDArray> numbers(Temporaries temporaries, NDManager receiver) {
        Map<RelativeEncoding, NDArray> views = new HashMap<>();
        numbers.forEach(
                (encoding, column) -> views.put(encoding, temporaries.add(column.view(receiver, tokens.first()))));
        return views;
    }

    /** 1 for each visible token and 0 for others, (B, n), INT32: a new array; null if all are visible. */
    NDArray mask(NDManager receiver) {
        return mask.isEmpty() ? null : mask.view(receiver, tokens.first());
    }

    boolean hasMask() {
        return !mask.isEmpty();
    }

    /** Selects rows of the batch, in the order of the indices. */
    void select(NDArray rows) {
        keys.select(rows);
        values.select(rows);
        mask.select(rows);
        numbers.values().forEach(column -> column.select(rows));
        NDArray positions = tokens.positions();
        int rank = positions == null ? 0 : positions.getShape().dimension();
        if (rank > 0 && positions.getShape().get(rank - 2) > 1) {
            tokens = new Positions(tokens.first(), tokens.length(), selected(positions, rows), tokens.end());
        }
    }

    /** Selects rows of positions, whose second-to-last axis is the batch. */
    private NDArray selected(NDArray positions, NDArray rows) {
        if (positions.getShape().dimension() == 2) {
            return TokenColumn.selected(manager, positions, rows);
        }
        NDArray byBatch = TokenColumn.owned(manager, positions.swapAxes(0, 1));
        positions.close();
        try (NDArray selected = TokenColumn.selected(manager, byBatch, rows)) {
            return TokenColumn.owned(manager, selected.swapAxes(0, 1));
        }
    }

    /** A copy of these tokens. */
    CachedTokens copy(NDManager receiver) {
        CachedTokens copy = new CachedTokens(
                receiver, attention, capacity, keys.copy(receiver), values.copy(receiver), mask.copy(receiver));
        numbers.forEach((encoding, column) -> copy.numbers.put(encoding, column.copy(receiver)));
        NDArray positions = copied(tokens.positions(), receiver);
        copy.tokens = new Positions(tokens.first(), tokens.length(), positions, tokens.end());
        copy.firstExplicit = firstExplicit;
        copy.lengthBefore = lengthBefore;
        copy.endBefore = endBefore;
        return copy;
    }

    private static NDArray copied(NDArray array, NDManager receiver) {
        return array == null ? null : TokenColumn.owned(receiver, array.duplicate());
    }

    private void closePositions() {
        if (tokens.positions() != null) {
            tokens.positions().close();
        }
    }

    @Override
    public void close() {
        keys.close();
        values.close();
        mask.close();
        numbers.values().forEach(TokenColumn::close);
        closePositions();
        shared.close();
    }
}
