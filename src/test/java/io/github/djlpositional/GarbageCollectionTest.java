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
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Blocks whose memory is used while another thread collects garbage, or changes the block. In a process of its own,
 * because freed memory that is used ends it.
 */
public class GarbageCollectionTest {

    private static final String DONE = "every value is right";
    private static final Shape X = new Shape(1, 10, 4);
    private static final float[] TABLE = SinusoidalEncoding.vaswani(4).table(0, 10);

    private enum Program {
        TABLE_OF_A_MANAGER,
        TABLE_OF_A_BLOCK,
        COPY_FROM_JAVA,
        CHANGE_BESIDE_FORWARDS
    }

    @EngineTest
    void memoryIsNotFreedWhileItIsUsed(Engine engine, Program program) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-DOPT_OUT_TRACKING=true",
                        "-Xmx256m",
                        // small, so that it is collected every millisecond
                        "-Xmn2m",
                        "-XX:+UseSerialGC",
                        "-XX:-CreateCoredumpOnCrash",
                        "-XX:ErrorFile=/dev/null",
                        "-cp",
                        System.getProperty("java.class.path"),
                        GarbageCollectionTest.class.getName(),
                        engine.getEngineName(),
                        program.name())
                .redirectErrorStream(true);
        // glibc returns freed blocks of 128 KB and more, so that a use of them ends the process
        builder.environment().put("MALLOC_MMAP_THRESHOLD_", "131072");
        Process process = builder.start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(printed).contains(DONE);
        assertThat(process.exitValue()).isZero();
    }

    /** The program of the process. */
    public static void main(String[] args) throws Exception {
        Engine engine = Engine.getEngine(args[0]);
        Program program = Program.valueOf(args[1]);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.getLong("seconds", 2));
        if (program != Program.CHANGE_BESIDE_FORWARDS) {
            Thread collector = new Thread(GarbageCollectionTest::litter);
            collector.setDaemon(true);
            collector.start();
        }
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            switch (program) {
                case TABLE_OF_A_MANAGER -> useTablesOfManagers(manager, end);
                case TABLE_OF_A_BLOCK -> useTablesOfBlocks(manager, end);
                case COPY_FROM_JAVA -> copyFromJava(manager, end);
                default -> changeBesideForwards(manager, end);
            }
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
        while (System.nanoTime() < end) {
            try {
                block.initialize(manager, DataType.FLOAT32, ids.getShape());
                changes++;
                Thread.sleep(3);
                block.clear();
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("is in use");
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        assertThat(changes).isPositive();
        assertThat(forwards.join()).isPositive();
    }

    private static int forwards(NDManager manager, InputEmbeddingBlock block, NDArray ids, long end) {
        int done = 0;
        while (System.nanoTime() < end) {
            try {
                // or a change would rarely be possible
                Thread.sleep(3);
                assertThat(Forward.infer(manager, block, ids).toFloatArray()).hasSize(2 * 3 * 4);
                done++;
            } catch (UninitializedParameterException e) {
                assertThat(e).hasMessageContaining("initialize");
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("another thread");
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        return done;
    }
}
