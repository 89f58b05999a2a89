package io.github.djlpositional;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;

/** Engines by name, for tests of programs that take the name as an option. */
public final class Engines {

    private Engines() {}

    /** Skips the test if an engine or its native library is not on the class path. */
    public static void assumeAvailable(String engine) {
        assumeTrue(EngineTestExtension.isAvailable(engine), engine + " or its native library is not on the class path");
    }

    /** Creates a manager on the CPU, or skips the test. */
    public static NDManager newManager(String engine) {
        assumeAvailable(engine);
        return Engine.getEngine(engine).newBaseManager(Device.cpu());
    }
}
