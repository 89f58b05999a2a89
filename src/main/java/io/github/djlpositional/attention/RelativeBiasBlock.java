package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
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
     * {@return the biases of all relative positions of a call, as {@link RelativeShift} orders them: (1, W, N), in the
     * data type of the queries, on any manager; closed by temporaries} For one query the term is a view of this array,
     * so it must not be a view of a table.
     */
    abstract NDArray biases(Temporaries temporaries, AttentionCall call, NDArray queries);

    /** {@return rows of a table as biases: copied for one query, whose term is a view of them} */
    static NDArray unshared(Temporaries temporaries, AttentionCall call, NDArray rows) {
        return call.queries().length() == 1 ? temporaries.add(rows.duplicate()) : rows;
    }

    /** {@return the biases of all relative positions of a call, (N, T + F - 1); closed by temporaries} */
    final NDArray lines(Temporaries temporaries, AttentionCall call, NDArray queries) {
        AttentionCall all = new AttentionCall(
                call.parameterStore(), call.training(), call.queries(), call.keys(), null, false, call.scale(), null);
        NDArray byHead = temporaries.add(biases(temporaries, all, queries).transpose(0, 2, 1));
        byHead.attach(queries.getManager());
        return temporaries.add(byHead.reshape(headCount, -1));
    }

    @Override
    final NDArray termOfPositions(Temporaries temporaries, AttentionCall call, NDArray queries, NDArray indices) {
        NDArray biases =
                temporaries.add(biases(temporaries, allOf(call), queries).squeeze(0));
        NDArray byKey = temporaries.add(Indices.lookUp(indices, biases, queries.getManager()));
        return temporaries.add(byKey.transpose(0, 3, 1, 2));
    }

    @Override
    final NDArray termOfIndices(AttentionCall call, NDArray queries) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray biases = biases(temporaries, call, queries);
            long columns = biases.getShape().get(1);
            NDArray byHead = temporaries.add(biases.transpose(0, 2, 1));
            byHead.attach(queries.getManager());
            NDArray row = temporaries.add(byHead.reshape(1, headCount, 1, columns));
            NDArray rows = temporaries.add(
                    row.broadcast(new Shape(1, headCount, call.queries().length(), columns)));
            return RelativeShift.toKeys(rows, call.keys().length());
        }
    }
}
