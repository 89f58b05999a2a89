package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.internal.DataTypes;
import java.io.IOException;
import java.util.Objects;

/**
 * Copies rows from a file to a parameter. They are read completely before any of them is written.
 *
 * @param heads the heads whose dimensions change their order; null for none
 */
record TableCopy(TensorPart part, HeadPermutation heads, Parameter parameter) {

    TableCopy {
        Objects.requireNonNull(parameter, "parameter");
    }

    TableCopy(TensorPart part, Parameter parameter) {
        this(part, null, parameter);
    }

    /** Checks that the parameter has an array of the part's shape, and of a type as wide or wider. */
    void requireFits() {
        StoredTensor tensor = part.tensor();
        String target = "parameter " + InvalidFileException.quoted(parameter.getName()) + " for " + part;
        boolean hasArray = parameter.isInitialized() && !parameter.getArray().isReleased();
        Check.that(
                hasArray,
                () -> target + " has no array: expected an initialized parameter; initialize its block first");
        NDArray array = parameter.getArray();
        DataTypes.requireEmbedding(array, target);
        DataType type = array.getDataType();
        boolean hasType = tensor.type() != null && tensor.type().fitsInto(type);
        Check.that(
                hasType && tensor.shape().dimension() > 0 && part.shape().equals(array.getShape()),
                () -> target + " of shape " + array.getShape() + " and type " + type + " has type "
                        + InvalidFileException.quoted(tensor.typeName()) + " and shape " + part.shape()
                        + ": expected the parameter's type or a narrower float, its shape, and at least one axis;"
                        + " convert the tensor where the file is created, build the block with the tensor's sizes and a"
                        + " wider type, or give other rows or another name");
    }

    /** Reads the rows into an array of a manager on the CPU, and returns the action that writes the parameter. */
    Runnable read(NDManager staging) throws IOException, MalformedModelException {
        NDArray target = parameter.getArray();
        if (target.size() == 0) {
            return () -> {};
        }
        NDArray read = part.read(staging, target.getDataType());
        NDArray rows = heads == null ? read : heads.permuted(read);
        return () -> write(rows);
    }

    /**
     * Writes rows into the parameter's array, which stays the same array. PyTorch rejects writing in place to an array
     * that gradients are recorded for; so recording is switched off in the meantime.
     */
    private void write(NDArray rows) {
        NDArray target = parameter.getArray();
        boolean hadGradient = target.hasGradient();
        if (hadGradient) {
            target.setRequiresGradient(false);
        }
        try {
            target.set(NDIndex.sliceAxis(0, 0, rows.getShape().get(0)), rows);
        } finally {
            if (hadGradient) {
                target.setRequiresGradient(true);
            }
        }
    }
}
