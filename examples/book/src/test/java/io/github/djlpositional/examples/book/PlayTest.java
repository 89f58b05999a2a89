package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
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
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers of the sliders, which their scripts compute in double arithmetic, against the library's. */
class PlayTest {

    private static final Random RANDOM = new Random(1);

    private static double[] each(int count, IntToDoubleFunction rule) {
        return IntStream.range(0, count).mapToDouble(rule).toArray();
    }

    private static double[] row(SinusoidalEncoding encoding, double t) {
        return each(encoding.getEmbeddingSize(), i -> encoding.value(t, i));
    }

    private static double product(double[] one, double[] other) {
        return DoubleStream.of(each(one.length, i -> one[i] * other[i])).sum();
    }

    private static double[] softmax(double... scores) {
        double sum = DoubleStream.of(scores).map(Math::exp).sum();
        return DoubleStream.of(scores).map(score -> Math.exp(score) / sum).toArray();
    }

    /** To far more than the rounding of angles in double arithmetic, and far less than a digit that a page shows. */
    private static void assertClose(double[] actual, double... expected) {
        assertThat(actual).containsExactly(expected, within(1e-9));
    }

    private static SinusoidalEncoding encoding(String convention, int d, double base) {
        Frequencies less = Frequencies.geometric(d / 2, base, Math.max(d / 2 - 1, 1));
        SinusoidalEncoding.Builder builder = SinusoidalEncoding.builder().setEmbeddingSize(d);
        SinusoidalEncoding.Builder halves = builder.optLayout(PairLayout.CONCATENATED);
        return switch (convention) {
            case "vaswani" -> SinusoidalEncoding.vaswani(d, base);
            case "tensor2tensor" -> SinusoidalEncoding.tensor2tensor(d, 1, base);
            case "xTransformers", "concatenated" -> halves.optBase(base).build();
            case "diffusion", "cosinesFirst" ->
                halves.optBase(base).optCosineFirst(true).build();
            case "dit" -> halves.optFrequencies(less).optCosineFirst(true).build();
            case "cosineFirst" ->
                builder.optLayout(PairLayout.INTERLEAVED)
                        .optBase(base)
                        .optCosineFirst(true)
                        .build();
            default ->
                builder.optLayout(PairLayout.INTERLEAVED).optFrequencies(less).build();
        };
    }

