package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;

/**
 * A term of the scores that depends on the positions of query and key through their difference only, so that it is
 * computed once for each relative position.
 */
abstract class RelativeTermBlock extends ScoreTermBlock {

    private static final int INITIAL_LENGTH = 512;

    RelativeTermBlock(Record settings, int headCount, int headSize) {
        super(settings, headCount, headSize);
    }

    /** Returns the term where positions are indices, so that it can be shifted instead of looked up. */
    abstract NDArray termOfIndices(AttentionCall call, NDArray queries);

    /**
     * Returns the term where positions were given.
     *
     * @param temporaries closes what is created here
     * @param indices (1 or B, T, F), INT32: where the key's position less the query's is among those of {@link #allOf}
     */
    abstract NDArray termOfPositions(Temporaries temporaries, AttentionCall call, NDArray queries, NDArray indices);

    @Override
    public final NDArray scoreTerm(AttentionCall call, NDArray queries, NDArray keys) {
        if (!call.hasPositions()) {
            return termOfIndices(call, queries);
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray term = termOfPositions(temporaries, call, queries, indices(temporaries, call, queries));
            return temporaries.keep(term);
        }
    }

    /** A call that has all relative positions of another one: from -(n - 1) to n - 1. */
    static AttentionCall allOf(AttentionCall call) {
        Span all = Span.of(0, Math.max(call.queries().end(), call.keys().end()));
        return new AttentionCall(call.parameterStore(), call.training(), all, all, null, false, call.scale(), null);
    }

    /** The index of each key's relative position among those of {@link #allOf}. */
    static NDArray indices(Temporaries temporaries, AttentionCall call, NDArray like) {
        int zero = allOf(call).queries().length() - 1;
        NDArray queries = positions(temporaries, call.queries(), like);
        NDArray keys = positions(temporaries, call.keys(), like);
        NDArray relative =
                temporaries.add(temporaries.add(keys.expandDims(1)).sub(temporaries.add(queries.expandDims(2))));
        return temporaries.add(relative.add(zero));
    }

    /**
     * Adds a table by relative position, which is the key's position less the query's. It grows with the longest
     * sequence.
     *
     * @param row the shape of a row
     * @param rows computes the rows of consecutive relative positions
     */
    final ConstantTable addTable(Shape row, HostData.Rows rows) {
        return addTable(tableOf(row, rows));
    }

    /** A table for {@link #addTable}. */
    static ConstantTable tableOf(Shape row, HostData.Rows rows) {
        return ConstantTable.ofDistances(row, INITIAL_LENGTH, Positions.UNLIMITED, rows);
    }

    /**
     * {@return the rows of all relative positions of a call, as {@link RelativeShift} orders them: (1, W, …), a view of
     * the table, on the device of the queries and the manager of the table; not the caller's to close}
     */
    static NDArray rows(
            Temporaries temporaries, ConstantTable table, AttentionCall call, NDArray queries, DataType type) {
        return table.rows(temporaries, RelativeShift.least(call), RelativeShift.columns(call), queries, type);
    }
}
