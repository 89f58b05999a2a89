package org.example;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.EncodingType.HEAD_SIZE;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.NaiveAttention;
import io.github.djlpositional.attention.NaiveAttention.Added;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Rotation;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.guide.PeriodicBias;
import io.github.djlpositional.guide.PeriodicBiasTest;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.options.TypeProvider;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Steps;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** A program's bias, rotation and score term, written with the public interface, get what this library's own get. */
public class OwnEncodingTest extends OnEachEngine {

    private static final int LENGTH = 40;
    private static final int PERIOD = 7;

    /** PeriodicBias rounds its frequency to FLOAT32: 2^-25 times a distance of 40, in sums of numbers up to 8. */
    private static final double ERROR_OF_FREQUENCY = 1e-5;

    /** Each kind. */
    @SuppressWarnings("ImmutableEnumChecker") // constructors have no state
    enum Kind {
        BIAS("periodic", heads -> new PeriodicBias(heads, PERIOD)),
        ROTATION("learned rotation", OwnEncoding.LearnedRotation::new),
        TERM("segment term", OwnEncoding.SegmentTerm::new),
        TOKENS("token term", OwnEncoding.TokenTerm::new);

        private final String name;
        private final IntFunction<RelativeEncoding> constructor;

        Kind(String name, IntFunction<RelativeEncoding> constructor) {
            this.name = name;
            this.constructor = constructor;
        }

        RelativeEncoding create() {
            return constructor.apply(HEADS);
        }
    }

    /** Names the classes of the program; the provider of docs/own-encoding.md names the bias. */
    public static final class Provider implements TypeProvider {
        @Override
        public Map<String, Class<?>> types() {
            return Stream.of(Kind.values())
                    .filter(kind -> kind != Kind.BIAS)
                    .collect(Collectors.toMap(
                            kind -> kind.name, kind -> kind.create().getClass()));
        }
    }

    private static MultiHeadAttentionBlock.Builder builder(RelativeEncoding... encodings) {
        return EncodingType.NONE.attention(HEADS).optCausal(true).optRelativeEncoding(encodings);
    }

    private static MultiHeadAttentionBlock attention(
            NDManager manager, boolean isFused, RelativeEncoding... encodings) {
        MultiHeadAttentionBlock block =
                filled(manager, builder(encodings).optFusedKernel(isFused).build(), DataType.FLOAT64);
        block.freezeParameters(true);
        return block;
    }

    private static PairList<String, Object> withSegments(NDManager manager, PairList<String, Object> params, int end) {
        NDArray index = manager.arange(end).toType(DataType.FLOAT64, false);
        params.add("segments", index.div(3).floor().reshape(1, end));
        return params;
    }

    private static NDArray whole(NDManager manager, MultiHeadAttentionBlock block, NDArray x) {
        PairList<String, Object> params =
                withSegments(manager, new PairList<>(), (int) x.getShape().get(1));
        return Forward.infer(manager, block, params, x);
    }

    private static double[] learned(RelativeEncoding encoding) {
        return doubles(encoding.getParameters().valueAt(0).getArray());
    }

    /** What a bias or a term adds to a score. */
    private static Added added(NDManager manager, MultiHeadAttentionBlock block, RelativeEncoding encoding, NDArray x) {
        double[] w = learned(encoding);
        if (encoding instanceof PeriodicBias) {
            return (head, i, j) -> w[head] * Math.cos(2 * Math.PI * (i - j) / PERIOD);
        }
        if (encoding instanceof OwnEncoding.TokenTerm) {
            double[] numbers =
                    doubles(x.matMul(encoding.getParameters().valueAt(0).getArray()));
            return (head, i, j) -> numbers[i * HEADS + head] * numbers[j * HEADS + head];
        }
        double[] q = doubles(block.getQueryProjection()
                .forward(new ParameterStore(manager, false), new NDList(x), false)
                .head());
        return (head, i, j) -> i / 3 != j / 3
                ? 0
                : IntStream.range(head * HEAD_SIZE, (head + 1) * HEAD_SIZE)
                        .mapToDouble(h -> q[i * SIZE + h] * w[h])
                        .sum();
    }

