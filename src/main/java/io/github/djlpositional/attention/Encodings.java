package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Settings;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Combines the relative encodings of an attention: applies their rotations one after another, and adds their terms. The
 * methods that the class of an encoding implements determine what the encoding does.
 */
final class Encodings {

    /**
     * Up to this multiple of the number of tokens, computing consecutive distances is faster than computing all pairs.
     */
    private static final int MAX_SPREAD_PER_TOKEN = 4;

    /** Added to the number of tokens, so that short sequences use consecutive distances too. */
    private static final int EXTRA_TOKENS = 512;

    /** The names of the methods of a class that are not inherited from {@link RelativeEncoding}. */
    private static final ClassValue<Set<String>> METHODS = new ClassValue<>() {
        @Override
        protected Set<String> computeValue(Class<?> type) {
            return Stream.of(type.getMethods())
                    .filter(method -> method.getDeclaringClass() != RelativeEncoding.class)
                    .map(Method::getName)
                    .collect(Collectors.toSet());
        }
    };

    private final List<RelativeEncoding> all;

    /** The rotation of each encoding; null for none. */
    private final Rotation[] rotations;

    /** The encodings whose biases depend on distances between positions, not between their own coordinates. */
    private final List<RelativeEncoding> positionBiases;

    private final List<RelativeEncoding> coordinateBiases;
    private final List<RelativeEncoding> scoreTerms;
    private final List<RelativeEncoding> valueTerms;
    private final List<RelativeEncoding> withTerms;

    /** The encodings that compute numbers of each token. */
    private final List<RelativeEncoding> withNumbers;

    /** The first encoding with a rotation; null for none. */
    private final RelativeEncoding rotating;

    private final boolean haveStep;

    Encodings(List<RelativeEncoding> all) {
        this.all = List.copyOf(all);
        rotations = all.stream().map(RelativeEncoding::rotation).toArray(Rotation[]::new);
        List<RelativeEncoding> distanceBiases = implementing("distanceBias");
        coordinateBiases = distanceBiases.stream()
                .filter(encoding -> hasMethod(encoding, "coordinates"))
                .toList();
        positionBiases = distanceBiases.stream()
                .filter(encoding -> !coordinateBiases.contains(encoding))
                .toList();
        scoreTerms = implementing("scoreTerm");
        valueTerms = implementing("valueTerm").stream()
                .filter(RelativeEncoding::hasValueTerm)
                .toList();
        withTerms = Stream.of(distanceBiases, scoreTerms, valueTerms)
                .flatMap(List::stream)
                .distinct()
                .toList();
        withNumbers = implementing("tokenNumbers");
        List<RelativeEncoding> allRotating =
                all.stream().filter(encoding -> encoding.rotation() != null).toList();
        rotating = allRotating.isEmpty() ? null : allRotating.get(0);
        haveStep = allRotating.size() <= 1
                && (rotating == null || rotating.rotation().layout() != PairLayout.CONCATENATED_HALVES)
                && (!hasTerms() || hasBiasesOnly())
                && withNumbers.isEmpty()
                && implementing("encodeQueries").isEmpty()
                && implementing("encodeKeys").isEmpty();
    }

    private List<RelativeEncoding> implementing(String method) {
        return all.stream().filter(encoding -> hasMethod(encoding, method)).toList();
    }

    private static boolean hasMethod(RelativeEncoding encoding, String name) {
        return METHODS.get(encoding.getClass()).contains(name);
    }

    List<RelativeEncoding> all() {
        return all;
    }

    /** Whether anything is added to the scores or to the result. */
    boolean hasTerms() {
        return !withTerms.isEmpty();
    }

    /** Whether only biases that depend on distances between positions are added. */
    boolean hasBiasesOnly() {
        return !positionBiases.isEmpty() && coordinateBiases.isEmpty() && scoreTerms.isEmpty() && valueTerms.isEmpty();
    }

    boolean hasValueTerms() {
        return !valueTerms.isEmpty();
    }

