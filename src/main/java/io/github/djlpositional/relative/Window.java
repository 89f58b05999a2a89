package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.Rows;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.DoubleStream;

/** Two-dimensional windows. The position of a token is the index of its cell, row by row. */
final class Window {

    /** FLOAT32 holds the sums and differences of coordinates exactly. */
    static final int MAX_DIFFERENCES = 1 << 20;

    private Window() {}

    /**
     * Returns the coordinates of tokens for a bias by the distance in a window. In a window of width w, the cell in row
     * y and column x has the coordinate y · (2w - 1) + x, so that each difference of two coordinates stands for one
     * difference of rows and of columns.
     */
    static Term.Coordinates coordinates(ConstantTable table, Block block) {
        return (tokens, like) -> coordinates(table, tokens, like, block);
    }

    /** The coordinate of each token from a table, (1 or B, n), INT32, within {@link Temporaries#result}. */
    static NDArray coordinates(ConstantTable table, Positions tokens, NDArray like, Block block) {
        int count = table.limit();
        Check.that(
                tokens.end() <= count || tokens.end() == ForwardParameters.UNLIMITED,
                () -> "position " + (tokens.end() - 1) + ": expected positions from 0 to " + (count - 1)
                        + ", one for each token of the window; use a window of the size of the input; block: " + block);
        NDArray found = tokens.array() == null
                ? table.slice(tokens.first(), tokens.count(), like, DataType.FLOAT32)
                : table.lookUp(tokens.below(count, false).toArray(like, DataType.INT32), count, like, DataType.FLOAT32);
        return Arithmetic.toType(found.squeeze(2), DataType.INT32);
    }

    /** Checks that a window has a height and a width, and that its table does not have too many rows. */
    static void requireWindow(String name, List<Integer> window) {
        Check.that(
                window != null && window.size() == 2,
                () -> name + " " + window + ": expected the height and the width; pass two numbers");
        Check.that(
                (2L * window.get(0) - 1) * (2L * window.get(1) - 1) <= MAX_DIFFERENCES,
                () -> name + " " + window + ": expected (2 · height - 1) · (2 · width - 1) up to " + MAX_DIFFERENCES
                        + "; use a smaller window");
    }

    /**
     * Resamples a parameter that has a row for each difference of coordinates, from the parameter of a block for
     * another window. Additional rows, those of a class token, are copied.
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
        double[] cells = method.resample(Arrays.copyOf(table, end), fromSizes, toSizes);
        double[] all = DoubleStream.concat(Arrays.stream(cells), Arrays.stream(table, end, table.length))
                .toArray();
        try (NDArray values = HostData.computed(
                target.getManager(),
                target.getDevice(),
                target.getShape(),
                target.getDataType(),
                Rows.of(width, all))) {
            values.copyTo(target);
        }
    }

    /** The number of differences of rows, and of differences of columns, of the cells of a window. */
    static int[] differences(List<Integer> window) {
        return new int[] {2 * window.get(0) - 1, 2 * window.get(1) - 1};
    }

    /**
     * The coordinate of a cell. The difference of two coordinates, plus half the number of differences, is the index of
     * a row in the order of Swin's table.
     */
    static int coordinate(List<Integer> window, int cell) {
        int width = window.get(1);
        return cell / width * (2 * width - 1) + cell % width;
    }

    /**
     * The builder methods of the biases in a window.
     *
     * @param <T> the block
     * @param <B> the builder
     */
    abstract static class Builder<T, B extends Builder<T, B>> extends ScoreTermBlock.HeadsBuilder<T, B> {

        <R extends Record> Builder(Class<R> options, Function<R, T> create) {
            super(options, create);
        }

        /** Sets the window: h, the number of rows of cells, and w, the number of cells in a row, each at least 1. */
        public B setWindow(int height, int width) {
            return set("window", List.of(height, width));
        }
    }
}
