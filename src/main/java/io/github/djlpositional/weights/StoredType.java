package io.github.djlpositional.weights;

import ai.djl.ndarray.types.DataType;
import java.nio.ByteBuffer;

/**
 * A type of values that can be read, by its name in safetensors, and the data type of its arrays. The engines have no
 * arrays of other integers. Complex numbers and 8-bit floats are not supported.
 */
enum StoredType {
    F16(Short.BYTES, DataType.FLOAT16),
    /** The upper half of a {@code float}. No array of this type is created: on PyTorch, this would crash the JVM. */
    BF16(Short.BYTES, DataType.FLOAT32),
    F32(Float.BYTES, DataType.FLOAT32),
    F64(Double.BYTES, DataType.FLOAT64),
    /** Any byte but 0 is true. Read as integers: MXNet copies slices of boolean arrays wrongly. */
    BOOL(1, DataType.UINT8),
    U8(1, DataType.UINT8),
    I8(1, DataType.INT8),
    I32(Integer.BYTES, DataType.INT32),
    I64(Long.BYTES, DataType.INT64);

    private final int bytes;
    private final DataType dataType;

    StoredType(int bytes, DataType dataType) {
        this.bytes = bytes;
        this.dataType = dataType;
    }

    int bytes() {
        return bytes;
    }

    /** Returns the data type of an array that is read: it represents every number of this type. */
    DataType dataType() {
        return dataType;
    }

    boolean isReal() {
        return dataType.isFloating();
    }

    /** Returns a stored floating-point number exactly; {@code index} counts values from the start of the buffer. */
    double get(ByteBuffer raw, int index) {
        return switch (this) {
            case F16 -> half(raw.getShort(index * Short.BYTES));
            case BF16 -> Float.intBitsToFloat(raw.getShort(index * Short.BYTES) << 16);
            case F32 -> raw.getFloat(index * Float.BYTES);
            default -> raw.getDouble(index * Double.BYTES);
        };
    }

    /** Moves exponent and fraction to their place in a {@code float}, whose exponent is then too small by 127 - 15. */
    private static double half(short bits) {
        int magnitude = (bits & 0x7fff) << 13;
        boolean isFinite = (bits & 0x7c00) != 0x7c00;
        float value =
                isFinite ? Float.intBitsToFloat(magnitude) * 0x1p112f : Float.intBitsToFloat(magnitude | 0x7f80_0000);
        return bits < 0 ? -value : value;
    }

    /** Returns whether this is a floating-point type, and a data type represents all of its values. */
    boolean fitsInto(DataType wanted) {
        return isReal() && (isStoredAs(wanted) || bytes < wanted.getNumOfBytes());
    }

    /** Returns whether a data type has the same bytes. */
    boolean isStoredAs(DataType type) {
        return type == dataType && bytes == type.getNumOfBytes();
    }
}
