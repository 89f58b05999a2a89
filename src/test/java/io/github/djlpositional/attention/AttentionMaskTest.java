package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.Forward;
import io.github.djlpositional.relative.EncodingType;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** What a mask hides, with each relative encoding. */
class AttentionMaskTest {

    private static MultiHeadAttentionBlock attention(
            NDManager manager, EncodingType type, boolean causal, DataType dataType, boolean fused) {
        return filled(
                manager,
                type.attention(HEADS).optCausal(causal).optFusedKernel(fused).build(),
                dataType);
    }

    /** MXNet cannot create the parameters in FLOAT16. */
    private static List<DataType> types(Engine engine) {
        return engine.getEngineName().equals("MXNet")
                ? List.of(DataType.FLOAT32, DataType.FLOAT64)
                : List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64);
    }

    /** Large embeddings, (2, 6, D): the first three are the same for each seed. */
    private static NDArray large(NDManager manager, long seed, DataType type) {
        float size = type == DataType.FLOAT64 ? 1e6f : 300;
        NDArray first = numbers(manager, 1, type, 2, 3, SIZE).mul(size);
        NDArray last = numbers(manager, seed, type, 2, 3, SIZE).mul(size);
        return NDArrays.concat(new NDList(first, last), 1);
    }

    @EngineTest(Selection.EACH)
    void hiddenKeysHaveNoWeightHoweverLargeTheScoresAre(
            Engine engine, NDManager manager, EncodingType type, boolean fused) {
        NDArray tokens = manager.create(new int[][] {{1, 1, 1, 0, 0, 0}, {1, 1, 1, 0, 0, 0}});
        for (DataType dataType : types(engine)) {
            NDArray added = added(tokens.reshape(2, 1, 1, 6), dataType);
            NDArray one = large(manager, 2, dataType);
            NDArray other = large(manager, 3, dataType);
            MultiHeadAttentionBlock causal = attention(manager, type, true, dataType, fused);
            NDArray past = Forward.infer(manager, causal, one).get(":, :3");
            assertThat(doubles(past)).doesNotContain(Double.NaN);
            requireSame(Forward.infer(manager, causal, other).get(":, :3"), past);
            MultiHeadAttentionBlock padded = attention(manager, type, false, dataType, fused);
            for (NDArray mask : List.of(tokens, added)) {
                requireSame(
                        Forward.infer(manager, padded, other, mask).get(":, :3"),
                        Forward.infer(manager, padded, one, mask).get(":, :3"));
            }
            double[] gradient = gradients(manager, padded, numbers(manager, 5, dataType, 2, 2, SIZE), one, tokens)
                    .get("keys");
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
    private static NDList masksThatLeaveAQueryWithoutKeys(NDManager manager, boolean causal, DataType dataType) {
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

    @EngineTest(Selection.EACH)
    void aQueryWithoutKeysHasZeroProbabilitiesResultAndGradient(
            Engine engine, NDManager manager, EncodingType type, boolean fused, boolean causal) {
        for (DataType dataType : types(engine)) {
            double tolerance = dataType == DataType.FLOAT16 ? 1e-2 : 1e-5;
            MultiHeadAttentionBlock block = attention(manager, type, causal, dataType, fused);
            double[] bias = doubles(
                    block.getResultProjection().getParameters().get("bias").getArray());
            NDList masks = masksThatLeaveAQueryWithoutKeys(manager, causal, dataType);
            for (int i = 0; i < masks.size(); i++) {
                NDArray mask = masks.get(i);
                NDArray x = numbers(manager, 1, dataType, 2, 3, SIZE);
                NDArray queries = numbers(manager, 2, dataType, 2, 3, SIZE);
                NDArray y = Forward.infer(manager, block, x, queries, x, mask);
                requireClose(y.get("1, 0"), bias, 0);
                NDArray probabilities =
                        block.probabilities(new ParameterStore(manager, false), new NDList(x, queries, x, mask));
                assertThat(doubles(probabilities.get("1, :, 0"))).containsOnly(0);
                NDArray sum =
                        probabilities.get("0").toType(DataType.FLOAT64, true).sum();
                assertThat(sum.getDouble()).isCloseTo(HEADS * 3, within(tolerance));
                // gradients take long: those of one form of mask for each encoding; at night of all
                boolean isSelected = i == type.name().length() % masks.size();
                if (!isSelected && !EngineTestExtension.IS_NIGHTLY) {
                    continue;
                }
                if (dataType == DataType.FLOAT64 && isSelected) {
                    // a new block, since gradients of parameters add up
                    MultiHeadAttentionBlock same = attention(manager, type, causal, dataType, fused);
                    FiniteDifferences.requireGradients(manager, same, null, x, queries, x.duplicate(), mask);
                    continue;
                }
                Map<String, double[]> gradients = gradients(manager, block, queries, x, mask);
                assertThat(Arrays.copyOfRange(gradients.get("queries"), 3 * SIZE, 4 * SIZE))
                        .containsOnly(0);
                gradients.forEach((name, values) ->
                        assertThat(Arrays.stream(values)).as(name).allMatch(Double::isFinite));
            }
        }
    }

    /** The gradients by the inputs and by all parameters. */
    private static Map<String, double[]> gradients(
            NDManager manager, MultiHeadAttentionBlock block, NDArray queries, NDArray keys, NDArray mask) {
        return FiniteDifferences.gradients(
                block,
                Map.of("queries", queries, "keys", keys),
                () -> Forward.train(manager, block, keys, queries, keys, mask));
    }
}
