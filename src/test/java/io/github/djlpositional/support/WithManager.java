package io.github.djlpositional.support;

import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.function.Executable;

/** A test class in which each test has a manager, which is closed after it. */
abstract class WithManager {

    protected NDManager manager;

    /** Creates the manager of a test, or skips the test. */
    abstract NDManager newManager();

    @BeforeEach
    void openManager() {
        manager = newManager();
    }

    @AfterEach
    void closeManager() {
        if (manager != null) {
            manager.close();
        }
    }

    /** Expects inputs to be rejected with these values in the message, and no array to remain open. */
    protected final Executable rejectedInputs(Block block, NDList inputs, Object... values) {
        return rejectedInputs(block, (PairList<String, Object>) null, inputs, values);
    }

    /** The same with forward parameters. */
    protected final Executable rejectedInputs(
            Block block, PairList<String, Object> params, NDList inputs, Object... values) {
        ParameterStore store = new ParameterStore(manager, false);
        return rejectedWithoutLeak(manager, () -> block.forward(store, inputs, false, params), values);
    }
}
