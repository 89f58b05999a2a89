package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.PairLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.ToLongFunction;
import java.util.stream.DoubleStream;

/** The terms of the relative encodings of an attention, which are read once. */
final class Terms {

    /** Without coordinates, distances are those between positions. */
    record DistanceBias(
            BiFunction<AttentionCall, Distances, NDArray> biases,
            Term.Coordinates queries,
            Term.Coordinates keys,
            ToLongFunction<AttentionCall> pairSize)
            implements Term {
        @Override
        public Term withPairSize(ToLongFunction<AttentionCall> size) {
            return new DistanceBias(biases, queries, keys, size);
        }
    }

    /** Without functions of the queries and the keys, it is of the heads. */
    record ScoreTerm(
            BiFunction<AttentionCall, NDArray, NDArray> queries,
            BiFunction<AttentionCall, NDArray, NDArray> keys,
            Term.Scores scores,
            ToLongFunction<AttentionCall> pairSize)
            implements Term {
        @Override
        public Term withPairSize(ToLongFunction<AttentionCall> size) {
            return new ScoreTerm(queries, keys, scores, size);
        }

        boolean isOfTokens() {
            return queries != null || keys != null;
        }
    }

    record ValueTerm(BiFunction<AttentionCall, NDArray, NDArray> results, ToLongFunction<AttentionCall> pairSize)
            implements Term {
        @Override
        public Term withPairSize(ToLongFunction<AttentionCall> size) {
            return new ValueTerm(results, size);
        }
    }

    record Heads(BiFunction<AttentionCall, NDArray, NDArray> queries, BiFunction<AttentionCall, NDArray, NDArray> keys)
            implements Term {}

    /**
     * Up to this multiple of the number of tokens, computing consecutive distances is faster than computing all pairs.
     */
    private static final int MAX_SPREAD_PER_TOKEN = 4;

    /** Added to the number of tokens, so that short sequences use consecutive distances too. */
    private static final int EXTRA_TOKENS = 512;

    /** The number of heads in an encoding's own forward. */
    static final int ANY_HEADS = -1;

    private final List<RelativeEncoding> encodings;

    /** The encoding of each term. */
    private final IdentityHashMap<Term, RelativeEncoding> owners = new IdentityHashMap<>();

    private final List<Term> all;

    /** The terms that are added to the scores or to the result. */
    private final List<Term> added;

    /** The biases that depend on distances between positions, not between coordinates. */
    private final List<DistanceBias> positionBiases;

    private final List<DistanceBias> coordinateBiases;
    private final List<ScoreTerm> scoreTerms;
    private final List<ValueTerm> valueTerms;

    /** Null for none. */
    private final Rotation rotation;

    /** N, or {@link #ANY_HEADS}. */
    private final int headCount;

    /** Reads the terms of encodings. */
    Terms(List<RelativeEncoding> encodings, int headCount) {
        this.encodings = List.copyOf(encodings);
        this.headCount = headCount;
        List<Term> terms = new ArrayList<>();
        for (RelativeEncoding encoding : encodings) {
            for (Term term : encoding.terms()) {
                terms.add(term);
                owners.put(term, encoding);
            }
        }
        all = List.copyOf(terms);
        added = all.stream()
                .filter(term -> !(term instanceof Rotation || term instanceof Heads))
                .toList();
        List<DistanceBias> biases = ofType(DistanceBias.class);
        positionBiases = biases.stream().filter(bias -> bias.queries() == null).toList();
        coordinateBiases =
                biases.stream().filter(bias -> bias.queries() != null).toList();
        scoreTerms = ofType(ScoreTerm.class);
        valueTerms = ofType(ValueTerm.class);
        rotation = ofType(Rotation.class).stream().findFirst().orElse(null);
    }

    private <T extends Term> List<T> ofType(Class<T> type) {
        return all.stream().filter(type::isInstance).map(type::cast).toList();
    }

    List<RelativeEncoding> encodings() {
        return encodings;
    }

