package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;

/** The one engine of which this library uses more than DJL's API promises; by name, as no class of it may be known here. */
final class PyTorch {

    private static final String NAME = "PyTorch";

    private PyTorch() {}

    static boolean isEngineOf(NDArray array) {
        return NAME.equals(array.getManager().getEngine().getEngineName());
    }
}
