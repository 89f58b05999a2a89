package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.book.PlayScript.call;
import static io.github.djlpositional.examples.book.PlayScript.number;
import static io.github.djlpositional.examples.book.PlayScript.numbers;
import static io.github.djlpositional.examples.book.Vectors.dot;
import static io.github.djlpositional.examples.book.Vectors.row;
import static io.github.djlpositional.examples.book.Vectors.times;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RelativeBuckets;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.function.IntToDoubleFunction;
import java.util.function.ToDoubleBiFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers of the sliders, which their scripts compute in double arithmetic, against the library's. */
class PlayTest {

    private static final Random RANDOM = new Random(1);

    private static double[] softmax(double... scores) {
        double sum = DoubleStream.of(scores).map(Math::exp).sum();
        return DoubleStream.of(scores).map(score -> Math.exp(score) / sum).toArray();
    }

    /** To far more than the rounding of angles in double arithmetic, and far less than a digit that a page shows. */
    private static void assertClose(double[] actual, double... expected) {
        assertThat(actual).containsExactly(expected, within(1e-9));
    }

    private static void assertClose(double actual, double expected) {
        assertThat(actual).isCloseTo(expected, within(1e-9));
    }

    private static SinusoidalEncoding encoding(String convention, int d, double base) {
        boolean isHalves = convention.matches("xTransformers|concatenated|diffusion|cosinesFirst|dit");
        int divisor = convention.matches("dit|neighborsLess") ? Math.max(d / 2 - 1, 1) : d / 2;
        return switch (convention) {
            case "vaswani" -> SinusoidalEncoding.vaswani(d, base);
            case "tensor2tensor" -> SinusoidalEncoding.tensor2tensor(d, 1, base);
            default ->
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(d)
                        .optLayout(isHalves ? PairLayout.CONCATENATED : PairLayout.INTERLEAVED)
                        .optFrequencies(Frequencies.geometric(d / 2, base, divisor))
                        .optCosineFirst(convention.matches("diffusion|cosines?First|dit"))
                        .build();
        };
    }

    /** Turns pairs by a position: as sinusoids are turned, in the other direction. */
    private static double[] rotated(double base, double t, double... row) {
        return times(SinusoidalEncoding.vaswani(row.length, base).shift(-t), row);
    }

    @ParameterizedTest
    @ValueSource(strings = {"vaswani", "tensor2tensor", "xTransformers", "diffusion"})
    void sinusoids(String convention) {
        for (int d = 2; d <= 64; d += 2) {
            int t = RANDOM.nextInt(200);
            assertClose(numbers("sinusoids.values", convention, d, 500, t), row(encoding(convention, d, 500), t));
        }
        assertClose(
                number("heatmap.value", 77, 5, 64, 10_000),
                SinusoidalEncoding.vaswani(64).value(77, 5));
    }

    @RepeatedTest(3)
    void productsOfSinusoids() {
        int t = RANDOM.nextInt(50);
        int pairs = 1 + RANDOM.nextInt(64);
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(64);
        assertClose(numbers("added.encoding", t), row(encoding, t));
        double product = SinusoidalEncoding.vaswani(2 * pairs).similarity(t);
        assertClose(number("similarity.product", pairs, 10_000, -t), product);
        double[] word = call(double[][].class, "added.words")[2];
        double[] sum = each(64, i -> 3 * word[i] + encoding.value(t, i));
        Map<?, ?> read = call(Map.class, "added.read", 3, 2, t);
        Stream<Double> byPosition = ((List<?>) read.get("byPosition")).stream().map(Double.class::cast);
        assertClose(byPosition.mapToDouble(x -> x).toArray(), each(50, at -> dot(sum, row(encoding, at))));
    }

    /** With the table of the chapter: heads of 128 dimensions, trained with 4,096 positions. */
    @ParameterizedTest
    @CsvSource({"none, 18", "linear, 0", "ntk, 17", "yarn, 0", "llama3, 0"})
    void scalingsForLongerContexts(String name, double beyond) {
        for (double factor : new double[] {2, 8, 32}) {
            RotaryScaling scaling = switch (name) {
                case "none" -> RotaryScaling.none();
                case "linear" -> RotaryScaling.linear(factor);
                case "ntk" -> RotaryScaling.ntkAware(factor);
                case "yarn" -> RotaryScaling.yarn(factor, 4096);
                default -> RotaryScaling.llama3(factor, 1, 4, 4096);
            };
            for (int d : new int[] {4, 32, 128}) {
                Frequencies expected = scaling.frequencies(d, 10_000);
                assertClose(numbers("contexts.frequencies", name, d, factor, 4096), each(d / 2, expected::get));
            }
            assertClose(number("contexts.attentionFactor", name, factor), scaling.attentionFactor());
            double[] pairs = numbers("contexts.beyond", name, 128, factor, 4096);
            assertThat(DoubleStream.of(pairs).sum()).isEqualTo(beyond);
        }
    }