    /** Whether anything is added to the scores or to the result. */
    boolean areAdded() {
        return !added.isEmpty();
    }

    /** Whether only biases that depend on distances between positions are added. */
    boolean areBiasesOnly() {
        return !positionBiases.isEmpty() && positionBiases.size() == added.size();
    }

    /** Whether queries and keys are at most rotated once, from their first dimension on, and only biases are added. */
    boolean areRotationOrBiases() {
        boolean areRotated = all.stream()
                .allMatch(term -> positionBiases.contains(term)
                        || (term instanceof Rotation rotation
                                && rotation.start() == 0
                                && rotation.layout() != PairLayout.CONCATENATED_HALVES));
        return areRotated && all.size() - positionBiases.size() <= 1;
    }

    /** The first rotation; null for none. */
    Rotation rotation() {
        return rotation;
    }

    /** The encoding that a term belongs to. */
    RelativeEncoding ownerOf(Term term) {
        return owners.get(term);
    }

    boolean haveValues() {
        return !valueTerms.isEmpty();
    }

    /** Whether no gradient is recorded for the parameters of encodings whose terms are added. */
    boolean areConstant(AttentionCall call) {
        return added.stream().allMatch(term -> isConstant(owners.get(term), call.training()));
    }

    private static boolean isConstant(RelativeEncoding encoding, boolean training) {
        return encoding.getParameters().values().stream()
                .noneMatch(parameter -> training
                        || (parameter.isInitialized() && parameter.getArray().hasGradient()));
    }

    /** How many array elements the terms take for each query and key; 0 without terms. */
    long sizePerQueryAndKey(AttentionCall call) {
        return added.stream()
                .mapToLong(term -> pairSize(term).applyAsLong(call))
                .max()
                .orElse(0);
    }

    private static ToLongFunction<AttentionCall> pairSize(Term term) {
        return term instanceof DistanceBias bias
                ? bias.pairSize
                : term instanceof ScoreTerm scores ? scores.pairSize : ((ValueTerm) term).pairSize;
    }

    /** Rotates and changes queries or keys: a new array, or the input itself. */
    NDArray encode(Temporaries temporaries, AttentionCall call, NDArray input, boolean areKeys) {
        NDArray x = input;
        for (Term term : all) {
            NDArray before = x;
            if (term instanceof Rotation rotation) {
                x = temporaries.add(rotation.of(owners.get(term), call, before, areKeys));
            } else if (term instanceof Heads heads) {
                var function = areKeys ? heads.keys() : heads.queries();
                x = function == null ? before : temporaries.addResult(before, () -> function.apply(call, before));
                require(term, areKeys ? "keys" : "queries", x, x.getShape().equals(input.getShape()), input.getShape());
            }
        }
        return x;
    }

    /** Whether keys depend on their positions, so that {@link #encodeAgain} changes them. */
    boolean encodeKeys() {
        return all.stream().anyMatch(term -> term instanceof Rotation || changesKeys(term));
    }

    private static boolean changesKeys(Term term) {
        return term instanceof Heads heads && heads.keys() != null;
    }

    /**
     * Encodes encoded keys for other positions.
     *
     * @param before the keys at the positions for which they were encoded
     * @param after the keys at their new positions
     * @param keys encoded, (B, K, n, H)
     * @return a new array
     * @throws IllegalArgumentException if an encoding cannot be undone
     */
    NDArray encodeAgain(AttentionCall before, AttentionCall after, NDArray keys) {
        for (Term term : all) {
            Check.that(
                    !changesKeys(term),
                    () -> Settings.classOf(owners.get(term)) + " changes keys by a function of its own, which cannot be"
                            + " undone: expected rotations, biases or scores, to move the positions of cached tokens;"
                            + " clear() the cache and process the tokens again");
        }
        List<Rotation> rotations = ofType(Rotation.class);
        try (Temporaries temporaries = new Temporaries()) {
            NDArray x = temporaries.toType(keys, DataTypes.ofScores(keys));
            for (int i = rotations.size() - 1; i >= 0; i--) {
                x = temporaries.add(again(rotations.get(i), before, x, keys, true));
            }
            for (Rotation each : rotations) {
                x = temporaries.add(again(each, after, x, keys, false));
            }
            NDArray encoded = x;
            return Temporaries.result(
                    () -> Arithmetic.toType(encoded, keys.getDataType()).duplicate());
        }
    }

