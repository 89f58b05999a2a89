package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/**
 * An array multiplied by a number, where gradients may be recorded. DJL's PyTorch makes an array of the number, in memory of
 * Java's own, and closes it at once; PyTorch keeps it for the gradient, and reads it after a collection of garbage has freed
 * that memory: now and then a gradient is then computed with whatever is there. Here the number is in memory of PyTorch's.
 */
public final class Product {

    private Product() {}

    /**
     * Multiplies.
     *
     * @param array any shape, FLOAT16, FLOAT32 or FLOAT64; not closed here
     * @param factor the number
     * @return a new array
     */
    public static NDArray of(NDArray array, double factor) {
        if (!PyTorch.isEngineOf(array)) {
            return array.mul(factor);
        }
        try (NDArray number = number(array, factor)) {
            return array.mul(number);
        }
    }

    /**
     * Multiplies in place.
     *
     * @param array an array that {@linkplain InPlace#isSafe may be written to}
     * @param factor the number
     * @return the array
     */
    public static NDArray inPlace(NDArray array, double factor) {
        try (NDArray number = number(array, factor)) {
            return array.muli(number);
        }
    }

    /** The number, without axes: PyTorch then keeps the array's data type. */
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
