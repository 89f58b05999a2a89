package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.DistanceBias;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.Rows;
import io.github.djlpositional.options.Check;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;

/**
 * A term of the scores that depends on where query and key are in a window of two dimensions. The position of a token
 * is the number of its cell, row by row.
 */
abstract class WindowTermBlock extends ScoreTermBlock {

    /** FLOAT32 holds the sums and differences of coordinates exactly. */
    static final int MAX_DIFFERENCES = 1 << 20;

    private final int tokens;
    private final ConstantTable coordinates;

    /**
     * Creates a block.
     *
     * @param tokens the number of positions
     * @param coordinates the coordinates of a position
     */
    WindowTermBlock(Record options, int headCount, int headSize, int tokens, IntUnaryOperator... coordinates) {
        super(options, headCount, headSize);
        this.tokens = tokens;
        Rows rows = Rows.of(coordinates.length, (position, axis) -> coordinates[axis].applyAsInt((int) position));
        this.coordinates = addTable(ConstantTable.ofPositions(rows, tokens, tokens));
    }

    /** Checks that a window has a height and a width, and a table for it not too many rows. */
    static void requireWindow(String name, List<Integer> window) {
        Check.that(
                window != null && window.size() == 2,
                () -> name + " " + window + ": expected the height and the width; give two numbers");
        Check.that(
                (2L * window.get(0) - 1) * (2L * window.get(1) - 1) <= MAX_DIFFERENCES,
                () -> name + " " + window + ": expected (2 · height - 1) · (2 · width - 1) up to " + MAX_DIFFERENCES
                        + "; use a smaller window");
    }

    /**
     * Sets a parameter, one row for each difference of coordinates, from the one of a block for another window. Further
     * rows are copied as they are.
     */
    static void resample(GridResampling method, Parameter from, int[] fromSizes, Parameter to, int... toSizes) {
        for (Parameter parameter : List.of(from, to)) {
            Check.that(
                    parameter.isInitialized(),
                    () -> "the parameter " + parameter.getName()
                            + " has no value: expected initialized or loaded blocks; initialize or load both");
        }
        double[] table = HostData.doubles(from.getArray());
        NDArray target = to.getArray();
        int width = Math.toIntExact(target.getShape().get(1));
        int end = Arrays.stream(fromSizes).reduce(width, (product, size) -> product * size);
        double[] grid = method.resample(Arrays.copyOf(table, end), fromSizes, toSizes);
        try (NDArray values = HostData.computed(
                target.getManager(),
                target.getDevice(),
                target.getShape(),
                target.getDataType(),
                Rows.of(width, (row, column) -> {
                    int at = ((int) row) * width + column;
                    return at < grid.length ? grid[at] : table[end + at - grid.length];
                }))) {
            values.copyTo(target);
        }
    }

    /** The number of differences of rows, and of differences of columns, of the cells of a window. */
    static int[] differences(List<Integer> window) {
        return new int[] {2 * window.get(0) - 1, 2 * window.get(1) - 1};
    }

    /**
     * A coordinate of a cell. The difference of two coordinates, moved by half the number of differences, is the row of
     * a table in the order of Swin's.
     */
    static int ofCell(List<Integer> window, int cell) {
        int width = window.get(1);
        return cell / width * (2 * width - 1) + cell % width;
    }

    /** The query's coordinate less the key's, (1 or B, T, F), FLOAT32. */
    final NDArray difference(AttentionCall call, NDArray queries, int ofQuery, int ofKey, int added) {
        NDArray i = of(call.queries(), queries, ofQuery).expandDims(2);
        return Arithmetic.add(i.sub(of(call.keys(), queries, ofKey).expandDims(1)), added);
    }

    /** The rows of a table of biases, (rows, N), for each query and key, by head: (1 or B, N, T, F). */
    static NDArray lookUp(NDArray rows, NDArray table, NDArray queries) {
        NDArray biases = Indices.lookUp(Arithmetic.toType(rows, DataType.INT32), table, queries.getManager());
        return Arithmetic.toType(biases.transpose(0, 3, 1, 2), queries.getDataType());
    }

    /** A coordinate of tokens, (1 or B, n), FLOAT32. */
    private NDArray of(Positions span, NDArray queries, int coordinate) {
        Check.that(
                span.end() <= tokens,
                () -> "position " + (span.end() - 1) + ": expected positions from 0 to " + (tokens - 1)
                        + ", those of the window's tokens; use a window of the size of the input; block: " + this);
        DistanceBias.requireIntegers(span);
        NDArray rows = span.rows(coordinates, queries, DataType.FLOAT32);
        NDArray column = rows.get(NDIndex.sliceAxis(2, coordinate, coordinate + 1L));
        column.attach(queries.getManager());
        return column.squeeze(2);
    }

    /**
     * The options of a bias in a window.
     *
     * @param <T> the block
     * @param <B> the builder
     */
    abstract static class WindowBuilder<T, B extends WindowBuilder<T, B>> extends HeadsBuilder<T, B> {

        <R extends Record> WindowBuilder(Class<R> options, Function<R, T> create) {
            super(options, create);
        }

        /** Sets the window: h, the number of rows of cells, and w, the number of cells in a row, each at least 1. */
        public B setWindow(int height, int width) {
            return set("window", List.of(height, width));
        }
    }
}
