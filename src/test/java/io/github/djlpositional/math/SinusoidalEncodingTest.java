package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.requireFloatUlps;
import static io.github.djlpositional.support.Goldens.requireUlps;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import io.github.djlpositional.support.Goldens;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The values of each convention, tables, shifts and similarities. */
class SinusoidalEncodingTest implements ArgumentsContract<SinusoidalEncoding> {

    private static final int MAX_SIZE = 1 << 21;

    private static final SinusoidalEncoding PAPER = SinusoidalEncoding.vaswani(512);

    private static final SinusoidalEncoding SMALL = SinusoidalEncoding.vaswani(8);

    private static final SinusoidalEncoding COSINES_FIRST =
            sized(10).optLayout(PairLayout.CONCATENATED).optCosineFirst(true).build();

    private static SinusoidalEncoding.Builder sized(int size) {
        return SinusoidalEncoding.builder().setEmbeddingSize(size);
    }

    private static SinusoidalEncoding custom(double... frequencies) {
        return sized(2 * frequencies.length)
                .optFrequencies(Frequencies.of(frequencies))
                .build();
    }

    @Override
    public List<SinusoidalEncoding> distinctValues() {
        return List.of(
                SinusoidalEncoding.vaswani(4),
                SinusoidalEncoding.vaswani(5),
                SinusoidalEncoding.vaswani(7),
                SinusoidalEncoding.vaswani(4, 500),
                SinusoidalEncoding.xTransformers(4),
                SinusoidalEncoding.fairseq(9),
                SinusoidalEncoding.roundedUp(9),
                SinusoidalEncoding.diffusion(8),
                SinusoidalEncoding.bert4keras(6, 1 / 3.0),
                sized(4).optCosineFirst(true).build());
    }

    @Override
    public SinusoidalEncoding fromArguments(Map<?, ?> arguments) {
        return SinusoidalEncoding.fromArguments(arguments);
    }

    // Reference values

    /** Vaswani et al. (2017), section 3.5, in 50-digit arithmetic. */
    @Test
    void valuesAreThoseOfThePaper() {
        requireReferenceValues(
                "sinusoidal_vaswani.csv",
                row -> SinusoidalEncoding.vaswani(Integer.parseInt(row[0]), Double.parseDouble(row[1])));
    }

    /** Positions at which a sine or a cosine is almost 0. */
    @Test
    void valuesNearZeroCrossingsAreThoseOfThePaper() {
        requireReferenceValues(
                "zero_crossings.csv",
                row -> SinusoidalEncoding.vaswani(Integer.parseInt(row[0]), Double.parseDouble(row[1])));
    }

    /** Géron's Keras layer. */
    @Test
    void valuesOfOddSizesMayBeThoseOfTheNextEvenSize() {
        requireReferenceValues(
                "sinusoidal_rounded_up.csv",
                row -> sized(Integer.parseInt(row[0]))
                        .optBase(Double.parseDouble(row[1]))
                        .optOddSize(OddSize.ROUNDED_UP)
                        .build());
        assertThat(SinusoidalEncoding.roundedUp(5))
                .isEqualTo(sized(5).optOddSize(OddSize.ROUNDED_UP).build());
    }

    /** get_timing_signal_1d of tensor2tensor. */
    @Test
    void valuesAreThoseOfTensor2tensor() {
        requireReferenceValues(
                "sinusoidal_tensor2tensor.csv",
                row -> SinusoidalEncoding.tensor2tensor(
                        Integer.parseInt(row[0]), Double.parseDouble(row[1]), Double.parseDouble(row[2])));
    }

    /** The published code of each convention. */
    @Test
    void valuesAreThoseOfOtherConventions() {
        requireReferenceValues("conventions.csv", row -> convention(row[0], Integer.parseInt(row[1])));
    }

