package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
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
import java.util.stream.IntStream;

/**
 * A window of cells on one to three axes: of frames, rows and columns, or of the last of these. The position of a token
 * is the index of its cell, row by row and frame by frame, after a class token if there is one.
 *
 * <p>A cell has a coordinate, so that a bias in a window is a bias of a distance: in a window of width w, the cell in
 * row y and column x has the coordinate y · (2w - 1) + x, and each difference of two coordinates stands for one
 * difference of rows and of columns. The differences of the class token differ from all differences of two cells.
 */
record Window(List<Integer> sizes, boolean classToken) {

    /** FLOAT32 holds the sums and differences of coordinates exactly. */
    static final int MAX_DIFFERENCES = 1 << 20;

    static final int MAX_AXES = 3;

    /** Checks that a window has one to three axes, and that its table does not have too many rows. */
    static void requireWindow(String name, List<Integer> window) {
        Check.that(
                window != null && !window.isEmpty() && window.size() <= MAX_AXES,
                () -> name + " " + window + ": expected one to " + MAX_AXES
                        + " sizes, such as frames, height and width; pass one for each axis");
        double differences = window.stream().mapToDouble(size -> 2.0 * size - 1).reduce(1, (a, b) -> a * b);
        Check.that(
                differences <= MAX_DIFFERENCES,
                () -> name + " " + window + ": expected a product of 2 · size - 1 up to " + MAX_DIFFERENCES
                        + "; use a smaller window");
    }

    /** The value of an option for sizes that a builder was given. */
    static List<Integer> option(String name, int... sizes) {
        return IntStream.of(Check.notNull(name, sizes, "one size for each axis"))
                .boxed()
                .toList();
    }

    int axes() {
        return sizes.size();
    }

    int tokens() {
        return sizes.stream().reduce(1, (product, size) -> product * size) + (classToken ? 1 : 0);
    }

    Shape shape() {
        return new Shape(sizes.stream().mapToLong(size -> size).toArray());
    }

    /** The number of differences of two cells on each axis. */
    int[] differencesOfAxes() {
        return sizes.stream().mapToInt(size -> 2 * size - 1).toArray();
    }

    /** The number of differences of two cells. */
    int differences() {
        int product = 1;
        for (int size : sizes) {
            product *= 2 * size - 1;
        }
        return product;
    }

    /** The number of differences of two tokens. */
    int rows() {
        return differences() + (classToken ? 3 : 0);
    }

    /** The index of a token's cell on an axis; the class token has none. */
    int index(int position, int axis) {
        int cell = position - (classToken ? 1 : 0);
        for (int next = axis + 1; next < axes(); next++) {
            cell /= sizes.get(next);
        }
        return cell % sizes.get(axis);
    }

    boolean isClassToken(int position) {
        return classToken && position == 0;
    }

    /** The coordinate of a query. */
    int queryCoordinate(int position) {
        return isClassToken(position) ? differences() : cellCoordinate(position);
    }

    /** The coordinate of a key. */
    int keyCoordinate(int position) {
        return isClassToken(position) ? -2 * differences() : cellCoordinate(position);
    }

    private int cellCoordinate(int position) {
        int coordinate = 0;
        for (int axis = 0; axis < axes(); axis++) {
            coordinate = coordinate * (2 * sizes.get(axis) - 1) + index(position, axis);
        }
        return coordinate;
    }

    /** The largest distance, or more than any. */
    int limit() {
        return classToken ? 4 * differences() : differences() / 2;
    }

    /**
     * The row of a table for a distance, in the order of Swin's: first the rows of two cells, then the rows of the
     * class token as the query, whose coordinate is larger by differences(), as the key, smaller by twice as much, and
     * as both.
     */
    int row(int distance) {
        int differences = differences();
        int row = differences / 2 - distance;
        return row < differences || !classToken
                ? Math.max(0, Math.min(differences - 1, row))
                : differences + Math.min(2, row / differences - 1);
    }

    /** The difference of two cells on an axis, of the query minus the key, for a row of a table. */
    int difference(int row, int axis) {
        int onAxis = row;
        for (int next = axis + 1; next < axes(); next++) {
            onAxis /= 2 * sizes.get(next) - 1;
        }
        return onAxis % (2 * sizes.get(axis) - 1) - sizes.get(axis) + 1;
    }

    /** The coordinates of tokens from a table, for a bias by their distance. */
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
        Check.that(
                fromSizes.length == toSizes.length,
                () -> "trained parameter " + from.getName() + " of a window with " + fromSizes.length
                        + " axes: expected " + toSizes.length + "; pass a block for a window with as many axes");
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

        /**
         * Sets the window: (h, w), the numbers of rows and columns, (f, h, w) with frames, or one size for a sequence;
         * each at least 1.
         */
        public B setWindow(int... sizes) {
            return set("window", option("window", sizes));
        }
    }
}
