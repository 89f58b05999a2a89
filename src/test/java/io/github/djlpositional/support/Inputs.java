package io.github.djlpositional.support;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.util.stream.LongStream;

/** Small arrays for tests. They belong to the manager. */
public final class Inputs {

    private Inputs() {}

    /** Zeros in FLOAT32. */
    public static NDArray zeros(NDManager manager, long... shape) {
        return zeros(manager, DataType.FLOAT32, shape);
    }

    /** Zeros of any data type, also those that an engine cannot create directly. */
    public static NDArray zeros(NDManager manager, DataType type, long... shape) {
        return manager.zeros(new Shape(shape), DataType.FLOAT64).toType(type, false);
    }

    /** 1, 2, 3, … in FLOAT32. */
    public static NDArray counted(NDManager manager, long... shape) {
        double[] numbers = LongStream.rangeClosed(1, new Shape(shape).size())
                .asDoubleStream()
                .toArray();
        return reals(manager, numbers).reshape(shape);
    }

    /** Whole numbers, (n), in INT64. */
    public static NDArray integers(NDManager manager, long... numbers) {
        return manager.create(numbers);
    }

    /** Real numbers, (n), in FLOAT32. MXNet may read wrong numbers where they are created from floats. */
    public static NDArray reals(NDManager manager, double... numbers) {
        return manager.create(numbers).toType(DataType.FLOAT32, false);
    }
}
