package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Steps of one token with a cache, B = 2, T = 7, D = 16, N = 4, compared with the forward of the whole sequence. */
class StepInOneCallTest extends OnEachEngine {

    private static final int LENGTH = 7;

    private static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(16)
                .setHeadCount(4)
                .optKeyValueHeadCount(2)
                .optCausal(true);
    }

    private MultiHeadAttentionBlock frozen(MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64, new Shape(2, LENGTH, 16));
        block.freezeParameters(true); // as if it was loaded
        return block;
    }

    /** The results of steps of one token; the inputs of each are slices of these. */
    private NDArray steps(MultiHeadAttentionBlock block, NDArray positions, NDArray... inputs) {
        ParameterStore store = new ParameterStore(manager, false);
        NDList results = new NDList();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < LENGTH; i++) {
                NDArray x = inputs[0].get(":, {}:{}", i, i + 1);
                NDList step = new NDList(x);
                if (inputs.length > 1) {
                    step.add(x);
                    step.add(inputs[1].get(":, {}:{}", i, i + 1));
                }
                PairList<String, Object> params = cache.nextStep();
                if (positions != null) {
                    params.add(PositionalEncodingBlock.POSITIONS, positions.get("{}:{}", i, i + 1));
                }
                results.add(block.forward(store, step, false, params).head());
            }
        }
        return NDArrays.concat(results, 1);
    }

    private void requireSteps(MultiHeadAttentionBlock block) {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, LENGTH, 16);
        requireClose(steps(block, null, x), doubles(Forward.infer(manager, block, x)), 1e-12);
    }

    @ParameterizedTest
    @CsvSource({"CONCATENATED, true", "CONCATENATED, false", "INTERLEAVED, true", "INTERLEAVED, false"})
    void equalTheWholeSequence(PairLayout layout, boolean hasBias) {
        requireSteps(frozen(attention()
                .optBias(hasBias)
                .optScale(0.3)
                .optQueryNorm(RmsNormBlock.builder()
                        .setEmbeddingSize(4)
                        .optEpsilon(1e-3)
                        .build())
                .optKeyNorm(LayerNormBlock.builder()
                        .setEmbeddingSize(4)
                        .optEpsilon(1e-2)
                        .build())
                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                        .setHeadSize(4)
                        .optLayout(layout)
                        .build())));
    }

    @Test
    void equalTheWholeSequenceWithBiasesAndAWindow() {
        requireSteps(frozen(attention()
                .optWindow(3)
                .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(4).build())));
    }

    @Test
    void valuesMayBeOthersThanTheKeys() {
        MultiHeadAttentionBlock block = frozen(attention());
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, LENGTH, 16);
        NDArray values = numbers(manager, 2, DataType.FLOAT64, 2, LENGTH, 16);
        NDArray whole = Forward.infer(manager, block, x, x, values);
        requireClose(steps(block, null, x, values), doubles(whole), 1e-12);
    }

    /** Positions of all sequences hide keys outside of the window in each of them. */
    @Test
    void aWindowOfPositionsMayBeThatOfAllSequences() {
        MultiHeadAttentionBlock block = frozen(attention().optWindow(2).optWindowByPosition(true));
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, LENGTH, 16);
        NDArray positions = manager.create(new long[] {0, 1, 3, 4, 5, 8, 9});
        NDArray whole = Forward.inferAt(manager, positions, block, x);
        requireClose(steps(block, positions, x), doubles(whole), 1e-12);
    }

    /** Rotates queries, but not keys, by angles that depend on how many keys there are; they are a parameter. */
    private static final class ByKeys extends RelativeEncoding.Base {

        private final Parameter angle = addParameter("angle", new Shape(1), Initializer.ONES);

        @Override
        public List<Term> terms() {
            return List.of(new Rotation(0, 4, PairLayout.CONCATENATED, (call, like, areKeys) -> {
                NDArray value = call.value(angle, like);
                NDArray angles = value.mul(areKeys ? 0 : call.keys().count())
                        .reshape(1, 1, 1)
                        .repeat(2, 2)
                        .repeat(
                                1,
                                areKeys ? call.keys().count() : call.queries().count());
                return angles.cos().concat(angles.sin(), 2);
            }));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void aRotationSeesAllKeysAndMayBeTrained(boolean isTrained) {
        ByKeys encoding = new ByKeys();
        MultiHeadAttentionBlock block = frozen(attention().optRelativeEncoding(encoding));
        encoding.freezeParameters(!isTrained);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, LENGTH, 16);
        NDArray last = x.get(":, :{}", LENGTH);
        // of the whole sequence, the last query has the angle of a step with as many keys
        NDArray whole = Forward.infer(manager, block, last).get(":, -1:");
        NDArray step = steps(block, null, x).get(":, -1:");
        requireClose(step, doubles(whole), 1e-12);
        assertThat(step.hasGradient()).isFalse();
    }
}
