package io.github.djlpositional.internal.options;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** An option that a model file does not contain: the file may be loaded with any value. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface NotSaved {

    /**
     * {@return the only value that is not saved, as text; empty if no value is saved} A model that was trained with
     * this value may be loaded with any other; a model that was trained with another value must be loaded with the
     * same.
     */
    String onlyIf() default "";
}