    private NDArray again(Rotation term, AttentionCall call, NDArray x, NDArray like, boolean isUndone) {
        return term.again(owners.get(term), call, x, like, isUndone);
    }

    /** The terms that compute features of keys. */
    List<ScoreTerm> termsOfKeys() {
        return scoreTerms.stream().filter(term -> term.keys() != null).toList();
    }

    /** The features of each token of queries or keys, (B, n, W), by term; see {@link Term#scoresOfTokens}. */
    Map<Term, NDArray> features(Temporaries temporaries, AttentionCall call, NDArray input, boolean areKeys) {
        Map<Term, NDArray> features = new HashMap<>();
        for (ScoreTerm term : scoreTerms) {
            var function = areKeys ? term.keys() : term.queries();
            if (function != null) {
                NDArray typed = temporaries.toType(input, DataTypes.ofScores(input));
                NDArray found = temporaries.addResult(typed, () -> function.apply(call, typed));
                features.put(term, found);
                Shape shape = found.getShape();
                Shape tokens = new Shape(input.getShape().get(0), (areKeys ? call.keys() : call.queries()).count());
                boolean fits = shape.dimension() == 3 && shape.slice(0, 2).equals(tokens);
                require(term, "features of tokens", found, fits, tokens.add(-1) + ", with any last size");
            }
        }
        return features;
    }

    private void require(Term term, String what, NDArray result, boolean fits, Object expected) {
        require(owners.get(term), what, result, fits, expected);
    }

    static void require(RelativeEncoding encoding, String what, NDArray result, boolean fits, Object expected) {
        Check.that(
                fits,
                () -> what + " of " + Settings.classOf(encoding) + " have the shape " + result.getShape()
                        + ": expected " + expected + "; return an array of this shape");
    }

    /**
     * The sum of the terms that are added to the scores, (B or 1, N or 1, T, F), in their data type; null for none.
     *
     * @param queries the queries, before any encoding, in the data type of the scores
     */
    NDArray term(Temporaries temporaries, AttentionCall call, NDArray queries, NDArray keys) {
        NDList terms = new NDList();
        if (!positionBiases.isEmpty()) {
            terms.add(biasTerm(temporaries, call, queries));
        }
        for (DistanceBias bias : coordinateBiases) {
            terms.add(coordinateTerm(temporaries, bias, call, queries));
        }
        for (ScoreTerm term : scoreTerms) {
            NDArray ofQueries = term.isOfTokens() ? call.queryFeatures(term) : queries;
            NDArray ofKeys = term.isOfTokens() ? call.keyFeatures(term) : keys;
            NDArray scores = temporaries.addResult(queries, () -> {
                NDArray found = term.scores().of(call, ofQueries, ofKeys);
                return found == null ? null : Arithmetic.toType(found, queries.getDataType());
            });
            if (scores != null) {
                terms.add(scores);
                requireScores(term, scores, queries.getShape(), call);
            }
        }
        return sum(temporaries, terms);
    }

    /** In an encoding's own forward, queries may have any rank if the term does not depend on their content. */
    private void requireScores(Term term, NDArray scores, Shape queries, AttentionCall call) {
        if (queries.dimension() == 4) {
            Shape all = Shape.update(queries, 3, call.keys().count());
            require(term, "scores", scores, broadcasts(scores.getShape(), all), all);
        }
    }

    /** The sum of arrays; null for none. */
    private static NDArray sum(Temporaries temporaries, NDList arrays) {
        return arrays.isEmpty()
                ? null
                : temporaries.addResult(
                        arrays.head(),
                        () -> arrays.stream().reduce(NDArray::add).orElseThrow());
    }

