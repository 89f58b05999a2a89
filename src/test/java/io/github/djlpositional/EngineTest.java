package io.github.djlpositional;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that runs once on each engine. Its parameters may be the {@link ai.djl.engine.Engine} and an
 * {@link ai.djl.ndarray.NDManager} of it, which is closed after the test. For a parameter of an enum type, or a
 * boolean, the test runs once for each value. Where an engine or its native library is not on the class path, the test
 * is skipped there with that as the reason.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
@ExtendWith(EngineTestExtension.class)
public @interface EngineTest {

    /** The number of GPUs that are needed. The test is skipped if the engine finds fewer. */
    int gpus() default 0;

    /** Whether the manager is always on the CPU: for what only a CPU promises, such as exceptions for values. */
    boolean onCpu() default false;
}
