package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import java.util.ArrayList;
import java.util.List;

/**
 * The intermediate arrays of one forward, closed at its end. An {@code NDScope} would also close what a user's block keeps for
 * its next forward.
 */
public final class Temporaries implements AutoCloseable {

    private final List<NDArray> arrays = new ArrayList<>();

    /**
     * Adds an array.
     *
     * @param created an array that was just created
     * @return the array
     */
    public NDArray add(NDArray created) {
        arrays.add(created);
        return created;
    }

    /**
     * Adds an array, unless an operation returned its input.
     *
     * @param input the input of an operation
     * @param result its result: a new array, or the input itself
     * @return the result
     */
    public NDArray addUnless(NDArray input, NDArray result) {
        return result == input ? result : add(result);
    }

    /**
     * Removes the result of the forward, so that it is not closed.
     *
     * @param result what the forward returns
     * @return the result
     */
    public NDArray keep(NDArray result) {
        arrays.removeIf(array -> array == result);
        return result;
    }

    @Override
    public void close() {
        arrays.forEach(NDArray::close);
    }
}
