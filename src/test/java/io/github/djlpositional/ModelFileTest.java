package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.UninitializedParameterException;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What the blocks write to a model file, and which files they accept; {@code refusals/model-files.txt} has those that
 * they reject.
 *
 * <p>The folder {@code model-files} has a file of each of {@link TestBlocks}, so that names, defaults and values of all
 * settings are protected. The file of a new case is written with {@code mvn test -Dtest=ModelFileTest#write
 * -Dmodel-files.write=v1}; existing files are not changed. A new version of the format gets a new folder, {@code v2},
 * and a test that it still reads {@code v1}.
 */
class ModelFileTest {

    @TempDir
    private Path folder;

    private static LearnedPositionalEncodingBlock.Builder learned() {
        return SmallBlocks.learned().optMaxSequenceLength(6);
    }

    private static RotaryEmbeddingBlock.Builder rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(4);
    }

    private static byte[] saved(NDManager manager, Block block, long... shape) throws IOException {
        return BlockBytes.saved(SmallBlocks.initialized(manager, block, shape));
    }

    private static byte[] saved(NDManager manager, Block block) throws IOException {
        return block instanceof InputEmbeddingBlock
                ? saved(manager, block, 2, 3)
                : block instanceof RotaryEmbeddingBlock
                        ? saved(manager, block, 1, 2, 3, 4)
                        : saved(manager, block, 2, 3, 4);
    }

    /** Expects a block to reject a file with a message that has all of these parts. */
    private static void rejected(NDManager manager, Block block, byte[] file, String... parts) {
        ThrowableAssertAlternative<?> rejection = assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, file));
        for (String part : parts) {
            rejection.withMessageContaining(part);
        }
        assertThat(block.isInitialized()).isFalse();
        assertThat(block.getParameters().values()).noneMatch(Parameter::isInitialized);
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

    @EngineTest
    void settingsAreJson(NDManager manager) throws Exception {
        assertThat(settings(saved(manager, positions().optLearnedScale(0.25f).build())))
                .startsWith("{\"type\":\"PositionalEncodingBlock\",\"embeddingSize\":4,\"encoding\":{")
                .endsWith(",\"addToInput\":true,\"sequenceAxis\":-2,\"learnedScale\":0.25}");
        assertThat(settings(saved(manager, embedding().optPaddingIndex(1).build())))
                .isEqualTo("{\"type\":\"InputEmbeddingBlock\",\"vocabularySize\":7,\"embeddingSize\":4,"
                        + "\"noPositions\":false,\"scaleEmbedding\":false,\"paddingIndex\":1}");
    }

    private static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(4).setHeadCount(2);
    }

    /** A norm of a program, without a class of its own. */
    private static Block anonymousNorm() {
        return new SequentialBlock() {};
    }

    @EngineTest
    void aBlockOfAnAnonymousClassIsNamedByItsSuperclass(NDManager manager) throws Exception {
        byte[] file = saved(manager, attention().build());
        Block block = attention().optQueryNorm(anonymousNorm()).build();
        rejected(manager, block, file, "no query norm, expected SequentialBlock");
    }

    @EngineTest
    void aLongListIsComparedElementByElement(NDManager manager) throws Exception {
        double[] frequencies = new double[64];
        Arrays.setAll(frequencies, i -> 1.0 / (i + 1));
        byte[] file = saved(manager, rotaryOf(frequencies), 1, 2, 3, 128);
        frequencies[40] = Math.nextUp(frequencies[40]);
        rejected(manager, rotaryOf(frequencies), file, "frequencies {");
    }

    private static Block rotaryOf(double... frequencies) {
        return rotary().setHeadSize(128)
                .optFrequencies(Frequencies.of(frequencies))
                .build();
    }

    @EngineTest
    void settingsThatDoNotChangeAnOutputAreNotCompared(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        for (PositionalEncodingBlock block : List.of(
                positions().optDropoutRate(0.5f).build(),
                positions().optMaxSequenceLength(20).build(),
                positions().optMaxSequenceLength(2).build(),
                positions().optAutoExtend(1000).build())) {
            BlockBytes.load(manager, block, file);
            assertThat(block.isInitialized()).isTrue();
        }
        byte[] tokens = saved(manager, embedding().build());
        Block longer =
                embedding().optMaxSequenceLength(20_000).optDropoutRate(0.5f).build();
        BlockBytes.load(manager, longer, tokens);
        Block sinusoidal = learned().optEncoding(SinusoidalEncoding.vaswani(4)).build();
        BlockBytes.load(manager, sinusoidal, saved(manager, learned().build()));
        BlockBytes.load(manager, rotary().optMaxSequenceLength(20_000).build(), saved(manager, rotary().build()));
    }

    @EngineTest
    void aModelWithoutAScalingLoadsWithAny(NDManager manager) throws Exception {
        RotaryScaling two = RotaryScaling.linear(2);
        BlockBytes.load(manager, rotary().optScaling(two).build(), saved(manager, rotary().build()));
        byte[] scaled = saved(manager, rotary().optScaling(two).build());
        BlockBytes.load(manager, rotary().optScaling(two).build(), scaled);
    }

    @EngineTest
    void theLearnedScaleIsLoaded(NDManager manager) throws Exception {
        PositionalEncodingBlock block = SmallBlocks.initialized(
                manager, positions().optLearnedScale(0.5f).build(), 2, 3, 4);
        block.getParameters().get("scale").getArray().addi(1);
        byte[] file = BlockBytes.saved(block);
        PositionalEncodingBlock loaded = positions().optLearnedScale(0.5f).build();
        BlockBytes.load(manager, loaded, file);
        assertThat(loaded.getParameters().get("scale").getArray().toFloatArray())
                .containsExactly(1.5f);
    }

    private static byte[] withEmbeddingSize(String json, byte... file) throws IOException {
        return withSettings(old -> old.replace("\"embeddingSize\":4,", "\"embeddingSize\":" + json + ","), file);
    }

    @EngineTest
    void numbersAreComparedByValue(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().build());
        for (String four : List.of("4.0", "4.000", "0.4e1", "40E-1")) {
            BlockBytes.load(manager, positions().build(), withEmbeddingSize(four, file));
        }
    }

    @EngineTest
    void aMissingSettingHasItsDefault(NDManager manager) throws Exception {
        byte[] whole = saved(manager, positions().build());
        byte[] file = withSettings(json -> json.replace(",\"sequenceAxis\":-2", ""), whole);
        BlockBytes.load(manager, positions().build(), file);
    }

    /** With a version that DJL's blocks know, they would take the settings for shapes, and ask for gigabytes. */
    @EngineTest
    void blocksOfDjlRejectTheFile(NDManager manager) throws Exception {
        byte[] file = saved(manager, positions().optLearnedScale(1).build());
        for (Block block : List.of(
                Linear.builder().setUnits(4).build(), LayerNorm.builder().build(), new SequentialBlock())) {
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> BlockBytes.load(manager, block, file))
                    .withMessageContaining("100");
        }
    }

    /** The first bytes of a model file are DJL's; where they are damaged, DJL loads nothing on PyTorch. */
    @EngineTest
    void aForwardSaysThatModelLoadMaySkipAFile(Engine engine, NDManager manager) throws Exception {
        Files.writeString(folder.resolve("model-0000.params"), "not a model");
        try (Model model = Model.newInstance("model", Device.cpu(), engine.getEngineName())) {
            model.setBlock(learned().build());
            if (engine.getEngineName().equals("PyTorch")) {
                model.load(folder, "model");
            }
            NDArray x = manager.ones(new Shape(1, 3, 4));
            assertThatExceptionOfType(UninitializedParameterException.class)
                    .isThrownBy(() -> Forward.infer(manager, model.getBlock(), x))
                    .withMessageContainingAll("LearnedPositionalEncodingBlock", ": expected ", "; ", "DJL@");
        }
    }

    private static float[] valuesOf(PositionalEncodingBlock block) {
        return block.getParameters().get("scale").getArray().toFloatArray();
    }

    /** Checkpoints in one stream: the second has what was trained since the first. */
    @EngineTest
    void aBlockThatIsSavedTwiceToAStreamIsSavedCompletely(NDManager manager) throws Exception {
        PositionalEncodingBlock block =
                SmallBlocks.initialized(manager, positions().optLearnedScale(1).build(), 2, 3, 4);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        block.saveParameters(out);
        block.getParameters().get("scale").getArray().addi(1);
        block.saveParameters(out);
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
        block.loadParameters(manager, in);
        assertThat(valuesOf(block)).containsExactly(1);
        block.loadParameters(manager, in);
        assertThat(valuesOf(block)).containsExactly(2);
    }

    @EngineTest
    void aBlockIsSavedCompletelyAfterItsStreamFailedOrWasReset(NDManager manager, boolean isReset) throws Exception {
        PositionalEncodingBlock block =
                SmallBlocks.initialized(manager, positions().optLearnedScale(1).build(), 2, 3, 4);
        block.getParameters().get("scale").getArray().addi(1);
        AtomicBoolean isFull = new AtomicBoolean(!isReset);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream() {
            @Override
            public synchronized void write(byte[] from, int first, int length) {
                if (isFull.getAndSet(false)) {
                    throw new UncheckedIOException(new IOException("once"));
                }
                super.write(from, first, length);
            }
        };
        DataOutputStream out = new DataOutputStream(bytes);
        if (isReset) {
            block.saveParameters(out);
        } else {
            assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> block.saveParameters(out));
        }
        bytes.reset();
        block.saveParameters(out);
        PositionalEncodingBlock loaded = positions().optLearnedScale(1).build();
        BlockBytes.load(manager, loaded, bytes.toByteArray());
        assertThat(valuesOf(loaded)).containsExactly(2);
    }

    private static Block embeddingThatShares(Block inTokens, Block inPositions) {
        SequentialBlock tokens = new SequentialBlock()
                .add(LambdaBlock.singleton(
                        ids -> ids.toType(DataType.FLOAT32, true).expandDims(2).repeat(2, 4), "ids"))
                .add(inTokens);
        return embedding()
                .optTokenEmbedding(tokens)
                .optPositionalEncoding(new SequentialBlock().add(inPositions))
                .build();
    }

    @EngineTest
    void blocksOfDjlInBetweenShareABlockWithTheOuterBlock(NDManager manager) throws Exception {
        Block one = learned().build();
        Block saved = embeddingThatShares(one, one);
        byte[] file = saved(manager, saved);
        Block other = learned().build();
        Block loaded = embeddingThatShares(other, other);
        BlockBytes.load(manager, loaded, file);
        NDArray ids = SmallBlocks.ids(manager);
        assertThat(Forward.infer(manager, loaded, ids).toFloatArray())
                .isEqualTo(Forward.infer(manager, saved, ids).toFloatArray());
    }

    /** Numbers that FLOAT32 holds exactly. */
    private static float[] weights(Shape shape) {
        float[] values = new float[Math.toIntExact(shape.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (i * 37 % 101 - 50) / 64f;
        }
        return values;
    }

    private static Path file(String version, TestBlocks kind) {
        return Path.of("src/test/resources/model-files", version, kind + ".params");
    }

    /** The row of the token table that is zero; -1 for none. */
    private static int paddingIndex(TestBlocks kind) {
        Map<String, Object> arguments = ((HasArguments) kind.block()).getArguments();
        Object input = arguments.getOrDefault("input", arguments);
        return ((Map<?, ?>) input).get("paddingIndex") instanceof Integer index ? index : -1;
    }

    @EngineTest
    void storedFilesLoad(NDManager manager, TestBlocks kind) throws Exception {
        Path file = file("v1", kind);
        assertThat(file).as("write it with -Dmodel-files.write=v1").exists();
        Block block = kind.block();
        BlockBytes.load(manager, block, Files.readAllBytes(file));
        for (Parameter parameter : block.getParameters().values()) {
            float[] expected = weights(parameter.getArray().getShape());
            if ("embedding".equals(parameter.getName()) && paddingIndex(kind) >= 0) {
                int size = (int) parameter.getShape().get(1);
                Arrays.fill(expected, paddingIndex(kind) * size, (paddingIndex(kind) + 1) * size, 0);
            }
            assertThat(parameter.getArray().toFloatArray())
                    .as("%s", parameter.getName())
                    .containsExactly(expected);
        }
        assertThat(block.isInitialized()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.TestBlocks#values")
    @EnabledIfSystemProperty(named = "model-files.write", matches = "v[0-9]+")
    void write(TestBlocks kind) throws IOException {
        Path file = file(System.getProperty("model-files.write"), kind);
        Files.createDirectories(file.getParent());
        if (!Files.exists(file)) {
            try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
                Block block = kind.block();
                block.setInitializer((owner, shape, type) -> owner.create(weights(shape), shape), parameter -> true);
                block.initialize(manager, DataType.FLOAT32, kind.shapes());
                Files.write(file, BlockBytes.saved(block));
            }
        }
    }
}