    @RepeatedTest(5)
    void scoresOfRotaryPairs() {
        int d = 2 + 2 * RANDOM.nextInt(64);
        int distance = RANDOM.nextInt(121) - 20;
        double alpha = RANDOM.nextDouble();
        double[] query = rotated(5000, 150, each(d, i -> i % 2 == 0 ? 1 : 0));
        double[] key = rotated(5000, 150 - distance, each(d, i -> i % 2 == 0 ? Math.cos(alpha) : Math.sin(alpha)));
        assertClose(
                numbers("rotary.contributions", alpha, d, 5000, distance),
                each(d / 2, m -> query[2 * m] * key[2 * m] + query[2 * m + 1] * key[2 * m + 1]));
        assertClose(number("rotary.score", alpha, d, 5000, distance), dot(query, key));
    }

    @Test
    void bitsBecomeTheSinusoidsOfTheirPeriods() {
        Frequencies waves = Frequencies.of(each(5, bit -> Math.PI / (1 << bit)));
        for (int t = 0; t < 32; t++) {
            int at = t;
            assertClose(each(5, bit -> number("bits.wave", bit, at, 0)), each(5, bit -> at >> bit & 1));
            assertClose(each(5, bit -> number("bits.wave", bit, at, 1)), each(5, m -> (1 - waves.sine(at, m)) / 2));
        }
    }

    @RepeatedTest(5)
    void weightsOfAShiftAreThoseOfTheLibrarysMatrix() {
        int pairs = 1 + RANDOM.nextInt(64);
        int t = RANDOM.nextInt(200);
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(2 * pairs);
        double[] shifted = times(encoding.shift(-3), row(encoding, t));
        double gain = 5 / Math.sqrt(2 * pairs);
        double[] expected = softmax(each(200, key -> gain * dot(row(encoding, key), shifted)));
        assertClose(numbers("shift.weights", pairs, 10_000, 200, t, 3, 5), expected);
    }

