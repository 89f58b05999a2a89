package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/**
 * Divides pictures into windows, as in Liu et al., <em>Swin Transformer: Hierarchical Vision Transformer using Shifted
 * Windows</em> (2021), section 3.2. A {@link VisionTransformerBlock} does so by itself; here are the parts for other
 * models. Pictures are (B, R, C, D), vectors in rows and columns. Results are new arrays of the manager of the first
 * one, or views of it; the caller closes them, and those between.
 *
 * @see <a href="https://arxiv.org/abs/2103.14030">Swin Transformer: Hierarchical Vision Transformer using Shifted
 *     Windows</a>
 */
public final class Windows {

    private Windows() {}

    /**
     * {@return the windows of pictures, row by row: (B · R / h · C / w, h · w, D)}
     *
     * @param x pictures, (B, R, C, D)
     * @param h the number of rows of a window, which divides R
     * @param w the number of columns of a window, which divides C
     */
    public static NDArray split(NDArray x, long h, long w) {
        Shape shape = x.getShape();
        return x.reshape(shape.get(0), shape.get(1) / h, h, shape.get(2) / w, w, shape.get(3))
                .transpose(0, 1, 3, 2, 4, 5)
                .reshape(-1, h * w, shape.get(3));
    }

    /**
     * {@return the pictures of windows, the inverse of {@link #split}}
     *
     * @param windows (B · R / h · C / w, h · w, D)
     * @param pictures (B, R, C, D)
     * @param h the number of rows of a window
     * @param w the number of columns of a window
     */
    public static NDArray merge(NDArray windows, Shape pictures, long h, long w) {
        return windows.reshape(pictures.get(0), pictures.get(1) / h, pictures.get(2) / w, h, w, pictures.get(3))
                .transpose(0, 1, 3, 2, 4, 5)
                .reshape(pictures);
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
     * {@return a mask of windows after a shift, true for visible keys: rows and columns that were moved to the end are
     * hidden from the others; boolean, (B · R / h · C / w, h · w, h · w)}
     *
     * @param x the pictures, of which only manager, device and shape are used
     * @param rows the number of rows that were moved
     * @param columns the number of columns that were moved
     * @param h the number of rows of a window
     * @param w the number of columns of a window
     */
    public static NDArray mask(NDArray x, long rows, long columns, long h, long w) {
        Shape shape = x.getShape();
        NDArray rowsMoved = moved(x, shape.get(1), rows).reshape(1, -1, 1, 1);
        NDArray part =
                rowsMoved.add(rowsMoved).add(moved(x, shape.get(2), columns).reshape(1, 1, -1, 1));
        Shape each = new Shape(shape.get(0), shape.get(1), shape.get(2), 1);
        NDArray parts = split(part.broadcast(each), h, w); // (windows, h · w, 1)
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
