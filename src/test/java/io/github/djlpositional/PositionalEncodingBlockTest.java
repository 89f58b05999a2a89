package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.math.SinusoidalEncoding;

class PositionalEncodingBlockTest {

    private static final SinusoidalEncoding ENCODING = SinusoidalEncoding.vaswani(4);

    private static PositionalEncodingBlock block(int size, int maxLength) {
        return positions()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(maxLength)
                .build();
    }

    private static PositionalEncodingBlock withoutInput() {
        return positions().optAddToInput(false).build();
    }

    private static PositionalEncodingBlock extending(int size, int maxLength, int limit) {
        return positions()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(maxLength)
                .optAutoExtend(limit)
                .build();
    }

    /** Expects the rows of consecutive positions, for D = 4. */
    private static void assertRows(NDArray rows, int first, int count) {
        assertThat(rows.toFloatArray()).isEqualTo(ENCODING.table(first, count));
    }

    @EngineTest
    void tableLargerThanOnePieceIsComplete(NDManager manager) {
        // 16 MiB, computed in pieces of 8
        PositionalEncodingBlock block = initialized(manager, block(64, 65_536), 1, 10, 64);
        assertThat(block.getEncodings().toFloatArray())
                .isEqualTo(SinusoidalEncoding.vaswani(64).table(0, 65_536));
    }

    /** Up to 64 positions are read; of more, the engine computes the least and the greatest. */
    @EngineTest(onCpu = true)
    void checksFewAndManyPositionsOfEveryIntegerType(NDManager manager) {
        PositionalEncodingBlock block = block(4, 120);
        for (DataType type : new DataType[] {DataType.INT8, DataType.UINT8, DataType.INT32, DataType.INT64}) {
            for (int count : new int[] {3, 64, 65, 100}) {
                NDArray x = manager.zeros(new Shape(1, count, 4));
                NDArray good = manager.arange(20, 20 + count, 1, DataType.INT32).toType(type, false);
                assertRows(Forward.infer(manager, block, x, good), 20, count);
                PositionalEncodingBlock extending = extending(4, 2, 1 << 20);
                assertRows(extending.encode(good), 20, count);
                assertThat(extending.getMaxSequenceLength()).isEqualTo(20 + count);
                for (int bad : type == DataType.UINT8 ? new int[] {120} : new int[] {-1, 120}) {
                    int[] values = good.toType(DataType.INT32, true).toIntArray();
                    values[count / 2] = bad;
                    NDArray positions = manager.create(values).toType(type, false);
                    String given = "position " + bad + " at index " + count / 2 + " of (" + count + ")";
                    refused(() -> Forward.infer(manager, block, x, positions), given, "0 to 119");
                }
            }
        }
    }

    private static void assertReturned(NDManager manager, long[] shape, int last, NDArray... inputs) {
        NDArray rows = Forward.infer(manager, withoutInput(), inputs);
        assertThat(rows.getShape()).isEqualTo(new Shape(shape));
        assertRows(rows.get(shape[0] - 1), last, 3);
    }

    @EngineTest
    void returnsTheEncodingsOfPositions(NDManager manager) {
        NDArray x = manager.zeros(new Shape(2, 3, 4));
        assertReturned(manager, new long[] {1, 3, 4}, 0, x);
        assertReturned(manager, new long[] {1, 3, 4}, 4, x, manager.create(new int[] {4, 5, 6}));
        assertReturned(manager, new long[] {2, 3, 4}, 1, x, manager.create(new int[][] {{4, 5, 6}, {1, 2, 3}}));
    }

    private static void assertEncoded(NDArray positions, double... expected) {
        NDArray encoded = block(4, 10).encode(positions);
        assertThat(encoded.getShape()).isEqualTo(positions.getShape().add(4));
        float[] values = encoded.toFloatArray();
        for (int i = 0; i < values.length; i++) {
            assertThat(values[i]).isEqualTo((float) ENCODING.value(expected[i / 4], i % 4));
        }
    }

