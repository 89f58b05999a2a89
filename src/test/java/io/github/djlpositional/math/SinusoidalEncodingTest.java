package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.refusals.Expression;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
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

    private static SinusoidalEncoding custom(double... frequencies) {
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
                custom(0.3, -1e-9));
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

    @ParameterizedTest
    @EnumSource
    void consecutiveRotationsAreThoseOfTheirPositions(FloatFormat format) {
        RotaryRows rows = new RotaryRows(RotaryScaling.none().frequencies(32, 10_000), PairLayout.CONCATENATED, 1.28);
        int rowBytes = 32 * format.bytes();
        ByteBuffer consecutive = buffer(500 * rowBytes);
        rows.write(IntStream.range(1000, 1500).asDoubleStream().toArray(), format, consecutive);
        for (int i = 0; i < 500; i++) {
            ByteBuffer twice = buffer(2 * rowBytes);
            rows.write(new double[] {1000 + i, 1000 + i}, format, twice);
            assertThat(consecutive.slice(i * rowBytes, rowBytes)).isEqualTo(twice.slice(0, rowBytes));
        }
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.nativeOrder());
    }

    private static double[] vector(SinusoidalEncoding encoding, double position) {
        return IntStream.range(0, encoding.getEmbeddingSize())
                .mapToDouble(dimension -> encoding.value(position, dimension))
                .toArray();
    }

    private static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
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
                custom(0.3, -2),
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

    /** The rows of the table: a name, a configuration, where it is used, and the values at position 1. */
    @Test
    void thePageOfConventionsListsTheirValues() throws Exception {
        List<MatchResult> rows = Pattern.compile("\\| `(\\w+\\(4.*)` \\| [^|]+ \\| ([-.0-9 ]+) \\|")
                .matcher(Files.readString(Path.of("docs", "encodings.md")))
                .results()
                .toList();
        assertThat(rows).hasSize(9);
        for (MatchResult row : rows) {
            String configuration = "SinusoidalEncoding." + row.group(1).replaceAll("(\\d)_(\\d)", "$1$2");
            SinusoidalEncoding encoding = (SinusoidalEncoding) Expression.valueOf(configuration);
            double[] values = Stream.of(row.group(2).split(" ", -1))
                    .mapToDouble(Double::parseDouble)
                    .toArray();
            assertThat(vector(encoding, 1)).as(configuration).containsExactly(values, within(5e-6));
        }
    }
}
