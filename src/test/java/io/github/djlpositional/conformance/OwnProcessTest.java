package io.github.djlpositional.conformance;

import static io.github.djlpositional.support.SmallBlocks.initialized;
import static io.github.djlpositional.support.SmallBlocks.learned;
import static io.github.djlpositional.support.SmallBlocks.positions;
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
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.JavaProgram;
import io.github.djlpositional.support.Nightly;
import io.github.djlpositional.support.TestEngine;
import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The library in a separate process and in a class loader with only one engine, as in an application server, while
 * another thread collects garbage. Using freed memory ends the process.
 */
public class OwnProcessTest {

    private static final String DONE = "every value is right";
    private static final Shape X = new Shape(1, 10, 4);
    private static final float[] TABLE = SinusoidalEncoding.vaswani(4).table(0, 10);

    @ParameterizedTest
    @EnumSource
    void oneEngineIsEnoughAndMemoryIsNotFreedWhileItIsUsed(TestEngine engine) throws Exception {
        engine.assumeAvailable();
        List<String> options = List.of(
                "-Xmx256m",
                // small, so that it is collected every millisecond
                "-Xmn2m",
                "-XX:+UseSerialGC",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=/dev/null");
        String millis = Nightly.RUNS ? "5000" : "500";
        assertThat(JavaProgram.run(options, OwnProcessTest.class, engine.engineName(), millis))
                .contains(DONE);
    }

    /**
     * The program of the process: runs {@link #use} in a loader that sees only Java and the jars of the chosen engine.
     * A JVM loads a native library for one class loader only.
     */
    public static void main(String[] args) throws Exception {
        String engine = args[0];
        String hidden = engine.equals("PyTorch") ? "mxnet" : "pytorch";
        List<URL> seen = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path file = Path.of(entry);
            if (!file.getFileName().toString().toLowerCase(Locale.ROOT).startsWith(hidden)) {
                seen.add(file.toUri().toURL());
            }
        }
        try (URLClassLoader loader =
                new URLClassLoader(seen.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            Thread.currentThread().setContextClassLoader(loader);
            loader.loadClass(OwnProcessTest.class.getName())
                    .getMethod("use", String.class, long.class)
                    .invoke(null, engine, Long.parseLong(args[1]));
        }
    }

    /** The code of an application, whose parts run for some milliseconds. */
    public static void use(String engine, long millis) throws Exception {
        assertThat(Engine.getAllEngines())
                .contains(engine)
                .doesNotContain(engine.equals("PyTorch") ? "MXNet" : "PyTorch");
        Duration each = Duration.ofMillis(millis);
        try (NDManager manager = Engine.getEngine(engine).newBaseManager(Device.cpu())) {
            saveAndLoad(manager);
            Thread collector = new Thread(OwnProcessTest::litter);
            collector.setDaemon(true);
            collector.start();
            useTables(manager, System.nanoTime() + 2 * each.toNanos());
            copyFromJava(manager, System.nanoTime() + each.toNanos());
        }
        System.out.println(DONE);
    }

    private static void saveAndLoad(NDManager manager) throws Exception {
        PositionalEncodingBlock block = initialized(manager, positions().build(), 1, 10, 4);
        Block loaded = PositionalEncodingBlock.fromArguments(block.getArguments());
        BlockBytes.load(manager, loaded, BlockBytes.saved(block));
        NDArray zeros = manager.zeros(X);
        for (Block each : List.of(block, loaded)) {
            assertThat(Forward.infer(manager, each, zeros).toFloatArray()).isEqualTo(TABLE);
        }
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
