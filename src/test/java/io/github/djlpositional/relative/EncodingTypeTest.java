package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.ArchitectureTest;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.NaiveAttention;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.options.OptionTypes;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.ResidentMemory;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.TestEngine;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** An attention with each relative encoding. */
@Sampled(oneIn = 2)
class EncodingTypeTest extends OnEachEngine {

    private static final double[] PADDING = {1, 0, 1, 1, 0, 1};

    private MultiHeadAttentionBlock attention(EncodingType type, boolean causal, DataType dataType) {
        return filled(manager, type.attention(HEADS).optCausal(causal).build(), dataType);
    }

    @Test
    void isTestedWithEveryRelativeEncoding() {
        Set<String> tested = Arrays.stream(EncodingType.values())
                .map(type -> type.encoding(2))
                .filter(Objects::nonNull)
                .map(encoding -> encoding.getClass().getSimpleName())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(tested)
                .as("a class that is missing here needs a constant in EncodingType: see CONTRIBUTING.md")
                .isEqualTo(ArchitectureTest.concrete(RelativeEncoding.class));
        assertThat(OptionTypes.of(RelativeEncoding.class).values())
                .as("a class that is missing here needs a name in LibraryTypes: see CONTRIBUTING.md")
                .extracting(Class::getSimpleName)
                .containsExactlyInAnyOrderElementsOf(tested);
    }

    /** The names of the papers, and other spellings of them. */
    @Test
    void anEncodingIsFoundByItsNames() {
        assertThat(RelativeEncoding.names())
                .containsExactly(
                        "rotary",
                        "ALiBi",
                        "T5",
                        "KERPLE",
                        "Sandwich",
                        "Gaussian",
                        "distance network",
                        "FIRE",
                        "Shaw",
                        "Transformer-XL",
                        "disentangled",
                        "FoX",
                        "Inkling",
                        "learned rotary",
                        "Swin",
                        "Swin V2",
                        "MViTv2");
        Map.of(
                        "RoPE", RotaryEmbeddingBlock.class,
                        "ROTARY", RotaryEmbeddingBlock.class,
                        "alibi", AlibiBiasBlock.class,
                        "transformer_xl", TransformerXlPositionBlock.class,
                        "TransformerXL", TransformerXlPositionBlock.class,
                        "deberta", DisentangledPositionBlock.class)
                .forEach((name, type) -> assertThat(RelativeEncoding.named(name, 2, 4, Map.of()))
                        .as(name)
                        .isInstanceOf(type));
    }