    /** Whether a {@link Step} supports them: at most one rotation of queries and keys, and biases of distances. */
    boolean haveStep() {
        return haveStep;
    }

    /** The rotation of a step; null for none. */
    Rotation rotation() {
        return rotating == null ? null : rotations[all.indexOf(rotating)];
    }

    /** Rows that rotate the queries or keys of a step by {@link #rotation}; see {@link Rotation.Angles}. */
    NDArray rows(AttentionCall call, NDArray like, boolean areKeys, Shape rotated) {
        return rotation().rows(rotating, call, like, areKeys, rotated);
    }

    /** Whether no gradient is recorded for the parameters of encodings with terms. */
    boolean areConstant(AttentionCall call) {
        return areConstant(withTerms, call.training());
    }

    /** Whether no gradient is recorded for the parameters of any encoding, in inference. */
    boolean areAllConstant() {
        return areConstant(all, false);
    }

    private static boolean areConstant(List<RelativeEncoding> encodings, boolean training) {
        return encodings.stream()
                .flatMap(encoding -> encoding.getParameters().values().stream())
                .noneMatch(parameter -> training
                        || (parameter.isInitialized() && parameter.getArray().hasGradient()));
    }

    /** How many numbers the terms take for each query and key; 0 without terms. */
    long sizePerQueryAndKey(AttentionCall call) {
        return withTerms.stream()
                .mapToLong(encoding -> encoding.sizePerQueryAndKey(call))
                .max()
                .orElse(0);
    }

    /** Rotates and encodes queries or keys: a new array, or the input itself. */
    NDArray encode(Temporaries temporaries, AttentionCall call, NDArray input, boolean areKeys) {
        NDArray x = input;
        for (int i = 0; i < rotations.length; i++) {
            RelativeEncoding encoding = all.get(i);
            NDArray rotated = rotations[i] == null ? x : temporaries.add(rotations[i].of(encoding, call, x, areKeys));
            NDArray encoded = areKeys ? encoding.encodeKeys(call, rotated) : encoding.encodeQueries(call, rotated);
            String method = areKeys ? "encodeKeys" : "encodeQueries";
            require(encoding, method, encoded, encoded.getShape().equals(input.getShape()), input.getShape());
            x = temporaries.addUnless(rotated, encoded);
        }
        return x;
    }

    /**
     * The numbers of each token of queries or keys, (B, n, W), by encoding; see {@link RelativeEncoding#tokenNumbers}.
     */
    Map<RelativeEncoding, NDArray> numbers(
            Temporaries temporaries, AttentionCall call, NDArray input, boolean areKeys) {
        Map<RelativeEncoding, NDArray> numbers = new HashMap<>();
        for (RelativeEncoding encoding : withNumbers) {
            NDArray typed = temporaries.toType(input, DataTypes.ofScores(input));
            NDArray found = encoding.tokenNumbers(call, typed, areKeys);
            if (found != null) {
                numbers.put(encoding, temporaries.addUnless(typed, found));
                Shape shape = found.getShape();
                Shape tokens = new Shape(input.getShape().get(0), (areKeys ? call.keys() : call.queries()).count());
                boolean fits = shape.dimension() == 3 && shape.slice(0, 2).equals(tokens);
                require(encoding, "tokenNumbers", found, fits, tokens.add(-1) + ", with any last size");
            }
        }
        return numbers;
    }

    static void require(RelativeEncoding encoding, String method, NDArray result, boolean fits, Object expected) {
        Check.that(
                fits,
                () -> method + " of " + Settings.classOf(encoding) + " returned " + result.getShape() + ": expected "
                        + expected + "; return an array of this shape");
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
        for (RelativeEncoding encoding : coordinateBiases) {
            terms.add(coordinateTerm(temporaries, encoding, call, queries));
        }
        for (RelativeEncoding encoding : scoreTerms) {
            NDArray term = encoding.scoreTerm(call, queries, keys);
            if (term != null) {
                terms.add(temporaries.addUnless(queries, term));
                requireScores(encoding, term, queries.getShape(), call);
            }
        }
        return sum(temporaries, terms);
    }

