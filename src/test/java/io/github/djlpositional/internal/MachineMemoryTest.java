package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tables that do not fit into memory are rejected before anything is allocated; the block works as before. */
class MachineMemoryTest {

    private static final int ROWS = 20_000;
    private static final int SIZE = 1024;
    private static final int MANY = 2_000_000_000;
    private static final int FAR = 1 << 29;

    @AfterEach
    void detectMemoryAgain() {
        HostData.detectMemoryBy(null);
    }

    private static void refused(ThrowingCallable call, Shape table, long bytes) {
        assertThatIllegalArgumentException()
                .isThrownBy(call)
                .withMessageContainingAll(table.toString(), Long.toString(bytes));
    }

    private static PositionalEncodingBlock positions(int size, int maxLength) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(maxLength)
                .build();
    }

    private static Block learned(int size, int maxLength) {
        return LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(maxLength)
                .build();
    }

    private static Block tokens(int size, int vocabularySize) {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(vocabularySize)
                .setEmbeddingSize(size)
                .optMaxSequenceLength(10)
                .build();
    }

    private static void refused(NDManager manager, Block block, Shape input) {
        refused(() -> block.initialize(manager, DataType.FLOAT32, input), new Shape(ROWS, SIZE), 4L * ROWS * SIZE);
    }

    private static void requireStays(NDManager manager, Block block, Block another, Shape input) {
        HostData.detectMemoryBy(() -> Long.MAX_VALUE);
        block.initialize(manager, DataType.FLOAT32, input);
        HostData.detectMemoryBy(() -> 1000);
        block.initialize(manager, DataType.FLOAT32, input);
        refused(manager, another, input);
    }

    /** A trainer initializes a loaded model again. */
    @EngineTest(onCpu = true)
    void needsNoMemoryForATableThatExists(NDManager manager) {
        requireStays(manager, learned(SIZE, ROWS), learned(SIZE, ROWS), new Shape(1, 3, SIZE));
        requireStays(manager, tokens(SIZE, ROWS), tokens(SIZE, ROWS), new Shape(1, 3));
    }

    @EngineTest(onCpu = true)
    void leavesATableThatCannotMove(NDManager manager) {
        PositionalEncodingBlock block = positions(SIZE, ROWS);
        Shape input = new Shape(1, 3, SIZE);
        block.initialize(manager, DataType.FLOAT32, input);
        NDArray table = block.getEncodings();
        HostData.detectMemoryBy(() -> 1000);
        try (NDManager other = manager.newSubManager()) {
            refused(other, block, input);
        }
        assertThat(block.getEncodings()).isSameAs(table);
        assertThat(table.isReleased()).isFalse();
    }

    @Test
    void detectsTheMemoryOfTheMachine() {
        Shape impossible = new Shape(1 << 30, 1 << 20);
        refused(
                () -> HostData.requireRoomFor(impossible, DataType.FLOAT32, Device.cpu()),
                impossible,
                4 * impossible.size());
        // 64 MB: any machine that runs the tests has that
        HostData.requireRoomFor(new Shape(1 << 24), DataType.FLOAT32, Device.cpu());
    }

    @Test
    void doesNotCheckTheMemoryOfAGpuNorThatOfSmallTables() {
        HostData.detectMemoryBy(() -> 1000);
        HostData.requireRoomFor(new Shape(1 << 30), DataType.FLOAT32, Device.gpu());
        HostData.requireRoomFor(new Shape((1 << 24) - 1), DataType.FLOAT32, Device.cpu());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HostData.requireRoomFor(new Shape(1 << 24), DataType.FLOAT32, Device.cpu()))
                .withMessageContaining("expected at most the 1000 ");
    }

    private static void assertNotInitialized(NDManager manager, Block block, Shape input, int width) {
        refused(() -> block.initialize(manager, DataType.FLOAT32, input), new Shape(MANY, width), 4L * width * MANY);
        assertThat(block.isInitialized()).isFalse();
        assertThat(manager.getManagedArrays()).isEmpty();
    }

    @EngineTest(onCpu = true)
    void refusesTablesThatNoMachineHasMemoryFor(NDManager manager) {
        PositionalEncodingBlock positions = positions(4096, MANY);
        Block rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4096)
                .optMaxSequenceLength(MANY)
                .build();
        assertNotInitialized(manager, positions, new Shape(1, 3, 4096), 4096);
        assertNotInitialized(manager, learned(4096, MANY), new Shape(1, 3, 4096), 4096);
        assertNotInitialized(manager, tokens(4096, MANY), new Shape(1, 3), 4096);
        assertNotInitialized(manager, rotary, new Shape(1, 1, 3, 4096), 4096);
        NDArray x = manager.zeros(new Shape(1, 3, 4096));
        refused(() -> Forward.infer(manager, positions, x), new Shape(MANY, 4096), 4L * 4096 * MANY);
    }

    @EngineTest
    void refusesAGridWithRowsLongerThanABuffer(NDManager manager) {
        Block block = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(4))
                .optChannelsFirst(true)
                .build();
        Shape huge = new Shape(4, 1, 500_000_000);
        refused(
                () -> block.initialize(manager, DataType.FLOAT64, new Shape(1).addAll(huge)),
                new Shape(4, 500_000_000),
                4_000_000_000L);
        assertThat(manager.getManagedArrays()).isEmpty();
        NDArray x = manager.zeros(new Shape(1, 4, 2, 3));
        assertThat(Forward.infer(manager, block, x).getShape()).isEqualTo(x.getShape());
    }

    /** A limit that allows more than the machine has. */
    @EngineTest(onCpu = true)
    void refusesATableThatCannotGrowIntoTheMemory(NDManager manager) {
        Block positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4096)
                .optMaxSequenceLength(10)
                .optAutoExtend(FAR)
                .build();
        Block rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4096)
                .optMaxSequenceLength(10)
                .optAutoExtend(FAR)
                .build();
        Block alibi = AlibiBiasBlock.builder().setHeadCount(4096).build();
        Block xl = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(4096)
                .setHeadCount(4096)
                .build();
        assertStays(manager, positions, new Shape(1, 1, 4096), new Shape(FAR, 4096));
        assertStays(manager, rotary, new Shape(1, 1, 1, 4096), new Shape(FAR, 4096));
        assertStays(manager, alibi, new Shape(1, 4096, 1, 1), new Shape(2L * FAR - 1, 4096));
        assertStays(manager, xl, new Shape(1, 4096, 1, 1), new Shape(2L * FAR - 1, 4096));
    }

    private static void assertStays(NDManager manager, Block block, Shape input, Shape table) {
        NDArray x = manager.ones(input);
        block.initialize(manager, DataType.FLOAT32, input);
        float[] expected = Forward.infer(manager, block, x).toFloatArray();
        refused(() -> Forward.inferFrom(manager, FAR - 1, block, x), table, 4 * table.size());
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(expected);
    }
}
