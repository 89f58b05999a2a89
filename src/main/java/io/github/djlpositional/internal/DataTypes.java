package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.math.FloatFormat;

/** Which of DJL's data types an embedding has, and the refusal of others. */
public final class DataTypes {

    private DataTypes() {}

    /** Returns the format of an embedding's data type, which must have passed {@link #requireEmbedding}. */
    public static FloatFormat formatOf(DataType type) {
        return switch (type) {
            case FLOAT16 -> FloatFormat.FLOAT16;
            case FLOAT32 -> FloatFormat.FLOAT32;
            case FLOAT64 -> FloatFormat.FLOAT64;
            default -> throw new IllegalArgumentException(type + " is no data type of embeddings");
        };
    }

    /**
     * Refuses what an embedding cannot be. BFLOAT16 is refused here, before any array of it is made: on PyTorch making one
     * ends the whole JVM.
     *
     * @param type the data type
     * @param what what has it, for the message
     * @throws IllegalArgumentException if it is another than FLOAT16, FLOAT32 and FLOAT64
     */
    public static void requireEmbedding(DataType type, String what) {
        if (!isEmbedding(type)) {
            throw new IllegalArgumentException(
                    what + " has data type " + type
                            + ": allowed are float16, float32 and float64; convert it with toType, or set the model's data type");
        }
    }

    /**
     * Refuses an array that cannot be an embedding. Its message is made only where there is need of it.
     *
     * @param array the array
     * @param what what it is, for the message
     * @throws IllegalArgumentException if its data type is another than FLOAT16, FLOAT32 and FLOAT64
     */
    public static void requireEmbedding(NDArray array, String what) {
        if (!isEmbedding(array.getDataType())) {
            requireEmbedding(array.getDataType(), what + " " + array.getShape());
        }
    }

    /**
     * Refuses an input whose data type is not that of a parameter it would meet: MXNet fails on such a pair, and PyTorch
     * silently gives the wider type.
     *
     * @param input what was given
     * @param parameter the parameter's array
     * @param what what the parameter is, for the message
     * @throws IllegalArgumentException if they differ
     */
    public static void requireSame(NDArray input, NDArray parameter, String what) {
        if (input.getDataType() != parameter.getDataType()) {
            throw new IllegalArgumentException("input " + input.getShape() + " has data type " + input.getDataType()
                    + ": allowed is " + parameter.getDataType() + ", that of the " + what
                    + "; convert it with toType, or set the model's data type");
        }
    }

    /**
     * Initializes a parameter, and says which one where the engine cannot make it in a data type.
     *
     * @param what what the parameter is, for the message
     * @param manager what it is made with
     * @param type its data type
     * @param initialization makes it
     * @throws UnsupportedOperationException if the engine cannot
     */
    public static void initializing(String what, NDManager manager, DataType type, Runnable initialization) {
        try {
            initialization.run();
        } catch (UnsupportedOperationException e) {
            if (e.getCause() instanceof UnsupportedOperationException) {
                // a part of the block has said which parameter it is
                throw e;
            }
            throw new UnsupportedOperationException(
                    manager.getEngine().getEngineName() + " cannot make the " + what + " in " + type + " ("
                            + e.getMessage() + "): use float32 or float64",
                    e);
        }
    }

    /** Returns whether a type is FLOAT16, FLOAT32 or FLOAT64. */
    public static boolean isEmbedding(DataType type) {
        return type == DataType.FLOAT32 || type == DataType.FLOAT64 || type == DataType.FLOAT16;
    }
}
