package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Settings;
import java.util.Arrays;

/**
 * Turns the biases of distances, which a {@link RelativeEncoding} computes, into a term of the scores.
 *
 * @hidden
 */
public final class DistanceBias {

    /** Up to so many times the number of tokens, all distances take less time than those that occur. */
    private static final int DENSE = 4;

    /** Distances up to this number are few for any number of tokens. */
    private static final int FEW = 512;

    private DistanceBias() {}

    /** The biases of some distances in their data type, (1 or N, size): a new array; null if the encoding has none. */
    static NDArray ofDistances(RelativeEncoding encoding, AttentionCall call, Distances distances) {
        NDArray biases = encoding.distanceBias(call, distances);
        if (biases == null) {
            return null;
        }
        Shape shape = biases.getShape();
        Check.that(
                shape.dimension() == 2 && shape.get(1) == distances.size(),
                () -> "distanceBias of " + Settings.classOf(encoding) + " returned " + shape + " for "
                        + distances.size() + " distances: expected (1 or N, " + distances.size()
                        + "); return a bias for each of them");
        NDArray typed = Arithmetic.toType(biases, distances.type());
        if (typed != biases) {
            biases.close();
        }
        return typed;
    }

    /** The biases of all distances of a call without given positions, (1 or N, T + F - 1). */
    static NDArray line(RelativeEncoding encoding, AttentionCall call, NDArray queries) {
        int count = call.keys().length() + call.queries().length() - 1;
        return ofDistances(encoding, call, Distances.consecutive(queries, RelativeShift.firstDistance(call), count));
    }

    /**
     * The term of a call, (1 or B, 1 or N, T, F), in the data type of the queries: a new array; null if the encoding
     * has none.
     *
     * @param kept the biases that a cache keeps for steps of one token, (1 or N, n), the nearest last; null for none
     */
    public static NDArray term(RelativeEncoding encoding, AttentionCall call, NDArray queries, NDArray kept) {
        int keys = call.keys().length();
        if (kept != null) {
            long end = kept.getShape().get(1);
            return Temporaries.result(() -> kept.get(queries.getManager(), NDIndex.sliceAxis(1, end - keys, end))
                    .reshape(1, -1, 1, keys));
        }
        Pairs pairs = call.hasPositions() ? pairs(call, queries) : null;
        try (Temporaries own = new Temporaries()) {
            if (pairs != null) {
                own.add(pairs.indices);
            }
            NDArray biases = ofDistances(encoding, call, pairs == null ? Distances.of(call, queries) : pairs.distances);
            if (biases == null) {
                return null;
            }
            own.add(biases);
            return Temporaries.result(() -> {
                if (pairs != null) {
                    NDArray table = biases.transpose(1, 0);
                    return Indices.lookUp(pairs.indices, table, queries.getManager())
                            .transpose(0, 3, 1, 2);
                }
                NDArray row = biases.reshape(1, biases.getShape().get(0), 1, -1);
                Shape shape = Shape.update(row.getShape(), 2, call.queries().length());
                return RelativeShift.toKeys(shape.equals(row.getShape()) ? row : row.broadcast(shape), keys);
            });
        }
    }

    /**
     * The distances of queries and keys.
     *
     * @param distances all that occur, and perhaps others between them
     * @param indices the index of the distance of each query and key, (1 or B, T, F), INT32: a new array
     */
    public record Pairs(Distances distances, NDArray indices) {}

    /** The positions of tokens, (1 or B, n), INT32. It is called in {@link Temporaries#result}. */
    public static NDArray positions(Positions span, NDArray like) {
        if (span.positions() == null) {
            int end = span.first() + span.length();
            return like.getManager()
                    .arange(span.first(), end, 1, DataType.INT32, like.getDevice())
                    .expandDims(0);
        }
        requireIntegers(span);
        return span.positions();
    }

    /** Checks that each token has one position, a whole number. */
    public static void requireIntegers(Positions span) {
        Check.that(
                span.positions() == null
                        || (span.positions().getShape().dimension() == 2
                                && span.positions().getDataType() == DataType.INT32),
                () -> Positions.POSITIONS + " of shape " + span.positions().getShape() + " are "
                        + (span.positions().getDataType() == DataType.INT32 ? "on several axes" : "real numbers")
                        + ": expected one integer for each token, (T) or (B, T), for an encoding of relative positions;"
                        + " use a RotaryEmbeddingBlock for others");
    }

    /** The distance of each query and key, (1 or B, T, F), INT32. It is called in {@link Temporaries#result}. */
    public static NDArray ofPairs(AttentionCall call, NDArray like) {
        NDArray keys = positions(call.keys(), like).expandDims(1);
        return keys.sub(positions(call.queries(), like).expandDims(2));
    }

    /** The distances of a call. This waits for a GPU if positions were given. */
    public static Pairs pairs(AttentionCall call, NDArray like) {
        try (NDArray ofPairs = Temporaries.result(() -> ofPairs(call, like))) {
            int largest = Math.max(call.queries().end(), call.keys().end()) - 1;
            if (call.hasPositions()) {
                try (NDArray found = Temporaries.result(() -> ofPairs.abs().max())) {
                    largest = (int) HostData.doubles(found)[0];
                }
            }
            int tokens = call.queries().length() + call.keys().length();
            if (!call.hasPositions() || largest <= DENSE * (tokens + FEW)) {
                Distances all = Distances.consecutive(like, -largest, 2 * largest + 1);
                return new Pairs(all, Arithmetic.add(ofPairs, largest));
            }
            double[] each = HostData.doubles(ofPairs);
            int[] distinct = Arrays.stream(each)
                    .mapToInt(d -> (int) d)
                    .sorted()
                    .distinct()
                    .toArray();
            NDArray indices = HostData.integers(
                    like.getManager(),
                    like.getDevice(),
                    ofPairs.getShape(),
                    i -> Arrays.binarySearch(distinct, (int) each[i]));
            return new Pairs(Distances.of(like, distinct), indices);
        }
    }
}
