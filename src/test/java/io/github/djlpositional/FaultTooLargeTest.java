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
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Tables that no machine has the memory for: refused with the bytes that they need, before anything is tried. */
class FaultTooLargeTest {

    private static final int MANY = 2_000_000_000;

    private static void refused(ThrowingCallable call, String shape, long bytes) {
        assertThatIllegalArgumentException()
                .isThrownBy(call)
                .withMessageStartingWith(
                        "a table of shape " + shape + " in float32 needs " + bytes + " bytes of memory: available are ")
                .withMessageEndingWith(
                        "; look whether a position or a size is a mistake, ask for fewer or smaller ones,"
                                + " or take a machine with more memory");
    }

    private static void initializationRefused(NDManager manager, Block block, Shape input, String shape, long bytes) {
        refused(() -> block.initialize(manager, DataType.FLOAT32, input), shape, bytes);
        assertThat(block.isInitialized()).isFalse();
        assertThat(manager.getManagedArrays()).isEmpty();
    }

    @EngineTest
    void tableOfPositions(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4096)
                .optMaxSequenceLength(MANY)
                .build();
        initializationRefused(manager, block, new Shape(1, 3, 4096), "(2000000000, 4096)", 4L * 4096 * MANY);
        NDArray x = manager.zeros(new Shape(1, 3, 4096));
        refused(() -> Forward.infer(manager, block, x), "(2000000000, 4096)", 4L * 4096 * MANY);
    }

    @EngineTest
    void learnedTable(NDManager manager) {
        initializationRefused(
                manager,
                LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(4096)
                        .optMaxSequenceLength(MANY)
                        .build(),
                new Shape(1, 3, 4096),
                "(2000000000, 4096)",
                4L * 4096 * MANY);
    }

    @EngineTest
    void tableOfTokens(NDManager manager) {
        initializationRefused(
                manager,
                InputEmbeddingBlock.builder()
                        .setVocabularySize(MANY)
                        .setEmbeddingSize(4096)
                        .build(),
                new Shape(1, 3),
                "(2000000000, 4096)",
                4L * 4096 * MANY);
    }

    @EngineTest
    void rotaryTable(NDManager manager) {
        initializationRefused(
                manager,
                RotaryEmbeddingBlock.builder()
                        .setHeadSize(4096)
                        .optMaxSequenceLength(MANY)
                        .build(),
                new Shape(1, 1, 3, 4096),
                "(2000000000, 8192)",
                4L * 8192 * MANY);
    }

    @EngineTest
    void gridWithRowsLongerThanABuffer(NDManager manager) {
        GridPositionalEncodingBlock block = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(4))
                .build();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT64, new Shape(1, 1, 500_000_000, 4)))
                .withMessage("a table of shape (1, 500000000, 4) has rows of 16000000000 bytes: expected 2147483647;"
                        + " encode it in parts");
        assertThat(manager.getManagedArrays()).isEmpty();
        NDArray x = manager.zeros(new Shape(1, 2, 3, 4));
        assertThat(Forward.infer(manager, block, x).getShape()).isEqualTo(x.getShape());
    }

    /**
     * A token stream that has gone wrong gives one position of a billion: the block refuses it, and goes on as before.
     */
    @EngineTest
    void positionFarBeyondATableThatExtendsItself(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(512)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 20)
                .build();
        NDArray x = manager.zeros(new Shape(1, 1, 512));
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        NDArray table = block.getEncodings();
        int before = manager.getManagedArrays().size();
        // twice the table is less than what is asked for
        String shape = "(1000000001, 512)";
        long bytes = 4L * 512 * 1_000_000_001;
        refused(() -> Forward.inferFrom(manager, 1_000_000_000, block, x), shape, bytes);
        try (NDArray position = manager.create(new long[] {1_000_000_000})) {
            refused(() -> Forward.infer(manager, block, x, position), shape, bytes);
        }
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertThat(block.getMaxSequenceLength()).isEqualTo(10);
        assertThat(block.getEncodings()).isSameAs(table);
        float[] rows = SinusoidalEncoding.vaswani(512).table(0, 12);
        assertThat(Forward.infer(manager, block, manager.zeros(new Shape(1, 12, 512)))
                        .toFloatArray())
                .isEqualTo(rows);
    }

    @EngineTest
    void positionFarBeyondARotaryTableThatExtendsItself(NDManager manager) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(512)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 20)
                .build();
        NDArray x = manager.ones(new Shape(1, 1, 1, 512));
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        float[] expected = Forward.infer(manager, block, x).toFloatArray();
        refused(
                () -> Forward.inferFrom(manager, 1_000_000_000, block, x),
                "(1000000001, 1024)",
                4L * 1024 * 1_000_000_001);
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(expected);
    }

    /** Distances are limited to 2^29: what is left to be refused is a table with many columns. */
    @EngineTest
    void distancesThatNoTableHas(NDManager manager) {
        int far = (1 << 29) - 1;
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(4096).build();
        NDArray queries = manager.ones(new Shape(1, 4096, 1, 1));
        refused(
                () -> Forward.inferFrom(manager, far, alibi, queries),
                "(1073741823, 4096)",
                4L * 4096 * ((1L << 30) - 1));
        assertThat(Forward.infer(manager, alibi, queries).toFloatArray()).containsOnly(0);
        TransformerXlPositionBlock xl = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(4096)
                .setHeadCount(4096)
                .build();
        xl.initialize(manager, DataType.FLOAT32, queries.getShape());
        refused(() -> Forward.inferFrom(manager, far, xl, queries), "(1073741823, 4096)", 4L * 4096 * ((1L << 30) - 1));
        assertThat(Forward.infer(manager, xl, queries).getShape()).isEqualTo(new Shape(1, 4096, 1, 1));
    }

    @EngineTest
    void learnedTableThatOneBufferCannotFill(NDManager manager) {
        LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(512)
                .optMaxSequenceLength(1_050_000)
                .optEncoding(SinusoidalEncoding.vaswani(512))
                .build();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 512)))
                .withMessageStartingWith(
                        "the values of an array of shape (1050000, 512) in float32 are 2150400000 bytes:"
                                + " expected 2147483647 where they are computed in Java;");
        assertThat(manager.getManagedArrays()).isEmpty();
        assertThat(block.isInitialized()).isFalse();
    }

    @EngineTest
    void realPositionsThatOneBufferCannotHold(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(512)
                .optMaxSequenceLength(2)
                .build();
        try (NDArray positions = manager.ones(new Shape(1_050_000))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> block.encode(positions))
                    .withMessageContaining("are 2150400000 bytes: expected 2147483647")
                    .withMessageContaining("encode positions in parts, or give whole ones as integers");
        }
        assertThat(manager.getManagedArrays()).isEmpty();
    }

    @EngineTest
    void realPositionsOfARotationThatOneBufferCannotHold(NDManager manager) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(512)
                .optMaxSequenceLength(2)
                .build();
        // no heads: the rows of the positions are all that there would be
        try (NDArray x = manager.create(new Shape(1, 0, 600_000, 512));
                NDArray positions = manager.ones(new Shape(600_000))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Forward.infer(manager, block, x, positions))
                    .withMessageStartingWith(
                            "the values of an array of shape (600000, 1024) in float32 are 2457600000 bytes: allowed are"
                                    + " 2147483647");
        }
        assertThat(manager.getManagedArrays()).isEmpty();
    }
}
