package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;

/** Where an operation may write to an array that only this library holds. */
public final class InPlace {

    private InPlace() {}

    /**
     * Returns whether an array may be written to whether or not gradients are recorded. MXNet fails on it while they are,
     * and does not say whether they are.
     *
     * @param array the array
     * @return false where a new array has to be made
     */
    public static boolean isSafe(NDArray array) {
        return PyTorch.isEngineOf(array);
    }
}