    /** In an encoding's own forward, queries may have any rank if the term does not depend on their content. */
    private static void requireScores(RelativeEncoding encoding, NDArray term, Shape queries, AttentionCall call) {
        int keys = call.keyPositions().length();
        if (queries.dimension() == 4) {
            Shape scores = Shape.update(queries, 3, keys);
            require(encoding, "scoreTerm", term, broadcasts(term.getShape(), scores), scores);
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
        for (RelativeEncoding encoding : valueTerms) {
            NDArray term = encoding.valueTerm(call, probabilities);
            if (term != null) {
                terms.add(temporaries.addUnless(probabilities, term));
                require(encoding, "valueTerm", term, broadcasts(term.getShape(), results), results);
            }
        }
        return sum(temporaries, terms);
    }

    /** The biases of distances without explicit positions, (1 or N, size). */
    NDArray biasesByDistance(Temporaries temporaries, AttentionCall call, Distances needed) {
        return temporaries.add(
                call.byDistance(this, 1, needed, distances -> sumOfBiases(positionBiases, call, distances)));
    }

    /** The sum of the biases of several encodings, (1 or N, size), in the data type of the distances: a new array. */
    private static NDArray sumOfBiases(List<RelativeEncoding> encodings, AttentionCall call, Distances distances) {
        try (Temporaries temporaries = new Temporaries()) {
            NDList all = new NDList();
            for (RelativeEncoding encoding : encodings) {
                NDArray biases = encoding.distanceBias(call, distances);
                all.add(temporaries.add(biases));
                Shape shape = biases.getShape();
                boolean fits = shape.dimension() == 2 && shape.get(1) == distances.size();
                require(encoding, "distanceBias", biases, fits, "(1 or N, " + distances.size() + ")");
            }
            NDArray sum = sum(temporaries, all);
            return temporaries.remove(temporaries.toType(sum, distances.like().getDataType()));
        }
    }

    /**
     * Like {@link #biasesByDistance} for a step of a cache, which owns the array; biases for more distant keys may come
     * first.
     */
    NDArray stepBiases(AttentionCall call, NDArray like) {
        return positionBiases.isEmpty()
                ? null
                : call.wholeByDistance(
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
        int keys = call.keyPositions().length();
        return temporaries.addResult(() -> {
            NDArray row = biases.reshape(1, biases.getShape().get(0), 1, -1);
            Shape shape = Shape.update(row.getShape(), 2, call.queryPositions().length());
            return RelativeShift.toKeys(shape.equals(row.getShape()) ? row : row.broadcast(shape), keys);
        });
    }

    private static NDArray positions(
            Temporaries temporaries, AttentionCall.Tokens tokens, NDArray like, DataType type) {
        return temporaries.addUnless(tokens.positions(), tokens.toArray(like, type));
    }

    private static NDArray coordinateTerm(
            Temporaries temporaries, RelativeEncoding encoding, AttentionCall call, NDArray queries) {
        NDArray[] coordinates = new NDArray[2];
        for (int side = 0; side < 2; side++) {
            boolean areKeys = side == 1;
            AttentionCall.Tokens tokens = areKeys ? call.keys() : call.queries();
            NDArray positions = positions(temporaries, tokens, queries, DataType.INT32);
            NDArray found = temporaries.addUnless(positions, encoding.coordinates(call, positions, areKeys));
            require(
                    encoding,
                    "coordinates",
                    found,
                    found.getShape().equals(positions.getShape()),
                    positions.getShape());
            coordinates[side] = found;
        }
        return biasesOfPairs(temporaries, encoding, List.of(encoding), call, queries, coordinates[0], coordinates[1]);
    }

    /**
     * The biases for each query and key, (1 or B, 1 or N, T, F), by the differences of two arrays, (1 or B, T) and (1
     * or B, F). On a CPU whole numbers are read, and the bias of each difference is computed once unless the
     * differences are far apart.
     */
    private static NDArray biasesOfPairs(
            Temporaries temporaries,
            Object id,
            List<RelativeEncoding> encodings,
            AttentionCall call,
            NDArray like,
            NDArray queryCoordinates,
            NDArray keyCoordinates) {
        NDArray pairs = temporaries.addResult(() -> keyCoordinates.expandDims(1).sub(queryCoordinates.expandDims(2)));
        int[] range = range(queryCoordinates, keyCoordinates);
        NDArray biases = temporaries.add(
                range == null
                        ? sumOfBiases(encodings, call, Distances.of(like, pairs))
                        : call.byDistance(
                                id,
                                1,
                                Distances.consecutive(like, range[0], range[1] - range[0] + 1),
                                distances -> sumOfBiases(encodings, call, distances)));
        return temporaries.addResult(() -> {
            Shape shape = pairs.getShape();
            if (range == null) {
                return biases.reshape(new Shape(biases.getShape().get(0)).addAll(shape))
                        .swapAxes(0, 1);
            }
            NDArray rows = Arithmetic.add(pairs, -range[0]);
            // contiguous rows are looked up faster
            NDArray table = biases.transpose(1, 0)
                    .reshape(-1)
                    .reshape(-1, biases.getShape().get(0));
            return Indices.lookUp(rows, table, like.getManager()).transpose(0, 3, 1, 2);
        });
    }

    /**
     * The smallest and the largest difference; null if they are real, far apart, or on a GPU, where they are not read.
     */
    private static int[] range(NDArray queryCoordinates, NDArray keyCoordinates) {
        if (queryCoordinates.getDataType().isFloating() || !HostData.isHost(queryCoordinates.getDevice())) {
            return null;
        }
        double[] queries = HostData.doubles(queryCoordinates);
        double[] keys = HostData.doubles(keyCoordinates);
        double first = Arrays.stream(keys).min().orElse(0)
                - Arrays.stream(queries).max().orElse(0);
        double last = Arrays.stream(keys).max().orElse(0)
                - Arrays.stream(queries).min().orElse(0);
        long tokens =
                queryCoordinates.getShape().get(1) + keyCoordinates.getShape().get(1);
        return last - first < MAX_SPREAD_PER_TOKEN * (tokens + EXTRA_TOKENS)
                ? new int[] {(int) first, (int) last}
                : null;
    }

    /** The term of a single encoding outside an attention; see {@link RelativeEncoding#term}. */
    NDArray standaloneTerm(
            ParameterStore parameterStore,
            NDArray queries,
            NDArray keys,
            boolean training,
            PairList<String, Object> params) {
        RelativeEncoding encoding = all.get(0);
        try (Temporaries temporaries = new Temporaries()) {
            NDArray positions = Positions.explicit(null, params);
            int start = positions == null ? Positions.start(params, Positions.UNLIMITED) : 0;
            Positions tokens = Positions.of(
                            queries,
                            queries.getShape().dimension() - 2,
                            positions,
                            start,
                            Positions.UNLIMITED,
                            false,
                            true)
                    .like(temporaries, queries);
            long length = keys.getShape().get(keys.getShape().dimension() - 2);
            Positions keyPositions = keys == queries && positions != null
                    ? tokens
                    : Positions.of(0, keys == queries ? start + tokens.length() : Math.toIntExact(length));
            AttentionCall bare = new AttentionCall(parameterStore, training, params, tokens, keyPositions, false, 1);
            AttentionCall call =
                    bare.with(numbers(temporaries, bare, queries, false), numbers(temporaries, bare, keys, true));
            NDArray encoded = temporaries.addUnless(keys, encoding.encodeKeys(call, keys));
            NDArray term = term(temporaries, call, queries, encoded);
            Check.that(
                    term != null,
                    () -> Settings.classOf(encoding)
                            + " adds nothing to the scores: expected an encoding with a score term; use it in an"
                            + " attention with optRelativeEncoding");
            // the term of one query may be a view of a table
            NDArray result = tokens.length() == 1 ? Arithmetic.copy(term) : temporaries.remove(term);
            result.attach(queries.getManager());
            return result;
        }
    }
}
