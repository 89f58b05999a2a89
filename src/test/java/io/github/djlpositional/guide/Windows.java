package io.github.djlpositional.guide;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/** Windows of pictures, as in Swin: docs/encodings.md links this file. */
public final class Windows {

    private Windows() {}

    /** Divides pictures (B, R, C, D) into windows of h by w cells, row by row: (B · R / h · C / w, h · w, D). */
    public static NDArray split(NDArray x, long h, long w) {
        Shape shape = x.getShape();
        return x.reshape(shape.get(0), shape.get(1) / h, h, shape.get(2) / w, w, shape.get(3))
                .transpose(0, 1, 3, 2, 4, 5)
                .reshape(-1, h * w, shape.get(3));
    }

    /** The inverse of split: pictures (B, R, C, D). */
    public static NDArray merge(NDArray windows, Shape pictures, long h, long w) {
        return windows.reshape(-1, pictures.get(1) / h, pictures.get(2) / w, h, w, pictures.get(3))
                .transpose(0, 1, 3, 2, 4, 5)
                .reshape(pictures);
    }

    /** Moves the first cells of an axis behind the last ones, as torch.roll(x, -count, axis). */
    public static NDArray roll(NDArray x, long count, int axis) {
        long size = x.getShape().get(axis);
        return count % size == 0
                ? x
                : x.swapAxes(0, axis)
                        .get("{}:", count)
                        .concat(x.swapAxes(0, axis).get(":{}", count), 0)
                        .swapAxes(0, axis);
    }

    /** For pictures of which some rows and columns were moved to the end, a mask that hides them from the others. */
    public static NDArray mask(NDArray x, long rows, long columns, long h, long w) {
        Shape shape = x.getShape();
        NDArray row = x.getManager().arange((float) shape.get(1)).gte(shape.get(1) - rows);
        NDArray column = x.getManager().arange((float) shape.get(2)).gte(shape.get(2) - columns);
        NDArray part = row.toType(DataType.INT32, false)
                .mul(2)
                .reshape(1, -1, 1, 1)
                .add(column.toType(DataType.INT32, false).reshape(1, 1, -1, 1));
        Shape each = new Shape(shape.get(0), shape.get(1), shape.get(2), 1);
        NDArray parts = split(part.broadcast(each), h, w); // (windows, h · w, 1)
        return parts.eq(parts.transpose(0, 2, 1)); // true for a visible key
    }
}
