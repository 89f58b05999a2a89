package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Forward.infer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.Spread;
import io.github.djlpositional.support.TestEngine;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a mask hides, with each relative encoding. */
@Sampled(oneIn = 2)
class VisibilityTest extends OnEachEngine {

    /**
     * Each encoding has PyTorch's kernel or the other computation on one engine, and the other one on the other engine:
     * which of them computes depends little on the encoding.
     */
    private boolean isFused(EncodingType type) {
        return Spread.number(type, engine) % 2 == 0;
    }

    private static boolean isCausal(EncodingType type) {
        return Spread.number(type) / 2 % 2 == 0;
    }

    private MultiHeadAttentionBlock attention(EncodingType type, boolean causal, DataType dataType) {
        return filled(
                manager,
                type.attention(HEADS)
                        .optCausal(causal)
                        .optFusedKernel(isFused(type))
                        .build(),
                dataType);
    }

    /** MXNet cannot create the parameters in FLOAT16. */
    private List<DataType> types() {
        return engine == TestEngine.MXNET
                ? List.of(DataType.FLOAT32, DataType.FLOAT64)
                : List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64);
    }

    /** Large embeddings, (2, 6, D): the first three are the same for each seed. */
    private NDArray large(long seed, DataType type) {
        float size = type == DataType.FLOAT64 ? 1e6f : 300;
        NDArray first = numbers(manager, 1, type, 2, 3, SIZE).mul(size);
        NDArray last = numbers(manager, seed, type, 2, 3, SIZE).mul(size);
        return NDArrays.concat(new NDList(first, last), 1);
    }

    /** The first three tokens of two sequences, (2, 6). */
    private NDArray firstThree() {
        return manager.create(new int[][] {{1, 1, 1, 0, 0, 0}, {1, 1, 1, 0, 0, 0}});
    }

    /** Compares the results of the first three queries: sums of some ten products, relative to the largest. */
    private static void requireSameForFirstThree(NDArray actual, NDArray expected) {
        double[] first = doubles(expected.get(":, :3"));
        double largest = DoubleStream.of(first).map(Math::abs).max().orElseThrow();
        assertThat(largest).isBetween(1.0, 1e10);
        double rounding = expected.getDataType() == DataType.FLOAT16
                ? 0x1p-11
                : expected.getDataType() == DataType.FLOAT32 ? 0x1p-24 : 0x1p-53;
        requireClose(actual.get(":, :3"), first, 10 * largest * rounding);
    }

    @ParameterizedTest
    @EnumSource
    void causalityHidesLaterKeysHoweverLargeTheirScoresAre(EncodingType type) {
        for (DataType dataType : types()) {
            MultiHeadAttentionBlock causal = attention(type, true, dataType);
            NDArray expected = infer(manager, causal, large(2, dataType));
            requireSameForFirstThree(infer(manager, causal, large(3, dataType)), expected);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aMaskHidesKeysHoweverLargeTheirScoresAre(EncodingType type) {
        for (DataType dataType : types()) {
            MultiHeadAttentionBlock block = attention(type, false, dataType);
            NDArray x = large(2, dataType);
            NDArray other = large(3, dataType);
            for (NDArray mask : List.of(firstThree(), added(firstThree().reshape(2, 1, 1, 6), dataType))) {
                requireSameForFirstThree(infer(manager, block, other, mask), infer(manager, block, x, mask));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void noGradientFlowsToHiddenKeysHoweverLargeTheirScoresAre(EncodingType type) {
        for (DataType dataType : types()) {
            MultiHeadAttentionBlock block = attention(type, false, dataType);
            NDArray queries = numbers(manager, 5, dataType, 2, 2, SIZE);
            double[] gradient =
                    gradients(block, queries, large(2, dataType), firstThree()).get("keys");
            for (int i = 0; i < gradient.length; i++) {
                if (i / SIZE % 6 < 3) {
                    assertThat(gradient[i]).isFinite();
                } else {
                    assertThat(gradient[i]).isZero();
                }
            }
        }
    }

    /** 0 for 1, and -infinity for 0. */
    private static NDArray added(NDArray visible, DataType dataType) {
        return visible.toType(DataType.FLOAT32, true).log().toType(dataType, false);
    }

    /** Masks of two sequences of three tokens, in which the first query of the second sequence sees no key. */
    private NDList masksThatLeaveAQueryWithoutKeys(boolean causal, DataType dataType) {
        NDArray leftPadded = manager.create(new int[][] {{1, 1, 1}, {0, 1, 1}});
        if (causal) {
            return new NDList(leftPadded, added(leftPadded.reshape(2, 1, 1, 3), dataType));
        }
        NDArray ofQueries = manager.create(new float[] {1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1})
                .reshape(2, 3, 3);
        NDArray ofScores = ofQueries.reshape(2, 1, 3, 3);
        NDArray added = added(ofScores, dataType);
        NDArray smallestFinite = added.maximum(dataType == DataType.FLOAT16 ? -65504 : -Float.MAX_VALUE);
        return new NDList(ofQueries, ofScores.neq(0), added, smallestFinite);
    }

    /** One mask for each encoding on an engine: gradients take long, and depend little on the form of a mask. */
    private NDArray maskThatLeavesAQueryWithoutKeys(EncodingType type, DataType dataType) {
        NDList masks = masksThatLeaveAQueryWithoutKeys(isCausal(type), dataType);
        return masks.get((Spread.number(type) / 4 + Spread.number(engine)) % masks.size());
    }

    @ParameterizedTest
    @EnumSource
    void aQueryWithoutKeysHasProbabilitiesOfZero(EncodingType type) {
        for (DataType dataType : types()) {
            // a sum of probabilities, each rounded to the type
            double tolerance = dataType == DataType.FLOAT16 ? 1e-2 : 1e-5;
            MultiHeadAttentionBlock block = attention(type, isCausal(type), dataType);
            NDArray x = numbers(manager, 1, dataType, 2, 3, SIZE);
            NDArray queries = numbers(manager, 2, dataType, 2, 3, SIZE);
            for (NDArray mask : masksThatLeaveAQueryWithoutKeys(isCausal(type), dataType)) {
                NDArray probabilities =
                        block.probabilities(new ParameterStore(manager, false), new NDList(x, queries, x, mask));
                assertThat(doubles(probabilities.get("1, :, 0"))).containsOnly(0);
                double sum = DoubleStream.of(doubles(probabilities.get("0"))).sum();
                assertThat(sum).isCloseTo(HEADS * 3, within(tolerance));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aQueryWithoutKeysHasTheBiasAsItsResult(EncodingType type) {
        for (DataType dataType : types()) {
            MultiHeadAttentionBlock block = attention(type, isCausal(type), dataType);
            NDArray bias =
                    block.getResultProjection().getParameters().get("bias").getArray();
            NDArray x = numbers(manager, 1, dataType, 2, 3, SIZE);
            NDArray queries = numbers(manager, 2, dataType, 2, 3, SIZE);
            for (NDArray mask : masksThatLeaveAQueryWithoutKeys(isCausal(type), dataType)) {
                // products with zeros, and the bias
                requireSame(infer(manager, block, x, queries, x, mask).get("1, 0"), bias);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void noGradientFlowsThroughAQueryWithoutKeys(EncodingType type) {
        for (DataType dataType : types()) {
            MultiHeadAttentionBlock block = attention(type, isCausal(type), dataType);
            NDArray x = numbers(manager, 1, dataType, 2, 3, SIZE);
            NDArray queries = numbers(manager, 2, dataType, 2, 3, SIZE);
            NDArray mask = maskThatLeavesAQueryWithoutKeys(type, dataType);
            Map<String, double[]> gradients = gradients(block, queries, x, mask);
            assertThat(Arrays.copyOfRange(gradients.get("queries"), 3 * SIZE, 4 * SIZE))
                    .containsOnly(0);
            gradients.forEach(
                    (name, values) -> assertThat(Arrays.stream(values)).as(name).allMatch(Double::isFinite));
        }
    }

    @ParameterizedTest
    @EnumSource
    void gradientsWithAQueryWithoutKeysAreThoseOfFiniteDifferences(EncodingType type) {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 3, SIZE);
        NDArray queries = numbers(manager, 2, DataType.FLOAT64, 2, 3, SIZE);
        NDArray mask = maskThatLeavesAQueryWithoutKeys(type, DataType.FLOAT64);
        MultiHeadAttentionBlock block = attention(type, isCausal(type), DataType.FLOAT64);
        FiniteDifferences.requireGradients(manager, block, null, x, queries, x.duplicate(), mask);
    }

    /** The gradients by the inputs and by all parameters. */
    private Map<String, double[]> gradients(
            MultiHeadAttentionBlock block, NDArray queries, NDArray keys, NDArray mask) {
        return FiniteDifferences.gradients(
                block,
                Map.of("queries", queries, "keys", keys),
                () -> Forward.train(manager, block, keys, queries, keys, mask));
    }
}
