package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.AlibiBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.TransformerXlPositionBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Tables that do not fit into memory are rejected before anything is allocated; the block works as before. */
class FaultTooLargeTest {

    private static final int MANY = 2_000_000_000;

    private static void assertRejected(ThrowingCallable call, Object... values) {
        assertThatIllegalArgumentException()
                .isThrownBy(call)
                .satisfies(e -> assertThat(e.getMessage()).contains(strings(values)));
    }

    private static CharSequence[] strings(Object... values) {
        return Arrays.stream(values).map(Object::toString).toArray(CharSequence[]::new);
    }

    private static void assertNotInitialized(NDManager manager, Block block, Shape input, int width) {
        assertRejected(
                () -> block.initialize(manager, DataType.FLOAT32, input), new Shape(MANY, width), 4L * width * MANY);
        assertThat(block.isInitialized()).isFalse();
        assertThat(manager.getManagedArrays()).isEmpty();
    }

    @EngineTest
    void tablesThatNoMachineHasMemoryFor(NDManager manager) {
        Block positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4096)
                .optMaxSequenceLength(MANY)
                .build();
        Block learned = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(4096)
                .optMaxSequenceLength(MANY)
                .build();
        Block tokens = InputEmbeddingBlock.builder()
                .setVocabularySize(MANY)
                .setEmbeddingSize(4096)
                .build();
        Block rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4096)
                .optMaxSequenceLength(MANY)
                .build();
        assertNotInitialized(manager, positions, new Shape(1, 3, 4096), 4096);
        assertNotInitialized(manager, learned, new Shape(1, 3, 4096), 4096);
        assertNotInitialized(manager, tokens, new Shape(1, 3), 4096);
        assertNotInitialized(manager, rotary, new Shape(1, 1, 3, 4096), 8192);
        NDArray x = manager.zeros(new Shape(1, 3, 4096));
        assertRejected(() -> Forward.infer(manager, positions, x), new Shape(MANY, 4096), 4L * 4096 * MANY);
    }

    @EngineTest
    void gridWithRowsLongerThanABuffer(NDManager manager) {
        GridPositionalEncodingBlock block = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(4))
                .build();
        assertRejected(
                () -> block.initialize(manager, DataType.FLOAT64, new Shape(1, 1, 500_000_000, 4)),
                new Shape(1, 500_000_000, 4),
                16_000_000_000L);
        assertThat(manager.getManagedArrays()).isEmpty();
        NDArray x = manager.zeros(new Shape(1, 2, 3, 4));
        assertThat(Forward.infer(manager, block, x).getShape()).isEqualTo(x.getShape());
    }

    /** A token stream that has gone wrong gives a position of a billion. */
    @EngineTest
    void positionFarBeyondTheLimitOfATableThatGrows(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(512)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 20)
                .build();
        NDArray x = manager.zeros(new Shape(1, 1, 512));
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        NDArray table = block.getEncodings();
        int before = manager.getManagedArrays().size();
        assertRejected(() -> Forward.inferFrom(manager, 1_000_000_000, block, x), 1_000_000_000, 1 << 20);
        for (DataType type : new DataType[] {DataType.INT64, DataType.FLOAT32}) {
            try (NDArray position = manager.full(new Shape(1), 1e9f, type)) {
                assertRejected(() -> Forward.infer(manager, block, x, position), "position 1", "optAutoExtend");
            }
        }
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertThat(block.getMaxSequenceLength()).isEqualTo(10);
        assertThat(block.getEncodings()).isSameAs(table);
        assertThat(Forward.infer(manager, block, manager.zeros(new Shape(1, 12, 512)))
                        .toFloatArray())
                .isEqualTo(SinusoidalEncoding.vaswani(512).table(0, 12));
    }

    /** A limit that allows more than the machine has. */
    @EngineTest
    void tableThatCannotGrowIntoTheMemory(NDManager manager) {
        int far = (1 << 29) - 1;
        PositionalEncodingBlock positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4096)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 29)
                .build();
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4096)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 29)
                .build();
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(4096).build();
        TransformerXlPositionBlock xl = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(4096)
                .setHeadCount(4096)
                .build();
        assertStays(manager, far, positions, new Shape(1, 1, 4096), new Shape(1 << 29, 4096));
        assertStays(manager, far, rotary, new Shape(1, 1, 1, 4096), new Shape(1 << 29, 8192));
        assertStays(manager, far, alibi, new Shape(1, 4096, 1, 1), new Shape((1L << 30) - 1, 4096));
        assertStays(manager, far, xl, new Shape(1, 4096, 1, 1), new Shape((1L << 30) - 1, 4096));
    }

    private static void assertStays(NDManager manager, int far, Block block, Shape input, Shape table) {
        NDArray x = manager.ones(input);
        block.initialize(manager, DataType.FLOAT32, input);
        float[] expected = Forward.infer(manager, block, x).toFloatArray();
        assertRejected(() -> Forward.inferFrom(manager, far, block, x), table, 4 * table.size());
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(expected);
    }
}
