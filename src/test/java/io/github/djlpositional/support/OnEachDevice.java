package io.github.djlpositional.support;

import ai.djl.Device;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A test class that runs once on each engine and once on a simulated GPU, for exceptions that must not depend on the
 * device. Each test has a manager, which is closed after it.
 */
@ParameterizedClass(name = "{0}")
@EnumSource(OnEachDevice.Place.class)
public abstract class OnEachDevice extends WithManager {

    /** The engines, on the device of the tests, and PyTorch with a simulated GPU. */
    protected enum Place {
        PYTORCH,
        MXNET,
        SIMULATED_GPU
    }

    @Parameter
    protected Place place;

    @Override
    final NDManager newManager() {
        if (place == Place.SIMULATED_GPU) {
            TestEngine.PYTORCH.assumeAvailable();
            return new SimulatedGpuEngine().newBaseManager(Device.gpu(0));
        }
        return TestEngine.valueOf(place.name()).newManager();
    }
}
