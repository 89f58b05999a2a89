package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The library in a separate class loader with only one engine, as in an application server. */
public class ClassLoaderTest {

    private static final String DONE = "the table is exact, before and after it was saved";

    @EngineTest
    void oneEngineIsEnough(Engine engine) throws Exception {
        // a new process, because a JVM loads a native library for one class loader only
        assertThat(JavaProgram.run(List.of(), ClassLoaderTest.class, engine.getEngineName()))
                .contains(DONE);
    }

    /**
     * The program of the process: runs {@link #use} in a loader that sees only Java and the jars of the chosen engine.
     */
    public static void main(String[] args) throws Exception {
        String engine = args[0];
        String hidden = engine.equals("PyTorch") ? "mxnet" : "pytorch";
        URL[] seen = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> !Path.of(entry)
                        .getFileName()
                        .toString()
                        .toLowerCase(Locale.ROOT)
                        .startsWith(hidden))
                .map(ClassLoaderTest::url)
                .toArray(URL[]::new);
        try (URLClassLoader loader = new URLClassLoader(seen, ClassLoader.getPlatformClassLoader())) {
            Thread.currentThread().setContextClassLoader(loader);
            loader.loadClass(ClassLoaderTest.class.getName())
                    .getMethod("use", String.class)
                    .invoke(null, engine);
        }
    }

    private static URL url(String entry) {
        try {
            return Path.of(entry).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(entry, e);
        }
    }

    /** The code of an application. */
    public static void use(String engine) throws Exception {
        assertThat(Engine.getAllEngines())
                .contains(engine)
                .doesNotContain(engine.equals("PyTorch") ? "MXNet" : "PyTorch");
        float[] table = SinusoidalEncoding.vaswani(8).table(0, 5000);
        try (NDManager manager = Engine.getEngine(engine).newBaseManager(Device.cpu())) {
            PositionalEncodingBlock block =
                    PositionalEncodingBlock.builder().setEmbeddingSize(8).build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 5000, 8));
            NDArray zeros = manager.zeros(new Shape(1, 5000, 8));
            assertThat(Forward.infer(manager, block, zeros).toFloatArray()).containsExactly(table);
            byte[] file = BlockBytes.saved(block);
            Block loaded = PositionalEncodingBlock.fromArguments(block.getArguments());
            BlockBytes.load(manager, loaded, file);
            assertThat(Forward.infer(manager, loaded, zeros).toFloatArray()).containsExactly(table);
        }
        System.out.println(DONE);
    }
}
