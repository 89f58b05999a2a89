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
        // half-way between 65504 and 65536
        if (Math.abs(value) >= 65520) {
            return Math.copySign(Double.POSITIVE_INFINITY, value);
        }
        // the exponent of the leading bit, or of the smallest normal number if the value is subnormal
        int exponent = Math.max(Math.getExponent(value), -14);
        // 1.5 · 2^52 spacings: the sum has no bits for less than a spacing
        double shift = 1.5 * Double.longBitsToDouble((exponent - 10 + 52L + Double.MAX_EXPONENT) << 52);
        return Math.copySign(value + shift - shift, value);
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

    /** Infinity is encoded as 65536 would be, whose exponent is one too large. */
    private static short bits16(double value) {
        double magnitude = Math.min(Math.abs(round16(value)), 0x1p16);
        // the exponent of a float is greater by 127 - 15 = 112, its fraction longer by 23 - 10 = 13 bits
        int bits = Float.floatToRawIntBits((float) (magnitude * 0x1p-112)) >>> 13;
        int sign = (int) (Double.doubleToRawLongBits(value) >>> 48) & 0x8000;
        return (short) (sign | (bits & 0x7fff));
    }
}