    /** Whether a shape broadcasts to another; leading axes may be missing. */
    static boolean broadcasts(Shape shape, Shape to) {
        int missing = to.dimension() - shape.dimension();
        for (int axis = 0; axis < shape.dimension(); axis++) {
            if (missing < 0 || (shape.get(axis) != 1 && shape.get(axis) != to.get(axis + missing))) {
                return false;
            }
        }
        return true;
    }

    /** The sum of the terms that are added to the results, (B, N, T, H); null for none. */
    NDArray valueTerm(Temporaries temporaries, AttentionCall call, NDArray probabilities, Shape results) {
        NDList terms = new NDList();
        for (ValueTerm term : valueTerms) {
            NDArray added =
                    temporaries.addResult(probabilities, () -> term.results().apply(call, probabilities));
            if (added != null) {
                terms.add(added);
                require(term, "values", added, broadcasts(added.getShape(), results), results);
            }
        }
        return sum(temporaries, terms);
    }

    /** The biases of distances without explicit positions, (1 or N, size). */
    NDArray biasesByDistance(Temporaries temporaries, AttentionCall call, Distances needed) {
        return temporaries.add(call.shared(this, 1, needed, distances -> sumOfBiases(positionBiases, call, distances)));
    }

    /** The sum of several biases, (1 or N, size), in the data type of the distances: a new array. */
    private NDArray sumOfBiases(List<DistanceBias> terms, AttentionCall call, Distances distances) {
        return Temporaries.result(() -> {
            NDArray sum = null;
            for (DistanceBias term : terms) {
                NDArray biases = term.biases().apply(call, distances);
                requireBiases(term, biases, distances.size());
                sum = sum == null ? biases : sum.add(biases);
            }
            return Arithmetic.toType(sum, distances.like().getDataType());
        });
    }

    private void requireBiases(Term term, NDArray biases, int size) {
        Shape shape = biases.getShape();
        boolean areByHead = shape.dimension() == 2 && (shape.get(0) == headCount || headCount == ANY_HEADS);
        boolean areShared = shape.dimension() == 2 && shape.get(0) == 1;
        String heads = headCount == ANY_HEADS ? "N" : String.valueOf(headCount);
        require(
                term,
                "biases",
                biases,
                (areByHead || areShared) && shape.get(1) == size,
                "(1 or " + heads + ", " + size + ")");
    }

    /**
     * Like {@link #biasesByDistance} for a step of a cache, which owns the array; biases for more distant keys may come
     * first.
     */
    NDArray stepBiases(AttentionCall call, NDArray like) {
        return call.wholeByDistance(
                this, call.distances(like), distances -> sumOfBiases(positionBiases, call, distances));
    }

    private NDArray biasTerm(Temporaries temporaries, AttentionCall call, NDArray queries) {
        if (call.hasPositions()) {
            DataType type = call.hasRealPositions() ? DataType.FLOAT64 : DataType.INT32;
            NDArray queryPositions = positions(temporaries, call.queries(), queries, type);
            NDArray keyPositions = positions(temporaries, call.keys(), queries, type);
            return biasesOfPairs(
                    temporaries, positionBiases, positionBiases, call, queries, queryPositions, keyPositions);
        }
        NDArray biases = biasesByDistance(temporaries, call, call.distances(queries));
        int keys = call.keys().count();
        return temporaries.addResult(() -> {
            NDArray row = biases.reshape(1, biases.getShape().get(0), 1, -1);
            Shape shape = Shape.update(row.getShape(), 2, call.queries().count());
            return RelativeShift.toKeys(shape.equals(row.getShape()) ? row : row.broadcast(shape), keys);
        });
    }

    private static NDArray positions(Temporaries temporaries, Positions tokens, NDArray like, DataType type) {
        return temporaries.addUnless(tokens.array(), tokens.toArray(like, type));
    }

