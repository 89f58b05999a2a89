package io.github.djlpositional.support;

import ai.djl.ndarray.NDManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

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
}
