package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** What the blocks write to a model file, and which files they refuse. */
class ModelFileTest {

    private static PositionalEncodingBlock.Builder positions() {
        return PositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(10);
    }

    private static InputEmbeddingBlock.Builder embedding() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10);
    }

    private static byte[] saved(NDManager manager, Block block) throws IOException {
        Shape shape = block instanceof InputEmbeddingBlock ? new Shape(2, 3) : new Shape(2, 3, 4);
        block.initialize(manager, DataType.FLOAT32, shape);
        return BlockBytes.saved(block);
    }

    @EngineTest
    void anotherConfigurationIsRefusedWithBothNamed(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        for (PositionalEncodingBlock other : List.of(
                positions().optMaxSequenceLength(11).build(),
                positions().setEmbeddingSize(6).build(),
                positions().optAddToInput(false).build(),
                positions().optEncoding(SinusoidalEncoding.vaswani(4, 500)).build())) {
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> BlockBytes.load(manager, other, file))
                    .withMessageContaining("was saved with PositionalEncodingBlock(encoding=SinusoidalEncoding(size=4,"
                            + " geometric(count=2, base=10000, period=2), INTERLEAVED, sine first),"
                            + " maxSequenceLength=10, addToInput=true, sequenceAxis=-2, learnedScale=false)")
                    .withMessageContaining(
                            "this block is " + other.toString().replace(", autoExtend=false, dropoutRate=0.0", ""))
                    .withMessageContaining("build the block with the saved settings");
            assertThat(other.isInitialized()).isFalse();
        }
    }

    @EngineTest
    void anotherInputEmbeddingIsRefusedWithBothNamed(NDManager manager) throws Exception {
        byte[] file = saved(manager, embedding().build());
        for (InputEmbeddingBlock other : List.of(
                embedding().setVocabularySize(8).build(),
                embedding().optScaleEmbedding(true).build(),
                embedding().optPaddingIndex(0).build())) {
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> BlockBytes.load(manager, other, file))
                    .withMessageContaining(
                            "InputEmbeddingBlock(vocabularySize=7, embeddingSize=4, scaleEmbedding=false,"
                                    + " paddingIndex=none, positionsFromPadding=none,"
                                    + " positionalEncoding=PositionalEncodingBlock, tokenEmbedding=TokenEmbedding)")
                    .withMessageContaining(
                            "this block is InputEmbeddingBlock(vocabularySize=" + other.getVocabularySize());
            assertThat(other.isInitialized()).isFalse();
        }
        // the positional encoding within it is compared too
        InputEmbeddingBlock longer = embedding().optMaxSequenceLength(11).build();
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, longer, file))
                .withMessageContaining("maxSequenceLength=11");
        assertThat(longer.isInitialized()).isFalse();
    }

    @EngineTest
    void anotherKindOfPositionalEncodingIsRefusedWithBothNamed(NDManager manager) throws Exception {
        InputEmbeddingBlock.Builder none = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optPositionalEncoding(Blocks.identityBlock());
        byte[] sinusoidal = saved(manager, embedding().build());
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, none.build(), sinusoidal))
                .withMessageContaining("saved with InputEmbeddingBlock")
                .withMessageContaining("positionalEncoding=PositionalEncodingBlock")
                .withMessageContaining("positionalEncoding=LambdaBlock");
        byte[] identity = saved(manager, none.build());
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, embedding().build(), identity))
                .withMessageContaining("positionalEncoding=LambdaBlock");
    }

    @EngineTest
    void gradientsStayAsSparseAsTheBlockWasBuilt(NDManager manager) throws Exception {
        byte[] sparse = saved(manager, embedding().optSparseGradients(true).build());
        InputEmbeddingBlock dense = embedding().build();
        BlockBytes.load(manager, dense, sparse);
        dense.getTokenTable().getArray().setRequiresGradient(true);
        NDArray ids = manager.create(new long[][] {{1, 2}});
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(dense.forward(new ParameterStore(manager, false), new NDList(ids), true)
                    .singletonOrThrow()
                    .sum());
        }
        assertThat(dense.getTokenTable().getArray().getGradient().isSparse()).isFalse();
    }

    @EngineTest
    void learnedTableIsSavedAndLoaded(NDManager manager) throws Exception {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(10);
        LearnedPositionalEncodingBlock block = builder.build();
        byte[] file = saved(manager, block);
        LearnedPositionalEncodingBlock loaded = builder.build();
        BlockBytes.load(manager, loaded, file);
        assertThat(loaded.getTable().getArray().toFloatArray())
                .isEqualTo(block.getTable().getArray().toFloatArray());
        LearnedPositionalEncodingBlock longer = builder.optMaxSequenceLength(11).build();
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, longer, file))
                .withMessageContaining("maxSequenceLength=10")
                .withMessageContaining("maxSequenceLength=11");
        assertThat(longer.isInitialized()).isFalse();
        for (int length = 0; length < file.length; length++) {
            byte[] cut = Arrays.copyOf(file, length);
            LearnedPositionalEncodingBlock fresh =
                    builder.optMaxSequenceLength(10).build();
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> BlockBytes.load(manager, fresh, cut));
            assertThat(fresh.isInitialized()).isFalse();
        }
    }

    @EngineTest
    void dropoutIsNoPartOfTheConfiguration(NDManager manager) throws Exception {
        BlockBytes.load(
                manager,
                positions().optDropoutRate(0.5f).build(),
                saved(manager, positions().build()));
        BlockBytes.load(
                manager,
                embedding().optDropoutRate(0.5f).build(),
                saved(manager, embedding().build()));
    }

    @EngineTest
    void learnedScaleIsSavedAndLoaded(NDManager manager) throws Exception {
        PositionalEncodingBlock block = positions().optLearnedScale(0.5f).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
        block.getParameters().get("scale").getArray().addi(1);
        PositionalEncodingBlock loaded = positions().optLearnedScale(0.25f).build();
        BlockBytes.load(manager, loaded, BlockBytes.saved(block));
        assertThat(loaded.getParameters().get("scale").getArray().toFloatArray())
                .containsExactly(1.5f);
    }

    @EngineTest
    void aTableOfAnotherShapeIsRefusedAndForgotten(NDManager manager) throws Exception {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(10);
        byte[] file = saved(manager, builder.build());
        // the same settings before a table of 7 rows
        byte[] shorter = saved(manager, builder.optMaxSequenceLength(7).build());
        int table = new String(file, StandardCharsets.ISO_8859_1).indexOf("encodings") - 6;
        int shorterTable = new String(shorter, StandardCharsets.ISO_8859_1).indexOf("encodings") - 6;
        ByteArrayOutputStream mixed = new ByteArrayOutputStream();
        mixed.write(file, 0, table);
        mixed.write(shorter, shorterTable, shorter.length - shorterTable);
        LearnedPositionalEncodingBlock block = builder.optMaxSequenceLength(10).build();
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, mixed.toByteArray()))
                .withMessageContaining("(7, 4) for encodings");
        assertThat(block.isInitialized()).isFalse();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
        assertThat(block.getTable().getArray().getShape()).isEqualTo(new Shape(10, 4));
    }

    @EngineTest
    void truncationWithinTheTokensForgetsLearnedPositions(NDManager manager) throws Exception {
        byte[] file = saved(manager, learned().build());
        InputEmbeddingBlock block = learned().build();
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, Arrays.copyOf(file, file.length - 1)));
        assertThat(((LearnedPositionalEncodingBlock) block.getPositionalEncoding())
                        .getTable()
                        .isInitialized())
                .isFalse();
    }

    private static InputEmbeddingBlock.Builder learned() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .build());
    }

    @EngineTest
    void everyTruncationIsRefused(NDManager manager) throws Exception {
        for (Block block : List.of(positions().build(), embedding().build())) {
            byte[] file = saved(manager, block);
            for (int length = 0; length < file.length; length++) {
                Block fresh = block instanceof InputEmbeddingBlock
                        ? embedding().build()
                        : positions().build();
                byte[] cut = Arrays.copyOf(file, length);
                assertThatExceptionOfType(MalformedModelException.class)
                        .as("%s bytes of %s", length, file.length)
                        .isThrownBy(() -> BlockBytes.load(manager, fresh, cut));
                assertThat(fresh.isInitialized()).isFalse();
            }
        }
    }

    @EngineTest
    void anotherVersionIsRefused(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        file[0] = 99;
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, positions().build(), file))
                .withMessageContaining("version 99")
                .withMessageContaining("reads version 1");
    }

    @EngineTest
    void damagedCountsAreRefusedBeforeAnythingIsAllocated(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        byte[] settings = file.clone();
        Arrays.fill(settings, 1, 5, (byte) 0x7f);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, positions().build(), settings))
                .withMessageContaining("2139062143 settings");
        // the shapes come last: one of rank 3, 4 + 4 + 3 · 8 bytes
        byte[] inputs = file.clone();
        Arrays.fill(inputs, file.length - 32, file.length - 28, (byte) 0x7f);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, positions().build(), inputs))
                .withMessageContaining("2139062143 shapes");
        byte[] dimensions = file.clone();
        Arrays.fill(dimensions, file.length - 28, file.length - 24, (byte) 0xff);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, positions().build(), dimensions))
                .withMessageContaining("-1 dimensions");
        byte[] size = file.clone();
        size[file.length - 8] = (byte) 0x80;
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, positions().build(), size))
                .withMessageContaining("an axis of size");
    }

    @EngineTest
    void refusedFileLeavesAnInitializedBlockAsItWas(NDManager manager) throws Exception {
        byte[] file = saved(manager, embedding().optScaleEmbedding(true).build());
        InputEmbeddingBlock block = embedding().build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        float[] before = block.getTokenTable().getArray().toFloatArray();
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, file));
        assertThat(block.getTokenTable().getArray().toFloatArray()).isEqualTo(before);
    }
}
