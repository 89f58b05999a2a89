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
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A machine with little memory left. */
class MachineMemoryTest {

    private static final int ROWS = 20_000;
    private static final int SIZE = 1024;

    @AfterEach
    void detectMemoryAgain() {
        MachineMemory.detectedBy(null);
    }

    private static void refused(NDManager manager, Block block, Shape input) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, input))
                .withMessageContaining(
                        "(20000, 1024) in float32 needs 81920000 bytes of memory: expected at most the 1000 ");
    }

    private static void requireStays(NDManager manager, Block block, Block another, Shape input) {
        MachineMemory.detectedBy(() -> Long.MAX_VALUE);
        block.initialize(manager, DataType.FLOAT32, input);
        MachineMemory.detectedBy(() -> 1000);
        block.initialize(manager, DataType.FLOAT32, input);
        refused(manager, another, input);
    }

    private static Block learned() {
        return LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(ROWS)
                .build();
    }

    private static Block tokens() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(ROWS)
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(10)
                .build();
    }

    /** A trainer initializes a loaded model again. */
    @EngineTest
    void needsNoMemoryForATableThatExists(NDManager manager) {
        requireStays(manager, learned(), learned(), new Shape(1, 3, SIZE));
        requireStays(manager, tokens(), tokens(), new Shape(1, 3));
    }

    @EngineTest
    void leavesATableThatCannotMove(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(ROWS)
                .build();
        Shape input = new Shape(1, 3, SIZE);
        block.initialize(manager, DataType.FLOAT32, input);
        NDArray table = block.getEncodings();
        MachineMemory.detectedBy(() -> 1000);
        try (NDManager other = manager.newSubManager()) {
            refused(other, block, input);
        }
        assertThat(block.getEncodings()).isSameAs(table);
        assertThat(table.isReleased()).isFalse();
    }

    @Test
    void detectsTheMemoryOfTheMachine() {
        Shape impossible = new Shape(1 << 30, 1 << 20);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MachineMemory.requireRoomFor(impossible, DataType.FLOAT32, Device.cpu()));
        // 64 MB: any machine that runs the tests has that
        MachineMemory.requireRoomFor(new Shape(1 << 24), DataType.FLOAT32, Device.cpu());
    }

    @Test
    void doesNotCheckTheMemoryOfAGpuNorThatOfSmallTables() {
        MachineMemory.detectedBy(() -> 1000);
        MachineMemory.requireRoomFor(new Shape(1 << 30), DataType.FLOAT32, Device.gpu());
        MachineMemory.requireRoomFor(new Shape((1 << 24) - 1), DataType.FLOAT32, Device.cpu());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MachineMemory.requireRoomFor(new Shape(1 << 24), DataType.FLOAT32, Device.cpu()));
    }
}
