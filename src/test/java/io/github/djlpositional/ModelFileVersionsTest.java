package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Model files that were saved before still load. The folder {@code model-files} has one for each constant of
 * {@link TestBlocks}, so that names, defaults and values of all settings are protected. The file of a new constant is
 * written with {@code mvn test -Dtest=ModelFileVersionsTest#write -Dmodel-files.write=v1}; existing files are not
 * changed. A new version of the format gets a new folder, {@code v2}, and a test that it still reads {@code v1}.
 */
class ModelFileVersionsTest {

    private static final Path FOLDER = Path.of("src/test/resources/model-files");

    /** Numbers that FLOAT32 holds exactly. */
    private static float[] weights(Shape shape) {
        float[] values = new float[Math.toIntExact(shape.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (i * 37 % 101 - 50) / 64f;
        }
        return values;
    }

    private static Path file(String version, TestBlocks kind) {
        return FOLDER.resolve(version).resolve(kind + ".params");
    }

    @EngineTest
    void storedFilesLoad(NDManager manager) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            Path file = file("v1", kind);
            assertThat(file).as("write it with -Dmodel-files.write=v1").exists();
            Block block = kind.block();
            BlockBytes.load(manager, block, Files.readAllBytes(file));
            for (Parameter parameter : block.getParameters().values()) {
                assertThat(parameter.getArray().toFloatArray())
                        .as("%s of %s", parameter.getName(), kind)
                        .containsExactly(expected(kind, parameter));
            }
            assertThat(block.isInitialized()).as("%s", kind).isTrue();
            block.clear();
        }
    }

    private static float[] expected(TestBlocks kind, Parameter parameter) {
        float[] expected = weights(parameter.getArray().getShape());
        if (kind == TestBlocks.EMBEDDING_OF_EVERY_SETTING && "embedding".equals(parameter.getName())) {
            // the row of the padding token, 1
            Arrays.fill(expected, 4, 8, 0);
        }
        return expected;
    }

    @Test
    @EnabledIfSystemProperty(named = "model-files.write", matches = "v[0-9]+")
    void write() throws IOException {
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            for (TestBlocks kind : TestBlocks.values()) {
                Path file = file(System.getProperty("model-files.write"), kind);
                Files.createDirectories(file.getParent());
                if (!Files.exists(file)) {
                    Block block = kind.block();
                    block.setInitializer(
                            (owner, shape, type) -> owner.create(weights(shape), shape), parameter -> true);
                    block.initialize(manager, DataType.FLOAT32, kind.input());
                    try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(file))) {
                        block.saveParameters(out);
                    }
                }
            }
        }
    }
}
