package io.github.djlpositional;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/** An {@link EngineTest} that needs GPUs. Where the engine finds fewer, it is skipped with that as the reason. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Tag("gpu")
public @interface Gpus {

    /** How many. */
    int value();
}
