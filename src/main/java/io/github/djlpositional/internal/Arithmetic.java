package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/** Operations that differ between the engines while gradients are recorded. */
public final class Arithmetic {

    private Arithmetic() {}

    /**
     * Returns whether an array belongs to PyTorch. The library has no dependency on an engine, so it is compared by
     * name.
     */
    public static boolean isPyTorch(NDArray array) {
        return "PyTorch".equals(array.getManager().getEngine().getEngineName());
    }

    /**
     * Returns whether an array that only this library holds may be written to. MXNet fails on an operation in place
     * while gradients are recorded, and does not say whether they are.
     */
    public static boolean isInPlaceSafe(NDArray array) {
        return isPyTorch(array);
    }

    /**
     * Multiplies an array by a number, into a new array. {@code array.mul(number)} of DJL keeps the number in memory of
     * Java; PyTorch reads it again for the gradient, possibly after it was garbage collected. Here the number is in
     * memory of PyTorch.
     */
    public static NDArray multiply(NDArray array, double factor) {
        if (!isPyTorch(array)) {
            return array.mul(factor);
        }
        try (NDArray number = number(array, factor)) {
            return array.mul(number);
        }
    }

    /** Adds a number to each number of an array, into a new array, without waiting for a GPU. */
    public static NDArray add(NDArray array, double number) {
        if (!isPyTorch(array)) {
            return array.add(number);
        }
        try (NDArray scalar = number(array, number)) {
            return array.add(scalar);
        }
    }

    /** Multiplies an array that {@linkplain #isInPlaceSafe may be written to} by a number, in place. */
    public static NDArray multiplyInPlace(NDArray array, double factor) {
        try (NDArray number = number(array, factor)) {
            return array.muli(number);
        }
    }

    /** A scalar, so that PyTorch keeps the array's data type. */
    private static NDArray number(NDArray array, double factor) {
        NDManager manager = array.getManager();
        Device device = array.getDevice();
        if (array.getDataType() == DataType.FLOAT64) {
            return HostData.number(manager, device, factor);
        }
        NDArray number = manager.full(new Shape(), (float) factor, DataType.FLOAT32);
        if (number.getDevice().equals(device)) {
            return number;
        }
        try (number) {
            return number.toDevice(device, true);
        }
    }
}