    @ParameterizedTest
    @CsvSource({"32, 128", "2, 33", "64, 512", "7, 100"})
    void biasesOfDistances(int count, int largest) {
        RelativeBuckets buckets = RelativeBuckets.of(false, count, largest);
        AlibiSlopes alibi = AlibiSlopes.custom(0.125);
        assertClose(each(600, n -> number("biases.bucket", n, count, largest)), each(600, n -> buckets.bucket(-n)));
        double[] t5 = softmax(each(129, n -> -0.125 * buckets.bucket(-n)));
        assertClose(numbers("biases.weights", "t5", 0.125, count, largest), t5);
        double[] line = softmax(each(129, n -> alibi.bias(0, n)));
        assertClose(numbers("biases.weights", "alibi", 0.125, count, largest), line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "sinusoids", "learned", "rotary", "alibi", "t5"})
    void scoresOfThePlayground(String encoding) {
        String[] words = "the dog bites the man who sees the dog".split(" ", -1);
        RelativeBuckets buckets = RelativeBuckets.of(true, 8, 16);
        for (int d : new int[] {4, 64}) {
            double[][] qk = new double[words.length][];
            Arrays.setAll(qk, t -> {
                double[] word = numbers("playground.word", words[t], d);
                double[] learned = numbers("playground.position", "learned", t, d);
                return switch (encoding) {
                    case "sinusoids" -> each(d, i -> word[i] + row(SinusoidalEncoding.vaswani(d), t)[i]);
                    case "learned" -> each(d, i -> word[i] + learned[i]);
                    case "rotary" -> rotated(10_000, t, word);
                    default -> word;
                };
            });
            double[][] scores = call(double[][].class, "playground.scores", encoding, words, d);
            for (int t = 0; t < words.length; t++) {
                int query = t;
                IntToDoubleFunction bias = key -> switch (encoding) {
                    case "alibi" -> AlibiSlopes.of(8).bias(1, query - key);
                    case "t5" -> 1.5 * number("playground.hash", "bucket " + buckets.bucket(key - query));
                    default -> 0;
                };
                assertClose(
                        scores[t],
                        each(words.length, key -> dot(qk[query], qk[key]) / Math.sqrt(d) + bias.applyAsDouble(key)));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"axes", "number"})
    void patches(String encoding) {
        GridEncoding grid = GridEncoding.visionTransformer(64);
        SinusoidalEncoding number = SinusoidalEncoding.vaswani(64);
        IntFunction<double[]> patch = n ->
                encoding.equals("axes") ? each(64, i -> grid.value(i, Math.floorDiv(n, 16), n % 16)) : row(number, n);
        double[] chosen = patch.apply(74);
        assertClose(numbers("patches.values", encoding, 4, 10, 16, 64), chosen);
        double[] similarities = numbers("patches.similarities", encoding, 4, 10, 12, 16, 64);
        assertClose(similarities, each(12 * 16, n -> dot(chosen, patch.apply(n)) / 32));
    }

    @ParameterizedTest
    @CsvSource({"vaswani", "cosineFirst", "concatenated", "cosinesFirst", "tensor2tensor", "dit", "neighborsLess"})
    void checkerFindsTheConventionOfARow(String convention) {
        for (int[] placed : new int[][] {{1, 8, 10_000}, {37, 8, 500_000}, {2049, 16, 100}}) {
            String text = DoubleStream.of(row(encoding(convention, placed[1], placed[2]), placed[0]))
                    .mapToObj(x -> String.format(Locale.ROOT, "%.4f", x))
                    .collect(Collectors.joining(", "));
            Object[][] found = call(
                    Object[][].class,
                    "checker.find",
                    numbers("checker.numbers", text),
                    number("checker.tolerance", text));
            // base 10,000 with exponents divided by 4 is base 1,000 with exponents divided by 3
            assertThat(found.length).isBetween(1, 2);
            assertThat(Stream.of(found).map(row -> List.of(row[0], row[1], row[2])))
                    .contains(List.of(convention, (double) placed[0], (double) placed[2]));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"float32", "float16", "bfloat16"})
    void numbersAreRoundedToTheNearest(String format) {
        double[] special = {0, 256, 257, 259, 2049, 2051, 65_504, 65_519, 65_520, 1e-7, 6e-8, 2e-8, -0.3};
        double[] some = each(200, i -> (RANDOM.nextDouble() - 0.5) * Math.pow(10, i % 7));
        double[] values = DoubleStream.concat(DoubleStream.of(special), DoubleStream.of(some))
                .map(x -> (float) x)
                .toArray();
        assertClose(each(values.length, i -> number("formats.round", format, values[i])), each(values.length, i -> {
            // BFLOAT16 is a float of which the second half is rounded away, to an even one in the middle
            int bits = Float.floatToIntBits((float) values[i]);
            return switch (format) {
                case "float32" -> FloatFormat.FLOAT32.round(values[i]);
                case "float16" -> FloatFormat.FLOAT16.round(values[i]);
                default -> Float.intBitsToFloat(bits + 0x7fff + (bits >>> 16 & 1) & 0xffff0000);
            };
        }));
        // all of 998 to 1002 is 1000 in BFLOAT16, and the score of neighbors that of the same position
        assertThat(numbers("formats.scores", "bfloat16", 999, 1, 1)[0]).isCloseTo(1, within(0.01));
    }

    @Test
    void mapsAreThoseOfTheModelAndTheTable() throws Exception {
        for (boolean isWith : new boolean[] {true, false}) {
            AttentionMaps model = SentenceEncoder.attention(List.of("a rose is a rose is a rose"), isWith)
                    .get(0);
            String name = isWith ? "with" : "without";
            assertMap(name + "1", 10, (t, s) -> model.weight(0, 2, t, s));
            assertMap(name + "2", 10, (t, s) -> model.weight(1, 1, t, s));
        }
        double[][] table = Measured.positions();
        assertMap("learned", 16, (t, s) -> Vectors.cosine(table[t], table[s]));
    }

    /** The script has hundredths. */
    private static void assertMap(String name, int size, ToDoubleBiFunction<Integer, Integer> expected) {
        double[][] cells = call(double[][].class, "maps.cells", name);
        assertThat(cells).hasDimensions(size, size);
        for (int t = 0; t < size; t++) {
            int row = t;
            assertThat(cells[t]).containsExactly(each(size, s -> expected.applyAsDouble(row, s)), within(0.00501));
        }
    }

    @Test
    void forgettingIsThatOfTheChapter() {
        double word = 1 / (1 + Math.exp(-5));
        double[] biases = numbers("forgetting.biases", word, 1 - word);
        assertThat(biases[0]).isCloseTo(-10.054, within(0.0005));
        assertThat(biases[8]).isZero();
    }
}
