package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.math.RotaryAxes;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

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
                refused(
                        () -> Forward.infer(manager, block, params(positions), x, positions),
                        "positions of shape " + positions.getShape(),
                        "leave one out");
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
                refused(
                        () -> Forward.infer(manager, block, params(positions), ids, positions),
                        "positions of shape " + positions.getShape(),
                        "leave one out");
            }
        }
    }

    /** Arrays (B, 3) in integer and in real types. */
    private static List<NDArray> integersAndReals(NDManager manager, long[][] values) {
        NDArray integers = manager.create(values);
        return List.of(integers, integers.toType(DataType.INT32, true), integers.toType(DataType.FLOAT32, true));
    }

    @EngineTest
    void refusesHalvesThatLackOddNumbers(NDManager manager) {
        NDArray x = manager.ones(new Shape(1, 2, 4));
        NDArray positions = manager.create(new float[] {1, 2047}).toType(DataType.FLOAT16, false);
        Block block = positions().optMaxSequenceLength(5000).build();
        assertThat(Forward.infer(manager, block, x, positions))
                .isEqualTo(Forward.infer(manager, block, x, manager.create(new int[] {1, 2047})));
        NDArray beyond =
                positions.get("1:").concat(manager.create(new float[] {2049}).toType(DataType.FLOAT16, false));
        refused(() -> Forward.infer(manager, block, x, beyond), "FLOAT16", "2047", "integer type");
    }

    @EngineTest(onCpu = true)
    void refusesAMaskInPlaceOfPositions(NDManager manager) {
        NDArray x = manager.ones(new Shape(2, 3, 4));
        Block positions = positions().build();
        Block learned = initialized(manager, learned().build(), 2, 3, 4);
        Block embedding = initialized(manager, embedding().build(), 2, 3);
        Block rotary = RotaryEmbeddingBlock.builder().setHeadSize(4).build();
        NDArray heads = manager.ones(new Shape(2, 1, 3, 4));
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(4)
                .setHeadCount(1)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(4).build())
                .build();
        initialized(manager, attention, 2, 3, 4);
        for (long[][] values : new long[][][] {
            {{1, 1, 1}, {1, 1, 0}}, {{0, 0, 1}, {0, 1, 1}}, {{1, 1, 1}, {0, 0, 0}}, {{0, 0, 0}, {1, 1, 0}}
        }) {
            for (NDArray mask : integersAndReals(manager, values)) {
                for (ThrowingCallable call : List.<ThrowingCallable>of(
                        () -> Forward.infer(manager, positions, x, mask),
                        () -> Forward.infer(manager, learned, x, mask.toType(DataType.INT64, true)),
                        () -> Forward.infer(manager, embedding, ids(manager), mask),
                        () -> Forward.infer(manager, rotary, heads, mask),
                        () -> Forward.infer(manager, attention, params(mask), x))) {
                    refused(call, "positions of shape (2, 3)", "mask", "give the mask to the attention");
                }
            }
        }
    }

    @EngineTest
    void areNoMaskIfARowIsNoneOrNoRowHasTwoOnes(NDManager manager) {
        NDArray x = manager.ones(new Shape(2, 3, 4));
        PositionalEncodingBlock block = positions().build();
        for (long[][] values : new long[][][] {
            {{0, 1, 2}, {1, 1, 0}}, {{0, 1, 0}, {1, 1, 1}}, {{1, 0, 1}, {1, 1, 1}}, {{0, 0, 1}, {1, 0, 0}}
        }) {
            for (NDArray positions : integersAndReals(manager, values)) {
                assertThat(Forward.infer(manager, block, x, positions)).isEqualTo(x.add(block.encode(positions)));
            }
        }
        // one or two steps, positions that all sequences share, and positions on several axes
        Forward.infer(manager, block, x.get(":, :1"), manager.ones(new Shape(2, 1), DataType.INT64));
        Forward.infer(manager, block, x.get(":, :2"), manager.ones(new Shape(2, 2), DataType.INT64));
        Forward.infer(manager, block, x, manager.create(new int[] {0, 1, 1}));
        Block axes = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optAxes(RotaryAxes.sections(1, 1))
                .build();
        Forward.infer(
                manager, axes, manager.ones(new Shape(2, 1, 3, 4)), manager.ones(new Shape(2, 2, 3), DataType.INT64));
    }

    @EngineTest(onCpu = true)
    void aMaskIsFoundAlongTheAxisOfTheSequence(NDManager manager) {
        Block block = positions().optSequenceAxis(0).build();
        NDArray step = manager.ones(new Shape(1, 3, 4));
        Forward.infer(manager, block, step, manager.ones(new Shape(1, 3), DataType.INT64));
        NDArray x = manager.ones(new Shape(3, 2, 4));
        NDArray mask = manager.create(new long[][] {{1, 1}, {1, 1}, {1, 0}});
        refused(() -> Forward.infer(manager, block, x, mask), "positions of shape (3, 2)", "mask");
    }

    @EngineTest
    void saysWhereABooleanMaskBelongs(NDManager manager) {
        NDArray mask = manager.create(new boolean[][] {{true, true, true}, {true, false, false}});
        NDArray x = manager.ones(new Shape(2, 3, 4));
        Block embedding = initialized(manager, embedding().build(), 2, 3);
        Block without = initialized(manager, embedding().optNoPositions().build(), 2, 3);
        refused(() -> Forward.infer(manager, positions().build(), x, mask), "positions", "boolean", "give the mask to");
        refused(
                () -> Forward.infer(manager, embedding, ids(manager), mask),
                "positions",
                "boolean",
                "give the mask to");
        refused(() -> Forward.infer(manager, without, ids(manager), mask), "NoPositions", "mask", "attention");
    }

    @EngineTest
    void areRefusedTogetherWithAStart(NDManager manager) {
        PairList<String, Object> both = params(manager.create(new int[] {0, 1, 2}));
        both.add(PositionalEncodingBlock.START_POSITION, 3);
        NDArray x = manager.ones(new Shape(2, 3, 4));
        refused(() -> Forward.infer(manager, positions().build(), both, x), "startPosition=3", "positions");
    }
}
