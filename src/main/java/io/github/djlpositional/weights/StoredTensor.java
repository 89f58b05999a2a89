package io.github.djlpositional.weights;

import ai.djl.ndarray.types.Shape;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Objects;

/**
 * A tensor in a file.
 *
 * @param file the file
 * @param name its name there
 * @param typeName its type as the file names it
 * @param type its type, or null for one that is not read
 * @param order the byte order of its numbers
 * @param shape its shape
 * @param isColumnMajor whether its first index varies fastest, as in Fortran, and not its last
 * @param data where its bytes are: as many as shape and type need, where the type is one that is read
 */
record StoredTensor(
        Path file,
        String name,
        String typeName,
        StoredType type,
        ByteOrder order,
        Shape shape,
        boolean isColumnMajor,
        Data data) {

    StoredTensor {
        Objects.requireNonNull(file, "file");
        Objects.requireNonNull(shape, "shape");
    }

    /** Opens the bytes of a tensor. */
    @FunctionalInterface
    interface Data {
        InputStream open() throws IOException;
    }

    TensorInfo info() {
        return new TensorInfo(typeName, shape);
    }

    /** The tensor in a message. */
    @Override
    public String toString() {
        return "tensor " + Quoted.text(name) + " of " + file;
    }
}