    /** An attention of two heads of size 4, whose encoding has one other argument; null leaves it out. */
    private static Executable rejectedSize(EncodingType type, String name, Integer size, Object... values) {
        Map<String, Object> arguments = new HashMap<>(((HasArguments) type.block()).getArguments());
        arguments.put(name, size);
        arguments.values().removeIf(Objects::isNull);
        MultiHeadAttentionBlock.Builder attention =
                MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
        return rejected(
                () -> attention
                        .optRelativeEncoding(RelativeEncoding.fromArguments(arguments))
                        .build(),
                values);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void rejectsSizesThatAreNotThoseOfTheAttention(EncodingType type) {
        Map<String, Object> arguments = ((HasArguments) type.block()).getArguments();
        List<String> sizes = Stream.of("headCount", "headSize", "embeddingSize")
                .filter(arguments::containsKey)
                .toList();
        assertThat(sizes).isNotEmpty();
        assertAll(sizes.stream().flatMap(size -> {
            int other = 2 * (int) arguments.get(size);
            return Stream.of(
                    rejectedSize(type, size, other, size, other),
                    rejectedSize(type, size, 0, size + " 0"),
                    rejectedSize(type, size, -1, size + " -1"),
                    rejectedSize(type, size, null, "'" + size + "'", "missing"));
        }));
    }

    /** PyTorch's kernel computes 13 keys with three hidden ones more. */
    @CartesianTest
    void givesTheNumbersOfThePaper(
            @CartesianTest.Enum EncodingType type,
            @Values(booleans = {true, false}) boolean causal,
            @Values(booleans = {true, false}) boolean isFused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                type.attention(HEADS).optCausal(causal).optFusedKernel(isFused).build(),
                DataType.FLOAT64);
        for (int length : new int[] {1, 13}) {
            NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, length, SIZE);
            NDArray y = Forward.infer(manager, block, x);
            assertThat(y.getShape()).isEqualTo(x.getShape());
            double[] expected = new NaiveAttention(type, block).forward(0, x, x, x);
            requireClose(y, expected, 1e-12);
        }
    }

    @ParameterizedTest
    @EnumSource
    void masksPaddingAndAcceptsKeysOfAnotherLengthAndQueriesBeyondThem(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type, false, DataType.FLOAT64);
        NaiveAttention naive = new NaiveAttention(type, block).hiding(false, true, false, false, true, false);
        for (int[] queries : new int[][] {{1, 0}, {4, 0}, {8, 0}, {3, 1}, {3, 5}, {3, 60}}) {
            try (NDManager own = manager.newSubManager()) {
                NDArray x = numbers(own, 1, DataType.FLOAT64, 1, queries[0], SIZE);
                NDArray keys = numbers(own, 2, DataType.FLOAT64, 1, 6, SIZE);
                NDArray values = numbers(own, 3, DataType.FLOAT64, 1, 6, SIZE);
                NDArray mask = own.create(PADDING, new Shape(1, 6));
                int first = queries[1];
                int before = own.getManagedArrays().size();
                NDArray y = Forward.inferFrom(own, first, block, keys, x, values, mask);
                assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
                requireClose(y, naive.forward(first, x, keys, values), 1e-12);
                if (first == 0) {
                    before = own.getManagedArrays().size();
                    NDArray probabilities =
                            block.probabilities(new ParameterStore(own, false), new NDList(keys, x, values, mask));
                    assertThat(own.getManagedArrays()).as("only these").hasSize(before + 1);
                    assertThat(probabilities.getShape()).isEqualTo(new Shape(1, HEADS, queries[0], 6));
                    requireClose(probabilities, naive.probabilities(x, keys), 1e-12);
                }
            }
        }
    }

    @CartesianTest
    void isTheSameFromManyThreads(
            @CartesianTest.Enum EncodingType type, @Values(booleans = {true, false}) boolean isPadded) {
        assumeEngine(TestEngine.PYTORCH);
        MultiHeadAttentionBlock block = attention(type, !isPadded, DataType.FLOAT64);
        block.freezeParameters(true);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE);
        NDArray[] inputs = isPadded ? new NDArray[] {x, manager.create(PADDING, new Shape(1, 6))} : new NDArray[] {x};
        double[] expected = doubles(Forward.infer(manager, block, inputs));
        IntStream.range(0, 64).parallel().forEach(i -> {
            try (NDManager own = manager.newSubManager()) {
                requireClose(Forward.infer(own, block, inputs), expected, 1e-13);
            }
        });
    }

    @ParameterizedTest
    @EnumSource
    void aCrossAttentionTakesThePositionsOfItsQueries(EncodingType type) {
        // it counts tokens
        assumeTrue(type != EncodingType.FORGETTING);
        MultiHeadAttentionBlock block = attention(type, false, DataType.FLOAT64);
        NDManager own = manager.newSubManager();
        NDArray keys = numbers(own, 2, DataType.FLOAT64, 2, 6, SIZE);
        NDArray values = numbers(own, 3, DataType.FLOAT64, 2, 6, SIZE);
        NDArray queries = numbers(own, 1, DataType.FLOAT64, 2, 3, SIZE);
        // below 6, so that the length is 6 for an encoding that depends on it
        int[][] positions = {{3, 4, 5}, {1, 5, 2}};
        NDArray ofQueries = own.create(positions);
        int before = own.getManagedArrays().size();
        NDArray y = Forward.inferAt(own, ofQueries, block, keys, queries, values);
        assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
        for (int row = 0; row < 2; row++) {
            NDArray k = keys.get("{}:{}", row, row + 1);
            NDArray v = values.get("{}:{}", row, row + 1);
            for (int i = 0; i < 3; i++) {
                NDArray q = queries.get("{}:{}, {}:{}", row, row + 1, i, i + 1);
                NDArray expected = Forward.inferFrom(manager, positions[row][i], block, k, q, v);
                requireClose(y.get("{}, {}", row, i), expected.toDoubleArray(), 1e-13);
            }
        }
    }

    /** The default scale is 1 / √4: queries of twice the size have the same scores, including those of the encoding. */
    @Test
    void hasTheScaleThatIsSet() {
        MultiHeadAttentionBlock usual = attention(EncodingType.SHAW, false, DataType.FLOAT64);
        MultiHeadAttentionBlock scaled =
                filled(manager, EncodingType.SHAW.attention(HEADS).optScale(1).build(), DataType.FLOAT64);
        usual.getQueryProjection()
                .getParameters()
                .values()
                .forEach(parameter -> parameter.getArray().muli(2));
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 6, SIZE);
        requireClose(Forward.infer(manager, scaled, x), doubles(Forward.infer(manager, usual, x)), 1e-12);
    }

    /** StoredAttentionTest has the numbers of times. */
    @ParameterizedTest
    @EnumSource
    void takesRealPositionsOrNamesTheEncodingsThatDo(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type, false, DataType.FLOAT64);
        NDManager own = manager.newSubManager();
        NDArray x = numbers(own, 7, DataType.FLOAT64, 2, 6, SIZE);
        // T5's buckets begin at 2, at about 3.5 and at 6
        NDArray positions = own.create(new float[] {0, 2, 3, 4, 6, 9});
        NDArray whole = positions.toType(DataType.INT32, true);
        int before = own.getManagedArrays().size();
        NDArray expected = Forward.inferAt(own, whole, block, x);
        assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
        if (type.takesRealPositions()) {
            requireClose(Forward.inferAt(own, positions, block, x), expected.toDoubleArray(), 1e-13);
        } else {
            assertThatThrownBy(() -> Forward.inferAt(manager, positions, block, x))
                    .isInstanceOf(IllegalArgumentException.class)
                    .message()
                    .contains("(1, 6", "floating-point")
                    .satisfies(message -> assertThat(message.substring(message.lastIndexOf(':') + 2)
                                    .split(", | or "))
                            .containsExactlyElementsOf(EncodingType.namesWithRealPositions()));
        }
    }

    /** The biases of distances that are multiples of a step are computed once; another token makes them irregular. */
    @ParameterizedTest
    @EnumSource
    void regularRealPositionsAreLikeIrregularOnes(EncodingType type) {
        assumeTrue(type.takesRealPositions());
        MultiHeadAttentionBlock block = attention(type, true, DataType.FLOAT64);
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 6, SIZE);
        NDArray regular = manager.create(new double[] {-2.25, 0.75, 0.75, 1.5, 9, 6});
        NDArray y = Forward.inferAt(manager, regular, block, x);
        NDArray irregular = regular.concat(manager.create(new double[] {Math.PI * 1000}));
        NDArray longer = Forward.inferAt(manager, irregular, block, x.concat(x.get(":, :1"), 1));
        requireClose(longer.get(":, :6"), doubles(y), 1e-12);
    }

    @ParameterizedTest
    @EnumSource
    void realPositionsMayAllBeTheSame(EncodingType type) {
        assumeTrue(type.takesRealPositions());
        MultiHeadAttentionBlock block = attention(type, false, DataType.FLOAT64);
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 3, SIZE);
        NDArray positions = manager.create(new int[] {5, 5, 5});
        NDArray expected = Forward.inferAt(manager, positions, block, x);
        requireClose(
                Forward.inferAt(manager, positions.toType(DataType.FLOAT64, false), block, x),
                doubles(expected),
                1e-13);
    }

    /** Such as those of padding before the first token, or of events before another one. */
    @CartesianTest
    void integerPositionsMayBeNegative(
            @CartesianTest.Enum EncodingType type, @CartesianTest.Enum(names = {"INT32", "INT64"}) DataType integer) {
        // a rotary table and a window begin at 0
        assumeTrue(type.isOfDistances() || type == EncodingType.FIRE);
        assumeTrue(!(type.encoding(HEADS) instanceof RotaryEmbeddingBlock));
        int[] positions = {-3, -536870911, 0, 2, -1, 7};
        MultiHeadAttentionBlock block = attention(type, false, DataType.FLOAT64);
        NDArray x = numbers(manager, 12, DataType.FLOAT64, 1, positions.length, SIZE);
        NDArray array = manager.create(positions).toType(integer, false);
        double[] expected = new NaiveAttention(type, block).at(positions).forward(0, x, x, x);
        // angles of 2^29 are rounded by 2^-24
        requireClose(Forward.inferAt(manager, array, block, x), expected, 1e-6);
        if (type.takesRealPositions()) {
            NDArray real = manager.create(positions).toType(DataType.FLOAT64, false);
            requireClose(Forward.inferAt(manager, real, block, x), expected, 1e-6);
        }
    }

    @ParameterizedTest
    @EnumSource
    void positionsFarApartNeedMemoryForTheTokensOnly(EncodingType type) {
        // a rotary table has a greatest position
        assumeTrue(type.isOfDistances() && !(type.encoding(HEADS) instanceof RotaryEmbeddingBlock));
        int[] positions = {5_000_000, 0, 5_000_003, 100_000_000, (1 << 29) - 2};
        MultiHeadAttentionBlock block = attention(type, false, DataType.FLOAT64);
        NDArray x = numbers(manager, 12, DataType.FLOAT64, 1, positions.length, SIZE);
        NDArray y = Forward.inferAt(manager, manager.create(positions), block, x);
        // angles of 2^29 are rounded by 2^-24
        requireClose(y, new NaiveAttention(type, block).at(positions).forward(0, x, x, x), 1e-6);
    }

    /** LongSequenceTest has the parts of windows. */
    @Test
    void computesLongSequencesInParts() {
        // 4 · 2 · 600 · 600 scores are more than one part
        MultiHeadAttentionBlock block = attention(EncodingType.SHAW, true, DataType.FLOAT32);
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 4, 600, SIZE);
        NDArray mask = manager.randomUniform(-1, 1, new Shape(4, 600, 600)).gt(0);
        mask = mask.toType(DataType.FLOAT32, false).maximum(manager.eye(600).expandDims(0));
        NDArray whole = Forward.infer(manager, block, x, mask);
        NDArray one = Forward.infer(manager, block, x.get("2:3"), mask.get("2:3"));
        assertThat(whole.get("2:3").toFloatArray()).containsExactly(one.toFloatArray(), within(2e-5f));
    }

    @ParameterizedTest
    @EnumSource
    @Tag("slow")
    void fourThousandPositionsNeedLessMemoryThanTheirScores(EncodingType type) throws Exception {
        assumeTrue(ResidentMemory.bytes() > 0, "the system does not report resident memory");
        int length = 4096;
        MultiHeadAttentionBlock block =
                filled(manager, type.attention(HEADS, length / 3 + 1).build(), DataType.FLOAT32);
        // as in a loaded model: parameters that require gradients keep the softmax of every part
        block.freezeParameters(true);
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 2, length, SIZE);
        // a few parts of 8 MB at a time, at most 107 MB measured; one part would need three times the limit
        long before = ResidentMemory.resetPeak();
        Forward.infer(manager, block, x).close();
        long scores = 2 * 4L * HEADS * length * length;
        assertThat(ResidentMemory.peak() - before)
                .as("growth of the peak, with %d bytes of scores", scores)
                .isLessThan(scores);
    }
}
