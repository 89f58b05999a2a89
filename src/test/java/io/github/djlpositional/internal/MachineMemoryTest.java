package io.github.djlpositional.internal;

import static io.github.djlpositional.attention.TestNumbers.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.refusals.Expression;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tables that do not fit into memory are rejected before anything is allocated; the block works as before. */
class MachineMemoryTest {

    @AfterEach
    void detectMemoryAgain() {
        HostData.detectMemoryBy(null);
    }

    /** 64 MB: smaller tables are not checked. */
    private static final int ROWS = 8192;

    private static final Shape TABLE = new Shape(ROWS, 1024);

    private static Object value(String expression) throws Exception {
        return new Expression(expression, Map.of(), null).value();
    }

    /** The block of a row, with a table of 8192 rows of 1024 numbers. */
    private static Block block(String row) throws Exception {
        return (Block) value(row.replaceAll(" [|].*", ""));
    }

    private static Shape input(String row) throws Exception {
        return (Shape) value(row.replaceAll(".*[|] ", ""));
    }

    static List<String> names() {
        return List.of(
                "PositionalEncodingBlock{embeddingSize: 1024, maxSequenceLength: 8192} | #1x3x1024",
                "LearnedPositionalEncodingBlock{embeddingSize: 1024, maxSequenceLength: 8192} | #1x3x1024",
                "InputEmbeddingBlock{embeddingSize: 1024, vocabularySize: 8192, maxSequenceLength: 10} | #1x3",
                "RotaryEmbeddingBlock{headSize: 1024, maxSequenceLength: 8192} | #1x1x3x1024");
    }

    private static void refusedInitialization(NDManager manager, Block block, Shape input) {
        refused(() -> block.initialize(manager, DataType.FLOAT64, input), TABLE.toString(), "" + 8 * TABLE.size());
    }

    /** A trainer initializes a loaded model again. */
    @EngineTest(value = Selection.EACH, onCpu = true)
    void needsNoMemoryForATableThatExists(NDManager manager, String row) throws Exception {
        Block block = block(row);
        HostData.detectMemoryBy(() -> Long.MAX_VALUE);
        block.initialize(manager, DataType.FLOAT64, input(row));
        HostData.detectMemoryBy(() -> 1000);
        block.initialize(manager, DataType.FLOAT64, input(row));
        refusedInitialization(manager, block(row), input(row));
    }

    @EngineTest(onCpu = true)
    void leavesATableThatCannotMove(NDManager manager) throws Exception {
        String row = names().get(0);
        PositionalEncodingBlock block = (PositionalEncodingBlock) block(row);
        block.initialize(manager, DataType.FLOAT64, input(row));
        NDArray table = block.getEncodings();
        HostData.detectMemoryBy(() -> 1000);
        try (NDManager other = manager.newSubManager()) {
            refusedInitialization(other, block, input(row));
        }
        assertThat(block.getEncodings()).isSameAs(table);
        assertThat(table.isReleased()).isFalse();
    }

    @Test
    void doesNotCheckTheMemoryOfAGpuNorThatOfSmallTables() {
        // 64 MB: any machine that runs the tests has that
        HostData.requireRoomFor(new Shape(1 << 24), DataType.FLOAT32, Device.cpu());
        HostData.detectMemoryBy(() -> 1000);
        HostData.requireRoomFor(new Shape(1 << 30), DataType.FLOAT32, Device.gpu());
        HostData.requireRoomFor(new Shape((1 << 24) - 1), DataType.FLOAT32, Device.cpu());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HostData.requireRoomFor(new Shape(1 << 24), DataType.FLOAT32, Device.cpu()))
                .withMessageContaining("expected at most the 1000 ");
    }

    /** A limit that allows more than the machine has. */
    @EngineTest(onCpu = true)
    void refusesATableThatCannotGrowIntoTheMemory(NDManager manager) throws Exception {
        int far = 1 << 29;
        String limits = "1024, maxSequenceLength: 10, autoExtend: 536870912}";
        Shape positions = new Shape(far, 1024);
        Shape distances = new Shape(2L * far - 1, 1024);
        assertStays(manager, "PositionalEncodingBlock{embeddingSize: " + limits, new Shape(1, 1, 1024), positions);
        assertStays(manager, "RotaryEmbeddingBlock{headSize: " + limits, new Shape(1, 1, 1, 1024), positions);
        assertStays(manager, "AlibiBiasBlock{headCount: 1024}", new Shape(1, 1024, 1, 1), distances);
        String xl = "TransformerXlPositionBlock{embeddingSize: 1024, headCount: 1024}";
        assertStays(manager, xl, new Shape(1, 1024, 1, 1), distances);
    }

    private static void assertStays(NDManager manager, String arguments, Shape input, Shape table) throws Exception {
        Block block = (Block) value(arguments);
        NDArray x = manager.ones(input);
        block.initialize(manager, DataType.FLOAT32, input);
        float[] expected = Forward.infer(manager, block, x).toFloatArray();
        refused(() -> Forward.inferFrom(manager, (1 << 29) - 1, block, x), table.toString(), "" + 4 * table.size());
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(expected);
    }
}
