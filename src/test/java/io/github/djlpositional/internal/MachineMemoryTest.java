package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;

/** A machine that has little memory left. */
class MachineMemoryTest {

    private static final int ROWS = 20_000;
    private static final int SIZE = 1024;

    @AfterEach
    void askTheMachineAgain() {
        MachineMemory.toldBy(null);
    }

    private static void refused(NDManager manager, Block block, Shape input) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, input))
                .withMessageContaining("(20000, 1024) in float32 needs 81920000 bytes of memory: available are 1000;");
    }

    private static void staysAsItIs(NDManager manager, Block block, Block another, Shape input) {
        MachineMemory.toldBy(() -> Long.MAX_VALUE);
        block.initialize(manager, DataType.FLOAT32, input);
        MachineMemory.toldBy(() -> 1000);
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

    /** As a model is that was loaded, and is then given to a trainer. */
    @EngineTest
    void aTableThatIsThereNeedsNoMore(NDManager manager) {
        staysAsItIs(manager, learned(), learned(), new Shape(1, 3, SIZE));
        staysAsItIs(manager, tokens(), tokens(), new Shape(1, 3));
    }

    @EngineTest
    void aTableThatCannotMoveStaysWhereItWas(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(ROWS)
                .build();
        Shape input = new Shape(1, 3, SIZE);
        block.initialize(manager, DataType.FLOAT32, input);
        NDArray table = block.getEncodings();
        MachineMemory.toldBy(() -> 1000);
        try (NDManager other = manager.newSubManager()) {
            refused(other, block, input);
        }
        assertThat(block.getEncodings()).isSameAs(table);
        assertThat(table.isReleased()).isFalse();
    }

    @EngineTest
    void isAskedOnceForARefusal(NDManager manager) {
        AtomicLong told = new AtomicLong(1000);
        MachineMemory.toldBy(() -> told.getAndSet(Long.MAX_VALUE));
        refused(manager, learned(), new Shape(1, 3, SIZE));
    }
}
