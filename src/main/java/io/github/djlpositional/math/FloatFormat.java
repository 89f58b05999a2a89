package io.github.djlpositional.math;

import java.nio.ByteBuffer;

/** A binary floating-point format of IEEE 754: how a real number is rounded to it (to nearest, ties to even) and stored. */
public enum FloatFormat {
    /** 11 significant bits, largest value 65504. */
    FLOAT16(Short.BYTES) {
        @Override
        public double round(double value) {
            if (Math.abs(value) >= OVERFLOW_16) {
                return Math.copySign(Double.POSITIVE_INFINITY, value);
            }
            double spacing = Math.scalb(1.0, exponent16(value) - 10);
            return Math.copySign(Math.rint(value / spacing) * spacing, value);
        }

        @Override
        public void put(ByteBuffer buffer, int index, double value) {
            buffer.putShort(index * Short.BYTES, bits16(value));
        }
    },

    /** 24 significant bits: Java's {@code float}. */
    FLOAT32(Float.BYTES) {
        @Override
        public double round(double value) {
            return (float) value;
        }

        @Override
        public void put(ByteBuffer buffer, int index, double value) {
            buffer.putFloat(index * Float.BYTES, (float) value);
        }
    },

    /** 53 significant bits: Java's {@code double}. */
    FLOAT64(Double.BYTES) {
        @Override
        public double round(double value) {
            return value;
        }

        @Override
        public void put(ByteBuffer buffer, int index, double value) {
            buffer.putDouble(index * Double.BYTES, value);
        }
    };

    /** The least number that rounds to infinity: half-way between 65504 and 65536. */
    private static final double OVERFLOW_16 = 65520;

    private static final int MIN_EXPONENT_16 = -14;
    private static final int BIAS_16 = 15;

    private final int bytes;

    FloatFormat(int bytes) {
        this.bytes = bytes;
    }

    /** The exponent of the format's spacing at a number: below the normal range the spacing stays what it is there. */
    private static int exponent16(double value) {
        return Math.max(Math.getExponent(value), MIN_EXPONENT_16);
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
        // 1024 … 2048 for a normal number: its leading 1, and a carry out of the rounding, count up the exponent field
        int significand = (int) Math.rint(Math.scalb(Math.abs(value), 10 - exponent));
        return (short) (sign | (((exponent + BIAS_16 - 1) << 10) + significand));
    }

    /**
     * Returns the size of one stored number.
     *
     * @return 2, 4 or 8 bytes
     */
    public int bytes() {
        return bytes;
    }

    /**
     * Returns the number of this format that is nearest to a value, ties to the one with an even last bit.
     *
     * @param value any double
     * @return the nearest number of this format, as a double
     */
    public abstract double round(double value);

    /**
     * Stores the number of this format that is nearest to a value.
     *
     * @param buffer where it goes, in the buffer's byte order; its position stays
     * @param index the number's place, counted in numbers from the buffer's start
     * @param value any double
     * @throws IndexOutOfBoundsException if the number's place is not within the buffer's limit
     * @throws java.nio.ReadOnlyBufferException if nothing can be written to the buffer
     */
    public abstract void put(ByteBuffer buffer, int index, double value);
}