    @EngineTest
    void encodesIntegerAndRealPositionsOfAnyShape(NDManager manager) {
        assertEncoded(manager.create(7), 7);
        assertEncoded(manager.arange(8).reshape(2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7);
        assertEncoded(manager.create(new float[] {1, 2, 3, 4}, new Shape(2, 2)), 1, 2, 3, 4);
        assertEncoded(manager.create(new float[] {0, 0.5f, 8.75f}), 0, 0.5, 8.75);
        assertEncoded(manager.create(new Shape(0, 3), DataType.INT64));
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
        PositionalEncodingBlock block = initialized(manager, extending(4, 10, 1 << 20), 1, 10, 4);
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
    }

    @EngineTest
    void extendsItselfUpToItsLimit(NDManager manager) {
        PositionalEncodingBlock block = initialized(manager, extending(4, 10, 15), 1, 10, 4);
        NDArray x = manager.zeros(new Shape(1, 1, 4));
        assertRows(Forward.infer(manager, block, x, manager.create(new long[] {10})), 10, 1);
        // 2 · 10 is beyond the limit
        assertThat(block.getMaxSequenceLength()).isEqualTo(15);
        assertRows(Forward.inferFrom(manager, 14, block, x), 14, 1);
        // real positions are not looked up
        assertRows(Forward.infer(manager, block, x, manager.create(new float[] {15})), 15, 1);
        refused(() -> block.encode(manager.create(15)), "position 15", "0 to 14");
        assertThat(block.getMaxSequenceLength()).isEqualTo(15);
    }

    @EngineTest
    void encodesTimeMajorInput(NDManager manager) {
        PositionalEncodingBlock block = positions().optSequenceAxis(0).build();
        NDArray x = manager.zeros(new Shape(3, 2, 4));
        NDArray implied = Forward.infer(manager, block, x);
        assertRows(implied.get(":, 0"), 0, 3);
        assertRows(implied.get(":, 1"), 0, 3);
        NDArray shared = Forward.infer(manager, block, x, manager.create(new int[] {5, 6, 7}));
        assertRows(shared.get(":, 1"), 5, 3);
        NDArray positions = manager.create(new int[][] {{5, 1}, {6, 2}, {7, 3}});
        NDArray each = Forward.infer(manager, block, x, positions);
        assertRows(each.get(":, 0"), 5, 3);
        assertRows(each.get(":, 1"), 1, 3);
        NDArray deep = Forward.infer(manager, block, manager.zeros(new Shape(3, 2, 5, 4)));
        assertRows(deep.get(":, 1, 4"), 0, 3);
        Block withoutInput = positions().optSequenceAxis(0).optAddToInput(false).build();
        for (int length : new int[] {3, 0}) {
            NDArray given = manager.create(new Shape(length, 2, 4));
            assertThat(Forward.infer(manager, withoutInput, given).getShape()).isEqualTo(new Shape(length, 1, 4));
            assertThat(withoutInput.getOutputShapes(new Shape[] {given.getShape()}))
                    .containsExactly(new Shape(length, 1, 4));
        }
    }

    @EngineTest
    void learnsItsScale(NDManager manager) {
        PositionalEncodingBlock block = positions()
                .optEncoding(SinusoidalEncoding.xTransformers(4))
                .optLearnedScale(0.5f)
                .build();
        initialized(manager, block, 1, 3, 4);
        double sum = 0;
        for (float value : SinusoidalEncoding.xTransformers(4).table(0, 3)) {
            sum += value;
        }
        assertThat(block.getEncoding()).isEqualTo(SinusoidalEncoding.xTransformers(4));
        assertThat(block.getParameters().keys()).containsExactly("scale");
        NDArray ones = manager.ones(new Shape(1, 3, 4));
        SmallBlocks.train(manager, block, ones, ones);
        NDArray scale = block.getParameters().get("scale").getArray();
        // 12 floats of at most 1 and their sum: 24 roundings of at most 2^-23
        assertThat((double) scale.getGradient().getFloat(0)).isCloseTo(sum, within(24 * 0x1p-22));
    }

    @EngineTest
    void shiftsEncodingsByAMatrix(NDManager manager) {
        PositionalEncodingBlock block = block(16, 100);
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 16));
        for (double offset : new double[] {1, -7, 0.5}) {
            NDArray shift = block.shift(manager, offset);
            assertThat(shift.getShape()).isEqualTo(new Shape(16, 16));
            NDArray from = block.encode(manager.create(new float[] {20, 50}));
            NDArray to = block.encode(manager.create(new float[] {20 + (float) offset, 50 + (float) offset}));
            // 16 products of values that are exact to an ulp
            assertThat(from.matMul(shift.transpose()).sub(to).abs().max().getDouble())
                    .isLessThan(16 * 0x1p-52);
        }
    }
}
