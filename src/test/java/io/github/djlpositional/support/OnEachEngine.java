package io.github.djlpositional.support;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.util.function.Consumer;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** A test class that runs once on each engine. Each test has a manager, which is closed after it. */
@ParameterizedClass(name = "{0}")
@EnumSource(TestEngine.class)
public abstract class OnEachEngine extends WithManager {

    @Parameter
    protected TestEngine engine;

    @Override
    final NDManager newManager() {
        return engine.newManager();
    }

    /** Skips the test on another engine, because of what only this one does. */
    protected final void assumeEngine(TestEngine only) {
        assumeTrue(engine == only, "only " + only.engineName() + " does this");
    }

    /** Runs a check on a simulated GPU, which computes with PyTorch. */
    protected final void onASimulatedGpu(Consumer<NDManager> check) {
        assumeEngine(TestEngine.PYTORCH);
        try (NDManager gpu = new SimulatedGpuEngine().newBaseManager(Device.gpu(0))) {
            check.accept(gpu);
        }
    }

    /** Skips the test on a GPU: for what only a CPU promises, such as exceptions for the numbers of an array. */
    protected final void assumeCpu() {
        assumeTrue(!manager.getDevice().isGpu(), "only a CPU does this");
    }
}