    private static SinusoidalEncoding convention(String name, int size) {
        return switch (name) {
            case "ddpm" -> SinusoidalEncoding.diffusion(size);
            case "improved-diffusion" -> SinusoidalEncoding.diffusion(size, 0, 1, true);
            case "diffusers flipped" -> SinusoidalEncoding.diffusion(size, 1, 1, true);
            case "diffusers scale 1000" -> SinusoidalEncoding.diffusion(size, 0, 1000, false);
            case "bert4keras 10000" -> SinusoidalEncoding.bert4keras(size, 10_000);
            case "bert4keras 500" -> SinusoidalEncoding.bert4keras(size, 500);
            case "x-transformers" -> SinusoidalEncoding.xTransformers(size);
            default -> throw new IllegalArgumentException(name);
        };
    }

    /**
     * Checks values and tables. The last three cells of a row are the position, the dimension and the value in 50-digit
     * arithmetic, those before are the settings. StrictMath's sine and cosine are within 1 ulp; the product and the sum
     * of the correction add less than another.
     */
    private static void requireReferenceValues(String file, Function<String[], SinusoidalEncoding> create) {
        Map<List<String>, SinusoidalEncoding> encodings = new HashMap<>();
        Map<List<String>, float[][]> tables = new HashMap<>();
        for (String[] row : Goldens.rows(file)) {
            int settings = row.length - 3;
            SinusoidalEncoding encoding = encodings.computeIfAbsent(
                    List.of(Arrays.copyOf(row, settings)), cells -> create.apply(cells.toArray(String[]::new)));
            double position = Double.parseDouble(row[settings]);
            int dimension = Integer.parseInt(row[settings + 1]);
            requireUlps(encoding.value(position, dimension), row[settings + 2], 2, row);
            if (position == Math.rint(position)) {
                // a single row, and the same row amid others, where it comes from a rotation
                int before = (int) Math.max(0, Math.min(position, 37));
                float[][] both = tables.computeIfAbsent(List.of(Arrays.copyOf(row, settings + 1)), cells ->
                        new float[][] {encoding.table((int) position, 1), encoding.table((int) position - before, 60)});
                requireFloatUlps(both[0][dimension], row[settings + 2], 0.501, row);
                assertThat(both[1][before * encoding.getEmbeddingSize() + dimension])
                        .as(String.join(",", row))
                        .isEqualTo(both[0][dimension]);
            }
        }
    }

    /** The rows of the table in docs/encodings.md: a configuration, and the values at position 1. */
    @Test
    void thePageOfConventionsListsTheirValues() throws Exception {
        Map<String, SinusoidalEncoding> listed = Map.ofEntries(
                entry("vaswani(4)", SinusoidalEncoding.vaswani(4)),
                entry("tensor2tensor(4, 1, 10_000)", SinusoidalEncoding.tensor2tensor(4, 1, 10_000)),
                entry("fairseq(4)", SinusoidalEncoding.fairseq(4)),
                entry("roundedUp(4)", SinusoidalEncoding.roundedUp(4)),
                entry("bert4keras(4, 10_000)", SinusoidalEncoding.bert4keras(4, 10_000)),
                entry("xTransformers(4)", SinusoidalEncoding.xTransformers(4)),
                entry("diffusion(4)", SinusoidalEncoding.diffusion(4)),
                entry("diffusion(4, 0, 1, true)", SinusoidalEncoding.diffusion(4, 0, 1, true)),
                entry("diffusion(4, 1, 1, true)", SinusoidalEncoding.diffusion(4, 1, 1, true)));
        List<MatchResult> rows = Pattern.compile("\\| `(\\w+\\(4.*)` \\| [^|]+ \\| ([-.0-9 ]+) \\|")
                .matcher(Files.readString(Path.of("docs", "encodings.md")))
                .results()
                .toList();
        assertThat(rows).extracting(row -> row.group(1)).containsExactlyInAnyOrderElementsOf(listed.keySet());
        for (MatchResult row : rows) {
            assertThat(vector(listed.get(row.group(1)), 1))
                    .as(row.group(1))
                    .containsExactly(Goldens.reals(row.group(2)), within(5e-6));
        }
    }

    // Frequencies, defaults and names

