package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.util.PairList;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Files of every version that was ever written, kept in the folder {@code model-files}, still load. A new version gets
 * a new folder, a new constant of {@link TestBlocks} a new file in the newest one: both are written with {@code mvn
 * test -Dtest=ModelFileVersionsTest#write -Dmodel-files.write=v1}, or {@code v2} and so on. What is there stays as it
 * is.
 */
class ModelFileVersionsTest {

    /** Numbers that FLOAT32 holds exactly. */
    private static float[] weights(Shape shape) {
        float[] values = new float[Math.toIntExact(shape.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (i * 37 % 101 - 50) / 64f;
        }
        return values;
    }

    private static void requireLoads(NDManager manager, String version) throws IOException, MalformedModelException {
        for (TestBlocks kind : TestBlocks.values()) {
            Block block = kind.block();
            String file = "/model-files/" + version + "/" + kind + ".params";
            try (InputStream in = ModelFileVersionsTest.class.getResourceAsStream(file)) {
                assertThat(in)
                        .as(
                                "%s: a new block's file is written with mvn test -Dtest=ModelFileVersionsTest#write"
                                        + " -Dmodel-files.write=%s, which leaves the others as they are",
                                file, version)
                        .isNotNull();
                block.loadParameters(manager, new DataInputStream(in));
            }
            PairList<String, Parameter> parameters = block.getParameters();
            for (Parameter parameter : parameters.values()) {
                float[] expected = weights(parameter.getArray().getShape());
                if (kind == TestBlocks.EMBEDDING_OF_EVERY_SETTING && "embedding".equals(parameter.getName())) {
                    // the row of the padding token, 1
                    Arrays.fill(expected, 4, 8, 0);
                }
                assertThat(parameter.getArray().toFloatArray())
                        .as("%s of %s", parameter.getName(), kind)
                        .containsExactly(expected);
            }
            assertThat(block.isInitialized()).as("%s", kind).isTrue();
            block.clear();
        }
    }

    @EngineTest
    void filesOfEveryVersionLoad(NDManager manager) throws Exception {
        for (int version = 1; version <= versionNow(manager); version++) {
            requireLoads(manager, "v" + version);
        }
    }

    /** The first byte of what a block writes. */
    private static int versionNow(NDManager manager) throws IOException {
        Block block = TestBlocks.POSITIONS.block();
        block.initialize(manager, DataType.FLOAT32, TestBlocks.POSITIONS.input());
        return BlockBytes.saved(block)[0];
    }

    @Test
    @EnabledIfSystemProperty(named = "model-files.write", matches = "v[0-9]+")
    void write() throws IOException {
        Path folder = Path.of("src/test/resources/model-files", System.getProperty("model-files.write"));
        Files.createDirectories(folder);
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            for (TestBlocks kind : TestBlocks.values()) {
                Block block = kind.block();
                block.setInitializer((owner, shape, type) -> owner.create(weights(shape), shape), parameter -> true);
                block.initialize(manager, DataType.FLOAT32, kind.input());
                Path file = folder.resolve(kind + ".params");
                if (!Files.exists(file)) {
                    try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(file))) {
                        block.saveParameters(out);
                    }
                }
            }
        }
    }
}
