package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TokenColumn;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Range;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
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
     * @param values (B, K, F, V), like the keys
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
    private record Masked(
            @Range(min = 0) int from,
            @Range(min = 0) int end,
            @Range(min = 0) int first) {}

    /** The data type and the shape of an array. */
    record Form(DataType type, Shape shape) {}

    /**
     * The tokens in a file, beside the elements of their arrays.
     *
     * @param dataType the data type of keys and values
     * @param first the index of the first token
     * @param end the end of the positions
     * @param isMasked whether there is an array of hidden tokens
     * @param positionType the data type of explicit positions; null for none
     * @param positionSizes the sizes of explicit positions except the last, which is that of the tokens
     * @param featureTypes the data types of the features of tokens, in the order of the terms
     * @param featureSizes the last sizes of the features
     */
    record State(
            DataType dataType,
            @Range(min = 0) int first,
            @Range(min = 0) int end,
            boolean isMasked,
            DataType positionType,
            @Range(min = 1) List<Long> positionSizes,
            List<DataType> featureTypes,
            @Range(min = 1) List<Long> featureSizes,
            @Range(min = 0) int firstExplicit,
            @Range(min = 0) Integer firstPassed,
            @Range(min = 0) int paddingEnd,
            @Range(min = 0) int joinedLength,
            @Range(min = 0) int firstJoined,
            @Range(min = 0) int firstOfAll,
            List<Masked> masked,
            @Range(min = 0) int lengthBefore,
            @Range(min = 0) int endBefore) {

        /** Checks what the forms of the arrays do not show. */
        void requireFits(MultiHeadAttentionBlock attention, long batch, int length) {
            int terms = attention.terms().termsOfKeys().size();
            boolean areIndices = positionType == null;
            boolean fits = DataTypes.isEmbedding(dataType)
                    && first <= length
                    && firstJoined <= length
                    && (areIndices ? end >= length : arePositions(batch))
                    && featureTypes.size() == terms
                    && featureSizes.size() == terms
                    && featureTypes.stream().allMatch(DataTypes::isEmbedding)
                    && masked.stream().allMatch(each -> each.from <= each.end && each.end <= length);
            Check.that(
                    fits,
                    () -> "tokens from " + first + " on in " + dataType + ": expected up to " + length + " of " + batch
                            + " sequences with " + terms + " features");
        }

        private boolean arePositions(long batch) {
            int dimensions = positionSizes == null ? 0 : positionSizes.size();
            return (positionType == DataType.INT32 || positionType == DataType.FLOAT64)
                    && (dimensions == 1 || dimensions == 2)
                    && (positionSizes.get(dimensions - 1) == 1 || positionSizes.get(dimensions - 1) == batch);
        }

        /** The forms of {@link CachedTokens#arrays}. */
        List<Form> forms(MultiHeadAttentionBlock attention, long batch, int length) {
            MultiHeadAttentionBlock.Options options = attention.options();
            // MXNet has no arrays without elements
            int count = Math.max(1, length - first);
            Shape ofKeys = new Shape(batch, options.keyValueHeadCount(), count, options.headSize());
            List<Form> forms = new ArrayList<>();
            forms.add(new Form(dataType, ofKeys));
            forms.add(new Form(dataType, options.shapeOfValues(ofKeys)));
            if (isMasked) {
                forms.add(new Form(DataType.INT32, new Shape(batch, count)));
            }
            if (positionType != null) {
                forms.add(new Form(positionType, new Shape(positionSizes).add(count)));
            }
            for (int i = 0; i < featureTypes.size(); i++) {
                forms.add(new Form(featureTypes.get(i), new Shape(batch, count, featureSizes.get(i))));
            }
            return forms;
        }
    }

    private final NDManager manager;
    private final MultiHeadAttentionBlock attention;

    /** The initial capacity, in tokens. */
    private final int capacity;

    /** (B, K, n, H). */
    private final TokenColumn keys;

    /** (B, K, n, V). */
    private final TokenColumn values;

    /** 1 for each hidden token and 0 for others, (B, n), INT32; empty until a step has a mask. */
    private final TokenColumn hidden;

    /** The features of the tokens that terms computed, (B, n, W). */
    private final Map<Term, TokenColumn> features = new HashMap<>();

    /** The cached tokens. Their positions are (…, n), and belong to this object. */
    private Positions tokens = Positions.of(0, 0);

    /** The index of the first token with an explicit position. */
    private int firstExplicit;

    /**
     * The index of the first token whose position the caller chose; null for none. Positions before it follow one
     * another in each row, although those of rows that were joined are explicit.
     */
    private Integer firstPassed;

    /** Before this index, shorter rows have padding, which is hidden. Windows need no earlier tokens because of it. */
    private int paddingEnd;

    /** The length at which rows joined. From there on, no query sees a token before another index. */
    private int joinedLength;

    private int firstJoined;

    /** From this index on, no row has dropped a token. */
    private int firstOfAll;

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
     * Creates the tokens of a file.
     *
     * @param arrays arrays of the manager, {@link #arrays}
     */
    CachedTokens(
            NDManager manager,
            MultiHeadAttentionBlock attention,
            int capacity,
            State state,
            int length,
            Iterator<NDArray> arrays) {
        this(
                manager,
                attention,
                capacity,
                new TokenColumn(manager, 2, arrays.next(), state.first, length),
                new TokenColumn(manager, 2, arrays.next(), state.first, length),
                state.isMasked
                        ? new TokenColumn(manager, 1, requireBits(arrays.next()), state.first, length)
                        : new TokenColumn(manager, 1));
        Positions indices = Positions.of(state.first, length - state.first);
        NDArray positions = state.positionType == null ? null : arrays.next();
        int end = positions == null
                ? length
                : Positions.of(positions)
                        .between(1 - ForwardParameters.UNLIMITED, ForwardParameters.UNLIMITED, true)
                        .end();
        Check.that(
                end <= state.end,
                () -> "positions up to " + (end - 1) + ": expected less than " + state.end + ", as the file says");
        tokens = indices.with(positions, state.end);
        attention
                .terms()
                .termsOfKeys()
                .forEach(term -> features.put(term, new TokenColumn(manager, 1, arrays.next(), state.first, length)));
        firstExplicit = state.firstExplicit;
        firstPassed = state.firstPassed;
        paddingEnd = state.paddingEnd;
        joinedLength = state.joinedLength;
        firstJoined = state.firstJoined;
        firstOfAll = state.firstOfAll;
        masked.addAll(state.masked);
        lengthBefore = state.lengthBefore;
        endBefore = state.endBefore;
    }

    private static NDArray requireBits(NDArray hidden) {
        Check.that(
                Arrays.stream(HostData.doubles(hidden)).allMatch(value -> value == 0 || value == 1),
                () -> "a mask " + hidden.getShape() + " with other numbers: expected 0 and 1");
        return hidden;
    }

    /** What a file has of these tokens, beside {@link #arrays}. */
    State state() {
        NDArray positions = tokens.array();
        List<TokenColumn> ofTerms = columnsOfTerms();
        return new State(
                keys.array().getDataType(),
                tokens.first(),
                tokens.end(),
                !hidden.isEmpty(),
                positions == null ? null : positions.getDataType(),
                positions == null
                        ? null
                        : Arrays.stream(positions.getShape().getShape())
                                .limit(positions.getShape().dimension() - 1L)
                                .boxed()
                                .toList(),
                ofTerms.stream().map(column -> column.array().getDataType()).toList(),
                ofTerms.stream().map(column -> column.array().getShape().get(2)).toList(),
                firstExplicit,
                firstPassed,
                paddingEnd,
                joinedLength,
                firstJoined,
                firstOfAll,
                List.copyOf(masked),
                lengthBefore,
                endBefore);
    }

    private List<TokenColumn> columnsOfTerms() {
        return attention.terms().termsOfKeys().stream().map(features::get).toList();
    }

    /**
     * The arrays of the tokens: keys, values, hidden tokens and positions if there are any, and the features of each
     * term. Those of the columns are new arrays. They have one token of zeros if there are none.
     */
    List<NDArray> arrays(Temporaries temporaries) {
        List<TokenColumn> columns = new ArrayList<>(List.of(keys, values));
        if (!hidden.isEmpty()) {
            columns.add(hidden);
        }
        List<NDArray> arrays = new ArrayList<>();
        columns.forEach(column -> arrays.add(temporaries.add(column.viewOrZeros(manager, tokens.first()))));
        if (tokens.array() != null) {
            arrays.add(tokens.array());
        }
        columnsOfTerms().forEach(column -> arrays.add(temporaries.add(column.viewOrZeros(manager, tokens.first()))));
        return arrays;
    }

    /**
     * The number of tokens, up to and including its own, that a query at or after an index may see if none is hidden;
     * null for all.
     */
    private Integer reach(int next) {
        return attention.order().reach(firstPassed != null && next > firstPassed);
    }

    /** The first cached token that a query at or after an index may see. */
    private int firstSeen(int next) {
        Integer reach = reach(next);
        int smallest = next < joinedLength ? 0 : firstJoined;
        if (reach == null) {
            return smallest;
        }
        int first = Math.max(smallest, next - reach + 1);
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
        firstPassed = firstPassed != null && firstPassed < next ? firstPassed : null;
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

    /** Whether all tokens are cached that a query at or after an index may see. */
    boolean isCached(int next) {
        int first = next < joinedLength ? Math.max(firstOfAll, tokens.first()) : tokens.first();
        return first <= firstSeen(next);
    }

    void requireCached(int next) {
        Check.that(
                isCached(next),
                () -> "length " + next + ": expected at least "
                        + IntStream.rangeClosed(next, length())
                                .filter(this::isCached)
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
     * @param shape the shape of the keys, (B, K, T, H)
     * @param like an array of their data type and device
     * @param added the positions of the new tokens
     * @param arePassed whether the caller chose explicit positions
     * @param newHidden 1 for each hidden token of the step, (B, T), or of all tokens so far, (B, F), INT32; null if all
     *     tokens of the step are visible
     */
    Positions append(Shape shape, NDArray like, Positions added, boolean arePassed, NDArray newHidden) {
        int length = length();
        keys.requireFits(shape, like);
        Check.that(
                tokens.array() == null || added.array() != null,
                () -> "a step of " + added.count() + " tokens without " + ForwardParameters.POSITIONS
                        + " follows steps with positions: expected positions for every step; add them to the forward"
                        + " parameters");
        if (firstPassed == null && arePassed && added.array() != null) {
            firstPassed = length;
            requireAllCached(length + 1);
        }
        // with those that a rewind by one step needs
        int seen = firstPassed == null ? length : Math.max(length, firstPassed + 1);
        int first = Math.max(tokens.first(), firstSeen(seen) - 1);
        try (Temporaries temporaries = new Temporaries()) {
            Positions cached = AttentionForward.slice(temporaries, tokens, first - tokens.first(), length - first);
            Positions allTokens = cached.followedBy(added);
            temporaries.addUnless(null, allTokens.array());
            keys.reserve(shape, like, first, room());
            values.reserve(attention.options().shapeOfValues(shape), like, first, room());
            masked.removeIf(tokensOfMask -> tokensOfMask.end <= first);
            if (masked.isEmpty() && paddingEnd <= first) {
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

    /** Checks that a window has not dropped tokens that positions of the caller may be near. */
    private void requireAllCached(int next) {
        Check.that(
                isCached(next),
                () -> "a step with " + ForwardParameters.POSITIONS + " follows " + (next - 1)
                        + " tokens without, of which a window has dropped some that may be near: expected positions"
                        + " from the first step on; call clear() and process the sequence again with them; attention: "
                        + attention);
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

    /** The columns of keys, (B, K, n, H), and of values, (B, K, n, V). */
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

    /** The values of the cached tokens, (B, K, n, V): a new array. */
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
        if (areByRow(tokens)) {
            Positions selected = selected(manager, tokens, rows);
            closePositions();
            tokens = selected;
        }
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

    /** The positions of rows of the batch, in the order of the indices, whose array is a new one. */
    static Positions selected(NDManager manager, Positions tokens, NDArray rows) {
        NDArray positions = tokens.array();
        if (!areByRow(tokens)) {
            return tokens.with(copied(positions, manager), tokens.end());
        }
        if (positions.getShape().dimension() == 2) {
            return tokens.with(TokenColumn.selected(manager, positions, rows), tokens.end());
        }
        try (NDArray byBatch = positions.swapAxes(0, 1);
                NDArray selected = TokenColumn.selected(manager, byBatch, rows)) {
            return tokens.with(TokenColumn.owned(manager, selected.swapAxes(0, 1)), tokens.end());
        }
    }

    /** A copy of the tokens of rows of the batch, in the order of the indices; null for all. */
    CachedTokens copy(NDManager receiver, NDArray rows) {
        CachedTokens copy = new CachedTokens(
                receiver,
                attention,
                capacity,
                keys.copy(receiver, rows),
                values.copy(receiver, rows),
                hidden.copy(receiver, rows));
        features.forEach((term, column) -> copy.features.put(term, column.copy(receiver, rows)));
        copy.tokens = rows == null
                ? tokens.with(copied(tokens.array(), receiver), tokens.end())
                : selected(receiver, tokens, rows);
        copy.firstExplicit = firstExplicit;
        copy.firstPassed = firstPassed;
        copy.paddingEnd = paddingEnd;
        copy.joinedLength = joinedLength;
        copy.firstJoined = firstJoined;
        copy.firstOfAll = firstOfAll;
        copy.masked.addAll(masked);
        copy.lengthBefore = lengthBefore;
        copy.endBefore = endBefore;
        return copy;
    }

    /** Checks that the rows of another cache can follow those of this one. */
    void requireJoins(CachedTokens other) {
        NDArray own = keys.array();
        NDArray added = other.keys.array();
        Check.that(
                own.getDataType() == added.getDataType() && own.getDevice().equals(added.getDevice()),
                () -> "sequences of " + added.getDataType() + " on " + added.getDevice() + " for a cache of "
                        + own.getDataType() + " on " + own.getDevice()
                        + ": expected the same; process the prompt with the same model");
        boolean areOnAxes = axesOf(tokens) > 0;
        Check.that(
                tokens.array() == null
                        || other.tokens.array() == null
                        || (areOnAxes == axesOf(other.tokens) > 0 && axesOf(tokens) == axesOf(other.tokens)),
                () -> "positions of shape " + other.tokens.array().getShape() + " for a cache with "
                        + tokens.array().getShape()
                        + ": expected as many axes; process the prompt with such positions");
    }

    /** The number of axes of positions; 0 for one number for each token. */
    private static long axesOf(Positions tokens) {
        return tokens.array() == null || tokens.array().getShape().dimension() < 3
                ? 0
                : tokens.array().getShape().get(0);
    }

    /**
     * The rows of these tokens, then those of others, whose last tokens have the same index: a new object. The shorter
     * rows are padded before their first token, and their positions stay.
     */
    CachedTokens followedByRows(CachedTokens other) {
        int last = Math.max(length(), other.length());
        int added = last - length();
        int addedToOther = last - other.length();
        int first = Math.min(tokens.first() + added, other.tokens.first() + addedToOther);
        int end = Math.max(tokens.first() + added, other.tokens.first() + addedToOther);
        CachedTokens joined = new CachedTokens(
                manager,
                attention,
                capacity,
                keys.followedByRows(other.keys, first, last),
                values.followedByRows(other.values, first, last),
                new TokenColumn(manager, 1));
        features.forEach((term, column) ->
                joined.features.put(term, column.followedByRows(other.features.get(term), first, last)));
        try (Temporaries temporaries = new Temporaries()) {
            if (end > first || !hidden.isEmpty() || !other.hidden.isEmpty()) {
                NDArray all = temporaries.addResult(() -> NDArrays.concat(
                        new NDList(hiddenFrom(first - added), other.hiddenFrom(first - addedToOther)), 0));
                joined.hidden.restart(first);
                joined.append(joined.hidden, all, first);
            }
            boolean haveIndices = tokens.array() == null && other.tokens.array() == null && added == addedToOther;
            NDArray positions = haveIndices
                    ? null
                    : TokenColumn.owned(manager, Temporaries.result(() -> {
                        NDList both = new NDList(
                                positionsFrom(first - added, other), other.positionsFrom(first - addedToOther, this));
                        return NDArrays.concat(both, -2);
                    }));
            joined.tokens =
                    Positions.of(first, last - first).with(positions, Math.max(tokens.end(), other.tokens.end()));
        }
        joined.firstPassed = firstPassed == null && other.firstPassed == null ? null : 0;
        joined.paddingEnd =
                Math.max(end > first ? end : 0, Math.max(paddingEnd + added, other.paddingEnd + addedToOther));
        joined.joinedLength = last;
        joined.firstJoined = first;
        joined.firstOfAll = Math.max(firstOfAll(added), other.firstOfAll(addedToOther));
        joined.masked.addAll(moved(masked, added));
        joined.masked.addAll(moved(other.masked, addedToOther));
        joined.lengthBefore = last;
        joined.endBefore = joined.tokens.end();
        return joined;
    }

    /** The index from which on no row has dropped a token, after it grows by a number. */
    private int firstOfAll(int added) {
        int first = Math.max(firstOfAll, tokens.first());
        return first == 0 ? 0 : first + added;
    }

    private static List<Masked> moved(List<Masked> notes, int added) {
        return notes.stream()
                .map(each -> new Masked(each.from + added, each.end + added, each.first + added))
                .toList();
    }

    /** 1 for each hidden token and for each missing one from an index on, (B, n), INT32. */
    private NDArray hiddenFrom(int from) {
        NDArray like = keys.array();
        NDArray own = hidden.isEmpty()
                ? visible(like, keys.batch(), tokens.count())
                : hidden.view(like.getManager(), tokens.first());
        Shape missing = new Shape(keys.batch(), tokens.first() - from);
        return missing.size() == 0
                ? own
                : like.getManager()
                        .ones(missing, DataType.INT32, like.getDevice())
                        .concat(own, 1);
    }

    /** The position of each token, and 0 for each missing one from an index on, (B, n) or (axes, B, n). */
    private NDArray positionsFrom(int from, CachedTokens other) {
        NDArray like = keys.array();
        boolean areReal = tokens.areReal() || other.tokens.areReal();
        DataType type = areReal ? DataType.FLOAT64 : DataType.INT32;
        NDArray own = tokens.array() == null ? tokens.toArray(like, type) : Arithmetic.toType(tokens.array(), type);
        long axes = Math.max(axesOf(tokens), axesOf(other.tokens));
        Shape byRow = new Shape(keys.batch(), tokens.count());
        Shape shape = axes == 0 ? byRow : new Shape(axes).addAll(byRow);
        NDArray ofRows = own.getShape().equals(shape) ? own : own.broadcast(shape);
        Shape missing = Shape.update(shape, shape.dimension() - 1, tokens.first() - from);
        return missing.size() == 0
                ? ofRows
                : like.getManager().zeros(missing, type, like.getDevice()).concat(ofRows, -1);
    }

    /** Checks that the position of the last token tells the next one. */
    void requireNextPosition() {
        NDArray positions = tokens.array();
        Check.that(
                positions == null || (axesOf(tokens) == 0 && !tokens.areReal()),
                () -> "cached positions of shape " + positions.getShape() + " and type " + positions.getDataType()
                        + ": expected integers, (T) or (B, T), to continue them; call nextStep() without the number of"
                        + " tokens, and add the positions of the step");
    }

    /**
     * The positions of the next tokens, (T) or (B, T), which follow those of the last ones: an array of the caller;
     * null if they are the indices.
     */
    NDArray nextPositions(int count) {
        NDArray positions = tokens.array();
        if (positions == null) {
            return null;
        }
        int axis = positions.getShape().dimension() - 1;
        return TokenColumn.owned(manager, Temporaries.result(() -> {
            NDArray last = positions.get(NDIndex.sliceAxis(axis, tokens.count() - 1L, tokens.count()));
            return last.add(last.getManager().arange(1, count + 1, 1, last.getDataType(), last.getDevice()));
        }));
    }

    /** Whether a removal of tokens moves the positions of later ones, because they follow one another. */
    boolean haveConsecutivePositions() {
        return firstPassed == null;
    }

    /** Checks that no window reaches back to tokens that are no longer cached after others are removed. */
    void requireRemovable(int from, int to) {
        int length = length() - (to - from);
        Integer reach = reach(length());
        int first = reach == null ? 0 : Math.max(0, length - reach + 1);
        int cached = moved(Math.max(firstOfAll, tokens.first()), from, to);
        int needed = reach == null || !attention.order().countsTokens()
                ? first
                : masked.stream()
                        .filter(each -> moved(each.from, from, to) < length && moved(each.end, from, to) > first)
                        .mapToInt(each -> Math.min(first, moved(each.first, from, to)))
                        .min()
                        .orElse(first);
        Check.that(
                cached <= needed,
                () -> "tokens " + from + " to " + (to - 1) + " of " + length()
                        + ": expected tokens whose removal leaves those that a window would reach back to, from "
                        + needed
                        + " on, but the first cached one would be " + cached
                        + "; call clear() and process the sequence again; attention: " + attention);
    }

    /** The index of a token after others were removed; of a removed one, that of the next. */
    private static int moved(int index, int from, int to) {
        return index <= from ? index : Math.max(from, index - (to - from));
    }

    /** The later tokens of a sequence at other positions, and their keys, (B, K, n, H); null for the same keys. */
    record Moved(Positions positions, NDArray keys) implements AutoCloseable {
        @Override
        public void close() {
            if (keys != null) {
                keys.close();
            }
            if (positions.array() != null) {
                positions.array().close();
            }
        }
    }

    /**
     * Encodes the cached tokens from an index on for positions that are larger by a number: an object of the caller.
     *
     * @throws IllegalArgumentException if an encoding cannot move keys, or a position is not valid
     */
    Moved moved(int from, int added) {
        int begin = Math.max(from, tokens.first());
        int count = length() - begin;
        try (Temporaries temporaries = new Temporaries();
                NDManager own = manager.newSubManager()) {
            Positions before = AttentionForward.slice(temporaries, tokens, begin - tokens.first(), count);
            Positions after = Positions.of(begin + added, count);
            if (before.array() != null) {
                NDArray array = temporaries.add(Arithmetic.add(before.array(), added));
                int end = tokens.end();
                if (haveConsecutivePositions()) {
                    // tokens that a row has dropped have position 0
                    array = temporaries.add(array.maximum(temporaries.add(array.zerosLike())));
                } else {
                    end = Positions.of(array).signed().end();
                }
                after = Positions.of(begin, count).with(array, end);
            }
            NDArray encoded = null;
            if (attention.terms().encodeKeys() && count > 0) {
                NDArray view = temporaries.add(keys.view(manager, begin));
                encoded = TokenColumn.owned(
                        manager, attention.terms().encodeAgain(call(own, view, before), call(own, view, after), view));
            }
            if (after.array() != null) {
                TokenColumn.owned(manager, temporaries.remove(after.array()));
            }
            return new Moved(after, encoded);
        }
    }

    private AttentionCall call(NDManager own, NDArray like, Positions ofKeys) {
        MultiHeadAttentionBlock.Options options = attention.options();
        return new AttentionCall(
                attention,
                DataTypes.ofScores(like),
                new ParameterStore(own, false),
                false,
                null,
                ofKeys,
                ofKeys,
                options.causal(),
                options.scale());
    }

    /** Removes tokens; the later ones follow those before. */
    void remove(int from, int to) {
        keys.remove(from, to);
        values.remove(from, to);
        if (!hidden.isEmpty()) {
            hidden.remove(from, to);
        }
        features.values().forEach(column -> column.remove(from, to));
        int first = tokens.first();
        int kept = Math.max(0, from - first);
        int begin = Math.max(to, first);
        int end = tokens.end();
        try (Temporaries temporaries = new Temporaries()) {
            Positions later = AttentionForward.slice(temporaries, tokens, begin - first, length() - begin);
            Positions all = AttentionForward.slice(temporaries, tokens, 0, kept).followedBy(later);
            closePositions();
            NDArray array = all.array() == null ? null : TokenColumn.owned(manager, all.array());
            tokens = Positions.of(moved(first, from, to), all.count()).with(array, end);
        }
        masked.replaceAll(
                each -> new Masked(moved(each.from, from, to), moved(each.end, from, to), moved(each.first, from, to)));
        masked.removeIf(each -> each.from == each.end);
        firstExplicit = Math.min(firstExplicit, from);
        firstPassed = firstPassed == null ? null : Integer.valueOf(moved(firstPassed, from, to));
        paddingEnd = moved(paddingEnd, from, to);
        joinedLength = moved(joinedLength, from, to);
        firstJoined = moved(firstJoined, from, to);
        firstOfAll = moved(firstOfAll, from, to);
        lengthBefore = moved(lengthBefore, from, to);
        endBefore = end;
    }

    /** Replaces the positions and keys of the last tokens. */
    void replace(Moved last) {
        if (last.keys != null && last.positions.count() > 0) {
            keys.write(last.keys);
        }
        if (last.positions.array() != null) {
            try (Temporaries temporaries = new Temporaries()) {
                int kept = tokens.count() - last.positions.count();
                Positions all =
                        AttentionForward.slice(temporaries, tokens, 0, kept).followedBy(last.positions);
                int end = Math.max(tokens.end(), last.positions.end());
                closePositions();
                tokens =
                        Positions.of(tokens.first(), tokens.count()).with(TokenColumn.owned(manager, all.array()), end);
                endBefore = end;
            }
        }
    }

    /** Counts tokens from a later one on, whose index becomes 0, and which no row has a token before. */
    void moveBack(int count) {
        keys.moveBack(count);
        values.moveBack(count);
        hidden.moveBack(count);
        features.values().forEach(column -> column.moveBack(count));
        int dropped = Math.max(0, count - tokens.first());
        Positions rest = tokens.slice(dropped, tokens.count() - dropped);
        NDArray positions = rest.array() == tokens.array() ? rest.array() : copied(rest.array(), manager);
        if (positions != tokens.array()) {
            rest.array().close();
            closePositions();
        }
        tokens = Positions.of(rest.first() - count, rest.count()).with(positions, rest.end());
        masked.removeIf(each -> each.end <= count);
        masked.replaceAll(
                each -> new Masked(Math.max(0, each.from - count), each.end - count, Math.max(0, each.first - count)));
        firstExplicit = Math.max(0, firstExplicit - count);
        firstPassed = firstPassed == null ? null : Integer.valueOf(Math.max(0, firstPassed - count));
        paddingEnd = Math.max(0, paddingEnd - count);
        joinedLength = Math.max(0, joinedLength - count);
        firstJoined = Math.max(0, firstJoined - count);
        firstOfAll = Math.max(0, firstOfAll - count);
        lengthBefore = Math.max(0, lengthBefore - count);
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
