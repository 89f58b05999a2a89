package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;

/** Positions that are no table rows: between whole numbers, or given as real numbers. */
public final class RealPositions {

    private RealPositions() {}

    /**
     * Reads positions, and so waits for their device.
     *
     * @param positions any shape, FLOAT16, FLOAT32 or FLOAT64
     * @param limit what every position is below
     * @return the positions, row-major
     * @throws IllegalArgumentException if one is out of range or not a number, or of another data type
     */
    public static double[] values(NDArray positions, int limit) {
        if (!DataTypes.isEmbedding(positions.getDataType())) {
            throw new IllegalArgumentException("positions have data type " + positions.getDataType()
                    + ": allowed is any integer type, float16, float32 or float64; convert them with toType");
        }
        double[] values = HostData.doubles(positions);
        for (int i = 0; i < values.length; i++) {
            if (!(values[i] >= 0 && values[i] < limit)) {
                throw new IllegalArgumentException(
                        "position " + values[i] + " at index " + i + " of " + positions.getShape() + " is outside 0 to "
                                + limit + " (exclusive): " + Indices.remedyFor(values[i] < 0, limit));
            }
        }
        return values;
    }
}