    private NDArray coordinateTerm(Temporaries temporaries, DistanceBias bias, AttentionCall call, NDArray queries) {
        NDArray ofQueries = coordinates(temporaries, bias, bias.queries(), call.queries(), queries);
        NDArray ofKeys = coordinates(temporaries, bias, bias.keys(), call.keys(), queries);
        // only one of them may be explicit
        boolean areReal =
                ofQueries.getDataType().isFloating() || ofKeys.getDataType().isFloating();
        DataType type = areReal ? DataType.FLOAT64 : DataType.INT32;
        return biasesOfPairs(
                temporaries,
                bias,
                List.of(bias),
                call,
                queries,
                temporaries.toType(ofQueries, type),
                temporaries.toType(ofKeys, type));
    }

    private NDArray coordinates(
            Temporaries temporaries, Term term, Term.Coordinates function, Positions tokens, NDArray like) {
        NDArray found = temporaries.addResult(tokens.array(), () -> function.of(tokens, like));
        Shape positions = tokens.array() == null ? null : tokens.array().getShape();
        long batch = positions == null ? 1 : positions.get(positions.dimension() - 2);
        Shape expected = new Shape(batch, tokens.count());
        require(term, "coordinates", found, found.getShape().equals(expected), expected);
        return found;
    }

    /**
     * The biases for each query and key, (1 or B, 1 or N, T, F), by the differences of two arrays, (1 or B, T) and (1
     * or B, F). Those of differences on a {@link Line} are computed once.
     */
    private NDArray biasesOfPairs(
            Temporaries temporaries,
            Object id,
            List<DistanceBias> terms,
            AttentionCall call,
            NDArray like,
            NDArray queryCoordinates,
            NDArray keyCoordinates) {
        Line line = Line.of(queryCoordinates, keyCoordinates);
        NDArray biases = temporaries.add(
                line != null && !line.areReal
                        ? call.shared(
                                id,
                                1,
                                Distances.consecutive(like, line.first, line.count),
                                distances -> sumOfBiases(terms, call, distances))
                        : Temporaries.result(() -> {
                            Distances distances = line == null
                                    ? Distances.between(like, queryCoordinates, keyCoordinates)
                                    : line.distances(like);
                            return sumOfBiases(terms, call, distances);
                        }));
        return temporaries.addResult(() -> {
            NDArray ofPairs = line == null
                    ? biases
                    : Indices.lookUpColumns(line.indices(queryCoordinates, keyCoordinates), biases);
            long queries = queryCoordinates.getShape().get(1);
            long keys = keyCoordinates.getShape().get(1);
            return ofPairs.reshape(biases.getShape().get(0), -1, queries, keys).swapAxes(0, 1);
        });
    }

    /**
     * The multiples of a step from first · step on, which all differences of some coordinates are: integers, or real
     * numbers such as the times of frames.
     *
     * @param origin one of the coordinates if they are real, otherwise 0
     */
    private record Line(boolean areReal, double step, double origin, int first, int count) {

        /**
         * The line of differences; null if it would have many more numbers than tokens, if coordinates are on a GPU,
         * where they are not read, or if gradients are recorded for them.
         */
        static Line of(NDArray queryCoordinates, NDArray keyCoordinates) {
            if (!HostData.isHost(queryCoordinates.getDevice())) {
                return null;
            }
            boolean areReal = queryCoordinates.getDataType().isFloating();
            if (areReal && (queryCoordinates.hasGradient() || keyCoordinates.hasGradient())) {
                return null;
            }
            double[] queries = HostData.doubles(queryCoordinates);
            double[] keys = HostData.doubles(keyCoordinates);
            double first = Arrays.stream(keys).min().orElse(0)
                    - Arrays.stream(queries).max().orElse(0);
            double last = Arrays.stream(keys).max().orElse(0)
                    - Arrays.stream(queries).min().orElse(0);
            long tokens = queryCoordinates.getShape().get(1)
                    + keyCoordinates.getShape().get(1);
            double most = MAX_SPREAD_PER_TOKEN * (tokens + EXTRA_TOKENS);
            double origin = areReal ? queries[0] : 0;
            DoubleStream all = DoubleStream.concat(Arrays.stream(queries), Arrays.stream(keys));
            double step = areReal ? step(all.map(each -> each - origin).toArray(), (last - first) / most) : 1;
            return last - first < most * step
                    ? new Line(
                            areReal,
                            step,
                            origin,
                            (int) Math.rint(first / step),
                            1 + (int) Math.rint((last - first) / step))
                    : null;
        }

