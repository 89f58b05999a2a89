package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.math.SinusoidalEncoding;

class PositionalEncodingBlockTest {

    /** Expects the rows of consecutive positions, for D = 4. */
    private static void assertRows(NDArray rows, int first, int count) {
        assertThat(rows.toFloatArray()).isEqualTo(SinusoidalEncoding.vaswani(4).table(first, count));
    }

    @EngineTest
    void tableLargerThanOnePieceIsComplete(NDManager manager) {
        // 16 MiB, computed in pieces of 8
        PositionalEncodingBlock block =
                positions().setEmbeddingSize(64).optMaxSequenceLength(65_536).build();
        initialized(manager, block, 1, 10, 64);
        assertThat(block.getEncodings().toFloatArray())
                .isEqualTo(SinusoidalEncoding.vaswani(64).table(0, 65_536));
    }

    /** EveryForwardTest has the test that other blocks drop numbers. */
    @EngineTest
    void dropsTheShareOfItsRate(NDManager manager) {
        Block block = positions()
                .setEmbeddingSize(64)
                .optMaxSequenceLength(100)
                .optDropoutRate(0.5f)
                .build();
        Block input = initialized(
                manager, embedding().setEmbeddingSize(64).optDropoutRate(0.9f).build(), 8, 100);
        NDArray x = manager.ones(new Shape(8, 100, 64)).mul(10);
        // 51,200 draws: six standard deviations are 0.0133 and 0.008
        assertThat(SmallBlocks.dropped(manager, block, x)).isCloseTo(0.5, within(0.0133));
        NDArray ids = manager.ones(new Shape(8, 100), DataType.INT64);
        assertThat(SmallBlocks.dropped(manager, input, ids)).isCloseTo(0.9, within(0.008));
    }

    @EngineTest
    void extendsItselfToTwiceTheLengthOrTheGreatestPosition(NDManager manager) {
        PositionalEncodingBlock block =
                initialized(manager, positions().optAutoExtend(240).build(), 1, 10, 4);
        assertRows(Forward.infer(manager, block, manager.zeros(new Shape(1, 11, 4))), 0, 11);
        assertThat(block.getMaxSequenceLength()).isEqualTo(20);
        assertRows(Forward.inferFrom(manager, 100, block, manager.zeros(new Shape(1, 2, 4))), 100, 2);
        assertThat(block.getMaxSequenceLength()).isEqualTo(102);
        assertRows(block.encode(manager.create(new long[] {150})), 150, 1);
        assertThat(block.getMaxSequenceLength()).isEqualTo(204);
        // real positions are computed
        assertRows(block.encode(manager.create(new float[] {1e6f})), 1_000_000, 1);
        assertThat(block.getMaxSequenceLength()).isEqualTo(204);
        // earlier rows keep their values, and shorter sequences do not extend the table
        assertRows(block.getEncodings(), 0, 204);
        Forward.infer(manager, block, manager.zeros(new Shape(1, 204, 4)));
        assertThat(block.getMaxSequenceLength()).isEqualTo(204);
        // twice 204 is beyond the limit
        assertRows(block.encode(manager.create(204)), 204, 1);
        assertThat(block.getMaxSequenceLength()).isEqualTo(240);
    }

    @EngineTest
    void shiftsEncodingsByAMatrix(NDManager manager) {
        PositionalEncodingBlock block =
                positions().setEmbeddingSize(16).optMaxSequenceLength(100).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 16));
        NDArray shift = block.shift(manager, -7);
        NDArray from = block.encode(manager.create(new int[] {20, 50}));
        // 16 products of values that are exact to an ulp
        requireClose(
                from.matMul(shift.transpose()), doubles(block.encode(manager.create(new int[] {13, 43}))), 0x1p-48);
    }
}
