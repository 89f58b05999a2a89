package io.github.djlpositional.math;

import java.nio.ByteBuffer;

/** A binary floating-point format of IEEE 754. Real numbers are rounded to nearest, ties to even. */
public enum FloatFormat {
    /** 11 significant bits, largest finite value 65504. */
    FLOAT16(Short.BYTES),

    /** 24 significant bits, Java's {@code float}. */
    FLOAT32(Float.BYTES),

    /** 53 significant bits, Java's {@code double}. */
    FLOAT64(Double.BYTES);

    /** The smallest number that rounds to infinity, half-way between 65504 and 65536. */
    private static final double OVERFLOW_16 = 65520;

    private static final int MIN_EXPONENT_16 = -14;
    private static final int BIAS_16 = 15;

    private final int bytes;

    FloatFormat(int bytes) {
        this.bytes = bytes;
    }

    /** {@return the size of a stored number, 2, 4 or 8 bytes} */
    public int bytes() {
        return bytes;
    }

    /**
     * Returns the number of this format that is nearest to a value, ties to the one with an even last bit.
     *
     * @param value any double
     * @return the nearest number of this format, as a double
     */
    public double round(double value) {
        if (this == FLOAT32) {
            return (float) value;
        }
        return this == FLOAT64 ? value : round16(value);
    }

    private static double round16(double value) {
        if (Math.abs(value) >= OVERFLOW_16) {
            return Math.copySign(Double.POSITIVE_INFINITY, value);
        }
        double spacing = Math.scalb(1.0, exponent16(value) - 10);
        return Math.copySign(Math.rint(value / spacing) * spacing, value);
    }

    /**
     * Stores the number of this format that is nearest to a value.
     *
     * @param buffer the destination, written in its byte order; its position does not change
     * @param index the index of the number, counted in numbers from the start of the buffer
     * @param value any double
     * @throws IndexOutOfBoundsException if the number is not within the buffer's limit
     * @throws java.nio.ReadOnlyBufferException if the buffer is read-only
     */
    public void put(ByteBuffer buffer, int index, double value) {
        if (this == FLOAT32) {
            buffer.putFloat(index * Float.BYTES, (float) value);
        } else if (this == FLOAT64) {
            buffer.putDouble(index * Double.BYTES, value);
        } else {
            buffer.putShort(index * Short.BYTES, bits16(value));
        }
    }

    private static short bits16(double value) {
        int sign = (int) (Double.doubleToRawLongBits(value) >>> 48) & 0x8000;
        if (Double.isNaN(value)) {
            return (short) 0x7e00;
        }
        if (Math.abs(value) >= OVERFLOW_16) {
            return (short) (sign | 0x7c00);
        }
        int exponent = exponent16(value);
        // 1024 to 2048 for a normal number: the leading 1, and a carry from the rounding, increment the exponent field
        int significand = (int) Math.rint(Math.scalb(Math.abs(value), 10 - exponent));
        return (short) (sign | (((exponent + BIAS_16 - 1) << 10) + significand));
    }

    /** The exponent of a number's leading bit, or of the smallest normal number if it is subnormal. */
    private static int exponent16(double value) {
        return Math.max(Math.getExponent(value), MIN_EXPONENT_16);
    }
}
