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
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.NaiveAttention.Visible;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;

/** Keys that an encoding hides besides the mask, and masks that are trained. */
class HiddenKeysTest {

    /** The second sequence of three begins before the first one ends. */
    private static final int[] POSITIONS = {0, 1, 4, 2, 3, 0, 5};

    /** ALiBi that hides later positions, with heads of the published slopes 2^-4 and 2^-8. */
    private static MultiHeadAttentionBlock causalAlibi(NDManager manager, Double scoreCap, boolean fused) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(HEADS)
                .optRelativeEncoding(AlibiBiasBlock.builder()
                        .setHeadCount(HEADS)
                        .optCausal(true)
                        .build())
                .optFusedKernel(fused);
        return filled(manager, (scoreCap == null ? builder : builder.optScoreCap(scoreCap)).build(), DataType.FLOAT64);
    }

    private static PairList<String, Object> positions(NDManager manager) {
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, manager.create(POSITIONS));
        return params;
    }

    @EngineTest
    void anEncodingHidesKeysByPosition(NDManager manager, boolean fused) {
        // the token of position 0 that comes sixth sees only itself and the first, and the mask hides both
        NDArray tokens = manager.create(new int[][] {{0, 1, 1, 1, 1, 0, 1}});
        Visible earlier = (i, j) -> j <= i && POSITIONS[j] <= POSITIONS[i];
        for (Double cap : new Double[] {null, 2.0}) {
            NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, POSITIONS.length, SIZE);
            MultiHeadAttentionBlock block = causalAlibi(manager, cap, fused);
            NaiveAttention naive = new NaiveAttention(EncodingType.ALIBI, block).at(POSITIONS);
            if (cap != null) {
                naive.capped(cap);
            }
            PairList<String, Object> params = positions(manager);
            requireClose(Forward.infer(manager, block, params, x), naive.forward(0, x, x, x, earlier), 1e-12);
            requireClose(
                    Forward.infer(manager, block, params, x, tokens),
                    naive.forward(0, x, x, x, (i, j) -> earlier.test(i, j) && j != 0 && j != 5),
                    1e-12);
            FiniteDifferences.requireGradients(manager, block, params, x, tokens);
        }
    }

    @EngineTest
    void aCapOfTheScoresHidesNoLessOfAnEncoding(NDManager manager) {
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, 6, SIZE);
        MultiHeadAttentionBlock block = causalAlibi(manager, 2.0, true);
        double[] expected =
                new NaiveAttention(EncodingType.ALIBI, block).capped(2).forward(0, x, x, x, (i, j) -> j <= i);
        requireClose(Forward.infer(manager, block, x), expected, 1e-12);
    }

    /** In FLOAT16 the product of 0 and an infinite number would be NaN. */
    @EngineTest
    void theMaskOfDistancesIsZeroOrInfiniteInEveryDataType(NDManager manager) {
        AttentionMask mask = new AttentionMask(null, null, new Visibility(true, 2, null), true);
        AttentionCall call = new AttentionCall(null, false, Positions.of(0, 3), Positions.of(0, 3), null, true, 1);
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
