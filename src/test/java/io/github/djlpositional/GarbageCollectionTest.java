package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;

/**
 * Blocks whose memory is used while another thread collects garbage. In a process of its own, because freed memory that
 * is used ends it.
 */
public class GarbageCollectionTest {

    private static final String DONE = "every value is right";
    private static final Shape X = new Shape(1, 10, 4);
    private static final float[] TABLE = SinusoidalEncoding.vaswani(4).table(0, 10);

    @EngineTest
    void memoryIsNotFreedWhileItIsUsed(Engine engine) throws Exception {
        List<String> options = List.of(
                "-Xmx256m",
                // small, so that it is collected every millisecond
                "-Xmn2m",
                "-XX:+UseSerialGC",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=/dev/null");
        String millis = EngineTestExtension.IS_NIGHTLY ? "5000" : "500";
        assertThat(JavaProgram.run(options, GarbageCollectionTest.class, engine.getEngineName(), millis))
                .contains(DONE);
    }

    /** The program of the process: its arguments are an engine and the milliseconds for each of its parts. */
    public static void main(String[] args) throws Exception {
        Duration each = Duration.ofMillis(Long.parseLong(args[1]));
        try (NDManager manager = Engine.getEngine(args[0]).newBaseManager(Device.cpu())) {
            Thread collector = new Thread(GarbageCollectionTest::litter);
            collector.setDaemon(true);
            collector.start();
            useTables(manager, System.nanoTime() + 2 * each.toNanos());
            copyFromJava(manager, System.nanoTime() + each.toNanos());
        }
        System.out.println(DONE);
    }

    /** The garbage collector runs as often as the new objects fill its young generation. */
    private static void litter() {
        byte[] garbage = new byte[0];
        while (garbage.length < Integer.MAX_VALUE) {
            garbage = new byte[1 << 12];
        }
    }

    /** The blocks are unreachable during their forwards, or as soon as they have returned their tables. */
    private static void useTables(NDManager manager, long end) {
        NDArray zeros = manager.zeros(X);
        NDArray heads = manager.ones(new Shape(1, 1, 10, 4));
        NDArray numbers = manager.arange(10);
        while (System.nanoTime() < end) {
            try (NDManager own = manager.newSubManager()) {
                NDArray table = initialized(own, positions().build(), 1, 10, 4).getEncodings();
                NDArray sum = Forward.infer(own, positions().build(), zeros);
                NDArray rows = positions().build().encode(numbers);
                NDArray rotated = Forward.infer(
                        own, RotaryEmbeddingBlock.builder().setHeadSize(4).build(), heads);
                NDList results = new NDList(sum, rows, rotated);
                for (int i = 0; i < 20; i++) {
                    assertThat(table.toFloatArray()).isEqualTo(TABLE);
                }
                assertThat(sum.toFloatArray()).isEqualTo(TABLE);
                assertThat(rows.toFloatArray()).isEqualTo(TABLE);
                assertThat(rotated.getFloat(0, 0, 0, 0)).isEqualTo(1);
                results.close();
            }
        }
    }

    /** Small arrays, because they take the most copies; then a parameter, a masked grid, and the rows of a table. */
    private static void copyFromJava(NDManager manager, long end) throws IOException, MalformedModelException {
        LearnedPositionalEncodingBlock block = learned().build();
        byte[] file = BlockBytes.saved(initialized(manager, block, 1, 10, 4));
        float[] expected = block.getTable().getArray().toFloatArray();
        Block grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(4))
                .build();
        NDArray picture = manager.zeros(new Shape(1, 5, 5, 4));
        NDArray mask = manager.ones(new Shape(1, 5, 5));
        float[] whole = Forward.infer(manager, grid, picture).toFloatArray();
        NDArray zeros = manager.zeros(X);
        while (System.nanoTime() < end) {
            for (int i = 0; i < 100; i++) {
                try (NDArray copy = copyOfTable(manager)) {
                    assertThat(copy.toFloatArray()).isEqualTo(TABLE);
                }
            }
            BlockBytes.load(manager, block, file);
            assertThat(block.getTable().getArray().toFloatArray()).isEqualTo(expected);
            try (NDArray masked = Forward.infer(manager, grid, picture, mask);
                    NDArray sum = Forward.infer(manager, positions().build(), zeros)) {
                assertThat(masked.toFloatArray()).isEqualTo(whole);
                assertThat(sum.toFloatArray()).isEqualTo(TABLE);
            }
        }
    }

    private static NDArray copyOfTable(NDManager manager) {
        ByteBuffer buffer = HostData.bufferFor(manager, X, DataType.FLOAT32);
        buffer.asFloatBuffer().put(TABLE);
        return HostData.toArray(manager, Device.cpu(), buffer, X, DataType.FLOAT32);
    }
}
