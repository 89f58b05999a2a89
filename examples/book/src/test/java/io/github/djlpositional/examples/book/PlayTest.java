package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
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
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers of the sliders, which their scripts compute in double arithmetic, against the library's. */
class PlayTest {

    private static final int CASES = 20;

    /** Far above the rounding of angles up to 1000 in double arithmetic, far below a digit that a page shows. */
    private static final Offset<Double> ROUNDING = within(1e-9);

    private final Random random = new Random(1);

    private static double[] each(int count, IntToDoubleFunction rule) {
        return IntStream.range(0, count).mapToDouble(rule).toArray();
    }

    private static double[] row(SinusoidalEncoding encoding, double t) {
        return each(encoding.getEmbeddingSize(), i -> encoding.value(t, i));
    }

    private static double product(double[] one, double[] other) {
        return IntStream.range(0, one.length)
                .mapToDouble(i -> one[i] * other[i])
                .sum();
    }

    private static double[] softmax(double... scores) {
        double[] powers = DoubleStream.of(scores).map(Math::exp).toArray();
        return DoubleStream.of(powers)
                .map(power -> power / DoubleStream.of(powers).sum())
                .toArray();
    }

    private static void assertClose(double[] actual, double[] expected, Object settings) {
        assertThat(actual).as("%s", settings).containsExactly(expected, ROUNDING);
    }

    private static SinusoidalEncoding.Builder builder(int d, PairLayout layout, boolean cosineFirst) {
        return SinusoidalEncoding.builder()
                .setEmbeddingSize(d)
                .optLayout(layout)
                .optCosineFirst(cosineFirst);
    }

    private static SinusoidalEncoding encoding(String convention, int d, double base) {
        SinusoidalEncoding.OddSize padded = SinusoidalEncoding.OddSize.ZERO_PADDED;
        Frequencies less = Frequencies.geometric(d / 2, base, Math.max(d / 2 - 1, 1));
        return switch (convention) {
            case "vaswani" -> SinusoidalEncoding.vaswani(d, base);
            case "tensor2tensor" -> SinusoidalEncoding.tensor2tensor(d, 1, base);
            case "xTransformers", "concatenated" ->
                builder(d, PairLayout.CONCATENATED, false).optBase(base).build();
            case "diffusion" ->
                builder(d, PairLayout.CONCATENATED, true)
                        .optBase(base)
                        .optOddSize(padded)
                        .build();
            case "cosinesFirst" ->
                builder(d, PairLayout.CONCATENATED, true).optBase(base).build();
            case "cosineFirst" ->
                builder(d, PairLayout.INTERLEAVED, true).optBase(base).build();
            case "dit" ->
                builder(d, PairLayout.CONCATENATED, true).optFrequencies(less).build();
            case "neighborsLess" ->
                builder(d, PairLayout.INTERLEAVED, false).optFrequencies(less).build();
            default -> throw new AssertionError(convention);
        };
    }

