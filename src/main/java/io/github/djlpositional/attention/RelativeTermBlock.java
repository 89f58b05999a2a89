package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import java.util.function.IntToDoubleFunction;

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
     * @param indices (1 or B, T, F), INT32: where the key's position less the query's is among those of {@link #allOf}
     */
    abstract NDArray termOfPositions(AttentionCall call, NDArray queries, NDArray indices);

    @Override
    final NDArray term(AttentionCall call, NDArray queries, NDArray keys) {
        return call.hasPositions()
                ? termOfPositions(call, queries, indices(call, queries))
                : termOfIndices(call, queries);
    }

    /** A call that has all relative positions of another one: from -(n - 1) to n - 1. */
    static AttentionCall allOf(AttentionCall call) {
        Span all = Span.of(0, Math.max(call.queries().end(), call.keys().end()));
        return new AttentionCall(call.parameterStore(), call.training(), all, all, null, false, call.scale());
    }

    /** The index of each key's relative position among those of {@link #allOf}. */
    static NDArray indices(AttentionCall call, NDArray like) {
        int zero = allOf(call).queries().length() - 1;
        NDArray queries = positions(call.queries(), like).expandDims(2);
        return Arithmetic.add(positions(call.keys(), like).expandDims(1).sub(queries), zero);
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

    private static ConstantTable tableOf(Shape row, HostData.Rows rows) {
        return ConstantTable.ofDistances(row, INITIAL_LENGTH, Positions.UNLIMITED, rows);
    }

    /** Adds a table of a number for each relative position, with rows (1). */
    final ConstantTable addNumbers(IntToDoubleFunction number) {
        return addTable(numbers(number));
    }

    /** A table for {@link #addNumbers}. */
    static ConstantTable numbers(IntToDoubleFunction number) {
        return tableOf(new Shape(1), (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                format.put(out, i, number.applyAsDouble(first + i));
            }
        });
    }

    /**
     * {@return the rows of all relative positions of a call, as {@link RelativeShift} orders them: (1, W, …), a view of
     * the table, on the device of the queries and the manager of the table; not the caller's to close}
     */
    static NDArray rows(ConstantTable table, AttentionCall call, NDArray queries, DataType type) {
        return table.rows(RelativeShift.least(call), RelativeShift.columns(call), queries, type);
    }
}