        /** The largest number that all numbers are multiples of, by Euclid's algorithm; 0 if it is below a smallest. */
        private static double step(double[] numbers, double smallest) {
            double step = 0;
            for (double number : numbers) {
                double rest = Math.abs(number);
                while (rest > 0) {
                    double next = step % rest; // exact
                    step = rest;
                    rest = next;
                }
                if (step > 0 && step < smallest) {
                    return 0;
                }
            }
            return step == 0 ? 1 : step;
        }

        /** The differences on the line, as those of real numbers to 0. */
        Distances distances(NDArray like) {
            NDArray multiples = Arithmetic.toType(Indices.range(like, first, count, DataType.INT32), DataType.FLOAT64);
            NDArray differences = Arithmetic.multiply(multiples, step).expandDims(0);
            return Distances.between(like, Arithmetic.number(differences, 0).reshape(1, 1), differences);
        }

        /** The place on the line of each pair's difference, (1 or B, T, F), INT32. */
        NDArray indices(NDArray queryCoordinates, NDArray keyCoordinates) {
            NDArray keys = Arithmetic.add(multiples(keyCoordinates), -first);
            return keys.expandDims(1).sub(multiples(queryCoordinates).expandDims(2));
        }

        /** The coordinates as multiples of the step from the origin, INT32. */
        private NDArray multiples(NDArray coordinates) {
            return areReal
                    ? Arithmetic.toType(
                            Arithmetic.multiply(Arithmetic.add(coordinates, -origin), 1 / step)
                                    .round(),
                            DataType.INT32)
                    : coordinates;
        }
    }

    /** The positions of keys outside an attention. */
    private static Positions keyPositions(
            Temporaries temporaries, Positions queries, NDArray like, NDArray keys, PairList<String, Object> params) {
        if (keys != like) {
            int axis = keys.getShape().dimension() - 2;
            Positions given = Positions.ofMemory(keys, axis, Positions.ofMemory(params));
            return AttentionForward.like(temporaries, given, like);
        }
        ForwardParameters.requireNoMemory(params, "an encoding without keys", "pass [queries, keys]");
        return queries.array() != null ? queries : Positions.of(0, queries.first() + queries.count());
    }

    /** The term of a single encoding outside an attention; see {@link RelativeEncoding#term}. */
    NDArray ofOne(
            ParameterStore parameterStore,
            NDArray queries,
            NDArray keys,
            boolean training,
            PairList<String, Object> params) {
        RelativeEncoding encoding = encodings.get(0);
        try (Temporaries temporaries = new Temporaries()) {
            int axis = queries.getShape().dimension() - 2;
            Positions tokens = AttentionForward.like(temporaries, Positions.of(queries, axis, null, params), queries);
            Positions keyPositions = keyPositions(temporaries, tokens, queries, keys, params);
            AttentionCall bare = new AttentionCall(
                    encoding, queries.getDataType(), parameterStore, training, params, tokens, keyPositions, false, 1);
            AttentionCall call =
                    bare.with(features(temporaries, bare, queries, false), features(temporaries, bare, keys, true));
            NDArray encoded = encode(temporaries, call, keys, true);
            NDArray term = term(temporaries, call, queries, encoded);
            Check.that(
                    term != null,
                    () -> Settings.classOf(encoding)
                            + " adds nothing to the scores: expected an encoding with a score term; use it in an"
                            + " attention with optRelativeEncoding");
            // the term of one query may be a view of a table
            NDArray result = tokens.count() == 1 ? Arithmetic.copy(term) : temporaries.remove(term);
            result.attach(queries.getManager());
            return result;
        }
    }
}
