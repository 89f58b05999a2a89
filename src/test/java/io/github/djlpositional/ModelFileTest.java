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
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssertAlternative;

/** What the blocks write to a model file, and which files they reject. */
class ModelFileTest {

    private static PositionalEncodingBlock.Builder positions() {
        return PositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(10);
    }

    private static InputEmbeddingBlock.Builder embedding() {
        return InputEmbeddingBlock.builder().setVocabularySize(7).setEmbeddingSize(4);
    }

    private static LearnedPositionalEncodingBlock.Builder learned() {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(6);
    }

    private static RotaryEmbeddingBlock.Builder rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(4);
    }

    private static byte[] saved(NDManager manager, Block block, Shape shape) throws IOException {
        block.initialize(manager, DataType.FLOAT32, shape);
        return BlockBytes.saved(block);
    }

    private static byte[] saved(NDManager manager, Block block) throws IOException {
        Shape shape = block instanceof InputEmbeddingBlock
                ? new Shape(2, 3)
                : block instanceof RotaryEmbeddingBlock ? new Shape(1, 2, 3, 4) : new Shape(2, 3, 4);
        return saved(manager, block, shape);
    }

    private static byte[] saved(NDManager manager, TestBlocks kind) throws IOException {
        return saved(manager, kind.block(), kind.input());
    }

    private static ThrowableAssertAlternative<MalformedModelException> rejected(
            NDManager manager, Block block, byte... file) {
        ThrowableAssertAlternative<MalformedModelException> rejection = assertThatExceptionOfType(
                        MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, file));
        assertThat(block.isInitialized()).isFalse();
        assertThat(block.getParameters().values()).noneMatch(Parameter::isInitialized);
        return rejection;
    }

    private static String settings(byte... file) {
        return new String(file, 5, ByteBuffer.wrap(file).getInt(1), StandardCharsets.UTF_8);
    }

    /** The file with other settings in its first section. */
    private static byte[] withSettings(UnaryOperator<String> change, byte... file) throws IOException {
        byte[] json = change.apply(settings(file)).getBytes(StandardCharsets.UTF_8);
        int end = 5 + ByteBuffer.wrap(file).getInt(1);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(file[0]);
        out.writeInt(json.length);
        out.write(json);
        out.write(file, end, file.length - end);
        return bytes.toByteArray();
    }

    private static int find(String text, byte... file) {
        return new String(file, StandardCharsets.ISO_8859_1).indexOf(text);
    }

    private static byte[] replaced(String text, String other, byte... file) {
        byte[] changed = file.clone();
        System.arraycopy(other.getBytes(StandardCharsets.ISO_8859_1), 0, changed, find(text, file), other.length());
        return changed;
    }

    @EngineTest
    void everyBlockSavesWhatItWasLoadedFrom(NDManager manager) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            byte[] file = saved(manager, kind);
            Block again = kind.block();
            BlockBytes.load(manager, again, file);
            assertThat(BlockBytes.saved(again)).as("%s", kind).isEqualTo(file);
        }
    }

    @EngineTest
    void settingsAreJson(NDManager manager) throws Exception {
        assertThat(settings(saved(manager, positions().optLearnedScale(0.25f).build())))
                .startsWith("{\"embeddingSize\":4,\"encoding\":{")
                .endsWith(",\"addToInput\":true,\"sequenceAxis\":-2,\"learnedScale\":0.25}");
        assertThat(settings(saved(manager, embedding().optPaddingIndex(1).build())))
                .isEqualTo("{\"vocabularySize\":7,\"embeddingSize\":4,\"scaleEmbedding\":false,\"paddingIndex\":1,"
                        + "\"positionalEncoding\":\"PositionalEncodingBlock\"}");
    }

    @EngineTest
    void anotherSettingIsRejectedWithBothValues(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        rejected(manager, positions().optAddToInput(false).build(), file)
                .withMessageContaining("addToInput=true, this PositionalEncodingBlock has addToInput=false")
                .withMessageContaining("build the block with the settings of the file");
        rejected(manager, positions().setEmbeddingSize(6).build(), file)
                .withMessageContaining("embeddingSize=4, this PositionalEncodingBlock has embeddingSize=6");
        rejected(manager, positions().optSequenceAxis(0).build(), file).withMessageContaining("sequenceAxis=0");
        rejected(manager, positions().optLearnedScale(1).build(), file).withMessageContaining("learnedScale=1.0");
        rejected(
                        manager,
                        positions()
                                .optEncoding(SinusoidalEncoding.vaswani(4, 500))
                                .build(),
                        file)
                .withMessageContaining("encoding={")
                .withMessageContaining("500.0");
        byte[] tokens = saved(manager, embedding().build());
        rejected(manager, embedding().setVocabularySize(8).build(), tokens).withMessageContaining("vocabularySize=8");
        rejected(manager, embedding().optScaleEmbedding(true).build(), tokens)
                .withMessageContaining("scaleEmbedding=true");
        rejected(manager, embedding().optPaddingIndex(0).build(), tokens)
                .withMessageContaining("paddingIndex=null, this InputEmbeddingBlock has paddingIndex=0");
        byte[] table = saved(manager, learned().build());
        rejected(manager, learned().optMaxSequenceLength(7).build(), table)
                .withMessageContaining("maxSequenceLength=6")
                .withMessageContaining("maxSequenceLength=7");
    }

    @EngineTest
    void aLongListIsComparedElementByElement(NDManager manager) throws Exception {
        double[] frequencies = new double[64];
        Arrays.setAll(frequencies, i -> 1.0 / (i + 1));
        byte[] file = saved(
                manager,
                RotaryEmbeddingBlock.builder()
                        .setHeadSize(128)
                        .optFrequencies(Frequencies.of(frequencies))
                        .build(),
                new Shape(1, 2, 3, 128));
        frequencies[40] = Math.nextUp(frequencies[40]);
        rejected(
                        manager,
                        RotaryEmbeddingBlock.builder()
                                .setHeadSize(128)
                                .optFrequencies(Frequencies.of(frequencies))
                                .build(),
                        file)
                .withMessageContaining("frequencies={");
    }

    @EngineTest
    void anotherPositionalEncodingIsRejected(NDManager manager) throws Exception {
        InputEmbeddingBlock.Builder none = embedding().optPositionalEncoding(Blocks.identityBlock());
        byte[] sinusoidal = saved(manager, embedding().build());
        rejected(manager, none.build(), sinusoidal)
                .withMessageContaining("positionalEncoding=PositionalEncodingBlock")
                .withMessageContaining("positionalEncoding=LambdaBlock");
        rejected(manager, embedding().build(), saved(manager, none.build()))
                .withMessageContaining("positionalEncoding=LambdaBlock");
        // the settings of the encoding within the block are compared too
        rejected(
                        manager,
                        embedding()
                                .optPositionalEncoding(positions()
                                        .optDropoutRate(0.1f)
                                        .optSequenceAxis(0)
                                        .build())
                                .build(),
                        sinusoidal)
                .withMessageContaining("sequenceAxis=0");
    }

    @EngineTest
    void settingsThatDoNotChangeAnOutputAreNotCompared(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        for (PositionalEncodingBlock block : List.of(
                positions().optDropoutRate(0.5f).build(),
                positions().optRangeChecks(true).build(),
                positions().optMaxSequenceLength(20).build(),
                positions().optMaxSequenceLength(2).build(),
                positions().optAutoExtend(1000).build())) {
            BlockBytes.load(manager, block, file);
            assertThat(block.isInitialized()).isTrue();
        }
        BlockBytes.load(
                manager,
                embedding().optMaxSequenceLength(20_000).optDropoutRate(0.5f).build(),
                saved(manager, embedding().build()));
        BlockBytes.load(
                manager,
                learned().optEncoding(SinusoidalEncoding.vaswani(4)).build(),
                saved(manager, learned().build()));
        BlockBytes.load(manager, rotary().optMaxSequenceLength(20_000).build(), saved(manager, rotary().build()));
    }

    @EngineTest
    void aModelWithoutAScalingLoadsWithAny(NDManager manager) throws Exception {
        byte[] plain = saved(manager, rotary().build());
        BlockBytes.load(manager, rotary().optScaling(RotaryScaling.linear(2)).build(), plain);
        byte[] scaled =
                saved(manager, rotary().optScaling(RotaryScaling.linear(2)).build());
        BlockBytes.load(manager, rotary().optScaling(RotaryScaling.linear(2)).build(), scaled);
        rejected(manager, rotary().build(), scaled)
                .withMessageContaining("scaling={kind=linear, factor=2.0}")
                .withMessageContaining("scaling={kind=none}");
        rejected(manager, rotary().optScaling(RotaryScaling.linear(4)).build(), scaled)
                .withMessageContaining("factor=4.0");
    }

    @EngineTest
    void theInitialScaleIsNotComparedButItsPresenceIs(NDManager manager) throws Exception {
        PositionalEncodingBlock block = positions().optLearnedScale(0.5f).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
        block.getParameters().get("scale").getArray().addi(1);
        byte[] file = BlockBytes.saved(block);
        PositionalEncodingBlock loaded = positions().optLearnedScale(0.25f).build();
        BlockBytes.load(manager, loaded, file);
        assertThat(loaded.getParameters().get("scale").getArray().toFloatArray())
                .containsExactly(1.5f);
        rejected(manager, positions().build(), file).withMessageContaining("learnedScale=0.5");
    }

    @EngineTest
    void numbersAreComparedByValue(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        for (String four : List.of("4.0", "4.000", "0.4e1", "40E-1")) {
            BlockBytes.load(
                    manager,
                    positions().build(),
                    withSettings(
                            json -> json.replace("\"embeddingSize\":4,", "\"embeddingSize\":" + four + ","), file));
        }
        for (String other : List.of("4.0000001", "-4", "4e1", "1e999999999", "\"4\"", "null", "true", "[4]", "{}")) {
            rejected(
                            manager,
                            positions().build(),
                            withSettings(
                                    json -> json.replace("{\"embeddingSize\":4,", "{\"embeddingSize\":" + other + ","),
                                    file))
                    .withMessageContaining("embeddingSize=");
        }
    }

    @EngineTest
    void aMissingSettingHasItsDefault(NDManager manager) throws Exception {
        byte[] file = withSettings(
                json -> json.replace(",\"sequenceAxis\":-2", ""),
                saved(manager, positions().build()));
        BlockBytes.load(manager, positions().build(), file);
        rejected(manager, positions().optSequenceAxis(0).build(), file).withMessageContaining("sequenceAxis=null");
        byte[] without = withSettings(
                json -> json.replace("\"embeddingSize\":4,", ""),
                saved(manager, positions().build()));
        rejected(manager, positions().build(), without).withMessageContaining("embeddingSize=null");
    }

    @EngineTest
    void anUnknownSettingIsRejected(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        rejected(manager, positions().build(), withSettings(json -> json.replaceFirst("\\{", "{\"other\":1,"), file))
                .withMessageContaining("other=1");
    }

    @EngineTest
    void settingsThatAreNotStrictJsonAreRejected(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        for (String json : List.of(
                "",
                "{",
                "{}{}",
                "[]",
                "4",
                "null",
                "{embeddingSize:4}",
                "{'embeddingSize':4}",
                "{\"embeddingSize\":4,}",
                "{\"embeddingSize\":NaN}",
                "{\"embeddingSize\":4;}",
                "/**/{\"embeddingSize\":4}",
                "[".repeat(30_000),
                "{\"a\":".repeat(10_000))) {
            rejected(manager, positions().build(), withSettings(old -> json, file));
        }
        rejected(
                        manager,
                        positions().build(),
                        withSettings(json -> json.replaceFirst("\\{", "{\"embeddingSize\":4,"), file))
                .withMessageContaining("the key 'embeddingSize' twice");
        rejected(
                        manager,
                        positions().build(),
                        withSettings(json -> "{\"a\":" + "[".repeat(17) + "]".repeat(17) + "}", file))
                .withMessageContaining("at most 16");
        byte[] notUtf8 = file.clone();
        notUtf8[7] = (byte) 0xff;
        rejected(manager, positions().build(), notUtf8);
    }

    @EngineTest
    void anotherVersionIsRejected(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        file[0] = 99;
        rejected(manager, positions().build(), file)
                .withMessageContaining("version 99")
                .withMessageContaining("expected version 1");
    }

    @EngineTest
    void countsAreCheckedBeforeAnythingIsAllocated(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        for (int count : new int[] {Integer.MAX_VALUE, -1, 100_000}) {
            byte[] hostile = file.clone();
            ByteBuffer.wrap(hostile).putInt(1, count);
            rejected(manager, positions().build(), hostile).withMessageContaining(count + " bytes of settings");
        }
        // the shapes come last: one of rank 3, 4 + 4 + 3 · 8 bytes
        for (int count : new int[] {Integer.MAX_VALUE, -1, 9}) {
            byte[] hostile = file.clone();
            ByteBuffer.wrap(hostile).putInt(file.length - 32, count);
            rejected(manager, positions().build(), hostile).withMessageContaining(count + " input shapes");
        }
        for (int count : new int[] {Integer.MAX_VALUE, -1, 33}) {
            byte[] hostile = file.clone();
            ByteBuffer.wrap(hostile).putInt(file.length - 28, count);
            rejected(manager, positions().build(), hostile).withMessageContaining(count + " dimensions");
        }
        byte[] size = file.clone();
        ByteBuffer.wrap(size).putLong(file.length - 8, -2);
        rejected(manager, positions().build(), size).withMessageContaining("an axis of size -2");
    }

    @EngineTest
    void parametersOfAnotherNameTypeOrShapeAreNotAllocated(NDManager manager) throws Exception {
        byte[] file = saved(manager, TestBlocks.LEARNED);
        int type = find("FLOAT32", file);
        // PyTorch aborts the JVM when an array of BFLOAT16 is created
        for (String other : List.of("BFLOA16", "INT32\0\0", "float32")) {
            rejected(manager, TestBlocks.LEARNED.block(), replaced("FLOAT32", other, file))
                    .withMessageContaining("FLOAT16, FLOAT32 or FLOAT64");
        }
        rejected(manager, TestBlocks.LEARNED.block(), replaced("encodings", "encodingz", file))
                .withMessageContaining("the parameter encodingz (6, 4)")
                .withMessageContaining("expected encodings (6, 4)");
        for (long rows : new long[] {1L << 40, 7, 0, -1}) {
            byte[] hostile = file.clone();
            ByteBuffer.wrap(hostile).putLong(type + 7 + Integer.BYTES, rows);
            rejected(manager, TestBlocks.LEARNED.block(), hostile)
                    .withMessageContaining("encodings (" + rows + ", 4) FLOAT32")
                    .withMessageContaining("(6, 4)");
        }
        // a type that an embedding has, with twice the bytes that the file has
        rejected(manager, TestBlocks.LEARNED.block(), replaced("FLOAT32", "FLOAT64", file))
                .withMessageContaining("ends or is damaged within LearnedPositionalEncodingBlock");
    }

    @EngineTest
    void aRejectedFileLeavesAnInitializedBlockAsItWas(NDManager manager) throws Exception {
        byte[] file = saved(manager, embedding().optScaleEmbedding(true).build());
        InputEmbeddingBlock block = embedding().build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        float[] before = block.getTokenTable().getArray().toFloatArray();
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, file));
        assertThat(block.getTokenTable().getArray().toFloatArray()).isEqualTo(before);
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
}
