package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/**
 * Operations that differ between the engines while gradients are recorded, and operations with Java numbers. An
 * operation of DJL with a number of Java waits for a GPU; one with a {@link #number} does not.
 */
public final class Arithmetic {

    /** A sum of floats is not exact for smaller numbers. */
    private static final double SMALLEST = 1e-20;

    private Arithmetic() {}

    /**
     * Returns whether an array belongs to PyTorch. The library has no dependency on an engine, so it is compared by
     * name.
     */
    public static boolean isPyTorch(NDArray array) {
        return "PyTorch".equals(array.getManager().getEngine().getEngineName());
    }

    /**
     * Returns whether an intermediate array of this library may be written to. MXNet fails on an operation in place
     * while gradients are recorded, and does not say whether they are.
     */
    public static boolean isInPlaceSafe(NDArray array) {
        return isPyTorch(array);
    }

    /**
     * Converts an array to a data type; returns the array itself if it has that type. Gradients pass a conversion from
     * one floating-point type to another, which {@code toType} of DJL cuts off on PyTorch.
     */
    public static NDArray toType(NDArray array, DataType type) {
        DataType from = array.getDataType();
        if (from != type && DataTypes.isEmbedding(from) && DataTypes.isEmbedding(type)) {
            TorchFunctions functions = TorchFunctions.of(array);
            if (functions != null) {
                return functions.toType(array, type);
            }
        }
        return array.toType(type, false);
    }

    /**
     * Multiplies an array by a number, into a new array. {@code array.mul(number)} of DJL stores the number in Java's
     * memory; PyTorch reads it again for the gradient, possibly after it was garbage collected. This method stores the
     * number in PyTorch's memory.
     */
    public static NDArray multiply(NDArray array, double factor) {
        if (!isPyTorch(array) && array.getDataType().isFloating()) {
            return array.mul(factor);
        }
        try (NDArray number = number(array, factor)) {
            return array.mul(number);
        }
    }

    /**
     * Multiplies each row of an array (…, K) by a matrix (K, M), as one product of two matrices, (…, M). PyTorch's own
     * choice between one product and one for each batch depends on whether the matrix requires a gradient, and so on
     * the thread; the last bits of the two differ on processors with AVX-512.
     */
    public static NDArray multiplyRows(NDArray rows, NDArray matrix) {
        Shape shape = rows.getShape();
        int last = shape.dimension() - 1;
        return rows.reshape(-1, shape.get(last))
                .matMul(matrix)
                .reshape(Shape.update(shape, last, matrix.getShape().get(1)));
    }

    /** Copies an array. Gradients pass the copy, which {@code duplicate} of DJL cuts off on PyTorch. */
    public static NDArray copy(NDArray array) {
        return multiply(array, 1);
    }

    /** Adds a number to each number of an array, into a new array. */
    public static NDArray add(NDArray array, double number) {
        if (!isPyTorch(array) && array.getDataType().isFloating()) {
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

    /**
     * Creates a number for an operation with an array whose result has the data type of the array: a new array of rank
     * 0 on PyTorch and (1) on MXNet, on the device of the array. Numbers for integer arrays are integers.
     */
    public static NDArray number(NDArray array, double value) {
        NDManager manager = array.getManager();
        Device device = array.getDevice();
        boolean isFloat = Math.abs(value) >= SMALLEST && Math.abs(value) <= Float.MAX_VALUE;
        if (array.getDataType() == DataType.FLOAT64 && !isFloat && value != 0 && !Double.isInfinite(value)) {
            return HostData.number(manager, device, value);
        }
        if (manager.getDevice().equals(device)) {
            return number(array, manager, value);
        }
        try (NDManager there = manager.newSubManager(device)) {
            NDArray number = number(array, there, value);
            number.attach(manager);
            return number;
        }
    }

    private static NDArray number(NDArray array, NDManager manager, double value) {
        DataType type = array.getDataType();
        Shape shape = isPyTorch(array) ? new Shape() : new Shape(1);
        if (type == DataType.FLOAT16) {
            // on PyTorch, the result has the type of the array; MXNet cannot create numbers in FLOAT16
            NDArray number = manager.full(shape, (float) value, DataType.FLOAT32);
            if (isPyTorch(array)) {
                return number;
            }
            try (number) {
                return number.toType(type, true);
            }
        }
        // DJL passes numbers as floats, and to MXNet as their decimal text: a double is the sum of a few
        NDArray number = manager.full(shape, (float) value, type);
        double passed = isPyTorch(array) ? (float) value : Double.parseDouble(Float.toString((float) value));
        double rest = value - passed;
        if (type == DataType.FLOAT32 || Math.abs(rest) < Float.MIN_NORMAL || Double.isInfinite(value)) {
            return number;
        }
        try (number;
                NDArray further = number(array, manager, rest)) {
            return number.add(further);
        }
    }
}
