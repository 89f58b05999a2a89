package io.github.djlpositional.weights;

import io.github.djlpositional.math.FloatFormat;
import java.nio.ByteBuffer;

/**
 * A type of numbers that can be loaded, by its name in safetensors. Integers, complex numbers and 8-bit floats cannot.
 */
enum StoredType {
    F16(Short.BYTES, 11, FloatFormat.FLOAT16),
    /** The upper half of a {@code float}. No array of this type is created: on PyTorch that aborts the JVM. */
    BF16(Short.BYTES, 8, null),
    F32(Float.BYTES, 24, FloatFormat.FLOAT32),
    F64(Double.BYTES, 53, FloatFormat.FLOAT64);

    private final int bytes;
    private final int significantBits;
    private final FloatFormat format;

    StoredType(int bytes, int significantBits, FloatFormat format) {
        this.bytes = bytes;
        this.significantBits = significantBits;
        this.format = format;
    }

    int bytes() {
        return bytes;
    }

    /** Returns the format that has the same bits, or null. */
    FloatFormat format() {
        return format;
    }

    /** Returns a stored number exactly; {@code index} counts numbers from the start of the buffer. */
    double get(ByteBuffer raw, int index) {
        return switch (this) {
            case F16 -> half(raw.getShort(index * Short.BYTES));
            case BF16 -> Float.intBitsToFloat(raw.getShort(index * Short.BYTES) << 16);
            case F32 -> raw.getFloat(index * Float.BYTES);
            case F64 -> raw.getDouble(index * Double.BYTES);
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

    /** Returns whether a format represents every number of this type. */
    boolean fitsInto(FloatFormat wanted) {
        return format == wanted || bytes < wanted.bytes();
    }

    /** Returns the greatest error of rounding a number of [-1, 1] to this type. */
    double halfUlp() {
        return Math.scalb(0.5, -significantBits);
    }
}
