package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.internal.Temporaries;

/**
 * The windows that a picture of R by C cells is divided into, each a sequence of its own for an attention or a layer.
 * Shifted windows, in every second layer, connect the windows of the others; after Liu et al., <em>Swin Transformer:
 * Hierarchical Vision Transformer using Shifted Windows</em> (2021), section 3.2.
 *
 * <pre>{@code
 * WindowPartition regular = new WindowPartition(56, 56, 7, 7, false);
 * WindowPartition shifted = new WindowPartition(56, 56, 7, 7, true);
 * NDList y = first.forward(store, regular.split(x), training);            // x: (B, 56 · 56, D)
 * x = regular.merge(y.singletonOrThrow());
 * y = second.forward(store, shifted.split(x), training);                  // [windows, mask]
 * x = shifted.merge(y.singletonOrThrow());
 * }</pre>
 *
 * <p>Swin's blocks are {@link TransformerLayerBlock}s with {@code optPreNorm(true)}, GELU, and a
 * {@link WindowBiasBlock} in their attention. B batch, D embedding size, W = R · C / (h · w) the number of windows of a
 * picture.
 *
 * @param rows R, a multiple of the height
 * @param columns C, a multiple of the width
 * @param height h, the number of rows of a window, at least 1
 * @param width w, the number of columns of a window, at least 1
 * @param shifted whether the windows begin ⌊h / 2⌋ rows and ⌊w / 2⌋ columns later, on each axis with several windows.
 *     What is beyond the picture's end is then its beginning, which is hidden from the rest of the window.
 */
public record WindowPartition(int rows, int columns, int height, int width, boolean shifted) {

    /**
     * Checks the sizes.
     *
     * @param rows a multiple of the height
     * @param columns a multiple of the width
     * @param height at least 1
     * @param width at least 1
     * @param shifted whether the windows are shifted by half of their size
     * @throws IllegalArgumentException if a size is not positive, or the picture does not consist of whole windows
     */
    public WindowPartition {
        Check.positive("height", height);
        Check.positive("width", width);
        Check.positive("rows", rows);
        Check.positive("columns", columns);
        Check.that(
                rows % height == 0 && columns % width == 0,
                () -> rows + " rows and " + columns + " columns with windows of " + height + " by " + width
                        + ": expected whole windows; use other windows, or pad the picture");
    }

    /**
     * Divides pictures into windows.
     *
     * @param x (B, R · C, D), the cells row by row; not closed here
     * @return the inputs of an attention or a layer: {@code [windows]}, or with a shift {@code [windows, mask]}. The
     *     windows are (B · W, h · w, D), those of a picture one after the other, row by row, as are their cells. The
     *     mask is (B · W, h · w, h · w), boolean. Both are new arrays on the device and the manager of x; the caller's
     *     to close.
     * @throws IllegalArgumentException if x has another shape
     */
    public NDList split(NDArray x) {
        requireShape(x, rows * (long) columns, "(B, " + rows * (long) columns + ", D)");
        Shape shape = x.getShape();
        NDList inputs = new NDList(Temporaries.result(() -> {
            NDArray grid = x.reshape(shape.get(0), rows, columns, shape.get(2));
            return windows(rolled(rolled(grid, 1, rowShift()), 2, columnShift()));
        }));
        if (rowShift() > 0 || columnShift() > 0) {
            inputs.add(Temporaries.result(() -> mask(x)));
        }
        return inputs;
    }

    /**
     * Puts windows together again, the inverse of {@link #split}.
     *
     * @param windows (B · W, h · w, D); not closed here
     * @return (B, R · C, D): a new array on the device and the manager of the windows; the caller's to close
     * @throws IllegalArgumentException if the windows have another shape
     */
    public NDArray merge(NDArray windows) {
        String expected = "(B · " + count() + ", " + height * width + ", D)";
        requireShape(windows, height * (long) width, expected);
        Shape shape = windows.getShape();
        Check.that(
                shape.get(0) % count() == 0,
                () -> "windows of shape " + shape + ": expected " + expected + "; give all windows of each picture");
        long batch = shape.get(0) / count();
        return Temporaries.result(() -> {
            NDArray cells = windows.reshape(batch, rows / height, columns / width, height, width, shape.get(2))
                    .transpose(0, 1, 3, 2, 4, 5);
            NDArray grid = cells.reshape(batch, rows, columns, shape.get(2));
            return rolled(rolled(grid, 1, rows - rowShift()), 2, columns - columnShift())
                    .reshape(batch, rows * (long) columns, shape.get(2));
        });
    }

    private static void requireShape(NDArray array, long length, String expected) {
        Shape shape = array.getShape();
        Check.that(
                shape.dimension() == 3 && shape.get(1) == length,
                () -> "an array of shape " + shape + ": expected " + expected
                        + "; give the cells row by row, or build the partition with the sizes of the picture");
    }

    private int rowShift() {
        return shifted && rows > height ? height / 2 : 0;
    }

    private int columnShift() {
        return shifted && columns > width ? width / 2 : 0;
    }

    /** The number of windows of a picture. */
    private int count() {
        return rows / height * (columns / width);
    }

    /** The array from an index on along an axis, followed by what is before. */
    private static NDArray rolled(NDArray array, int axis, int from) {
        long size = array.getShape().get(axis);
        return from % size == 0
                ? array
                : NDArrays.concat(
                        new NDList(
                                array.get(NDIndex.sliceAxis(axis, from, size)),
                                array.get(NDIndex.sliceAxis(axis, 0, from))),
                        axis);
    }

    /** The windows of a grid (B, R, C, D). */
    private NDArray windows(NDArray grid) {
        Shape shape = grid.getShape();
        return grid.reshape(shape.get(0), rows / height, height, columns / width, width, shape.get(3))
                .transpose(0, 1, 3, 2, 4, 5)
                .reshape(shape.get(0) * count(), height * (long) width, shape.get(3));
    }

    /** True where two cells of a window are on the same side of the picture's end. */
    private NDArray mask(NDArray x) {
        NDArray parts = moved(x, rows, rowShift(), 2)
                .reshape(1, rows, 1, 1)
                .add(moved(x, columns, columnShift(), 1).reshape(1, 1, columns, 1));
        long size = height * (long) width;
        NDArray ofBatch = windows(parts)
                .reshape(1, count(), size)
                .broadcast(x.getShape().get(0), count(), size)
                .reshape(-1, size);
        return ofBatch.expandDims(2).eq(ofBatch.expandDims(1));
    }

    /** 0 for the first indices, and a number for the last ones, which a shift has moved there. */
    private static NDArray moved(NDArray like, int size, int shift, int number) {
        NDManager manager = like.getManager();
        NDArray first = manager.zeros(new Shape(size - shift), DataType.FLOAT32, like.getDevice());
        return shift == 0
                ? first
                : first.concat(manager.full(new Shape(shift), number, DataType.FLOAT32, like.getDevice()));
    }
}
