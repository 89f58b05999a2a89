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
                () -> "distanceBias of " + encoding.getClass().getSimpleName() + " returned " + shape + " for "
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
     * The term of a call, (1 or B, 1 or N, T, F), in the data type of the queries; null if the encoding has none.
     *
     * @param kept the biases that a cache keeps for steps of one token, (1 or N, n), the nearest last; null for none
     */
    public static NDArray term(
            Temporaries own, RelativeEncoding encoding, AttentionCall call, NDArray queries, NDArray kept) {
        int keys = call.keys().length();
        if (kept != null) {
            long end = kept.getShape().get(1);
            NDArray nearest = own.add(kept.get(queries.getManager(), NDIndex.sliceAxis(1, end - keys, end)));
            return own.add(nearest.reshape(1, -1, 1, keys));
        }
        Pairs pairs = call.hasPositions() ? pairs(own, call, queries) : null;
        NDArray biases = ofDistances(encoding, call, pairs == null ? Distances.of(call, queries) : pairs.distances);
        if (biases == null) {
            return null;
        }
        own.add(biases);
        if (pairs != null) {
            NDArray table = own.add(biases.transpose(1, 0));
            NDArray byKey = own.add(Indices.lookUp(pairs.indices, table, queries.getManager()));
            return own.add(byKey.transpose(0, 3, 1, 2));
        }
        NDArray row = own.add(biases.reshape(1, biases.getShape().get(0), 1, -1));
        Shape shape = Shape.update(row.getShape(), 2, call.queries().length());
        NDArray rows = own.addUnless(row, shape.equals(row.getShape()) ? row : row.broadcast(shape));
        return own.add(Temporaries.result(() -> RelativeShift.toKeys(rows, keys)));
    }

    /**
     * The distances of queries and keys.
     *
     * @param distances all that occur, and perhaps others between them
     * @param indices the index of the distance of each query and key, (1 or B, T, F), INT32
     */
    public record Pairs(Distances distances, NDArray indices) {}

    /** The positions of tokens, (1 or B, n), INT32. */
    public static NDArray positions(Temporaries own, Positions span, NDArray like) {
        if (span.positions() == null) {
            int end = span.first() + span.length();
            return own.add(own.add(like.getManager().arange(span.first(), end, 1, DataType.INT32, like.getDevice()))
                    .expandDims(0));
        }
        Check.that(
                span.positions().getShape().dimension() == 2 && span.positions().getDataType() == DataType.INT32,
                () -> Positions.POSITIONS + " of shape " + span.positions().getShape() + " are "
                        + (span.positions().getDataType() == DataType.INT32 ? "on several axes" : "real numbers")
                        + ": expected one integer for each token, (T) or (B, T), for an encoding of relative positions;"
                        + " use a RotaryEmbeddingBlock for others");
        return span.positions();
    }

    /** The distance of each query and key, (1 or B, T, F), INT32. */
    public static NDArray ofPairs(Temporaries own, AttentionCall call, NDArray like) {
        NDArray keys = own.add(positions(own, call.keys(), like).expandDims(1));
        return own.add(keys.sub(own.add(positions(own, call.queries(), like).expandDims(2))));
    }

    /** The distances of a call. This waits for a GPU if positions were given. */
    public static Pairs pairs(Temporaries own, AttentionCall call, NDArray like) {
        NDArray ofPairs = ofPairs(own, call, like);
        int greatest = Math.max(call.queries().end(), call.keys().end()) - 1;
        if (call.hasPositions()) {
            greatest = (int) HostData.doubles(own.add(own.add(ofPairs.abs()).max()))[0];
        }
        int tokens = call.queries().length() + call.keys().length();
        if (!call.hasPositions() || greatest <= DENSE * (tokens + FEW)) {
            Distances all = Distances.consecutive(like, -greatest, 2 * greatest + 1);
            return new Pairs(all, own.add(Arithmetic.add(ofPairs, greatest)));
        }
        double[] each = HostData.doubles(ofPairs);
        int[] distinct =
                Arrays.stream(each).mapToInt(d -> (int) d).sorted().distinct().toArray();
        NDArray indices = HostData.integers(
                like.getManager(),
                like.getDevice(),
                ofPairs.getShape(),
                i -> Arrays.binarySearch(distinct, (int) each[i]));
        return new Pairs(Distances.of(like, distinct), own.add(indices));
    }
}
