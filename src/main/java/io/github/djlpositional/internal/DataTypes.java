package io.github.djlpositional.internal;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import ai.djl.nn.UninitializedParameterException;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.FloatFormat;

/** The data types of embeddings, FLOAT16, FLOAT32 and FLOAT64, and the parameters that inputs have to agree with. */
public final class DataTypes {

    private DataTypes() {}

    /** Returns whether a type is FLOAT16, FLOAT32 or FLOAT64. */
    public static boolean isEmbedding(DataType type) {
        return type == DataType.FLOAT32 || type == DataType.FLOAT64 || type == DataType.FLOAT16;
    }

    /** Returns the format of a data type of embeddings. */
    public static FloatFormat formatOf(DataType type) {
        return switch (type) {
            case FLOAT16 -> FloatFormat.FLOAT16;
            case FLOAT32 -> FloatFormat.FLOAT32;
            case FLOAT64 -> FloatFormat.FLOAT64;
            default -> throw new IllegalArgumentException(type + ": expected float16, float32 or float64");
        };
    }

    /**
     * Checks the data type of an embedding. It is called before an array is created: creating a BFLOAT16 array on
     * PyTorch crashes the JVM. {@code what} describes the array.
     */
    public static void requireEmbedding(DataType type, String what) {
        Check.that(
                isEmbedding(type),
                () -> what + " has data type " + type
                        + ": expected float16, float32 or float64; convert it with toType, or set the model's data type");
    }

    /** Checks the data type of an array. */
    public static void requireEmbedding(NDArray array, String what) {
        if (!isEmbedding(array.getDataType())) {
            requireEmbedding(array.getDataType(), what + " " + array.getShape());
        }
    }

    /** Checks that two arrays belong to the same engine. */
    public static void requireSameEngine(NDArray input, NDArray other, String what) {
        Engine actual = input.getManager().getEngine();
        Engine expected = other.getManager().getEngine();
        if (actual != expected) {
            throw otherEngine("input " + input.getShape(), actual, expected, what);
        }
    }

    /** Returns the exception for an object that belongs to another engine. */
    public static IllegalArgumentException otherEngine(String object, Engine actual, Engine expected, String what) {
        return new IllegalArgumentException(object + " belongs to " + actual.getEngineName() + ": expected "
                + expected.getEngineName() + ", the engine of the " + what
                + "; create it with a manager of that engine");
    }

    /** Returns the value of a parameter of a block on the device of an input. */
    public static NDArray value(
            Object block, Parameter parameter, ParameterStore store, NDArray input, boolean training) {
        if (!training && !parameter.isInitialized()) {
            throw new UninitializedParameterException("there is no value for the parameter " + parameter.getName()
                    + ": expected a block that was initialized or loaded; call initialize(manager, dataType, shapes), or load"
                    + " a model that DJL saved: on PyTorch, Model.load skips a file that does not begin with DJL@, such as"
                    + " a damaged one, and throws nothing; block: " + block);
        }
        NDArray value = store.getValue(parameter, input.getDevice(), training);
        // the store may just have created it, and owns it
        NDScope.unregister(value);
        return value;
    }

    /**
     * Checks that an input has the engine and the data type of a parameter. Otherwise MXNet would fail, and PyTorch
     * would silently return the wider type.
     */
    public static void requireSame(NDArray input, NDArray parameter, String what) {
        requireSameEngine(input, parameter, what);
        if (input.getDataType() != parameter.getDataType()) {
            throw new IllegalArgumentException("input " + input.getShape() + " has data type " + input.getDataType()
                    + ": expected " + parameter.getDataType() + ", the data type of the " + what
                    + "; convert it with toType, or set the model's data type");
        }
    }

    /** The data type that an attention computes the scores of queries in. */
    public static DataType ofScores(NDArray queries) {
        return queries.getDataType() == DataType.FLOAT16 ? DataType.FLOAT32 : queries.getDataType();
    }

    /** Checks that real positions, or distances between them, are not converted to integers. */
    public static void requireWhole(DataType type, NDArray positions) {
        Check.that(
                !type.isInteger() || positions.getDataType().isInteger(),
                () -> "positions or distances of shape " + positions.getShape() + " are floating-point numbers:"
                        + " expected integers for this encoding; pass integers, or use an encoding of real positions:"
                        + " ALiBi, distance network, FIRE, Gaussian, KERPLE, learned rotary, RoPE-Mixed, rotary, Sandwich or"
                        + " T5");
    }
}
