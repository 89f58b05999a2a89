package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import java.util.ArrayList;
import java.util.List;

/**
 * The arrays that one forward makes on its way and that nobody else can hold: closed at its end, but for the result.
 *
 * <p>An {@code NDScope} would not do: it would also close what a block of the user's keeps for its next forward.
 */
public final class Temporaries implements AutoCloseable {

    private final List<NDArray> arrays = new ArrayList<>();

    /**
     * Takes an array into custody.
     *
     * @param made an array that was just made
     * @return the array
     */
    public NDArray add(NDArray made) {
        arrays.add(made);
        return made;
    }

    /**
     * Takes an array into custody, unless it is the one it was made from.
     *
     * @param made an array that was just made, or {@code from} itself
     * @param from what it was made from
     * @return the array
     */
    public NDArray addUnless(NDArray from, NDArray made) {
        return made == from ? made : add(made);
    }

    /**
     * Releases the result from custody.
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
