package io.github.djlpositional.support;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import java.util.Locale;
import java.util.stream.Stream;

/** The engines that tests run on. */
public enum TestEngine {
    PYTORCH("PyTorch"),
    MXNET("MXNet");

    /** With {@code -Dtest.device=gpu} the managers that tests are given are on the first GPU. */
    private static final boolean IS_ON_GPU = "gpu".equals(System.getProperty("test.device"));

    private final String engineName;

    TestEngine(String engineName) {
        this.engineName = engineName;
    }

    /** The engine with a name of DJL. */
    public static TestEngine of(String engineName) {
        return Stream.of(values())
                .filter(engine -> engine.engineName.equals(engineName))
                .findFirst()
                .orElseThrow();
    }

    /** The name that DJL has for the engine. */
    public String engineName() {
        return engineName;
    }

    /** Whether the engine is on the class path, with its native library, which carries a description with it. */
    public boolean isAvailable() {
        String description = "/native/lib/" + engineName.toLowerCase(Locale.ROOT) + ".properties";
        return Engine.hasEngine(engineName) && TestEngine.class.getResource(description) != null;
    }

    /** Skips the test where the engine or its native library is not on the class path. */
    public void assumeAvailable() {
        assumeTrue(isAvailable(), engineName + " or its native library is not on the class path");
    }

    /** The engine; skips the test where it is not available. */
    public Engine get() {
        assumeAvailable();
        return Engine.getEngine(engineName);
    }

    /** Creates a manager on the device of the tests; skips the test where there is none. */
    public NDManager newManager() {
        assumeTrue(!IS_ON_GPU || get().getGpuCount() > 0, engineName + " finds no GPU");
        return get().newBaseManager(IS_ON_GPU ? Device.gpu() : Device.cpu());
    }

    /** Creates a manager on the CPU; skips the test where the engine is not available. */
    public NDManager newCpuManager() {
        return get().newBaseManager(Device.cpu());
    }

    /**
     * Creates a manager on the CPU of any engine; skips the test where none is available. DJL's default engine may be
     * one without a native library.
     */
    public static NDManager anyCpuManager() {
        return Stream.of(values())
                .filter(TestEngine::isAvailable)
                .findFirst()
                .orElse(PYTORCH)
                .newCpuManager();
    }
}
