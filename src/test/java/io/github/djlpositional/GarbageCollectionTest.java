package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.initialized;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.UninitializedParameterException;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Blocks whose memory is used while another thread collects garbage, or changes the block. In a process of its own,
 * because freed memory that is used ends it.
 */
public class GarbageCollectionTest {

    private static final String DONE = "every value is right";
    private static final int LENGTH = 1000;
    private static final int SIZE = 64;
    private static final Shape X = new Shape(1, LENGTH, SIZE);
    private static final float[] TABLE = SinusoidalEncoding.vaswani(SIZE).table(0, LENGTH);

    private enum Program {
        TABLE_OF_A_MANAGER,
        TABLE_OF_A_BLOCK,
        LOAD,
        CHANGE_BESIDE_FORWARDS
    }

    @EngineTest
    void memoryIsNotFreedWhileItIsUsed(Engine engine, Program program) throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-DOPT_OUT_TRACKING=true",
                        "-Xmx256m",
                        "-XX:+UseSerialGC",
                        "-XX:-CreateCoredumpOnCrash",
                        "-XX:ErrorFile=/dev/null",
                        "-cp",
                        System.getProperty("java.class.path"),
                        GarbageCollectionTest.class.getName(),
                        engine.getEngineName(),
                        program.name())
                .redirectErrorStream(true)
                .start();
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
        if (program == Program.CHANGE_BESIDE_FORWARDS) {
            changeBesideForwards(engine, end);
        } else {
            Thread collector = new Thread(() -> {
                while (true) {
                    System.gc();
                }
            });
            collector.setDaemon(true);
            collector.start();
            int rounds = 0;
            do {
                try (NDManager manager = engine.newBaseManager(Device.cpu())) {
                    switch (program) {
                        case TABLE_OF_A_MANAGER -> useTableOfManager(manager);
                        case TABLE_OF_A_BLOCK -> useTableOfBlock(manager);
                        default -> load(manager);
                    }
                }
                rounds++;
            } while (System.nanoTime() < end);
            System.out.println(rounds + " rounds");
        }
        System.out.println(DONE);
    }

    private static PositionalEncodingBlock positions() {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(LENGTH)
                .build();
    }

    /** The block is unreachable as soon as it has returned its table. */
    private static void useTableOfManager(NDManager manager) {
        NDArray table = initialized(manager, positions(), 1, LENGTH, SIZE).getEncodings();
        for (int i = 0; i < 20; i++) {
            assertThat(table.toFloatArray()).isEqualTo(TABLE);
        }
    }

    /** The blocks are unreachable during their forwards. */
    private static void useTableOfBlock(NDManager manager) {
        NDArray zeros = manager.zeros(X);
        NDArray ones = manager.ones(X);
        NDArray numbers = manager.arange(LENGTH);
        for (int i = 0; i < 20; i++) {
            try (NDArray sum = Forward.infer(manager, positions(), zeros);
                    NDArray rows = positions().encode(numbers);
                    NDArray rotated = Forward.infer(
                            manager,
                            RotaryEmbeddingBlock.builder().setHeadSize(SIZE).build(),
                            ones.expandDims(0))) {
                assertThat(sum.toFloatArray()).isEqualTo(TABLE);
                assertThat(rows.toFloatArray()).isEqualTo(TABLE);
                assertThat(rotated.getFloat(0, 0, 0, 0)).isEqualTo(1);
            }
        }
    }

    /** Everything that is copied from Java: a parameter, the rows of a table, a masked grid, a number. */
    private static void load(NDManager manager) throws IOException, MalformedModelException {
        int length = 16 * LENGTH;
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(SIZE).optMaxSequenceLength(length);
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);
        byte[] file = BlockBytes.saved(
                initialized(manager, builder.optEncoding(encoding).build(), 1, length, SIZE));
        float[] expected = encoding.table(0, length);
        LearnedPositionalEncodingBlock loaded = builder.build();
        GridPositionalEncodingBlock grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(SIZE))
                .build();
        NDArray picture = manager.zeros(new Shape(4, 20, 20, SIZE));
        NDArray mask = manager.ones(new Shape(4, 20, 20));
        float[] whole = Forward.infer(manager, grid, picture).toFloatArray();
        for (int i = 0; i < 20; i++) {
            BlockBytes.load(manager, loaded, file);
            assertThat(loaded.getTable().getArray().toFloatArray()).isEqualTo(expected);
            loaded.clear();
            try (NDArray masked = Forward.infer(manager, grid, picture, mask)) {
                assertThat(masked.toFloatArray()).isEqualTo(whole);
            }
        }
    }

    /** Either a forward is right, or it fails, or the change fails. */
    private static void changeBesideForwards(Engine engine, long end) {
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                    .setVocabularySize(LENGTH)
                    .setEmbeddingSize(SIZE)
                    .optMaxSequenceLength(LENGTH)
                    .build();
            NDArray ids = manager.zeros(new Shape(1, LENGTH), DataType.INT64);
            List<CompletableFuture<Integer>> forwards = Stream.generate(
                            () -> CompletableFuture.supplyAsync(() -> forwards(manager, block, ids, end)))
                    .limit(3)
                    .toList();
            int changes = 0;
            while (System.nanoTime() < end) {
                try {
                    block.initialize(manager, DataType.FLOAT32, ids.getShape());
                    Thread.sleep(5);
                    block.clear();
                    changes++;
                } catch (IllegalStateException e) {
                    assertThat(e).hasMessageContaining("is in use");
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
            assertThat(changes).isPositive();
            assertThat(forwards).allMatch(each -> each.join() > 0);
        }
    }

    private static int forwards(NDManager manager, InputEmbeddingBlock block, NDArray ids, long end) {
        int done = 0;
        while (System.nanoTime() < end) {
            try (NDArray output = Forward.infer(manager, block, ids)) {
                assertThat(output.toFloatArray()).hasSize(LENGTH * SIZE);
                done++;
            } catch (UninitializedParameterException e) {
                assertThat(e).hasMessageContaining("initialize");
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("another thread");
            }
        }
        return done;
    }
}
