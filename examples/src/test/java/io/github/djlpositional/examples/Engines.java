package io.github.djlpositional.examples;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import java.util.Locale;

/** The engines that the tests run on. */
public final class Engines {

    private Engines() {}

    /**
     * Skips the test if the platform has no native library of an engine.
     *
     * @param engine the name of the engine
     */
    public static void assumeAvailable(String engine) {
        assumeTrue(
                Engines.class.getResource("/native/lib/" + engine.toLowerCase(Locale.ROOT) + ".properties") != null,
                () -> "no native library of " + engine + " is published for " + System.getProperty("os.name") + " "
                        + System.getProperty("os.arch"));
    }

    /**
     * Creates a manager, or skips the test.
     *
     * @param engine the name of the engine
     * @return a new manager on the CPU
     */
    public static NDManager newManager(String engine) {
        assumeAvailable(engine);
        return Engine.getEngine(engine).newBaseManager(Device.cpu());
    }
}
