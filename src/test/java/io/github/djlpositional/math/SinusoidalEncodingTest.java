package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tables, shifts and similarities, and statements of papers, books and tutorials about the sinusoidal encoding. */
class SinusoidalEncodingTest {

    private static final SinusoidalEncoding PAPER = SinusoidalEncoding.vaswani(512);

    private static final SinusoidalEncoding COSINES_FIRST = SinusoidalEncoding.builder()
            .setEmbeddingSize(10)
            .optLayout(PairLayout.CONCATENATED)
            .optCosineFirst(true)
            .build();

    private static SinusoidalEncoding given(double... frequencies) {
        return SinusoidalEncoding.builder()
                .setEmbeddingSize(2 * frequencies.length)
                .optFrequencies(Frequencies.of(frequencies))
                .build();
    }

    static Stream<SinusoidalEncoding> conventions() {
        return Stream.of(
                SinusoidalEncoding.vaswani(64),
                SinusoidalEncoding.vaswani(7),
                SinusoidalEncoding.vaswani(1),
                SinusoidalEncoding.vaswani(32, 1e9),
                SinusoidalEncoding.tensor2tensor(33, 1, 10_000),
                SinusoidalEncoding.tensor2tensor(1, 1, 10_000),
                COSINES_FIRST,
                given(0.3, -1e-9));
    }

    @ParameterizedTest
    @MethodSource("conventions")
    void tablesOfEveryFormatAreTheValuesRoundedOnce(SinusoidalEncoding encoding) {
        int size = encoding.getEmbeddingSize();
        for (int start : new int[] {0, 1, 4999, 1_000_000, -50}) {
            // consecutive positions are computed by rotation
            assertRounded(encoding, start, 1);
            float[] table = encoding.table(start, 101);
            for (int i = 0; i < table.length; i++) {
                assertThat(table[i]).isEqualTo((float) encoding.value(start + i / size, i % size));
            }
        }
        assertRounded(encoding, 4999, -1);
        assertRounded(encoding, 0.25, 1);
    }

