package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.types.Shape;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;

/**
 * Shapes in a model file. DJL writes the sizes, and a letter for each axis; this library's blocks the sizes alone. DJL's own
 * reader makes room for as many as it is told.
 */
public final class StoredShape {

    private static final int MAX_SHAPES = 8;
    private static final int MAX_DIMENSIONS = 32;

    private StoredShape() {}

    /**
     * Reads a shape.
     *
     * @param is at the shape
     * @return the sizes, each -1 or more
     * @throws MalformedModelException if it is none
     */
    public static Shape read(DataInputStream is) throws IOException, MalformedModelException {
        long[] sizes = sizes(is);
        int letters = StoredCount.read(is, MAX_DIMENSIONS, "letters");
        StringBuilder layout = new StringBuilder();
        for (int axis = 0; axis < letters; axis++) {
            layout.append(is.readChar());
        }
        try {
            // refuses letters that there are not, and another number of letters than of sizes
            return new Shape(sizes, layout.toString());
        } catch (IllegalArgumentException e) {
            throw new MalformedModelException(
                    "the model file has the axes '" + layout + "' for the sizes " + Arrays.toString(sizes)
                            + ", which DJL does not write: it is damaged or no model of this block; load another",
                    e);
        }
    }

    private static long[] sizes(DataInputStream is) throws IOException, MalformedModelException {
        long[] sizes = new long[StoredCount.read(is, MAX_DIMENSIONS, "dimensions")];
        for (int axis = 0; axis < sizes.length; axis++) {
            sizes[axis] = is.readLong();
            if (sizes[axis] < -1) {
                throw new MalformedModelException("the model file has an axis of size " + sizes[axis]
                        + ", which no array has: it is damaged or no model of this block; load another");
            }
        }
        return sizes;
    }

    /**
     * Reads the shapes of a block's inputs.
     *
     * @param is at their number
     * @return the shapes
     * @throws MalformedModelException if they are none
     */
    public static Shape[] readAll(DataInputStream is) throws IOException, MalformedModelException {
        Shape[] shapes = new Shape[StoredCount.read(is, MAX_SHAPES, "shapes")];
        for (int i = 0; i < shapes.length; i++) {
            shapes[i] = read(is);
        }
        return shapes;
    }

    /**
     * Reads the shapes of a block's inputs, as {@link #writeSizes} wrote them.
     *
     * @param is at their number
     * @return the shapes
     * @throws MalformedModelException if they are none
     */
    static Shape[] readSizes(DataInputStream is) throws IOException, MalformedModelException {
        Shape[] shapes = new Shape[StoredCount.read(is, MAX_SHAPES, "shapes")];
        for (int i = 0; i < shapes.length; i++) {
            shapes[i] = new Shape(sizes(is));
        }
        return shapes;
    }

    /** Writes the shapes of a block's inputs. */
    static void writeSizes(DataOutputStream os, Shape... shapes) throws IOException {
        os.writeInt(shapes.length);
        for (Shape shape : shapes) {
            os.writeInt(shape.dimension());
            for (long size : shape.getShape()) {
                os.writeLong(size);
            }
        }
    }
}
