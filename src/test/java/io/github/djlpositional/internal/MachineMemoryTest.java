package io.github.djlpositional.internal;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.SavedCache;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tables that do not fit into memory are rejected before anything is allocated; the block works as before. */
class MachineMemoryTest extends OnEachEngine {

    @AfterEach
    void detectMemoryAgain() {
        HostData.detectMemoryBy(null);
    }

    /** 64 MB: smaller tables are not checked. */
    private static final int ROWS = 8192;

    private static final Shape TABLE = new Shape(ROWS, 1024);

    private static final int SIZE = 1024;

    /** A block with a table of 8192 rows of 1024 numbers, and its input. */
    private record TableCase(Supplier<Block> block, Shape input) {}

    private static final TableCase POSITIONS = new TableCase(
            () -> PositionalEncodingBlock.builder()
                    .setEmbeddingSize(SIZE)
                    .optMaxSequenceLength(ROWS)
                    .build(),
            new Shape(1, 3, SIZE));

    static Stream<Arguments> tables() {
        TableCase learned = new TableCase(
                () -> LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(SIZE)
                        .optMaxSequenceLength(ROWS)
                        .build(),
                new Shape(1, 3, SIZE));
        TableCase embedding = new TableCase(
                () -> InputEmbeddingBlock.builder()
                        .setVocabularySize(ROWS)
                        .setEmbeddingSize(SIZE)
                        .optMaxSequenceLength(10)
                        .build(),
                new Shape(1, 3));
        TableCase rotary = new TableCase(
                () -> RotaryEmbeddingBlock.builder()
                        .setHeadSize(SIZE)
                        .optMaxSequenceLength(ROWS)
                        .build(),
                new Shape(1, 1, 3, SIZE));
        return Stream.of(
                argumentSet("positions", POSITIONS),
                argumentSet("learned positions", learned),
                argumentSet("embedding", embedding),
                argumentSet("rotary", rotary));
    }

    private static void refusedInitialization(NDManager manager, Block block, Shape input) {
        refused(() -> block.initialize(manager, DataType.FLOAT64, input), TABLE.toString(), "" + 8 * TABLE.size());
    }

    /** A trainer initializes a loaded model again. */
    @ParameterizedTest
    @MethodSource("tables")
    void needsNoMemoryForATableThatExists(TableCase table) {
        assumeCpu();
        Block block = table.block.get();
        HostData.detectMemoryBy(() -> Long.MAX_VALUE);
        block.initialize(manager, DataType.FLOAT64, table.input);
        HostData.detectMemoryBy(() -> 1000);
        block.initialize(manager, DataType.FLOAT64, table.input);
        refusedInitialization(manager, table.block.get(), table.input);
    }

    @Test
    void leavesATableThatCannotMove() {
        assumeCpu();
        PositionalEncodingBlock block = (PositionalEncodingBlock) POSITIONS.block.get();
        block.initialize(manager, DataType.FLOAT64, POSITIONS.input);
        NDArray table = block.getEncodings();
        HostData.detectMemoryBy(() -> 1000);
        try (NDManager other = manager.newSubManager()) {
            refusedInitialization(other, block, POSITIONS.input);
        }
        assertThat(block.getEncodings()).isSameAs(table);
        assertThat(table.isReleased()).isFalse();
    }

    /** The file has 600,000 tokens, whose keys and values are 0: most file systems store none of them. */
    @Test
    void rejectsTheFileOfACacheBeforeItsArraysAreRead(@TempDir Path folder) throws IOException {
        assumeCpu();
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(true)
                .build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 8));
        Path file = folder.resolve("cache");
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            Forward.infer(manager, block, cache.nextStep(), manager.zeros(new Shape(1, 3, 8), DataType.FLOAT64));
            cache.save(file, block);
        }
        byte[] longer = SavedCache.withHeader(Files.readAllBytes(file), "\"length\":3", "\"length\":600000");
        Files.write(file, SavedCache.withHeader(longer, "\"end\":3", "\"end\":600000"));
        try (RandomAccessFile whole = new RandomAccessFile(file.toFile(), "rw")) {
            whole.setLength(whole.length() + (600_000 - 3) * 2 * 8L * Double.BYTES);
        }
        HostData.detectMemoryBy(() -> 1000);
        refused(() -> KeyValueCache.load(file, block, manager), "the cache file", "76800002 bytes", "1000");
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

    /** (2^31 - 1)^2 numbers of 4 bytes are 2^64 - 2^34 + 4 bytes, which a long cannot hold. */
    @Test
    void refusesSizesThatOverflow() {
        assumeCpu();
        Shape square = new Shape(Integer.MAX_VALUE, Integer.MAX_VALUE);
        InputEmbeddingBlock tokens = InputEmbeddingBlock.builder()
                .setVocabularySize(Integer.MAX_VALUE)
                .setEmbeddingSize(Integer.MAX_VALUE)
                .optNoPositions()
                .build();
        refused(() -> tokens.initialize(manager, DataType.FLOAT32, new Shape(1, 1)), square.toString());
        refused(() -> HostData.bufferFor(manager, square, DataType.FLOAT32), square.toString());
        assertThat(HostData.bytes(square, DataType.FLOAT32)).isEqualTo(Long.MAX_VALUE);
        assertThat(HostData.bytes(new Shape(1L << 32, 1L << 32), DataType.FLOAT16))
                .isEqualTo(Long.MAX_VALUE);
        assertThat(HostData.bytes(new Shape(1L << 32, 1L << 32, 0), DataType.FLOAT64))
                .isZero();
        assertThat(HostData.bytes(new Shape(3, 5), DataType.FLOAT64)).isEqualTo(120);
        assertThat(HostData.bytes(new Shape(), DataType.FLOAT64)).isEqualTo(8);
    }

    /** The memory of a machine is more than the heap of these tests, and less than a petabyte. */
    @Test
    void elsewhereThanOnLinuxTablesFitIntoAllMemoryOfTheMachine() {
        assertThat(HostData.availableBytes(Path.of("absent")))
                .isGreaterThan(Runtime.getRuntime().totalMemory())
                .isLessThan(1L << 50);
    }

    /** A limit that allows more than the machine has. */
    @Test
    void refusesATableThatCannotGrowIntoTheMemory() {
        assumeCpu();
        int far = 1 << 29;
        Block positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(10)
                .optAutoExtend(far)
                .build();
        Block rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(SIZE)
                .optMaxSequenceLength(10)
                .optAutoExtend(far)
                .build();
        Block alibi = AlibiBiasBlock.builder().setHeadCount(SIZE).build();
        Block transformerXl = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(SIZE)
                .build();
        Shape rows = new Shape(far, SIZE);
        Shape distances = new Shape(2L * far - 1, SIZE);
        assertStays(positions, new Shape(1, 1, SIZE), rows);
        assertStays(rotary, new Shape(1, 1, 1, SIZE), rows);
        assertStays(alibi, new Shape(1, SIZE, 1, 1), distances);
        assertStays(transformerXl, new Shape(1, SIZE, 1, 1), distances);
    }

    private void assertStays(Block block, Shape input, Shape table) {
        NDArray x = manager.ones(input);
        block.initialize(manager, DataType.FLOAT32, input);
        double[] expected = doubles(Forward.infer(manager, block, x));
        refused(() -> Forward.inferFrom(manager, (1 << 29) - 1, block, x), table.toString(), "" + 4 * table.size());
        // the same computation, whose sums of 1024 numbers may be rounded otherwise
        requireClose(Forward.infer(manager, block, x), expected, 1e-4);
    }
}