    private static void assertRounded(SinusoidalEncoding encoding, double start, int step) {
        int size = encoding.getEmbeddingSize();
        double[] positions =
                IntStream.range(0, 101).mapToDouble(i -> start + step * i).toArray();
        for (FloatFormat format : FloatFormat.values()) {
            ByteBuffer expected = buffer(positions.length * size * format.bytes());
            for (int i = 0; i < positions.length * size; i++) {
                format.put(expected, i, encoding.value(positions[i / size], i % size));
            }
            ByteBuffer actual = buffer(expected.capacity());
            encoding.write(positions, format, actual);
            assertThat(actual).isEqualTo(expected);
        }
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.nativeOrder());
    }

    @Test
    void interleavesSinesAndCosinesOrConcatenatesThem() {
        double[] interleaved = {StrictMath.sin(1.5), StrictMath.cos(1.5), StrictMath.sin(6), StrictMath.cos(6)};
        double[] concatenated = {StrictMath.cos(1.5), StrictMath.cos(6), StrictMath.sin(1.5), StrictMath.sin(6)};
        SinusoidalEncoding cosinesFirst = SinusoidalEncoding.builder()
                .setEmbeddingSize(4)
                .optFrequencies(Frequencies.of(0.5, 2))
                .optLayout(PairLayout.CONCATENATED)
                .optCosineFirst(true)
                .build();
        for (int dimension = 0; dimension < 4; dimension++) {
            assertThat(given(0.5, 2).value(3, dimension)).isEqualTo(interleaved[dimension]);
            assertThat(cosinesFirst.value(3, dimension)).isEqualTo(concatenated[dimension]);
        }
    }

    @Test
    void eachDimensionHasTheFrequencyOfItsPair() {
        // two pairs, 1 and 1/10000, all sines, then all cosines, then the zero of the odd size
        SinusoidalEncoding encoding = SinusoidalEncoding.fairseq(5);
        assertThat(IntStream.range(0, 5).mapToDouble(encoding::frequency)).containsExactly(1.0, 1e-4, 1.0, 1e-4, 0.0);
    }

    @Test
    void roundedUpIsTheNextEvenSizeWithoutItsLastDimension() {
        float[] odd = SinusoidalEncoding.roundedUp(5).table(0, 20);
        float[] even = SinusoidalEncoding.vaswani(6).table(0, 20);
        for (int i = 0; i < odd.length; i++) {
            assertThat(odd[i]).isEqualTo(even[i / 5 * 6 + i % 5]);
        }
        assertThat(SinusoidalEncoding.roundedUp(6).table(0, 20)).isEqualTo(even);
    }

    private static double[] vector(SinusoidalEncoding encoding, double position) {
        return IntStream.range(0, encoding.getEmbeddingSize())
                .mapToDouble(dimension -> encoding.value(position, dimension))
                .toArray();
    }

    private static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
    }

    private static double[] column(double[][] matrix, int column) {
        return Arrays.stream(matrix).mapToDouble(row -> row[column]).toArray();
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 7, -3, 0.25, 1000, -1e6})
    void shiftMovesEveryPosition(double offset) {
        for (SinusoidalEncoding encoding : List.of(
                SinusoidalEncoding.vaswani(64),
                SinusoidalEncoding.tensor2tensor(17, 1, 10_000),
                SinusoidalEncoding.fairseq(16),
                SinusoidalEncoding.roundedUp(6),
                SinusoidalEncoding.bert4keras(8, 500),
                SinusoidalEncoding.xTransformers(16),
                SinusoidalEncoding.diffusion(17),
                SinusoidalEncoding.diffusion(16, 0, 0.5, true),
                given(0.3, -2),
                COSINES_FIRST)) {
            double[][] shift = encoding.shift(offset);
            for (double position : new double[] {0, 1, 99, 12345.5}) {
                double[] before = vector(encoding, position);
                double[] after = vector(encoding, position + offset);
                for (int row = 0; row < after.length; row++) {
                    // two products and a sum of numbers up to 1, each right to an ulp (2^-53): below 8 · 2^-53
                    assertThat(dot(shift[row], before)).isCloseTo(after[row], within(0x1p-50));
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 7, -3, 0.25, 1e5})
    void shiftsAreOrthogonal(double offset) {
        double[][] shift = SinusoidalEncoding.vaswani(32).shift(offset);
        for (int i = 0; i < 32; i++) {
            for (int j = 0; j < 32; j++) {
                assertThat(dot(shift[i], shift[j])).isCloseTo(i == j ? 1 : 0, within(0x1p-51));
            }
        }
    }

    @Test
    void shiftsAddUp() {
        for (SinusoidalEncoding encoding : List.of(
                SinusoidalEncoding.tensor2tensor(17, 1, 10_000), SinusoidalEncoding.diffusion(17, 0, 1, true))) {
            for (double[] offsets : new double[][] {{1, 2}, {-5, 3.5}, {1000, -1000}, {0.1, 0.2}}) {
                double[][] first = encoding.shift(offsets[0]);
                double[][] second = encoding.shift(offsets[1]);
                double[][] sum = encoding.shift(offsets[0] + offsets[1]);
                for (int i = 0; i < 17; i++) {
                    for (int j = 0; j < 17; j++) {
                        assertThat(dot(first[i], column(second, j))).isCloseTo(sum[i][j], within(0x1p-51));
                    }
                }
            }
        }
    }

    @Test
    void similarityIsTheDotProductOfAnyTwoPositionsThatFarApart() {
        for (SinusoidalEncoding encoding : List.of(PAPER, SinusoidalEncoding.tensor2tensor(33, 1, 10_000))) {
            for (double offset : new double[] {0, 1, -7, 0.5, 100}) {
                for (int position : new int[] {0, 3, 4999, 1_000_000}) {
                    double product = dot(vector(encoding, position), vector(encoding, position + offset));
                    // 512 products of values right to an ulp, and their sum up to 256
                    assertThat(encoding.similarity(offset)).isCloseTo(product, within(1e-11));
                }
            }
        }
    }

    @Test
    void similarityIsSymmetricAndDecaysOverTheFirstOffsets() {
        // every vector has the norm √(512 / 2)
        assertThat(PAPER.similarity(0)).isEqualTo(256);
        for (int offset = 1; offset < 1000; offset++) {
            assertThat(PAPER.similarity(-offset)).isEqualTo(PAPER.similarity(offset));
        }
        for (int offset = 1; offset <= 5; offset++) {
            assertThat(PAPER.similarity(offset)).isLessThan(PAPER.similarity(offset - 1));
        }
    }

    @Test
    void usualFloatFormulaIsAsWrongAsTheDocumentationSays() {
        // position * exp(2k * -ln(10000) / d), all in float
        double worst = 0;
        for (int pair = 0; pair < 256; pair++) {
            float frequency = (float) Math.exp(2 * pair * (float) (-Math.log(10_000) / 512));
            float angle = 4999f * frequency;
            worst = Math.max(worst, Math.abs(Math.sin(angle) - PAPER.value(4999, 2 * pair)));
        }
        assertThat(worst).isBetween(1e-4, 1e-3);
    }

    @Test
    void everyPositionUpTo1048576HasItsOwnVector() {
        // the first pair of floats, as 64 bits
        float[] table = given(1).table(0, 1 << 20);
        Set<Long> seen = new HashSet<>();
        for (int i = 0; i < table.length; i += 2) {
            seen.add(((long) Float.floatToIntBits(table[i]) << 32) + Float.floatToIntBits(table[i + 1]));
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
    void frequenciesAreThoseOfTheDimensions() {
        assertThat(SinusoidalEncoding.fairseq(5).frequency(4)).isZero();
        assertThat(SinusoidalEncoding.fairseq(8).frequency(7))
                .isEqualTo(SinusoidalEncoding.fairseq(8).frequency(3));
        assertThat(SinusoidalEncoding.vaswani(8).frequency(3)).isEqualTo(0.1);
    }

    @Test
    void wavelengthsGoFromTwoPiToAlmostTenThousandTwoPi() {
        // "from 2π to 10000 · 2π" says the paper; the last is 10000^((d-2)/d) · 2π, 9647 · 2π for d = 512
        assertThat(PAPER.frequency(0)).isEqualTo(1);
        assertThat(1 / PAPER.frequency(511))
                .isCloseTo(Math.pow(10_000, 510.0 / 512), within(1e-8))
                .isBetween(9646.0, 9647.0);
    }

    /**
     * In dimensions 100 and 101, a wavelength is 37.97, so positions 22 and 60 are alike; the sine is for 22 and 35.
     */
    @Test
    void positionsAreAlikeInDimensions100And101() {
        assertThat(2 * Math.PI / PAPER.frequency(100)).isCloseTo(37.97, within(0.01));
        assertThat(difference(22, 60, 100)).isLessThan(0.006);
        assertThat(difference(22, 60, 101)).isLessThan(0.006);
        assertThat(difference(22, 35, 100)).isCloseTo(0.007, within(0.0005));
        assertThat(difference(22, 35, 101)).isCloseTo(1.76, within(0.005));
        // a widely read book says 25 and 35, whose sines differ much
        assertThat(difference(25, 35, 100)).isCloseTo(0.37, within(0.005));
    }

    private static double difference(int position, int other, int dimension) {
        return Math.abs(PAPER.value(position, dimension) - PAPER.value(other, dimension));
    }

    @Test
    void theWorkedExampleForPosition3OfSize4IsNotTheOneThatCirculates() {
        // tutorials have [0.1411, 0.9900, 0.9801, 0.1987], from the frequencies 1 and 0.1; they are 1 and 0.01
        double[] expected = {0.14112, -0.98999, 0.0299955, 0.99955};
        double[] actual = vector(SinusoidalEncoding.vaswani(4), 3);
        assertThat(actual).containsExactly(expected, within(5e-6));
        assertThat(actual[2]).isCloseTo(0.0299955, within(5e-8));
        // where the circulating second pair comes from: the angle 0.2, which no frequency of theirs gives at 3
        assertThat(StrictMath.cos(0.2)).isCloseTo(0.9801, within(5e-5));
        assertThat(StrictMath.sin(0.2)).isCloseTo(0.1987, within(5e-5));
    }

    private static final Map<String, SinusoidalEncoding> PAGE = Map.ofEntries(
            Map.entry("vaswani(8)", SinusoidalEncoding.vaswani(8)),
            Map.entry("tensor2tensor(8, 1, 10_000)", SinusoidalEncoding.tensor2tensor(8, 1, 10_000)),
            Map.entry("fairseq(8)", SinusoidalEncoding.fairseq(8)),
            Map.entry("roundedUp(8)", SinusoidalEncoding.roundedUp(8)),
            Map.entry("bert4keras(8, 10_000)", SinusoidalEncoding.bert4keras(8, 10_000)),
            Map.entry("xTransformers(8)", SinusoidalEncoding.xTransformers(8)),
            Map.entry("diffusion(8)", SinusoidalEncoding.diffusion(8)),
            Map.entry("diffusion(8, 0, 1, true)", SinusoidalEncoding.diffusion(8, 0, 1, true)),
            Map.entry("diffusion(8, 1, 1, true)", SinusoidalEncoding.diffusion(8, 1, 1, true)),
            Map.entry(
                    "builder().setEmbeddingSize(8).optCosineFirst(true).build()",
                    SinusoidalEncoding.builder()
                            .setEmbeddingSize(8)
                            .optCosineFirst(true)
                            .build()),
            Map.entry(
                    "builder().setEmbeddingSize(8).optFrequencies(Frequencies.of(1, 0.5, 0.25, 0.125)).build()",
                    given(1, 0.5, 0.25, 0.125)));

    @Test
    void thePageOfConventionsListsTheirValues() throws IOException {
        // a row of the table: | name | `configuration` | where it is used | values at position 1 |
        String page = Files.readString(Path.of("docs", "conventions.md"));
        PAGE.forEach((configuration, encoding) -> {
            String values = DoubleStream.of(vector(encoding, 1))
                    .mapToObj(value -> String.format(Locale.ROOT, "%.5f", value))
                    .collect(Collectors.joining(" "));
            assertThat(page)
                    .containsPattern("(?m)^\\| [^|]+ \\| " + Pattern.quote("`" + configuration + "`")
                            + " \\| [^|]+ \\| " + Pattern.quote(values) + " \\|$");
        });
    }
}
