package io.github.djlpositional.weights;

import io.github.djlpositional.math.FloatFormat;
import java.nio.ByteBuffer;

/** A type of numbers that is read from files. Integers, complex numbers and eight-bit floats are not. */
enum StoredType {
    F16(Short.BYTES, 11, FloatFormat.FLOAT16) {
        @Override
        double get(ByteBuffer raw, int index) {
            short bits = raw.getShort(index * Short.BYTES);
            int exponent = (bits >> 10) & 0x1f;
            int fraction = bits & 0x3ff;
            double size;
            if (exponent == 0x1f) {
                size = fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
            } else if (exponent == 0) {
                size = fraction * 0x1p-24;
            } else {
                size = Math.scalb((double) (fraction | 0x400), exponent - 25);
            }
            return bits < 0 ? -size : size;
        }
    },

    /** The upper half of a {@code float}. DJL never sees it: an array of that type ends the JVM on PyTorch. */
    BF16(Short.BYTES, 8, null) {
        @Override
        double get(ByteBuffer raw, int index) {
            return Float.intBitsToFloat(raw.getShort(index * Short.BYTES) << 16);
        }
    },

    F32(Float.BYTES, 24, FloatFormat.FLOAT32) {
        @Override
        double get(ByteBuffer raw, int index) {
            return raw.getFloat(index * Float.BYTES);
        }
    },

    F64(Double.BYTES, 53, FloatFormat.FLOAT64) {
        @Override
        double get(ByteBuffer raw, int index) {
            return raw.getDouble(index * Double.BYTES);
        }
    };

    private final int bytes;
    private final int significantBits;
    private final FloatFormat format;

    StoredType(int bytes, int significantBits, FloatFormat format) {
        this.bytes = bytes;
        this.significantBits = significantBits;
        this.format = format;
    }

    /** The size of one stored number. */
    int bytes() {
        return bytes;
    }

    /** Returns a stored number, exactly; {@code index} counts numbers from the buffer's start, in the buffer's byte order. */
    abstract double get(ByteBuffer raw, int index);

    /** Whether a parameter of the format may hold these numbers as they are: each type goes into itself, and into wider ones. */
    boolean fitsInto(FloatFormat wanted) {
        return format == wanted || (wanted != FloatFormat.FLOAT16 && bytes < wanted.bytes());
    }

    /** Whether a number of this type has the very bits of one of the format. */
    boolean isStoredAs(FloatFormat wanted) {
        return format == wanted;
    }

    /** How far rounding to this type moves a number of [-1, 1] at most. */
    double halfUlp() {
        return Math.scalb(0.5, -significantBits);
    }
}
