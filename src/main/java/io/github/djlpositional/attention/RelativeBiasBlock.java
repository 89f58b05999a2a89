package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Temporaries;

/**
 * A relative encoding that adds a bias to each score. The bias depends on the head and the relative position only, not
 * on the content of queries and keys. A subclass computes the biases of the relative positions of a call; they are
 * expanded to (1, N, T, F) here.
 */
abstract class RelativeBiasBlock extends RelativeTermBlock {

    private final int headCount;

    RelativeBiasBlock(Record settings, int headCount) {
        super(settings, headCount, -1);
        this.headCount = headCount;
    }

    /**
     * {@return the biases of relative positions: (1, W, N), in the data type of the queries or that of their scores, on
     * any manager} For one query the term is a view of this array, so it must not be a view of a table. Other arrays
     * that are created are closed.
     */
    abstract NDArray biases(AttentionCall call, Distances distances, NDArray queries);

    /** {@return rows of a table as biases: copied for one query, whose term is a view of them} */
    static NDArray unshared(AttentionCall call, NDArray rows) {
        return call.queries().length() == 1 ? rows.duplicate() : rows;
    }

    /** The biases by head, (1, N, W), in the data type and on the manager of the queries. */
    private NDArray byHead(AttentionCall call, Distances distances, NDArray queries) {
        NDArray byHead = Arithmetic.toType(biases(call, distances, queries).transpose(0, 2, 1), queries.getDataType());
        byHead.attach(queries.getManager());
        return byHead;
    }

    /** {@return the biases of all relative positions of a call, (N, T + F - 1)} */
    final NDArray lines(AttentionCall call, NDArray queries) {
        int count = call.keys().length() + call.queries().length() - 1;
        Distances all = Distances.consecutive(RelativeShift.least(call), count);
        return Temporaries.result(() -> byHead(call, all, queries).reshape(headCount, -1));
    }

    /** {@return the biases of a query for the keys up to it, (1, N, count), the nearest last} */
    final NDArray upToQuery(AttentionCall call, NDArray queries, int count) {
        return Temporaries.result(() -> byHead(call, Distances.consecutive(1 - count, count), queries));
    }

    @Override
    final NDArray termOfPositions(AttentionCall call, NDArray queries) {
        Pairs pairs = pairs(call, queries);
        NDArray biases = biases(call, pairs.distances(), queries).squeeze(0);
        NDArray byKey = Indices.lookUp(pairs.indices(), biases, queries.getManager());
        return Arithmetic.toType(byKey.transpose(0, 3, 1, 2), queries.getDataType());
    }

    @Override
    final NDArray termOfIndices(AttentionCall call, NDArray queries) {
        if (call.shared() != null) {
            // a decoder's step, whose biases are kept from an earlier one
            long end = call.shared().getShape().get(2);
            NDIndex nearest = NDIndex.sliceAxis(2, end - call.keys().length(), end);
            return call.shared().get(queries.getManager(), nearest).expandDims(2);
        }
        NDArray row = byHead(call, Distances.of(call), queries).reshape(1, headCount, 1, -1);
        Shape shape = Shape.update(row.getShape(), 2, call.queries().length());
        return RelativeShift.toKeys(row.broadcast(shape), call.keys().length());
    }
}
