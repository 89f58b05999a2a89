package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What papers, books and tutorials say of the sinusoidal encoding, put to the test. */
class LiteratureTest {

    private static final SinusoidalEncoding PAPER = SinusoidalEncoding.vaswani(512);

    @Test
    void everyPositionUpTo1048576HasItsOwnVector() {
        // the first pair of floats alone, as 64 bits
        float[] table = SinusoidalEncoding.builder()
                .setEmbeddingSize(2)
                .optFrequencies(Frequencies.geometric(1, 10_000, 256))
                .build()
                .table(0, 1 << 20);
        Set<Long> seen = new HashSet<>();
        for (int position = 0; position < 1 << 20; position++) {
            long bits = (long) Float.floatToIntBits(table[2 * position]) << 32
                    | (Float.floatToIntBits(table[2 * position + 1]) & 0xffffffffL);
            seen.add(bits);
        }
        assertThat(seen).hasSize(1 << 20);
    }

    @Test
    void everyValueIsInMinusOneToOne() {
        for (float value : PAPER.table(0, 5000)) {
            assertThat(value).isBetween(-1f, 1f);
        }
    }

    @Test
    void everyVectorHasTheNormRootOfHalfTheSize() {
        for (int position : new int[] {0, 1, 999, 1_000_000}) {
            double squares = 0;
            for (int dimension = 0; dimension < 512; dimension++) {
                squares += Math.pow(PAPER.value(position, dimension), 2);
            }
            // 512 squares of values right to an ulp, and their sum: below 512 · 2^-52 of 256
            assertThat(Math.sqrt(squares)).isCloseTo(16, within(1e-11));
        }
    }

    @Test
    void wavelengthsGoFromTwoPiToAlmostTenThousandTwoPi() {
        // "from 2π to 10000 · 2π" says the paper; the last is 10000^((d-2)/d) · 2π, 9647 · 2π for d = 512
        Frequencies frequencies = Frequencies.geometric(256, 10_000, 256);
        assertThat(2 * Math.PI / frequencies.get(0)).isEqualTo(2 * Math.PI);
        double last = 1 / frequencies.get(255);
        assertThat(last).isCloseTo(Math.pow(10_000, 510.0 / 512), within(1e-8));
        assertThat(last).isBetween(9646.0, 9647.0);
    }

    @Test
    void similarityIsTheDotProductOfAnyTwoPositionsThatFarApart() {
        for (SinusoidalEncoding encoding :
                new SinusoidalEncoding[] {PAPER, SinusoidalEncoding.tensor2tensor(33, 1, 10_000)}) {
            for (double offset : new double[] {0, 1, -7, 0.5, 100}) {
                for (int position : new int[] {0, 3, 4999}) {
                    double product = 0;
                    for (int dimension = 0; dimension < encoding.getEmbeddingSize(); dimension++) {
                        product += encoding.value(position, dimension) * encoding.value(position + offset, dimension);
                    }
                    // 512 products of values right to an ulp, and their sum up to 256
                    assertThat(encoding.similarity(offset)).isCloseTo(product, within(1e-11));
                }
            }
        }
    }

    @Test
    void similarityIsSymmetric() {
        for (int offset = 0; offset < 1000; offset++) {
            assertThat(PAPER.similarity(-offset)).isEqualTo(PAPER.similarity(offset));
        }
    }

    @Test
    void similarityDecaysOverTheFirstOffsets() {
        assertThat(PAPER.similarity(0)).isEqualTo(256);
        for (int offset = 1; offset <= 5; offset++) {
            assertThat(PAPER.similarity(offset)).isLessThan(PAPER.similarity(offset - 1));
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 7, -3, 0.25, 1e5})
    void shiftsAreOrthogonal(double offset) {
        double[][] shift = SinusoidalEncoding.vaswani(32).shift(offset);
        for (int i = 0; i < 32; i++) {
            for (int j = 0; j < 32; j++) {
                double product = 0;
                for (int k = 0; k < 32; k++) {
                    product += shift[i][k] * shift[j][k];
                }
                assertThat(product).isCloseTo(i == j ? 1 : 0, within(0x1p-51));
            }
        }
    }

    @Test
    void shiftsAddUp() {
        for (SinusoidalEncoding encoding : new SinusoidalEncoding[] {
            SinusoidalEncoding.tensor2tensor(17, 1, 10_000), SinusoidalEncoding.diffusion(17, 0, 1, true)
        }) {
            shiftsAddUp(encoding);
        }
    }

    private static void shiftsAddUp(SinusoidalEncoding encoding) {
        for (double[] offsets : new double[][] {{1, 2}, {-5, 3.5}, {1000, -1000}, {0.1, 0.2}}) {
            double[][] first = encoding.shift(offsets[0]);
            double[][] second = encoding.shift(offsets[1]);
            double[][] sum = encoding.shift(offsets[0] + offsets[1]);
            for (int i = 0; i < 17; i++) {
                for (int j = 0; j < 17; j++) {
                    double product = 0;
                    for (int k = 0; k < 17; k++) {
                        product += first[i][k] * second[k][j];
                    }
                    assertThat(product).isCloseTo(sum[i][j], within(0x1p-51));
                }
            }
        }
    }

    @Test
    void positions22And60AreAlikeInDimensions100And101() {
        // their wavelength is 37.97, and 60 - 22 = 38
        assertThat(2 * Math.PI / Frequencies.geometric(256, 10_000, 256).get(50))
                .isCloseTo(37.97, within(0.01));
        assertThat(Math.abs(PAPER.value(22, 100) - PAPER.value(60, 100))).isLessThan(0.006);
        assertThat(Math.abs(PAPER.value(22, 101) - PAPER.value(60, 101))).isLessThan(0.006);
    }

    @Test
    void theSineAloneCannotTellPositions22And35Apart() {
        assertThat(Math.abs(PAPER.value(22, 100) - PAPER.value(35, 100))).isCloseTo(0.007, within(0.0005));
        assertThat(Math.abs(PAPER.value(22, 101) - PAPER.value(35, 101))).isCloseTo(1.76, within(0.005));
        // a widely read book says 25 and 35, whose sines differ much
        assertThat(Math.abs(PAPER.value(25, 100) - PAPER.value(35, 100))).isCloseTo(0.37, within(0.005));
    }

    @Test
    void theWorkedExampleForPosition3OfSize4IsNotTheOneThatCirculates() {
        // tutorials have [0.1411, 0.9900, 0.9801, 0.1987], from the frequencies 1 and 0.1; they are 1 and 0.01
        Frequencies frequencies = Frequencies.geometric(2, 10_000, 2);
        assertThat(frequencies.get(0)).isEqualTo(1);
        assertThat(frequencies.get(1)).isEqualTo(0.01);
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        assertThat(encoding.value(3, 0)).isCloseTo(0.14112, within(5e-6));
        assertThat(encoding.value(3, 1)).isCloseTo(-0.98999, within(5e-6));
        // sin(0.03) = 0.0299955, cos(0.03) = 0.99955
        assertThat(encoding.value(3, 2)).isCloseTo(0.0299955, within(5e-8));
        assertThat(encoding.value(3, 3)).isCloseTo(0.99955, within(5e-6));
        // and where the circulating second pair comes from: the angle 0.2, which no frequency of theirs gives at 3
        assertThat(StrictMath.cos(0.2)).isCloseTo(0.9801, within(5e-5));
        assertThat(StrictMath.sin(0.2)).isCloseTo(0.1987, within(5e-5));
    }
}
