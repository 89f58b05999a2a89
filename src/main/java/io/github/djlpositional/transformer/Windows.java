package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.options.Check;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Divides grids into windows, as in Liu et al., <em>Swin Transformer: Hierarchical Vision Transformer using Shifted
 * Windows</em> (2021), section 3.2, and for videos in <em>Video Swin Transformer</em> (2022). A
 * {@link VisionTransformerBlock} does this itself for images; these are the single steps, for other models.
 *
 * <p>A grid has vectors on one to three axes: (B, R, C, D) for the rows and columns of pictures, (B, F, R, C, D) for
 * the frames of videos, (B, T, D) for sequences. A window is its size on each axis, such as {@code new Shape(h, w)}.
 * Results are new arrays of the manager of the first one, or views of it; the caller closes them, and those between.
 *
 * @see <a href="https://arxiv.org/abs/2103.14030">Swin Transformer: Hierarchical Vision Transformer using Shifted
 *     Windows</a>
 * @see <a href="https://arxiv.org/abs/2106.13230">Video Swin Transformer</a>
 */
public final class Windows {

    private Windows() {}

    /**
     * {@return the windows of grids, row by row: for pictures (B · R / h · C / w, h · w, D)}
     *
     * @param x the grids, (B, R, C, D) for pictures
     * @param window the size of a window on each axis, which divides the size of the grid
     * @throws IllegalArgumentException if the window does not fit
     */
    public static NDArray split(NDArray x, Shape window) {
        Shape grids = x.getShape();
        requireWhole(grids, window);
        if (window.dimension() == 2) {
            return swappedInner(x.reshape(ofPictures(grids, window, false)))
                    .reshape(-1, window.size(), grids.getLastDimension());
        }
        long windows = grids.get(0);
        long cells = 1;
        NDArray result = x;
        for (int axis = 0; axis < window.dimension(); axis++) {
            long size = window.get(axis);
            long count = grids.get(axis + 1) / size;
            result = swapped(result.reshape(
                    windows, cells, count, size, grids.slice(axis + 2).size()));
            windows *= count;
            cells *= size;
        }
        return result.reshape(windows, cells, grids.getLastDimension());
    }

    /** Swaps the axes 1 and 2 of five. MXNet has no transposition of all axes of a video at once. */
    private static NDArray swapped(NDArray x) {
        return x.getShape().get(1) == 1 || x.getShape().get(2) == 1 ? x : x.transpose(0, 2, 1, 3, 4);
    }

    /**
     * {@return the grids of windows, the inverse of {@link #split}}
     *
     * @param windows for pictures (B · R / h · C / w, h · w, D)
     * @param grids the shape of the grids, (B, R, C, D) for pictures
     * @param window the size of a window on each axis, which divides the size of the grid
     * @throws IllegalArgumentException if the window does not fit
     */
    public static NDArray merge(NDArray windows, Shape grids, Shape window) {
        requireWhole(grids, window);
        if (window.dimension() == 2) {
            return swappedInner(windows.reshape(ofPictures(grids, window, true)))
                    .reshape(grids);
        }
        long count = windows.getShape().get(0);
        long cells = window.size();
        NDArray result = windows;
        for (int axis = window.dimension() - 1; axis >= 0; axis--) {
            long size = window.get(axis);
            long onAxis = grids.get(axis + 1) / size;
            count /= onAxis;
            cells /= size;
            result = swapped(result.reshape(
                    count, onAxis, cells, size, grids.slice(axis + 2).size()));
        }
        return result.reshape(grids);
    }

    /** The cells of pictures, (B, R / h, h, C / w, w, D), or of their windows, (B, R / h, C / w, h, w, D). */
    private static Shape ofPictures(Shape grids, Shape window, boolean areWindows) {
        long h = window.get(0);
        long columns = grids.get(2) / window.get(1);
        return new Shape(
                grids.get(0),
                grids.get(1) / h,
                areWindows ? columns : h,
                areWindows ? h : columns,
                window.get(1),
                grids.get(3));
    }

    private static NDArray swappedInner(NDArray x) {
        return x.transpose(0, 1, 3, 2, 4, 5);
    }

    private static void requireWhole(Shape grids, Shape window) {
        int axes = window.dimension();
        Check.that(
                axes >= 1
                        && grids.dimension() == axes + 2
                        && IntStream.range(0, axes)
                                .allMatch(axis -> window.get(axis) > 0 && grids.get(axis + 1) % window.get(axis) == 0),
                () -> "windows of " + window + " for grids of " + grids
                        + ": expected (B, sizes of the grid, D) with a multiple of the window on each axis; pad the"
                        + " grids, or pass another window");
    }

    /**
     * {@return an array with its first cells on an axis behind the last ones, as {@code torch.roll(x, -count, axis)}}
     *
     * @param x an array of any shape
     * @param count the number of cells to move, from 0 to the size of the axis
     * @param axis the axis, from 0
     */
    public static NDArray roll(NDArray x, long count, int axis) {
        long size = x.getShape().get(axis);
        return count % size == 0
                ? x
                : x.swapAxes(0, axis)
                        .get("{}:", count)
                        .concat(x.swapAxes(0, axis).get(":{}", count), 0)
                        .swapAxes(0, axis);
    }

    /**
     * {@return a mask of windows after a shift, true for visible keys: cells that were moved to the end of an axis are
     * hidden from the others; boolean, for pictures (B · R / h · C / w, h · w, h · w)}
     *
     * @param x the grids, of which only manager, device and shape are used
     * @param moved the number of cells that were moved on each axis, such as rows and columns
     * @param window the size of a window on each axis, which divides the size of the grid
     * @throws IllegalArgumentException if the window does not fit
     */
    public static NDArray mask(NDArray x, Shape moved, Shape window) {
        Shape shape = x.getShape();
        requireWhole(shape, window);
        Check.that(
                moved.dimension() == window.dimension(),
                () -> "moved " + moved + " in windows of " + window
                        + ": expected as many axes; pass a number for each axis, 0 for none");
        Shape cells = Shape.update(shape, shape.dimension() - 1, 1);
        NDArray part = null;
        for (int axis = 0; axis < window.dimension(); axis++) {
            long[] sizes = new long[shape.dimension()];
            Arrays.fill(sizes, 1);
            sizes[axis + 1] = shape.get(axis + 1);
            NDArray onAxis = moved(x, shape.get(axis + 1), moved.get(axis)).reshape(sizes);
            part = part == null ? onAxis : part.add(part).add(onAxis);
        }
        NDArray parts = split(part.broadcast(cells), window); // (windows, cells, 1)
        return parts.eq(parts.transpose(0, 2, 1));
    }

    /** 0 for the first cells of an axis, then 1 for a number of cells. */
    private static NDArray moved(NDArray x, long size, long count) {
        NDArray first = x.getManager().zeros(new Shape(size - count), DataType.FLOAT32, x.getDevice());
        return count == 0
                ? first
                : first.concat(x.getManager().ones(new Shape(count), DataType.FLOAT32, x.getDevice()));
    }
}
