package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.options.Check;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Rows of a tensor for a parameter. All of them are read before any is written.
 *
 * @param addsOne whether the tensor has the parameter's values minus 1
 * @param appendsRows whether the parameter may have more rows, which do not change
 * @param takesFirstRows whether the parameter may have fewer rows
 * @param reversesRows whether the last of the rows becomes the first one of the parameter
 */
record Assignment(
        TensorSlice slice,
        Parameter parameter,
        boolean addsOne,
        boolean appendsRows,
        boolean takesFirstRows,
        boolean reversesRows) {

    /**
     * Checks that the parameter has an array of the slice's shape, and of a type as wide or wider, or any if rounded.
     */
    void requireFits(boolean isRounded, Supplier<String> described) {
        StoredTensor tensor = slice.tensor();
        Supplier<String> target = () -> described.get() + " for " + slice;
        Check.that(
                parameter.isInitialized() && !parameter.getArray().isReleased(),
                () -> target.get() + " has no array: expected an initialized parameter; initialize its block first");
        NDArray array = parameter.getArray();
        DataType type = array.getDataType();
        if (!DataTypes.isEmbedding(type)) {
            DataTypes.requireEmbedding(array, target.get());
        }
        boolean hasType = tensor.type() != null
                && (tensor.type().fitsInto(type) || (isRounded && tensor.type().isReal()));
        Check.that(
                hasType && tensor.shape().dimension() > 0 && hasShape(),
                () -> slice + " have type " + InvalidFileException.quoted(tensor.typeName()) + " and shape "
                        + slice.shape() + ", and " + described.get() + " has type " + type + " and shape "
                        + array.getShape()
                        + ": expected a tensor of the parameter's shape, and of its type or a narrower float;"
                        + " convert the tensor where the file is created, build the block with the tensor's sizes"
                        + " and a wider type, pass other rows or another name, or use allowRounding, appendRows or"
                        + " firstRows");
    }

    /**
     * Whether the slice has the shape of the parameter but for axes of 1, or its rows have several axes, as in a
     * convolution of patches, or it has another number of rows that is allowed.
     */
    boolean hasShape() {
        Shape shape = slice.shape();
        Shape wanted = parameter.getShape();
        if (wanted == null || wanted.dimension() == 0) {
            return shape.equals(wanted);
        }
        if (isOfSameSizes(shape, wanted)) {
            return true;
        }
        return shape.slice(1).equals(wanted.slice(1)) && (shape.get(0) < wanted.get(0) ? appendsRows : takesFirstRows);
    }

    private static boolean isOfSameSizes(Shape shape, Shape wanted) {
        boolean hasRowsOfSeveralAxes = wanted.dimension() == 2
                && shape.dimension() > 2
                && shape.get(0) == wanted.get(0)
                && shape.slice(1).size() == wanted.get(1);
        return hasRowsOfSeveralAxes
                || Arrays.equals(
                        Arrays.stream(shape.getShape())
                                .filter(size -> size != 1)
                                .toArray(),
                        Arrays.stream(wanted.getShape())
                                .filter(size -> size != 1)
                                .toArray());
    }

    NDManager newStaging() {
        return parameter.getArray().getManager().newSubManager(Device.cpu());
    }

    /** Reads the rows into an array of a manager on the CPU, and returns the action that writes the parameter. */
    Runnable read(NDManager staging) throws IOException, MalformedModelException {
        NDArray target = parameter.getArray();
        boolean isWhole = isOfSameSizes(slice.shape(), target.getShape());
        TensorSlice first = isWhole
                ? slice
                : slice.until(
                        Math.min(slice.to(), slice.from() + target.getShape().get(0)));
        if (first.shape().size() == 0) {
            return () -> {};
        }
        NDArray read = first.read(staging, target.getDataType());
        // MXNet's reshape copies
        boolean isReshaped = isWhole && !read.getShape().equals(target.getShape());
        NDArray rows = isReshaped ? read.reshape(target.getShape()) : read;
        NDArray ordered = reversesRows ? rows.flip(0) : rows;
        NDArray values = addsOne ? Arithmetic.add(ordered, 1) : ordered;
        return () -> write(values);
    }

    /**
     * Writes rows into the parameter's array. PyTorch rejects writing in place to an array with gradients, so they are
     * switched off in the meantime.
     */
    private void write(NDArray rows) {
        NDArray target = parameter.getArray();
        boolean hadGradient = target.hasGradient();
        if (hadGradient) {
            target.setRequiresGradient(false);
        }
        try {
            // on MXNet, set takes several times the memory; on PyTorch, copyTo takes memory of Java
            if (rows.getShape().equals(target.getShape()) && !Arithmetic.isPyTorch(target)) {
                rows.copyTo(target);
            } else {
                target.set(NDIndex.sliceAxis(0, 0, rows.getShape().get(0)), rows);
            }
        } finally {
            if (hadGradient) {
                target.setRequiresGradient(true);
            }
        }
    }
}