    /** Turns rows by the positions from start on. */
    private static double[][] rotated(double base, int start, double[]... rows) {
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(rows[0].length)
                .optBase(base)
                .build();
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            Shape shape = new Shape(1, 1, rows.length, rows[0].length);
            NDArray x = manager.create(
                    Stream.of(rows).flatMapToDouble(Arrays::stream).toArray(), shape);
            NDArray positions =
                    manager.create(IntStream.range(start, start + rows.length).toArray());
            double[] turned = rotary.forward(new ParameterStore(manager, false), new NDList(x, positions), false)
                    .head()
                    .toDoubleArray();
            int d = rows[0].length;
            return IntStream.range(0, rows.length)
                    .mapToObj(t -> Arrays.copyOfRange(turned, t * d, (t + 1) * d))
                    .toArray(double[][]::new);
        }
    }

    @Test
    void sinusoidsAndCellsOfTheHeatMap() {
        PlayScript script = new PlayScript("sinusoids");
        PlayScript cells = new PlayScript("heatmap");
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings s = script.random(random);
            int t = s.integer("position");
            SinusoidalEncoding encoding = encoding(s.text("convention"), s.integer("size"), s.number("base"));
            double[] values = script.numbers("values", s.text("convention"), s.integer("size"), s.number("base"), t);
            assertClose(values, row(encoding, t), s);
            SinusoidalEncoding vaswani = encoding("vaswani", s.integer("size"), s.number("base"));
            int dimension = random.nextInt(s.integer("size"));
            assertThat(cells.number("value", t, dimension, s.integer("size"), s.number("base")))
                    .isCloseTo(vaswani.value(t, dimension), ROUNDING);
        }
        assertThat(encoding("tensor2tensor", 64, 1e4)).isEqualTo(SinusoidalEncoding.fairseq(64));
        assertThat(encoding("xTransformers", 64, 1e4)).isEqualTo(SinusoidalEncoding.xTransformers(64));
        assertThat(encoding("diffusion", 64, 1e4)).isEqualTo(SinusoidalEncoding.diffusion(64, 0, 1, true));
    }

    private static RotaryScaling scaling(String name, double factor, int length) {
        return switch (name) {
            case "none" -> RotaryScaling.none();
            case "linear" -> RotaryScaling.linear(factor);
            case "ntk" -> RotaryScaling.ntkAware(factor);
            case "yarn" -> RotaryScaling.yarn(factor, length);
            case "llama3" -> RotaryScaling.llama3(factor, 1, 4, length);
            default -> throw new AssertionError(name);
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "linear", "ntk", "yarn", "llama3"})
    void frequenciesAndFactorsOfLongerContexts(String name) {
        PlayScript script = new PlayScript("contexts");
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings s = script.random(random);
            int length = s.integer("length");
            RotaryScaling scaling = scaling(name, s.number("factor"), length);
            Frequencies expected = scaling.frequencies(s.integer("d"), 10_000);
            double[] frequencies = script.numbers("frequencies", name, s.integer("d"), s.number("factor"), length);
            assertClose(frequencies, each(expected.size(), expected::get), s);
            assertClose(
                    script.numbers("turns", frequencies, length),
                    each(expected.size(), m -> expected.get(m) * length / (2 * Math.PI)),
                    s);
            assertThat(script.number("attentionFactor", name, s.number("factor")))
                    .isCloseTo(scaling.attentionFactor(), ROUNDING);
        }
    }

    /** The table of the chapter: heads of 128 dimensions, trained with 4,096 positions. */
    @ParameterizedTest
    @CsvSource({"none, 18", "linear, 0", "ntk, 17", "yarn, 0", "llama3, 0"})
    void pairsBeyondTheTrainingAreThoseOfTheChapter(String scaling, double count) {
        PlayScript script = new PlayScript("contexts");
        for (int factor : new int[] {2, 8}) {
            assertThat(DoubleStream.of(script.numbers("beyond", scaling, 128, factor, 4096))
                            .sum())
                    .isEqualTo(count);
        }
    }

    @Test
    void scoresOfRotaryPairs() {
        PlayScript script = new PlayScript("rotary");
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings s = script.random(random);
            int d = s.integer("d");
            int distance = s.integer("distance");
            double alpha = Math.toRadians(s.number("alpha"));
            double[] query = each(d, n -> n % 2 == 0 ? 1 : 0);
            double[] key = each(d, n -> n % 2 == 0 ? Math.cos(alpha) : Math.sin(alpha));
            int t = s.integer("t") + 100;
            double base = Math.max(s.number("base"), 2);
            double[] q = rotated(base, t, query)[0];
            double[] k = rotated(base, t - distance, key)[0];
            double[] pairs = script.numbers("contributions", alpha, d, base, distance);
            assertClose(pairs, each(d / 2, m -> q[2 * m] * k[2 * m] + q[2 * m + 1] * k[2 * m + 1]), s);
            assertThat(script.number("score", alpha, d, base, distance)).isCloseTo(product(q, k), ROUNDING);
        }
    }

    @Test
    void bitsBecomeTheSinusoidsOfTheirPeriods() {
        PlayScript script = new PlayScript("bits");
        SinusoidalEncoding sines = SinusoidalEncoding.builder()
                .setEmbeddingSize(10)
                .optFrequencies(Frequencies.of(each(5, bit -> Math.PI / (1 << bit))))
                .build();
        for (int t = 0; t < 32; t++) {
            int at = t;
            double[] bits = each(5, bit -> at >> bit & 1);
            double[] waves = each(5, bit -> (1 - sines.value(at, 2 * bit)) / 2);
            assertClose(each(5, bit -> script.number("wave", bit, at, 0)), bits, t);
            assertClose(each(5, bit -> script.number("wave", bit, at, 1)), waves, t);
            assertClose(each(5, bit -> script.number("wave", bit, at, 0.5)), each(5, n -> (bits[n] + waves[n]) / 2), t);
        }
    }

    @Test
    void weightsOfAShiftAreThoseOfTheLibrarysMatrix() {
        PlayScript script = new PlayScript("shift");
        for (int i = 0; i < CASES / 4; i++) {
            PlayScript.Settings s = script.random(random);
            int pairs = s.integer("pairs");
            SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(2 * pairs, s.number("base"));
            double[] query = row(encoding, s.integer("query"));
            double[] shifted = Stream.of(encoding.shift(-s.integer("back")))
                    .mapToDouble(row -> product(row, query))
                    .toArray();
            double gain = s.number("gain") / Math.sqrt(2 * pairs);
            double[] expected = softmax(each(s.integer("length"), key -> gain * product(row(encoding, key), shifted)));
            assertClose(
                    script.numbers(
                            "weights",
                            s.integer("length"),
                            pairs,
                            s.number("base"),
                            s.integer("query"),
                            s.integer("back"),
                            s.number("gain")),
                    expected,
                    s);
        }
    }

    @Test
    void biasesOfDistances() {
        PlayScript script = new PlayScript("biases");
        for (int i = 0; i < CASES / 4; i++) {
            PlayScript.Settings s = script.random(random);
            double slope = s.number("slope");
            RelativeBuckets buckets = RelativeBuckets.of(false, s.integer("buckets"), s.integer("largest"));
            AlibiSlopes alibi = AlibiSlopes.custom(slope);
            Object[] settings = {slope, s.integer("buckets"), s.integer("largest")};
            assertClose(
                    each(150, n -> script.number("bucket", n, settings[1], settings[2])),
                    each(150, n -> buckets.bucket(-n)),
                    s);
            assertClose(
                    script.numbers("weights", "t5", settings[0], settings[1], settings[2]),
                    softmax(each(129, n -> -slope * buckets.bucket(-n))),
                    s);
            assertClose(
                    script.numbers("weights", "alibi", settings[0], settings[1], settings[2]),
                    softmax(each(129, n -> alibi.bias(0, n))),
                    s);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "sinusoids", "learned", "rotary", "alibi", "t5"})
    void scoresOfThePlayground(String encoding) {
        PlayScript script = new PlayScript("playground");
        String[] words = "the dog bites the man who sees the dog".split(" ", -1);
        RelativeBuckets buckets = RelativeBuckets.of(true, 8, 16);
        for (int d : new int[] {4, 16, 64}) {
            double[][] vectors = Stream.of(words)
                    .map(word -> script.numbers("word", word, d))
                    .toArray(double[][]::new);
            double[] numbers =
                    Stream.of(vectors).flatMapToDouble(Arrays::stream).toArray();
            assertThat(product(numbers, numbers) / numbers.length)
                    .as("variance")
                    .isBetween(0.5, 1.5);
            for (int t = 0; t < words.length; t++) {
                double[] added = encoding.equals("sinusoids")
                        ? row(SinusoidalEncoding.vaswani(d), t)
                        : script.numbers("position", encoding, t, d);
                double[] word = vectors[t];
                vectors[t] = each(d, i -> word[i] + added[i]);
            }
            double[][] qk = encoding.equals("rotary") ? rotated(10_000, 0, vectors) : vectors;
            double[][] scores = script.call(double[][].class, "scores", encoding, words, d);
            for (int t = 0; t < words.length; t++) {
                int query = t;
                assertClose(
                        scores[t],
                        each(
                                words.length,
                                key -> product(qk[query], qk[key]) / Math.sqrt(d)
                                        + switch (encoding) {
                                            case "alibi" -> AlibiSlopes.of(8).bias(1, query - key);
                                            case "t5" ->
                                                1.5 * script.number("hash", "bucket " + buckets.bucket(key - query));
                                            default -> 0;
                                        }),
                        t);
            }
        }
    }

    @Test
    void encodingsAndSimilaritiesOfPatches() {
        PlayScript script = new PlayScript("patches");
        for (int i = 0; i < CASES / 4; i++) {
            PlayScript.Settings s = script.random(random);
            int d = s.integer("d");
            int columns = s.integer("columns");
            GridEncoding grid = GridEncoding.visionTransformer(d);
            SinusoidalEncoding number = SinusoidalEncoding.vaswani(d);
            boolean isGrid = s.text("encoding").equals("axes");
            double[][] rows = IntStream.range(0, s.integer("rows") * columns)
                    .mapToObj(n -> isGrid ? each(d, c -> grid.value(c, n / columns, n % columns)) : row(number, n))
                    .toArray(double[][]::new);
            int row = Math.min(s.integer("row"), s.integer("rows") - 1);
            int column = Math.min(s.integer("column"), columns - 1);
            double[] chosen = rows[row * columns + column];
            assertClose(script.numbers("values", s.text("encoding"), row, column, columns, d), chosen, s);
            assertClose(
                    script.numbers("similarities", s.text("encoding"), row, column, s.integer("rows"), columns, d),
                    each(rows.length, n -> product(chosen, rows[n]) / (d / 2.0)),
                    s);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"vaswani", "cosineFirst", "concatenated", "cosinesFirst", "tensor2tensor", "dit", "neighborsLess"
            })
    void checkerFindsTheConventionOfARow(String convention) {
        PlayScript script = new PlayScript("checker");
        for (double[] placed : new double[][] {{1, 8, 10_000}, {37, 8, 500_000}, {2049, 16, 100}}) {
            SinusoidalEncoding encoding = encoding(convention, (int) placed[1], placed[2]);
            String text = DoubleStream.of(row(encoding, placed[0]))
                    .mapToObj("%.4f"::formatted)
                    .reduce("[", (all, number) -> all + number + ", ");
            double[] numbers = script.numbers("numbers", text);
            Object[][] found = script.call(Object[][].class, "find", numbers, script.number("tolerance", text));
            // base 10,000 with exponents divided by 4 is base 1,000 with exponents divided by 3
            assertThat(found.length).as("%s %s", convention, text).isBetween(1, 2);
            assertThat(Stream.of(found).map(each -> "%s %.0f %.0f".formatted(each)))
                    .contains("%s %.0f %.0f".formatted(convention, placed[0], placed[2]));
        }
    }

    @Test
    void numbersAreRoundedToTheNearest() {
        PlayScript script = new PlayScript("formats");
        double[] special = {0, 1, 256, 257, 259, 2049, 2051, 65_504, 65_519, 65_520, 1e-7, 6e-8, 2e-8, 0.1, -0.3};
        double[] values = DoubleStream.concat(
                        DoubleStream.of(special),
                        random.doubles(300).map(x -> (x - 0.5) * Math.pow(10, 6 * random.nextDouble())))
                .map(x -> (float) x)
                .toArray();
        assertClose(
                rounded(script, "float32", values), each(values.length, i -> FloatFormat.FLOAT32.round(values[i])), 32);
        assertClose(
                rounded(script, "float16", values), each(values.length, i -> FloatFormat.FLOAT16.round(values[i])), 16);
        // a float of which the second half is rounded away, to an even one in the middle
        assertClose(
                rounded(script, "bfloat16", values),
                each(values.length, i -> {
                    int bits = Float.floatToIntBits((float) values[i]);
                    return Float.intBitsToFloat(bits + 0x7fff + (bits >>> 16 & 1) & 0xffff0000);
                }),
                "BFLOAT16");
        // all of 998 to 1002 is 1000 in BFLOAT16, and the score of neighbors that of the same position
        assertThat(script.numbers("scores", "bfloat16", 999, 1, 1)[0]).isCloseTo(1, within(0.01));
        assertThat(script.numbers("scores", "float32", 999, 1, 1)[1]).isCloseTo(Math.cos(1), within(1e-6));
    }

    private static double[] rounded(PlayScript script, String format, double... values) {
        return each(values.length, i -> script.number("round", format, values[i]));
    }
}
