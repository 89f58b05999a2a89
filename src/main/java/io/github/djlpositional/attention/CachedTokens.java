package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TokenColumn;
import io.github.djlpositional.internal.options.Check;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The tokens of one self-attention in a {@link KeyValueCache}: columns of keys, values, masks and features of terms,
 * and positions. Tokens that were written count once the cache commits them; until then, a rewind drops them.
 */
final class CachedTokens implements AutoCloseable {

    /**
     * The keys and values that the queries of a forward attend to: projected from the inputs, cached from an earlier
     * step with the same inputs, or cached from earlier steps and followed by those of this step.
     *
     * @param queries the queries and their positions
     * @param tokens the keys and their positions
     * @param keys encoded, (B, K, F, H); in a step, the keys of its own tokens only, until {@link #writeStep} writes
     *     them
     * @param values (B, K, F, H), like the keys
     * @param features the features of the keys that terms computed, (B, F, W), like the keys
     * @param hiddenKeys which keys a mask of keys hides, (B, F), of this forward or from a cache; null for none
     * @param cached in a step, the cached tokens, with room for the keys and values of the step; otherwise null
     * @param commit changes the cache once the attention has succeeded
     */
    record KeysAndValues(
            Positions queries,
            Positions tokens,
            NDArray keys,
            NDArray values,
            Map<Term, NDArray> features,
            NDArray hiddenKeys,
            CachedTokens cached,
            Runnable commit) {

        /** Writes the keys and values of a step to the cache, and returns the keys and values of all tokens. */
        KeysAndValues writeStep(Temporaries temporaries) {
            if (cached == null) {
                return this;
            }
            cached.write(keys, values, features);
            NDManager manager = keys.getManager();
            return new KeysAndValues(
                    queries,
                    tokens,
                    temporaries.add(cached.keys(manager)),
                    temporaries.add(cached.values(manager)),
                    cached.features(temporaries, manager),
                    hiddenKeys,
                    null,
                    commit);
        }
    }

    /**
     * Consecutive tokens that masks of keys may hide, because of which a window may reach back further.
     *
     * @param from the index of the first of them
     * @param end one more than the index of the last
     * @param first the first token that was cached with them; no window over them needs earlier ones
     */
    private record Masked(int from, int end, int first) {}

    private final NDManager manager;
    private final MultiHeadAttentionBlock attention;

    /** The initial capacity, in tokens. */
    private final int capacity;

    /** (B, K, n, H). */
    private final TokenColumn keys;

    private final TokenColumn values;

    /** 1 for each hidden token and 0 for others, (B, n), INT32; empty until a step has a mask. */
    private final TokenColumn hidden;

    /** The features of the tokens that terms computed, (B, n, W). */
    private final Map<Term, TokenColumn> features = new HashMap<>();

    /** The cached tokens. Their positions are (…, n), and belong to this object. */
    private Positions tokens = Positions.of(0, 0);

    /** The index of the first token with an explicit position. */
    private int firstExplicit;

