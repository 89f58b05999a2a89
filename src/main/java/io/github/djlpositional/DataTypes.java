package io.github.djlpositional;

import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.math.FloatFormat;

/** Which of DJL's data types hold embeddings, and which hold positions and token ids. */
final class DataTypes {

    private DataTypes() {}

    /** Returns the format of an embedding's data type, which must have passed {@link #requireEmbedding}. */
    static FloatFormat formatOf(DataType type) {
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
     */
    static void requireEmbedding(DataType type, String what) {
        if (type != DataType.FLOAT32 && type != DataType.FLOAT64 && type != DataType.FLOAT16) {
            throw new IllegalArgumentException(
                    what + " has data type " + type
                            + ": allowed are float16, float32 and float64; convert it with toType, or set the model's data type");
        }
    }

    static boolean isReal(DataType type) {
        return type == DataType.FLOAT32 || type == DataType.FLOAT64 || type == DataType.FLOAT16;
    }
}
