package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** The numbers that the bytes of a file stand for. */
class StoredTypeTest {

    /** IEEE 754's binary16: a sign, 5 bits of the exponent and 10 of the fraction. */
    @Test
    void everyHalfHasTheValueOfItsDefinition() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            ByteBuffer raw = ByteBuffer.allocate(2).putShort(0, (short) bits);
            int exponent = bits >> 10 & 31;
            double fraction = (bits & 1023) / 1024.0;
            double size = exponent == 31
                    ? (fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN)
                    : exponent == 0 ? Math.pow(2, -14) * fraction : Math.pow(2, exponent - 15.0) * (1 + fraction);
            assertThat(Double.valueOf(StoredType.F16.get(raw, 0)))
                    .isEqualTo(Double.valueOf(bits >> 15 == 0 ? size : -size));
        }
    }
}