    /** What each kind computes, by the formula or by an encoding of the library. */
    private static double[] expected(NDManager manager, Kind kind, MultiHeadAttentionBlock block, NDArray x) {
        RelativeEncoding own = block.getRelativeEncodings().get(0);
        if (kind != Kind.ROTATION) {
            return new NaiveAttention(EncodingType.NONE, block)
                    .with(added(manager, block, own, x))
                    .forward(0, x, x, x);
        }
        double[] w = learned(own);
        MultiHeadAttentionBlock rotary = filled(
                manager,
                builder(RotaryEmbeddingBlock.builder()
                                .setHeadSize(HEAD_SIZE)
                                .optLayout(PairLayout.CONCATENATED)
                                .optFrequencies(Frequencies.of(w[0], w[1]))
                                .build())
                        .build(),
                DataType.FLOAT64);
        copyWeights(block, rotary);
        return doubles(Forward.infer(manager, rotary, x));
    }

    @CartesianTest
    void computesItsFormulaInEveryKernelAndInParts(
            @CartesianTest.Enum Kind kind,
            @Values(booleans = {true, false}) boolean isFused,
            @Values(booleans = {true, false}) boolean isInParts) {
        RelativeEncoding encoding = kind.create();
        MultiHeadAttentionBlock block = isInParts
                ? attention(manager, isFused, encoding, new SmallParts())
                : attention(manager, isFused, encoding);
        if (kind == Kind.ROTATION) {
            // a rotary embedding has the same frequencies in all heads
            NDArray w = encoding.getParameters().valueAt(0).getArray();
            w.get(":, :1").copyTo(w.get(":, 1:"));
            NDArray same = w.get(":, :1").repeat(1, HEADS);
            same.copyTo(w);
        }
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, LENGTH, SIZE);
        requireClose(
                whole(manager, block, x),
                expected(manager, kind, block, x),
                kind == Kind.BIAS ? ERROR_OF_FREQUENCY : 1e-12);
    }

    /** Adds 0 to each score, and makes an attention process its queries in parts of 16. */
    private static final class SmallParts extends RelativeEncoding.Base {

        @Override
        public List<Term> terms() {
            return List.of(Term.bias((call, distances) ->
                            distances.toArray().expandDims(0).zerosLike())
                    .withPairSize(call -> 1 << 20));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    @CartesianTest
    void stepsEqualTheWhole(@CartesianTest.Enum Kind kind, @Values(booleans = {true, false}) boolean isFused) {
        MultiHeadAttentionBlock block = attention(manager, isFused, kind.create());
        NDArray x = numbers(manager, 4, DataType.FLOAT64, 1, LENGTH, SIZE);
        int[] counts = {7, 1, 1, 16, 1, 1, 1, 12};
        Steps.requireWhole(manager, block, (params, end) -> withSegments(manager, params, end), new NDList(x), counts);
    }

    /** Numbers that depend on differences of positions are the same for other positions with the same differences. */
    @CartesianTest
    void usesPositions(@CartesianTest.Enum Kind kind, @Values(booleans = {true, false}) boolean isFused) {
        MultiHeadAttentionBlock block = attention(manager, isFused, kind.create());
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 2, 6, SIZE);
        NDArray near = manager.create(new int[][] {{0, 1, 2, 3, 4, 5}, {5, 3, 1, 0, 2, 9}});
        NDArray far = near.add(1_000_000);
        NDArray spread = manager.create(new int[][] {{0, 1, 2, 3, 4, 5}, {5_000_000, 3, 1, 0, 2, 9}});
        double[] first = positioned(manager, block, x, near);
        requireClose(manager.create(first), positioned(manager, block, x, far), kind == Kind.ROTATION ? 1e-8 : 1e-12);
        double[] other = positioned(manager, block, x, spread);
        int half = first.length / 2;
        // the second sequence of the batch has other differences
        assertThat(Arrays.copyOf(other, half)).containsExactly(Arrays.copyOf(first, half), within(1e-12));
        if (kind == Kind.TERM || kind == Kind.TOKENS) {
            assertThat(largestDifference(other, first)).isLessThan(1e-12);
        } else {
            assertThat(largestDifference(other, first)).isGreaterThan(1e-3);
        }
    }

    private static double largestDifference(double[] a, double[] b) {
        return IntStream.range(0, a.length)
                .mapToDouble(i -> Math.abs(a[i] - b[i]))
                .max()
                .orElseThrow();
    }

    private static double[] positioned(NDManager manager, MultiHeadAttentionBlock block, NDArray x, NDArray positions) {
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, positions);
        return doubles(Forward.infer(manager, block, withSegments(manager, params, 6), x));
    }

    @CartesianTest
    void isTrained(@CartesianTest.Enum Kind kind, @Values(booleans = {true, false}) boolean isFused) {
        MultiHeadAttentionBlock block = attention(manager, isFused, kind.create());
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 6, SIZE);
        FiniteDifferences.requireGradients(manager, block, withSegments(manager, new PairList<>(), 6), x);
    }

    @CartesianTest
    void isReadFromArgumentsAndItsName(@CartesianTest.Enum Kind kind, @TempDir Path folder) throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.write(
                services.resolve(TypeProvider.class.getName()),
                List.of(Provider.class.getName(), PeriodicBiasTest.Provider.class.getName()));
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, before)) {
            Thread.currentThread().setContextClassLoader(loader);
            MultiHeadAttentionBlock block = attention(manager, true, kind.create());
            MultiHeadAttentionBlock read = MultiHeadAttentionBlock.fromArguments(block.getArguments());
            BlockBytes.load(manager, read, BlockBytes.saved(block));
            NDArray x = numbers(manager, 6, DataType.FLOAT64, 1, 5, SIZE);
            requireClose(whole(manager, read, x), doubles(whole(manager, block, x)), 1e-12);
            Map<String, Object> options = kind == Kind.BIAS ? Map.of("period", PERIOD) : Map.of();
            assertThat(RelativeEncoding.named(kind.name, HEADS, 4, options))
                    .hasSameClassAs(block.getRelativeEncodings().get(0));
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    /** Rotations follow each other, and terms are added. */
    @CartesianTest
    void severalAreTogether(
            @Values(booleans = {true, false}) boolean isFused, @Values(booleans = {true, false}) boolean isRotated) {
        PeriodicBias periodic = new PeriodicBias(HEADS, PERIOD);
        OwnEncoding segments = new OwnEncoding.SegmentTerm(HEADS);
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(HEADS).build();
        RelativeEncoding other = isRotated ? EncodingType.ROTARY.block() : segments;
        MultiHeadAttentionBlock block = filled(
                manager, builder(periodic, other, alibi).optFusedKernel(isFused).build(), DataType.FLOAT64);
        block.freezeParameters(true);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, LENGTH, SIZE);
        Added bias = added(manager, block, periodic, x);
        Added product = isRotated ? (head, i, j) -> 0 : added(manager, block, segments, x);
        NaiveAttention naive = new NaiveAttention(isRotated ? EncodingType.ROTARY : EncodingType.NONE, block)
                .with((head, i, j) -> bias.at(head, i, j)
                        + product.at(head, i, j)
                        + alibi.getSlopes().bias(head, i - j));
        requireClose(whole(manager, block, x), naive.forward(0, x, x, x), ERROR_OF_FREQUENCY);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rows of the rotation",
                "queries",
                "keys",
                "biases",
                "coordinates",
                "scores",
                "features of tokens",
                "values"
            })
    void rejectsAResultOfAnotherShapeThanDocumented(String method) {
        NDArray x = numbers(manager, 6, DataType.FLOAT64, 1, 5, SIZE);
        Wrong encoding = new Wrong(method);
        MultiHeadAttentionBlock block = attention(manager, false, encoding);
        assertAll(rejected(
                () -> Forward.infer(manager, block, x),
                method + " of " + encoding.getClass().getSimpleName(),
                "(1, 3, 3, 3)",
                method.equals("biases") ? "(1 or 2, 6)" : "5"));
    }

    /** An encoding of which one method returns an array of a wrong shape. */
    private static final class Wrong extends RelativeEncoding.Base {

        private final String method;

        Wrong(String method) {
            this.method = method;
        }

        private static NDArray wrong(NDArray like) {
            return like.getManager().zeros(new Shape(1, 3, 3, 3), DataType.FLOAT64);
        }

        @Override
        public List<Term> terms() {
            return List.of(
                    switch (method) {
                        case "rows of the rotation" ->
                            new Rotation(0, 2, PairLayout.INTERLEAVED, (call, x, areKeys) -> wrong(x));
                        case "queries" -> Term.heads((call, queries) -> wrong(queries), null);
                        case "keys" -> Term.heads(null, (call, keys) -> wrong(keys));
                        case "biases" -> Term.bias((call, distances) -> wrong(distances.toArray()));
                        case "coordinates" ->
                            Term.bias(
                                    (call, distances) -> distances.toArray().expandDims(0),
                                    (tokens, like) -> wrong(like),
                                    (tokens, like) -> wrong(like));
                        case "scores" -> Term.scores((call, queries, keys) -> wrong(queries));
                        case "features of tokens" -> Term.scoresOfTokens((call, input) -> wrong(input), null, null);
                        default -> Term.values((call, probabilities) -> wrong(probabilities));
                    });
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }
}
