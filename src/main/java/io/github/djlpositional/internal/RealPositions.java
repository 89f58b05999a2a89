package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;

/** Positions that are no table rows: between whole numbers, or given as real numbers. */
public final class RealPositions {

    private RealPositions() {}

    /**
     * Reads positions, and so waits for their device.
     *
     * @param positions any shape, a real type
     * @param limit what every position is below
     * @return the positions, row-major
     * @throws IllegalArgumentException if one is out of range or not a number, or the array is not real
     */
    public static double[] values(NDArray positions, int limit) {
        if (!DataTypes.isReal(positions.getDataType())) {
            throw new IllegalArgumentException("positions have data type " + positions.getDataType()
                    + ": allowed is any integer type, float16, float32 or float64; convert them with toType");
        }
        double[] values;
        NDArray doubles = positions.toType(DataType.FLOAT64, false);
        try {
            values = HostData.read(doubles, NDArray::toDoubleArray);
        } finally {
            if (doubles != positions) {
                doubles.close();
            }
        }
        for (int i = 0; i < values.length; i++) {
            if (!(values[i] >= 0 && values[i] < limit)) {
                throw new IllegalArgumentException(
                        "position " + values[i] + " at index " + i + " of " + positions.getShape() + " is outside 0 to "
                                + limit + " (exclusive): " + Indices.POSITION_REMEDY);
            }
        }
        return values;
    }
}
