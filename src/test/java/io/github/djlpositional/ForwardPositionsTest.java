package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import java.util.List;

/** Absolute encodings with the positions of the forward parameter {@code positions}. */
class ForwardPositionsTest {

    private static PairList<String, Object> params(NDArray positions) {
        return Forward.params(PositionalEncodingBlock.POSITIONS, positions);
    }

    /** Positions for two sequences of three. */
    private static List<NDArray> given(NDManager manager) {
        return List.of(
                manager.create(new int[] {4, 0, 9}),
                manager.create(new long[][] {{4, 0, 9}, {1, 2, 3}}),
                manager.create(new int[][] {{4, 0, 9}}));
    }

    @EngineTest
    void areThoseOfTheSecondInput(NDManager manager) {
        NDArray x = manager.arange(24f).reshape(2, 3, 4);
        for (Block block : List.of(
                positions().build(),
                positions().optAddToInput(false).build(),
                learned().build(),
                learned().optAddToInput(false).build())) {
            initialized(manager, block, 2, 3, 4);
            for (NDArray positions : given(manager)) {
                NDArray y = Forward.infer(manager, block, params(positions), x);
                assertThat(y).isEqualTo(Forward.infer(manager, block, x, positions));
                assertThat(y).isNotEqualTo(Forward.infer(manager, block, x));
            }
        }
        NDArray reals = manager.create(new float[] {0, 0.5f, 2.25f});
        Block sinusoids = positions().build();
        assertThat(Forward.infer(manager, sinusoids, params(reals), x))
                .isEqualTo(Forward.infer(manager, sinusoids, x, reals));
    }

    @EngineTest
    void replaceThoseThatAnEmbeddingCountsFromPadding(NDManager manager) {
        NDArray ids = ids(manager);
        for (InputEmbeddingBlock block : List.of(
                embedding().optMaxSequenceLength(10).build(),
                embedding().optPaddingIndex(0).optPositionsFromPadding(1).build())) {
            initialized(manager, block, 2, 3);
            for (NDArray positions : given(manager)) {
                NDArray y = Forward.infer(manager, block, params(positions), ids);
                assertThat(y).isEqualTo(Forward.infer(manager, block, ids, positions));
                assertThat(y).isNotEqualTo(Forward.infer(manager, block, ids));
            }
        }
    }
}
