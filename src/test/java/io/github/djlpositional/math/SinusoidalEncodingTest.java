package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SinusoidalEncodingTest {

    /** An encoding, and the rows (position, dimension, value) that a file of reference values has for it. */
    record Reference(SinusoidalEncoding encoding, List<Row> rows) {
        record Row(int position, int dimension, BigDecimal value) {}

        @Override
        public String toString() {
            return rows.size() + " values of " + encoding;
        }
    }

    private static Stream<Reference> read(String file, int keys, Function<String[], SinusoidalEncoding> encoding) {
        Map<String, Reference> references = new HashMap<>();
        for (String[] row : Goldens.rows(file)) {
            references
                    .computeIfAbsent(
                            String.join(" ", Arrays.copyOf(row, keys)),
                            key -> new Reference(encoding.apply(row), new ArrayList<>()))
                    .rows()
                    .add(new Reference.Row(
                            Integer.parseInt(row[keys]),
                            Integer.parseInt(row[keys + 1]),
                            new BigDecimal(row[keys + 2])));
        }
        return references.values().stream();
    }

    static Stream<Reference> references() {
        return Stream.of(
                        read(
                                "sinusoidal_vaswani.csv",
                                2,
                                row -> SinusoidalEncoding.vaswani(
                                        Integer.parseInt(row[0]), Double.parseDouble(row[1]))),
                        read(
                                "zero_crossings.csv",
                                2,
                                row -> SinusoidalEncoding.vaswani(
                                        Integer.parseInt(row[0]), Double.parseDouble(row[1]))),
                        read(
                                "sinusoidal_rounded_up.csv",
                                2,
                                row -> SinusoidalEncoding.builder()
                                        .setEmbeddingSize(Integer.parseInt(row[0]))
                                        .optBase(Double.parseDouble(row[1]))
                                        .optOddSize(OddSize.ROUNDED_UP)
                                        .build()),
                        read(
                                "sinusoidal_tensor2tensor.csv",
                                3,
                                row -> SinusoidalEncoding.tensor2tensor(
                                        Integer.parseInt(row[0]),
                                        Double.parseDouble(row[1]),
                                        Double.parseDouble(row[2]))))
                .flatMap(references -> references);
    }

    @ParameterizedTest
    @MethodSource("references")
    void tableIsWithinHalfAnUlpOfTheReference(Reference reference) {
        int size = reference.encoding().getEmbeddingSize();
        for (Reference.Row row : reference.rows()) {
            float alone = reference.encoding().table(row.position(), 1)[row.dimension()];
            assertThat(Goldens.floatUlps(alone, row.value())).as("%s", row).isLessThanOrEqualTo(0.501);
            // the same value amid others, where it comes from a rotation
            int before = Math.min(row.position(), 37);
            float rotated = reference.encoding().table(row.position() - before, 60)[before * size + row.dimension()];
            assertThat(rotated).as("%s", row).isEqualTo(alone);
        }
    }

    @ParameterizedTest
    @MethodSource("references")
    void valueIsWithinTwoDoubleUlpsOfTheReference(Reference reference) {
        // StrictMath's sine and cosine are within 1 ulp; the correction's product and sum add less than another
        for (Reference.Row row : reference.rows()) {
            double value = reference.encoding().value(row.position(), row.dimension());
            assertThat(Goldens.doubleUlps(value, row.value())).as("%s", row).isLessThanOrEqualTo(2);
        }
    }

    @Test
    void isRightInEveryDimensionAtPosition16777215() {
        // 2^24 - 1, the last position that a float counts exactly; reference: goldens/sinusoidal_vaswani.csv
        List<String[]> rows = Goldens.rows("sinusoidal_vaswani.csv").stream()
                .filter(row -> row[0].equals("64") && row[2].equals("16777215"))
                .toList();
        assertThat(rows).hasSize(64);
        float[] table = SinusoidalEncoding.vaswani(64).table(16_777_000, 216);
        for (String[] row : rows) {
            float value = table[215 * 64 + Integer.parseInt(row[3])];
            assertThat(Goldens.floatUlps(value, new BigDecimal(row[4]))).isLessThanOrEqualTo(0.501);
        }
    }

    @Test
    void usualFloatFormulaIsAsWrongAsTheDocumentationSays() {
        // what this library is measured against: position * exp(2k * -ln(10000) / d), all in float
        double worst = 0;
        SinusoidalEncoding exact = SinusoidalEncoding.vaswani(512);
        for (int pair = 0; pair < 256; pair++) {
            float frequency = (float) Math.exp(2 * pair * (float) (-Math.log(10_000) / 512));
            float angle = 4999f * frequency;
            worst = Math.max(worst, Math.abs(Math.sin(angle) - exact.value(4999, 2 * pair)));
        }
        assertThat(worst).isBetween(1e-4, 1e-3);
    }

    static Stream<SinusoidalEncoding> conventions() {
        return Stream.of(
                SinusoidalEncoding.vaswani(64),
                SinusoidalEncoding.vaswani(7),
                SinusoidalEncoding.vaswani(1),
                SinusoidalEncoding.vaswani(32, 1e9),
                SinusoidalEncoding.tensor2tensor(33, 1, 10_000),
                SinusoidalEncoding.tensor2tensor(1, 1, 10_000),
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(10)
                        .optLayout(PairLayout.CONCATENATED)
                        .optCosineFirst(true)
                        .build(),
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(4)
                        .optFrequencies(Frequencies.of(0.3, -1e-9))
                        .build());
    }

    @ParameterizedTest
    @MethodSource("conventions")
    void tableIsTheValueRoundedOnce(SinusoidalEncoding encoding) {
        int size = encoding.getEmbeddingSize();
        for (int start : new int[] {0, 1, 4999, 1_000_000, -50}) {
            float[] table = encoding.table(start, 101);
            for (int row = 0; row < 101; row++) {
                for (int dimension = 0; dimension < size; dimension++) {
                    assertThat(table[row * size + dimension]).isEqualTo((float) encoding.value(start + row, dimension));
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("conventions")
    void everyFormatGetsTheValueRoundedOnce(SinusoidalEncoding encoding) {
        int size = encoding.getEmbeddingSize();
        for (FloatFormat format : FloatFormat.values()) {
            ByteBuffer expected =
                    ByteBuffer.allocate(60 * size * format.bytes()).order(ByteOrder.nativeOrder());
            double[] positions = new double[60];
            for (int row = 0; row < 60; row++) {
                positions[row] = 900 + row;
                for (int dimension = 0; dimension < size; dimension++) {
                    format.put(expected, row * size + dimension, encoding.value(900 + row, dimension));
                }
            }
            ByteBuffer consecutive = ByteBuffer.allocate(expected.capacity()).order(ByteOrder.nativeOrder());
            encoding.write(900, 60, format, consecutive);
            assertThat(consecutive).isEqualTo(expected);
            ByteBuffer listed = ByteBuffer.allocate(expected.capacity()).order(ByteOrder.nativeOrder());
            encoding.write(positions, format, listed);
            assertThat(listed).isEqualTo(expected);
        }
    }

    @Test
    void tableIsTheSameHoweverItIsSplit() {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(48);
        float[] whole = encoding.table(0, 5000);
        float[] joined = new float[whole.length];
        for (int start = 0; start < 5000; start += 617) {
            float[] part = encoding.table(start, Math.min(617, 5000 - start));
            System.arraycopy(part, 0, joined, start * 48, part.length);
        }
        assertThat(joined).isEqualTo(whole);
    }

    @Test
    void interleavesSineAndCosineOfEachFrequency() {
        SinusoidalEncoding encoding = SinusoidalEncoding.builder()
                .setEmbeddingSize(4)
                .optFrequencies(Frequencies.of(0.5, 2))
                .build();
        assertThat(encoding.value(3, 0)).isEqualTo(StrictMath.sin(1.5));
        assertThat(encoding.value(3, 1)).isEqualTo(StrictMath.cos(1.5));
        assertThat(encoding.value(3, 2)).isEqualTo(StrictMath.sin(6));
        assertThat(encoding.value(3, 3)).isEqualTo(StrictMath.cos(6));
    }

    @Test
    void concatenatesCosinesBeforeSinesWhereAsked() {
        SinusoidalEncoding encoding = SinusoidalEncoding.builder()
                .setEmbeddingSize(4)
                .optFrequencies(Frequencies.of(0.5, 2))
                .optLayout(PairLayout.CONCATENATED)
                .optCosineFirst(true)
                .build();
        assertThat(encoding.value(3, 0)).isEqualTo(StrictMath.cos(1.5));
        assertThat(encoding.value(3, 1)).isEqualTo(StrictMath.cos(6));
        assertThat(encoding.value(3, 2)).isEqualTo(StrictMath.sin(1.5));
        assertThat(encoding.value(3, 3)).isEqualTo(StrictMath.sin(6));
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
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(4)
                        .optFrequencies(Frequencies.of(0.3, -2))
                        .build(),
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(8)
                        .optLayout(PairLayout.CONCATENATED)
                        .optCosineFirst(true)
                        .build())) {
            double[][] shift = encoding.shift(offset);
            for (double position : new double[] {0, 1, 99, 12345.5}) {
                for (int row = 0; row < encoding.getEmbeddingSize(); row++) {
                    double moved = 0;
                    for (int column = 0; column < encoding.getEmbeddingSize(); column++) {
                        moved += shift[row][column] * encoding.value(position, column);
                    }
                    // two products and a sum of numbers up to 1, each right to an ulp (2^-53): below 8 · 2^-53
                    assertThat(moved).isCloseTo(encoding.value(position + offset, row), within(0x1p-50));
                }
            }
        }
    }

    @Test
    void emptyTableIsEmpty() {
        assertThat(SinusoidalEncoding.vaswani(512).table(7, 0)).isEmpty();
    }

    @Test
    void equalsAnotherOfTheSameFunction() {
        assertThat(SinusoidalEncoding.vaswani(64))
                .isEqualTo(SinusoidalEncoding.builder().setEmbeddingSize(64).build())
                .hasSameHashCodeAs(SinusoidalEncoding.vaswani(64))
                .isNotEqualTo(SinusoidalEncoding.vaswani(62))
                .isNotEqualTo(SinusoidalEncoding.vaswani(64, 500))
                .isNotEqualTo(SinusoidalEncoding.builder()
                        .setEmbeddingSize(64)
                        .optCosineFirst(true)
                        .build());
    }

    @Test
    void printsItsSettings() {
        assertThat(SinusoidalEncoding.vaswani(7))
                .hasToString(
                        "SinusoidalEncoding(embeddingSize=7, frequencies=geometric(count=4, base=10000.0, period=3.5),"
                                + " layout=INTERLEAVED, cosineFirst=false, oddSize=KEPT_IN_EXPONENT)");
    }
}
