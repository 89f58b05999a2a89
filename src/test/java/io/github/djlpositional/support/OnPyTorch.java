package io.github.djlpositional.support;

import ai.djl.ndarray.NDManager;

/** A test class that runs on PyTorch only. Each test has a manager, which is closed after it. */
public abstract class OnPyTorch extends WithManager {

    @Override
    final NDManager newManager() {
        return TestEngine.PYTORCH.newManager();
    }
}
