package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.UninitializedParameterException;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/**
 * Blocks whose memory is used while another thread collects garbage, or changes the block. In a process of its own,
 * because freed memory that is used ends it.
 */
public class GarbageCollectionTest {

    private static final String DONE = "every value is right";
    private static final long PAUSE = Duration.ofMillis(3).toNanos();
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
        String seconds = EngineTestExtension.IS_NIGHTLY ? "5" : "1";
        assertThat(JavaProgram.run(options, GarbageCollectionTest.class, engine.getEngineName(), seconds))
                .contains(DONE);
    }

    /** The program of the process: its arguments are an engine and the seconds for each of its parts. */
    public static void main(String[] args) throws Exception {
        Duration each = Duration.ofSeconds(Long.parseLong(args[1]));
        try (NDManager manager = Engine.getEngine(args[0]).newBaseManager(Device.cpu())) {
            changeBesideForwards(manager, System.nanoTime() + each.toNanos());
            Thread collector = new Thread(GarbageCollectionTest::litter);
            collector.setDaemon(true);
            collector.start();
            useTablesOfManagers(manager, System.nanoTime() + each.toNanos());
            useTablesOfBlocks(manager, System.nanoTime() + each.toNanos());
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

    /** The block is unreachable as soon as it has returned its table. */
    private static void useTablesOfManagers(NDManager manager, long end) {
        while (System.nanoTime() < end) {
            try (NDManager own = manager.newSubManager()) {
                NDArray table = initialized(own, positions().build(), 1, 10, 4).getEncodings();
                for (int i = 0; i < 20; i++) {
                    assertThat(table.toFloatArray()).isEqualTo(TABLE);
                }
            }
        }
    }

    /** The blocks are unreachable during their forwards. */
    private static void useTablesOfBlocks(NDManager manager, long end) {
        NDArray zeros = manager.zeros(X);
        NDArray heads = manager.ones(new Shape(1, 1, 10, 4));
        NDArray numbers = manager.arange(10);
        while (System.nanoTime() < end) {
            try (NDArray sum = Forward.infer(manager, positions().build(), zeros);
                    NDArray rows = positions().build().encode(numbers);
                    NDArray rotated = Forward.infer(
                            manager,
                            RotaryEmbeddingBlock.builder().setHeadSize(4).build(),
                            heads)) {
                assertThat(sum.toFloatArray()).isEqualTo(TABLE);
                assertThat(rows.toFloatArray()).isEqualTo(TABLE);
                assertThat(rotated.getFloat(0, 0, 0, 0)).isEqualTo(1);
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

    /** Either a forward is right, or it fails, or the change fails. */
    private static void changeBesideForwards(NDManager manager, long end) {
        InputEmbeddingBlock block = embedding().build();
        NDArray ids = ids(manager);
        CompletableFuture<Integer> forwards = CompletableFuture.supplyAsync(() -> forwards(manager, block, ids, end));
        int changes = 0;
        // longer on a busy machine, and until a forward is possible
        while (System.nanoTime() < end || changes == 0 || !block.isInitialized()) {
            try {
                block.clear();
                LockSupport.parkNanos(PAUSE);
                block.initialize(manager, DataType.FLOAT32, ids.getShape());
                changes++;
                LockSupport.parkNanos(PAUSE);
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("is in use");
            }
        }
        assertThat(forwards.join()).isPositive();
    }

    private static int forwards(NDManager manager, InputEmbeddingBlock block, NDArray ids, long end) {
        int done = 0;
        while (System.nanoTime() < end || done == 0) {
            try {
                // or a change would rarely be possible
                LockSupport.parkNanos(PAUSE);
                assertThat(Forward.infer(manager, block, ids).toFloatArray()).hasSize(2 * 3 * 4);
                done++;
            } catch (UninitializedParameterException e) {
                assertThat(e).hasMessageContaining("initialize");
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("is being initialized");
            }
        }
        return done;
    }
}