    /** Sines of 1 and 10000^-1, then their cosines, then a zero. */
    @Test
    void aDimensionHasTheFrequencyOfItsPair() {
        SinusoidalEncoding encoding = SinusoidalEncoding.fairseq(5);
        double[] frequencies =
                IntStream.range(0, 5).mapToDouble(encoding::frequency).toArray();
        assertThat(frequencies).containsExactly(1, 1e-4, 1, 1e-4, 0);
    }

    @Test
    void theDefaultsAreThoseOfThePaper() {
        assertThat(sized(64).build()).isEqualTo(SinusoidalEncoding.vaswani(64));
        assertThat(sized(64).optBase(SinusoidalEncoding.DEFAULT_BASE).build())
                .isEqualTo(SinusoidalEncoding.vaswani(64));
    }

    @Test
    void encodingsOfTheSameValuesAreEqual() {
        assertThat(SinusoidalEncoding.fairseq(9)).isEqualTo(SinusoidalEncoding.tensor2tensor(9, 1, 10_000));
        assertThat(SinusoidalEncoding.fromArguments(Map.of("embeddingSize", 4, "base", 500)))
                .isEqualTo(SinusoidalEncoding.vaswani(4, 500));
    }

    @Test
    void describesEachSetting() {
        assertThat(SinusoidalEncoding.vaswani(7))
                .hasToString("SinusoidalEncoding(embeddingSize=7, "
                        + "frequencies=Geometric(count=4, base=10000.0, period=3.5), "
                        + "layout=INTERLEAVED, cosineFirst=false, oddSize=KEPT_IN_EXPONENT)");
    }

    @Test
    @Tag("slow")
    void hasUpToTwoMillionDimensions() {
        assertThat(SinusoidalEncoding.roundedUp(MAX_SIZE - 1).getEmbeddingSize())
                .isEqualTo(MAX_SIZE - 1);
        assertThat(SinusoidalEncoding.fairseq(MAX_SIZE).getEmbeddingSize()).isEqualTo(MAX_SIZE);
    }

