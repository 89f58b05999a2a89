package io.github.djlpositional;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/** An {@link EngineTest} that needs GPUs. It is skipped if the engine finds fewer. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Tag("gpu")
public @interface Gpus {

    /** The number of GPUs. */
    int value();
}
