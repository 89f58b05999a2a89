package io.github.djlpositional;

import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Default;
import io.github.djlpositional.options.Settings;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A sequence of tokens before a grid, such as a class token, followed by a token for each cell of the grid, row by row.
 *
 * @param prefixTokens the number of tokens before the grid
 * @param sizes the sizes of the grid on its axes
 */
record TokenGrid(@Default("0") int prefixTokens, List<Integer> sizes) {

    TokenGrid {
        Check.between("prefixTokens", prefixTokens, 0, Integer.MAX_VALUE);
        sizes = List.copyOf(Check.present("sizes", sizes));
        requireSizes(prefixTokens, sizes.stream().mapToInt(size -> size).toArray());
    }

    TokenGrid(int prefixTokens, int... sizes) {
        this(
                prefixTokens,
                Arrays.stream(Check.notNull("grid", sizes, "one size for each axis"))
                        .boxed()
                        .toList());
    }

    private static void requireSizes(int prefixTokens, int... sizes) {
        double tokens = IntStream.of(sizes).asDoubleStream().reduce(1, (product, size) -> product * size);
        Check.that(
                sizes.length >= 1
                        && sizes.length <= 3
                        && IntStream.of(sizes).allMatch(size -> size > 0)
                        && tokens + prefixTokens <= Integer.MAX_VALUE,
                () -> "grid sizes " + Arrays.toString(sizes) + ": expected one to three positive sizes, and at most "
                        + Integer.MAX_VALUE + " tokens in all; pass one size for each axis");
    }

    /** The sizes of the grid that a block was built with. */
    int[] builtSizes() {
        return sizes.stream().mapToInt(size -> size).toArray();
    }

    /** The sizes of the grid of a forward. */
    int[] sizes(PairList<String, Object> params) {
        Object parameter = params == null ? null : params.get(ForwardParameters.GRID_SIZES);
        if (parameter == null) {
            return builtSizes();
        }
        Check.that(
                parameter instanceof Shape shape && shape.dimension() == sizes.size(),
                () -> ForwardParameters.GRID_SIZES + " " + Settings.shown(parameter) + ": expected a Shape of "
                        + sizes.size() + " sizes, as many as the block was built with; pass one size for each axis");
        int[] forward = Arrays.stream(((Shape) parameter).getShape())
                .mapToInt(size -> (int) Math.min(size, Integer.MAX_VALUE))
                .toArray();
        requireSizes(prefixTokens, forward);
        return forward;
    }

    /** The total number of tokens for a grid. */
    int tokens(int... grid) {
        return prefixTokens + IntStream.of(grid).reduce(1, (product, size) -> product * size);
    }

    /** Checks the number of tokens of a sequence. */
    void requireTokens(boolean fits, long length, int... grid) {
        Check.that(
                fits,
                () -> "sequence length " + length + " for the grid " + Arrays.toString(grid) + " after " + prefixTokens
                        + " tokens: expected " + tokens(grid) + "; pass the sizes of the input's grid as the forward"
                        + " parameter " + ForwardParameters.GRID_SIZES + ", or the position of each token");
    }
}