    // Tables

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
            requireRounded(encoding, start, 1);
            float[] table = encoding.table(start, 101);
            for (int i = 0; i < table.length; i++) {
                assertThat(table[i]).isEqualTo((float) encoding.value(start + i / size, i % size));
            }
        }
        requireRounded(encoding, 4999, -1);
        requireRounded(encoding, 0.25, 1);
    }

    private static void requireRounded(SinusoidalEncoding encoding, double start, int step) {
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
    void aTableMayBeEmpty() {
        assertThat(SinusoidalEncoding.vaswani(4).table(7, 0)).isEmpty();
    }

    @Test
    void aRowIsAsWideAsTheEncoding() {
        assertThat(SinusoidalEncoding.fairseq(9).width()).isEqualTo(9);
    }

    // Shifts and similarities

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
    void aShiftMovesEveryPosition(double offset) {
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
                    // two products and a sum of numbers up to 1, each exact to an ulp (2^-53): below 8 · 2^-53
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
                    // 512 products of values exact to an ulp, and their sum up to 256
                    assertThat(encoding.similarity(offset)).isCloseTo(product, within(1e-11));
                }
            }
        }
    }

    // Rejected calls

    @Test
    void rejectsSizesOutOfRange() {
        assertAll(
                rejected(() -> SinusoidalEncoding.vaswani(0), "embeddingSize 0", 1, MAX_SIZE),
                rejected(() -> SinusoidalEncoding.vaswani(MAX_SIZE + 1), "embeddingSize", MAX_SIZE + 1, MAX_SIZE),
                rejected(() -> SinusoidalEncoding.tensor2tensor(-1, 1, 10_000), "embedding size", -1),
                rejected(() -> SinusoidalEncoding.diffusion(-4), "embedding size", -4),
                rejected(() -> SinusoidalEncoding.diffusion(MAX_SIZE + 1), "embedding size", MAX_SIZE + 1),
                rejected(SinusoidalEncoding.builder()::build, "embeddingSize", "SinusoidalEncoding"));
    }

    @Test
    void rejectsOddSizesOfConventionsThatHaveNone() {
        assertAll(
                rejected(() -> SinusoidalEncoding.bert4keras(7, 10_000), "embedding size 7", "bert4keras"),
                rejected(() -> SinusoidalEncoding.xTransformers(7), "embedding size 7", "x-transformers"));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void rejectsBasesAndTimescalesThatAreNotPositiveAndFinite(double value) {
        assertAll(
                rejected(() -> SinusoidalEncoding.vaswani(64, value), "base", value),
                rejected(() -> SinusoidalEncoding.tensor2tensor(8, 1, value), "maxTimescale", value));
    }

    @Test
    void rejectsShiftsAndScalesOfDiffusionOutOfRange() {
        assertAll(
                rejected(() -> SinusoidalEncoding.diffusion(3), "shift 1.0", "size 3"),
                rejected(() -> SinusoidalEncoding.diffusion(8, Double.NaN, 1, false), "shift", Double.NaN),
                rejected(() -> SinusoidalEncoding.diffusion(8, 0, 0, false), "factor", 0.0));
    }

    @Test
    void rejectsFrequenciesThatDoNotFitTheSizeOrAreBesideABase() {
        assertAll(
                rejected(sized(8).optFrequencies(Frequencies.of(1, 2, 3))::build, "3 frequencies", "size 8", 4),
                rejected(
                        sized(4).optFrequencies(Frequencies.of(1, 2)).optBase(100)::build,
                        "base",
                        100.0,
                        "optFrequencies"));
    }

    @Test
    void rejectsTheLayoutInHalves() {
        assertAll(rejected(
                sized(4).optLayout(PairLayout.CONCATENATED_HALVES)::build, "CONCATENATED_HALVES", "INTERLEAVED"));
    }

    @Test
    void rejectsDimensionsOutOfRange() {
        assertAll(
                rejected(() -> SMALL.value(0, 8), "dimension", 8, 7),
                rejected(() -> SMALL.value(0, -1), "dimension", -1, 7),
                rejected(() -> SMALL.frequency(8), "dimension", 8, 7),
                rejected(() -> SMALL.frequency(-1), "dimension", -1, 7));
    }

    @Test
    void rejectsPositionsThatAreNotFinite() {
        ByteBuffer out = buffer(64);
        assertAll(
                rejected(() -> SMALL.value(Double.NaN, 0), "position", Double.NaN),
                rejected(() -> SMALL.write(new double[] {0, Double.NaN}, FloatFormat.FLOAT32, out), Double.NaN),
                rejected(() -> SMALL.similarity(Double.NaN), "position", Double.NaN),
                rejected(() -> SMALL.shift(Double.NEGATIVE_INFINITY), "position", "-Infinity"));
    }

    /** A table of 1000 dimensions has at most ⌊(2^31 - 1) / 1000⌋ positions. */
    @Test
    void rejectsLengthsOfTablesOutOfRange() {
        assertAll(
                rejected(() -> SMALL.table(0, -1), "length", -1),
                rejected(() -> SinusoidalEncoding.vaswani(1000).table(0, 2_147_484), "length", 2_147_484, 2_147_483));
    }

    @Test
    void rejectsBuffersThatAreTooSmall() {
        SinusoidalEncoding four = SinusoidalEncoding.vaswani(4);
        SinusoidalEncoding wide = SinusoidalEncoding.vaswani(1000);
        double[] three = new double[3];
        assertAll(
                rejected(() -> four.write(three, FloatFormat.FLOAT16, buffer(23)), 23, "FLOAT16", 24),
                rejected(() -> four.write(three, FloatFormat.FLOAT32, buffer(47)), 47, "FLOAT32", 48),
                rejected(() -> four.write(three, FloatFormat.FLOAT64, buffer(95)), 95, "FLOAT64", 96),
                rejected(() -> wide.write(new double[300_000], FloatFormat.FLOAT64, buffer(0)), 2_400_000_000L));
    }

    @Test
    void rejectsShiftsAndSimilaritiesOfHalfAPair() {
        SinusoidalEncoding odd = SinusoidalEncoding.vaswani(7);
        assertAll(
                rejected(UnsupportedOperationException.class, () -> odd.shift(1), "size 7"),
                rejected(UnsupportedOperationException.class, () -> odd.similarity(1), "size 7"));
    }
}
