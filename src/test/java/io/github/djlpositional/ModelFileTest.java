package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.Device;
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
import io.github.djlpositional.options.HasArguments;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
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

    @EngineTest
    void aBlockIsSavedCompletelyAfterItsStreamFailedOrWasReset(NDManager manager, boolean isReset) throws Exception {
        Block block = positions().optLearnedScale(1).build();
        SmallBlocks.initialized(manager, block, 2, 3, 4);
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
        assertThat(bytes.toByteArray()).isEqualTo(BlockBytes.saved(block));
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
        byte[] file = BlockBytes.saved(SmallBlocks.initialized(manager, saved, 2, 3));
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
    void storedFilesLoadAndAreSavedTheSame(NDManager manager, TestBlocks kind) throws Exception {
        Path file = file("v1", kind);
        assertThat(file).as("write it with -Dmodel-files.write=v1").exists();
        Block block = kind.block();
        byte[] bytes = Files.readAllBytes(file);
        BlockBytes.load(manager, block, bytes);
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
        if (paddingIndex(kind) < 0) {
            assertThat(BlockBytes.saved(block)).as("the same file").isEqualTo(bytes);
        }
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
