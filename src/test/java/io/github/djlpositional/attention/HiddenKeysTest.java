package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.relative.EncodingType;

/** Keys that are hidden beside a cap of the scores or by distance, and masks that are trained. */
class HiddenKeysTest {

    @EngineTest
    void aCapOfTheScoresHidesNoLess(NDManager manager) {
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, 6, SIZE);
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.ALIBI
                        .attention(HEADS)
                        .optCausal(true)
                        .optScoreCap(2)
                        .build(),
                DataType.FLOAT64);
        double[] expected =
                new NaiveAttention(EncodingType.ALIBI, block).capped(2).forward(0, x, x, x, (i, j) -> j <= i);
        requireClose(Forward.infer(manager, block, x), expected, 1e-12);
    }

    /** In FLOAT16 the product of 0 and an infinite number would be NaN. */
    @EngineTest
    void theMaskOfDistancesIsZeroOrInfiniteInEveryDataType(NDManager manager) {
        MultiHeadAttentionBlock block =
                EncodingType.NONE.attention(HEADS).optCausal(true).optWindow(2).build();
        AttentionMask mask = new AttentionMask(null, null, null, 0, block.options(), true);
        AttentionCall call = TestCalls.of(manager, Positions.of(0, 3));
        for (DataType type : new DataType[] {DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64}) {
            try (Temporaries temporaries = new Temporaries()) {
                NDArray like = manager.ones(new Shape(1, 1, 3, 4)).toType(type, false);
                NDArray distances = mask.ofDistances(temporaries, call, like);
                assertThat(distances.getDataType()).isEqualTo(type);
                double hidden = Double.NEGATIVE_INFINITY;
                assertThat(doubles(distances)).containsExactly(hidden, 0, 0, hidden, hidden);
            }
        }
    }

    /** T5 adds the biases of one block in every layer. */
    @EngineTest
    void aMaskIsTrained(NDManager manager, boolean fused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.NONE.attention(HEADS).optFusedKernel(fused).build(),
                DataType.FLOAT64);
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, 5, SIZE);
        NDArray mask = numbers(manager, 8, DataType.FLOAT64, 1, HEADS, 5, 5);
        FiniteDifferences.requireGradients(manager, block, null, x, mask);
    }
}
