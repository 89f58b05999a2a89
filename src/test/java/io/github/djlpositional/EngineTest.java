package io.github.djlpositional;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that runs once on each engine. Its parameters may be the {@link ai.djl.engine.Engine} and an
 * {@link ai.djl.ndarray.NDManager} of it, which is closed after the test. It runs for each combination of an engine and
 * of the values of its other parameters: the constants of an enum, all {@link TestBlocks}, both booleans, and for a
 * String what the static method {@code names()} of its class returns; without that method, a String is the engine's
 * name. Where an engine or its native library is not on the class path, the test is skipped there with that as the
 * reason.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
@ExtendWith(EngineTestExtension.class)
public @interface EngineTest {

    /** Which combinations run. */
    Selection value() default Selection.ALL;

    /** The only engine that the test runs on; empty for each engine. */
    String engine() default "";

    /** Whether the manager is always on the CPU: for what only a CPU promises, such as exceptions for values. */
    boolean onCpu() default false;

    /** Selections of combinations. The nightly run, {@code -DexcludedGroups=none}, has all of them. */
    enum Selection {
        /** Every combination. */
        ALL,
        /** Any two values occur together: for parameters that depend on each other. */
        PAIRS,
        /** Each value occurs: for tests that take long, whose parameters hardly depend on each other. */
        EACH
    }
}