    /** Turns rows by the positions from start on. */
    private static double[][] rotated(double base, int start, double[]... rows) {
        int d = rows[0].length;
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(d).optBase(base).build();
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            double[] numbers = Stream.of(rows).flatMapToDouble(Arrays::stream).toArray();
            NDArray positions =
                    manager.create(IntStream.range(start, start + rows.length).toArray());
            NDList input = new NDList(manager.create(numbers, new Shape(1, 1, rows.length, d)), positions);
            double[] turned = rotary.forward(new ParameterStore(manager, false), input, false)
                    .head()
                    .toDoubleArray();
            return IntStream.range(0, rows.length)
                    .mapToObj(t -> Arrays.copyOfRange(turned, t * d, (t + 1) * d))
                    .toArray(double[][]::new);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"vaswani", "tensor2tensor", "xTransformers", "diffusion"})
    void sinusoids(String convention) {
        for (int d = 2; d <= 64; d += 2) {
            int t = RANDOM.nextInt(200);
            SinusoidalEncoding expected = encoding(convention, d, 500);
            assertClose(PlayScript.of("sinusoids").numbers("values", convention, d, 500, t), row(expected, t));
        }
        double cell = PlayScript.of("heatmap").number("value", 77, 5, 64, 10_000);
        assertThat(cell).isCloseTo(SinusoidalEncoding.vaswani(64).value(77, 5), within(1e-12));
    }

    /** With the table of the chapter: heads of 128 dimensions, trained with 4,096 positions. */
    @ParameterizedTest
    @CsvSource({"none, 18", "linear, 0", "ntk, 17", "yarn, 0", "llama3, 0"})
    void scalingsForLongerContexts(String name, double beyond) {
        PlayScript script = PlayScript.of("contexts");
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
                assertClose(script.numbers("frequencies", name, d, factor, 4096), each(d / 2, expected::get));
            }
            assertClose(new double[] {script.number("attentionFactor", name, factor)}, scaling.attentionFactor());
            assertThat(DoubleStream.of(script.numbers("beyond", name, 128, factor, 4096))
                            .sum())
                    .isEqualTo(beyond);
        }
    }

    @RepeatedTest(5)
    void scoresOfRotaryPairs() {
        int d = 2 + 2 * RANDOM.nextInt(64);
        int distance = RANDOM.nextInt(121) - 20;
        double alpha = RANDOM.nextDouble();
        double[] query = rotated(5000, 150, each(d, i -> i % 2 == 0 ? 1 : 0))[0];
        double[] key = rotated(5000, 150 - distance, each(d, i -> i % 2 == 0 ? Math.cos(alpha) : Math.sin(alpha)))[0];
        PlayScript script = PlayScript.of("rotary");
        assertClose(
                script.numbers("contributions", alpha, d, 5000, distance),
                each(d / 2, m -> query[2 * m] * key[2 * m] + query[2 * m + 1] * key[2 * m + 1]));
        assertClose(new double[] {script.number("score", alpha, d, 5000, distance)}, product(query, key));
    }

    @Test
    void bitsBecomeTheSinusoidsOfTheirPeriods() {
        PlayScript script = PlayScript.of("bits");
        Frequencies waves = Frequencies.of(each(5, bit -> Math.PI / (1 << bit)));
        for (int t = 0; t < 32; t++) {
            int at = t;
            assertClose(each(5, bit -> script.number("wave", bit, at, 0)), each(5, bit -> at >> bit & 1));
            assertClose(each(5, bit -> script.number("wave", bit, at, 1)), each(5, m -> (1 - waves.sine(at, m)) / 2));
        }
    }

    @RepeatedTest(5)
    void weightsOfAShiftAreThoseOfTheLibrarysMatrix() {
        int pairs = 1 + RANDOM.nextInt(64);
        int t = RANDOM.nextInt(200);
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(2 * pairs);
        double[][] matrix = encoding.shift(-3);
        double[] shifted = each(2 * pairs, i -> product(matrix[i], row(encoding, t)));
        double gain = 5 / Math.sqrt(2 * pairs);
        double[] expected = softmax(each(200, key -> gain * product(row(encoding, key), shifted)));
        assertClose(PlayScript.of("shift").numbers("weights", pairs, 10_000, 200, t, 3, 5), expected);
    }

    @ParameterizedTest
    @CsvSource({"32, 128", "2, 33", "64, 512", "7, 100"})
    void biasesOfDistances(int count, int largest) {
        PlayScript script = PlayScript.of("biases");
        RelativeBuckets buckets = RelativeBuckets.of(false, count, largest);
        AlibiSlopes alibi = AlibiSlopes.custom(0.125);
        assertClose(each(600, n -> script.number("bucket", n, count, largest)), each(600, n -> buckets.bucket(-n)));
        double[] t5 = softmax(each(129, n -> -0.125 * buckets.bucket(-n)));
        assertClose(script.numbers("weights", "t5", 0.125, count, largest), t5);
        double[] line = softmax(each(129, n -> alibi.bias(0, n)));
        assertClose(script.numbers("weights", "alibi", 0.125, count, largest), line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "sinusoids", "learned", "rotary", "alibi", "t5"})
    void scoresOfThePlayground(String encoding) {
        PlayScript script = PlayScript.of("playground");
        String[] words = "the dog bites the man who sees the dog".split(" ", -1);
        RelativeBuckets buckets = RelativeBuckets.of(true, 8, 16);
        for (int d : new int[] {4, 64}) {
            double[][] vectors = new double[words.length][];
            Arrays.setAll(vectors, t -> {
                double[] word = script.numbers("word", words[t], d);
                double[] learned = script.numbers("position", "learned", t, d);
                return switch (encoding) {
                    case "sinusoids" ->
                        each(d, i -> word[i] + SinusoidalEncoding.vaswani(d).value(t, i));
                    case "learned" -> each(d, i -> word[i] + learned[i]);
                    default -> word;
                };
            });
            double[][] qk = encoding.equals("rotary") ? rotated(10_000, 0, vectors) : vectors;
            double[][] scores = script.call(double[][].class, "scores", encoding, words, d);
            for (int t = 0; t < words.length; t++) {
                int query = t;
                IntToDoubleFunction bias = key -> switch (encoding) {
                    case "alibi" -> AlibiSlopes.of(8).bias(1, query - key);
                    case "t5" -> 1.5 * script.number("hash", "bucket " + buckets.bucket(key - query));
                    default -> 0;
                };
                double[] expected =
                        each(words.length, key -> product(qk[query], qk[key]) / Math.sqrt(d) + bias.applyAsDouble(key));
                assertClose(scores[t], expected);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"axes", "number"})
    void patches(String encoding) {
        PlayScript script = PlayScript.of("patches");
        GridEncoding grid = GridEncoding.visionTransformer(64);
        SinusoidalEncoding number = SinusoidalEncoding.vaswani(64);
        double[][] rows = IntStream.range(0, 12 * 16)
                .mapToObj(n -> encoding.equals("axes")
                        ? each(64, i -> grid.value(i, Math.floorDiv(n, 16), n % 16))
                        : row(number, n))
                .toArray(double[][]::new);
        assertClose(script.numbers("values", encoding, 4, 10, 16, 64), rows[74]);
        double[] similarities = script.numbers("similarities", encoding, 4, 10, 12, 16, 64);
        assertClose(similarities, each(rows.length, n -> product(rows[74], rows[n]) / 32));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"vaswani", "cosineFirst", "concatenated", "cosinesFirst", "tensor2tensor", "dit", "neighborsLess"
            })
    void checkerFindsTheConventionOfARow(String convention) {
        PlayScript script = PlayScript.of("checker");
        for (int[] placed : new int[][] {{1, 8, 10_000}, {37, 8, 500_000}, {2049, 16, 100}}) {
            String text = DoubleStream.of(row(encoding(convention, placed[1], placed[2]), placed[0]))
                    .mapToObj("%.4f"::formatted)
                    .reduce("", (all, number) -> all + number + ", ");
            Object[][] found = script.call(
                    Object[][].class, "find", script.numbers("numbers", text), script.number("tolerance", text));
            // base 10,000 with exponents divided by 4 is base 1,000 with exponents divided by 3
            assertThat(found.length).isBetween(1, 2);
            assertThat(Stream.of(found).map("%s %.0f %.0f"::formatted))
                    .contains("%s %d %d".formatted(convention, placed[0], placed[2]));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"float32", "float16", "bfloat16"})
    void numbersAreRoundedToTheNearest(String format) {
        PlayScript script = PlayScript.of("formats");
        double[] special = {0, 256, 257, 259, 2049, 2051, 65_504, 65_519, 65_520, 1e-7, 6e-8, 2e-8, -0.3};
        double[] some = each(200, i -> (RANDOM.nextDouble() - 0.5) * Math.pow(10, i % 7));
        double[] values = DoubleStream.concat(DoubleStream.of(special), DoubleStream.of(some))
                .map(x -> (float) x)
                .toArray();
        assertClose(each(values.length, i -> script.number("round", format, values[i])), each(values.length, i -> {
            // BFLOAT16 is a float of which the second half is rounded away, to an even one in the middle
            int bits = Float.floatToIntBits((float) values[i]);
            return switch (format) {
                case "float32" -> FloatFormat.FLOAT32.round(values[i]);
                case "float16" -> FloatFormat.FLOAT16.round(values[i]);
                default -> Float.intBitsToFloat(bits + 0x7fff + (bits >>> 16 & 1) & 0xffff0000);
            };
        }));
        // all of 998 to 1002 is 1000 in BFLOAT16, and the score of neighbors that of the same position
        assertThat(script.numbers("scores", "bfloat16", 999, 1, 1)[0]).isCloseTo(1, within(0.01));
    }

    @Test
    void mapsAreThoseOfTheModelAndTheTable() throws Exception {
        PlayScript script = PlayScript.of("maps");
        for (String encoding : new String[] {"with1", "without1", "with2", "without2"}) {
            AttentionMaps maps = SentenceEncoder.attention(
                            List.of("a rose is a rose is a rose"),
                            encoding.startsWith("with") && !encoding.contains("out"))
                    .get(0);
            double[][] cells = script.call(double[][].class, "cells", encoding);
            int layer = encoding.endsWith("1") ? 0 : 1;
            for (int t = 0; t < cells.length; t++) {
                int query = t;
                assertThat(cells[t])
                        .containsExactly(each(10, s -> maps.weight(layer, 2 - layer, query, s)), within(0.00501));
            }
        }
        double[][] table = Trained.positions();
        double[][] learned = script.call(double[][].class, "cells", "learned");
        for (int t = 0; t < table.length; t++) {
            double[] row = table[t];
            assertThat(learned[t]).containsExactly(each(16, s -> Vectors.cosine(row, table[s])), within(0.00501));
        }
    }

    @Test
    void forgettingIsThatOfTheChapter() {
        double word = 1 / (1 + Math.exp(-5));
        double[] biases = PlayScript.of("forgetting").numbers("biases", word, 1 - word);
        assertThat(biases[0]).isCloseTo(-10.054, within(0.0005));
        assertThat(biases[8]).isZero();
    }
}
