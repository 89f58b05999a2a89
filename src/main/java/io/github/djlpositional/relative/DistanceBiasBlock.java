package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Temporaries;

/**
 * A relative encoding that adds to each score a bias that depends on the head and the distance only. Subclasses compute
 * the biases.
 */
abstract class DistanceBiasBlock extends ScoreTermBlock {

    DistanceBiasBlock(Record options, int headCount) {
        super(options, headCount, -1);
    }

    /**
     * Computes the biases of distances, (N, size), in the data type of the attention or of its scores, on any manager.
     * All other arrays that the method creates are closed.
     */
    abstract NDArray biases(AttentionCall call, Distances distances);

    @Override
    public final NDArray distanceBias(AttentionCall call, Distances distances) {
        return Temporaries.result(() -> biases(call, distances));
    }

    /** The biases in a table by distance, (N, size). */
    static NDArray biases(ConstantTable table, Distances distances) {
        NDArray like = distances.like();
        return table.slice(distances.first(), distances.size(), like, like.getDataType())
                .squeeze(0)
                .transpose(1, 0);
    }

    /**
     * The rows of a table by distance, (size, W).
     *
     * @param limit the distance from which all rows are the same
     */
    static NDArray rows(ConstantTable table, int limit, Distances distances, DataType type) {
        NDArray like = distances.like();
        int first = distances.first();
        boolean isPart =
                distances.areConsecutive() && first > -table.limit() && first + distances.size() <= table.limit();
        return isPart
                ? table.slice(first, distances.size(), like, type).squeeze(0)
                : rows(table, limit, distances.toArray(DataType.INT32), type);
    }

    /** The learned biases in some rows of a table, (N, size). */
    static NDArray lookUp(NDArray biases, NDArray rows) {
        NDArray indices = Arithmetic.toType(rows.reshape(-1), DataType.INT32);
        return Indices.lookUp(indices, biases, rows.getManager()).transpose(1, 0);
    }
}