    /** The cached tokens that masks of keys may hide, in the order of the steps. */
    private final List<Masked> masked = new ArrayList<>();

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
            TokenColumn hidden) {
        this.manager = manager;
        this.attention = attention;
        this.capacity = capacity;
        this.keys = keys;
        this.values = values;
        this.hidden = hidden;
        shared = new AttentionCall.Shared(created -> {
            try (created) {
                return TokenColumn.owned(manager, created.stopGradient());
            }
        });
    }

    /**
     * The number of tokens, up to and including its own, that a query at or after an index may see if none is hidden;
     * null for all.
     */
    private Integer reach(int next) {
        return attention.order().reach(tokens.array() != null && next > firstExplicit);
    }

    /** The first cached token that a query at or after an index may see. */
    private int firstSeen(int next) {
        Integer reach = reach(next);
        if (reach == null) {
            return 0;
        }
        int first = Math.max(0, next - reach + 1);
        return !attention.order().countsTokens()
                ? first
                : masked.stream()
                        .filter(hidden -> hidden.from < next && hidden.end > first)
                        .mapToInt(hidden -> Math.min(first, hidden.first))
                        .min()
                        .orElse(first);
    }

    /** Notes that a mask may hide tokens. Earlier notes stay: after a rewind, a window may reach back further. */
    private void addMasked(int from, int end, int first) {
        Masked last = masked.isEmpty() ? null : masked.get(masked.size() - 1);
        boolean isContinued = last != null && last.end >= from && last.first == first;
        if (isContinued) {
            masked.remove(last);
        }
        masked.add(new Masked(isContinued ? Math.min(last.from, from) : from, end, first));
    }

    /** The number of tokens so far. */
    int length() {
        return tokens.first() + tokens.count();
    }

    boolean isEmpty() {
        return keys.isEmpty();
    }

    /** Drops the tokens from an index on. */
    void rewind(int next) {
        keys.truncate(next);
        values.truncate(next);
        hidden.truncate(next);
        features.values().forEach(column -> column.truncate(next));
        masked.removeIf(tokensOfMask -> tokensOfMask.from >= next);
        masked.replaceAll(
                tokensOfMask -> new Masked(tokensOfMask.from, Math.min(tokensOfMask.end, next), tokensOfMask.first));
        if (next == length()) {
            return;
        }
        int count = next - tokens.first();
        try (Temporaries temporaries = new Temporaries()) {
            Positions rest = next > firstExplicit
                    ? AttentionForward.slice(temporaries, tokens, 0, count)
                    : Positions.of(tokens.first(), count);
            int end = next <= lengthBefore ? endBefore : rest.end();
            NDArray positions = copied(rest.array(), manager);
            closePositions();
            tokens = rest.with(positions, end);
        }
    }

    void requireCached(int next) {
        Check.that(
                tokens.first() <= firstSeen(next),
                () -> "length " + next + ": expected at least "
                        + IntStream.rangeClosed(next, length())
                                .filter(longer -> tokens.first() <= firstSeen(longer))
                                .findFirst()
                                .orElse(length())
                        + ", since a window would reach back to positions that are no longer cached; call clear() and process"
                        + " the sequence again; attention: " + attention);
    }

    void requireRows(NDArray rows) {
        Indices.requireBelow(rows, (int) keys.batch(), "row", "pass indices within the batch");
    }

    /**
     * Makes room for further tokens, and drops tokens that no later query can see, except those that a rewind by one
     * step needs. The keys and values are then written by {@link #write} or the kernel of a step. Returns the cached
     * tokens, whose positions belong to this object.
     *
     * @param shape the shape of the keys and of the values, (B, K, T, H)
     * @param like an array of their data type and device
     * @param added the positions of the new tokens
     * @param newHidden 1 for each hidden token of the step, (B, T), or of all tokens so far, (B, F), INT32; null if all
     *     tokens of the step are visible
     */
    Positions append(Shape shape, NDArray like, Positions added, NDArray newHidden) {
        int length = length();
        keys.requireFits(shape, like);
        Check.that(
                tokens.array() == null || added.array() != null,
                () -> "a step of " + added.count() + " tokens without " + ForwardParameters.POSITIONS
                        + " follows steps with positions: expected positions for every step; add them to the forward"
                        + " parameters");
        // with those that a rewind by one step needs
        int first = Math.max(tokens.first(), firstSeen(length) - 1);
        try (Temporaries temporaries = new Temporaries()) {
            Positions cached = AttentionForward.slice(temporaries, tokens, first - tokens.first(), length - first);
            Positions allTokens = cached.followedBy(added);
            temporaries.addUnless(null, allTokens.array());
            keys.reserve(shape, like, first, room());
            values.reserve(shape, like, first, room());
            masked.removeIf(tokensOfMask -> tokensOfMask.end <= first);
            if (masked.isEmpty()) {
                hidden.close();
            }
            appendHidden(temporaries, shape.get(0), like, newHidden, first, length);
            closePositions();
            lengthBefore = length;
            endBefore = tokens.end();
            firstExplicit = tokens.array() == null ? length : firstExplicit;
            tokens = allTokens;
            if (tokens.array() != null) {
                temporaries.remove(TokenColumn.owned(manager, tokens.array()));
            }
        }
        return tokens;
    }

    /** The initial room of a column, in tokens. */
    private int room() {
        return reach(0) == null ? capacity : (int) Math.min(capacity, 2L * reach(0));
    }

    /** Appends which tokens of a step are hidden, or replaces all. Tokens without a mask are visible. */
    private void appendHidden(
            Temporaries temporaries, long batch, NDArray like, NDArray newHidden, int first, int start) {
        int end = keys.end();
        if (newHidden != null && newHidden.getShape().get(1) == end) {
            hidden.restart(first);
            append(
                    hidden,
                    temporaries.addResult(newHidden, () -> newHidden.get(NDIndex.sliceAxis(1, first, end))),
                    first);
            addMasked(first, end, first);
        } else if (newHidden != null || !hidden.isEmpty()) {
            if (hidden.isEmpty()) {
                hidden.restart(first);
                if (start > first) {
                    append(hidden, temporaries.add(visible(like, batch, start - first)), first);
                }
            }
            append(hidden, newHidden == null ? temporaries.add(visible(like, batch, end - start)) : newHidden, first);
            if (newHidden != null) {
                addMasked(start, end, first);
            }
        }
    }

    private static NDArray visible(NDArray like, long batch, int count) {
        return like.getManager().zeros(new Shape(batch, count), DataType.INT32, like.getDevice());
    }

    private void append(TokenColumn column, NDArray added, int first) {
        column.reserve(added.getShape(), added, first, room());
        column.write(added);
    }

    /** Writes the keys and values of the last tokens, for which there is room, and the features. */
    void write(NDArray newKeys, NDArray newValues, Map<Term, NDArray> newFeatures) {
        keys.write(newKeys);
        values.write(newValues);
        newFeatures.forEach((term, added) ->
                append(features.computeIfAbsent(term, key -> new TokenColumn(manager, 1)), added, tokens.first()));
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

    /** The keys of the cached tokens, (B, K, n, H): a new array. */
    NDArray keys(NDManager receiver) {
        return keys.view(receiver, tokens.first());
    }

    /** The values of the cached tokens, (B, K, n, H): a new array. */
    NDArray values(NDManager receiver) {
        return values.view(receiver, tokens.first());
    }

    /** The features of the cached tokens that terms computed, (B, n, W): new arrays. */
    Map<Term, NDArray> features(Temporaries temporaries, NDManager receiver) {
        Map<Term, NDArray> views = new HashMap<>();
        features.forEach((term, column) -> views.put(term, temporaries.add(column.view(receiver, tokens.first()))));
        return views;
    }

    /** 1 for each hidden token and 0 for others, (B, n), INT32: a new array; null if all are visible. */
    NDArray hidden(NDManager receiver) {
        return hidden.isEmpty() ? null : hidden.view(receiver, tokens.first());
    }

    /** Selects rows of the batch, in the order of the indices. */
    void select(NDArray rows) {
        keys.select(rows);
        values.select(rows);
        hidden.select(rows);
        features.values().forEach(column -> column.select(rows));
        tokens = selected(manager, tokens, rows);
    }

    /** Whether each sequence has positions of its own. */
    static boolean areByRow(Positions tokens) {
        return tokens.array() != null && batchOf(tokens.array()) > 1;
    }

    /** The size of the second-to-last axis of positions. */
    static int batchOf(NDArray positions) {
        Shape shape = positions.getShape();
        return Math.toIntExact(shape.get(shape.dimension() - 2));
    }

    /** The positions of rows of the batch, in the order of the indices; an array that is not theirs is closed. */
    static Positions selected(NDManager manager, Positions tokens, NDArray rows) {
        return areByRow(tokens) ? tokens.with(selected(manager, tokens.array(), rows), tokens.end()) : tokens;
    }

    private static NDArray selected(NDManager manager, NDArray positions, NDArray rows) {
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
                receiver, attention, capacity, keys.copy(receiver), values.copy(receiver), hidden.copy(receiver));
        features.forEach((term, column) -> copy.features.put(term, column.copy(receiver)));
        NDArray positions = copied(tokens.array(), receiver);
        copy.tokens = tokens.with(positions, tokens.end());
        copy.firstExplicit = firstExplicit;
        copy.masked.addAll(masked);
        copy.lengthBefore = lengthBefore;
        copy.endBefore = endBefore;
        return copy;
    }

    private static NDArray copied(NDArray array, NDManager receiver) {
        return array == null ? null : TokenColumn.owned(receiver, array.duplicate());
    }

    private void closePositions() {
        if (tokens.array() != null) {
            tokens.array().close();
        }
    }

    @Override
    public void close() {
        keys.close();
        values.close();
        hidden.close();
        features.values().forEach(TokenColumn::close);
        closePositions();
        shared.close();
    }
}
