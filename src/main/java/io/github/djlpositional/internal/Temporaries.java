package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import java.util.ArrayList;
import java.util.List;

/**
 * The intermediate arrays of one forward, closed at its end. An {@code NDScope} would also close what a user's block
 * keeps for its next forward.
 */
public final class Temporaries implements AutoCloseable {

    private final List<NDArray> arrays = new ArrayList<>();

    /** Adds an array that was just created. */
    public NDArray add(NDArray created) {
        arrays.add(created);
        return created;
    }

    /** Adds the result of an operation, unless it is the input itself. */
    public NDArray addUnless(NDArray input, NDArray result) {
        return result == input ? result : add(result);
    }

    /** Removes the result of the forward, so that it is not closed. */
    public NDArray keep(NDArray result) {
        arrays.removeIf(array -> array == result);
        return result;
    }

    @Override
    public void close() {
        arrays.forEach(NDArray::close);
    }
}
