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
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.refusals.Expression;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tables that do not fit into memory are rejected before anything is allocated; the block works as before. */
class MachineMemoryTest {

    @AfterEach
    void detectMemoryAgain() {
        HostData.detectMemoryBy(null);
    }

    private static void refused(ThrowingCallable call, Shape table, long bytes) {
        assertThatIllegalArgumentException()
                .isThrownBy(call)
                .withMessageContainingAll(table.toString(), Long.toString(bytes));
    }

    private static void refused(NDManager manager, Block block, Shape input, Shape table) {
        refused(() -> block.initialize(manager, DataType.FLOAT32, input), table, 4 * table.size());
    }

    private static Object value(String expression) throws Exception {
        return new Expression(expression, Map.of(), null).value();
    }

    private static Block block(String row, int rows) throws Exception {
        return (Block) value(row.replaceAll(" [|].*", "").formatted(rows));
    }

    private static Shape input(String row) throws Exception {
        return (Shape) value(row.replaceAll(".*[|] ", ""));
    }

    /** Blocks, with the number of rows of their table, and their input. */
    static List<String> names() {
        return List.of(
                "PositionalEncodingBlock{embeddingSize: 1024, maxSequenceLength: %d} | #1x3x1024",
                "LearnedPositionalEncodingBlock{embeddingSize: 1024, maxSequenceLength: %d} | #1x3x1024",
                "InputEmbeddingBlock{embeddingSize: 1024, vocabularySize: %d, maxSequenceLength: 10} | #1x3",
                "RotaryEmbeddingBlock{headSize: 1024, maxSequenceLength: %d} | #1x1x3x1024");
    }

    @EngineTest(onCpu = true)
    void refusesTablesThatNoMachineHasMemoryFor(NDManager manager, String row) throws Exception {
        Block block = block(row, 2_000_000_000);
        refused(manager, block, input(row), new Shape(2_000_000_000, 1024));
        assertThat(block.isInitialized()).isFalse();
        assertThat(manager.getManagedArrays()).isEmpty();
    }

    /** A trainer initializes a loaded model again. */
    @EngineTest(onCpu = true)
    void needsNoMemoryForATableThatExists(NDManager manager, String row) throws Exception {
        Block block = block(row, 20_000);
        HostData.detectMemoryBy(() -> Long.MAX_VALUE);
        block.initialize(manager, DataType.FLOAT32, input(row));
        HostData.detectMemoryBy(() -> 1000);
        block.initialize(manager, DataType.FLOAT32, input(row));
        refused(manager, block(row, 20_000), input(row), new Shape(20_000, 1024));
    }

    @EngineTest(onCpu = true)
    void leavesATableThatCannotMove(NDManager manager) throws Exception {
        String row = names().get(0);
        PositionalEncodingBlock block = (PositionalEncodingBlock) block(row, 20_000);
        block.initialize(manager, DataType.FLOAT32, input(row));
        NDArray table = block.getEncodings();
        HostData.detectMemoryBy(() -> 1000);
        try (NDManager other = manager.newSubManager()) {
            refused(other, block, input(row), new Shape(20_000, 1024));
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

    @EngineTest
    void refusesAGridWithRowsLongerThanABuffer(NDManager manager) throws Exception {
        Block block = (Block) value("GridPositionalEncodingBlock.builder()"
                + ".setEncoding(GridEncoding.visionTransformer(4)).optChannelsFirst(true).build()");
        refused(
                () -> block.initialize(manager, DataType.FLOAT64, new Shape(1, 4, 1, 500_000_000)),
                new Shape(4, 500_000_000),
                4_000_000_000L);
        assertThat(manager.getManagedArrays()).isEmpty();
        NDArray x = manager.zeros(new Shape(1, 4, 2, 3));
        assertThat(Forward.infer(manager, block, x).getShape()).isEqualTo(x.getShape());
    }

    /** A limit that allows more than the machine has. */
    @EngineTest(onCpu = true)
    void refusesATableThatCannotGrowIntoTheMemory(NDManager manager) throws Exception {
        int far = 1 << 29;
        String limits = "4096, maxSequenceLength: 10, autoExtend: 536870912}";
        Shape positions = new Shape(far, 4096);
        Shape distances = new Shape(2L * far - 1, 4096);
        assertStays(manager, "PositionalEncodingBlock{embeddingSize: " + limits, new Shape(1, 1, 4096), positions);
        assertStays(manager, "RotaryEmbeddingBlock{headSize: " + limits, new Shape(1, 1, 1, 4096), positions);
        assertStays(manager, "AlibiBiasBlock{headCount: 4096}", new Shape(1, 4096, 1, 1), distances);
        String xl = "TransformerXlPositionBlock{embeddingSize: 4096, headCount: 4096}";
        assertStays(manager, xl, new Shape(1, 4096, 1, 1), distances);
    }

    private static void assertStays(NDManager manager, String arguments, Shape input, Shape table) throws Exception {
        Block block = (Block) value(arguments);
        NDArray x = manager.ones(input);
        block.initialize(manager, DataType.FLOAT32, input);
        float[] expected = Forward.infer(manager, block, x).toFloatArray();
        refused(() -> Forward.inferFrom(manager, (1 << 29) - 1, block, x), table, 4 * table.size());
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(expected);
    }
}
