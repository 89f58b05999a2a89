package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;

/** The positions of consecutive tokens, for which a {@link ConstantTable} has rows. */
public interface TokenPositions {

    /** {@return the index of the first token, from 0} */
    int first();

    /** {@return the number of tokens, n} */
    int count();

    /** {@return the explicit positions, whose last axis is n; null if the position of each token is its index} */
    NDArray array();

    /** {@return one more than the largest position, or a larger number} */
    int end();

    /** {@return one more than the largest |position|, or a larger number} */
    int reach();

    /** {@return whether an integer position is negative, or may be} */
    boolean mayBeNegative();

    /** {@return the explicit positions, row-major, in an array that must not be changed} */
    double[] toDoubles();
}
