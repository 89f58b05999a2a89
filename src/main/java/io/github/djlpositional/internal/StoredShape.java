package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.types.Shape;
import java.io.DataInputStream;
import java.io.IOException;

/** Shapes as DJL writes them: the sizes, and a letter for each axis. DJL's own reader makes room for as many as it is told. */
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
        long[] sizes = new long[count(is, MAX_DIMENSIONS, "dimensions")];
        for (int axis = 0; axis < sizes.length; axis++) {
            sizes[axis] = is.readLong();
        }
        int letters = count(is, MAX_DIMENSIONS, "letters");
        StringBuilder layout = new StringBuilder();
        for (int axis = 0; axis < letters; axis++) {
            layout.append(is.readChar());
        }
        // refuses sizes and letters that there are not, and another number of letters than of sizes
        return new Shape(sizes, layout.toString());
    }

    /**
     * Reads the shapes of a block's inputs.
     *
     * @param is at their number
     * @return the shapes
     * @throws MalformedModelException if they are none
     */
    public static Shape[] readAll(DataInputStream is) throws IOException, MalformedModelException {
        Shape[] shapes = new Shape[count(is, MAX_SHAPES, "shapes")];
        for (int i = 0; i < shapes.length; i++) {
            shapes[i] = read(is);
        }
        return shapes;
    }

    private static int count(DataInputStream is, int most, String what) throws IOException, MalformedModelException {
        int count = is.readInt();
        if (count < 0 || count > most) {
            throw new MalformedModelException("the model file claims " + count + " " + what
                    + " of an array, which no file of this library does: it is damaged or no model of this block; load"
                    + " another");
        }
        return count;
    }
}
