package io.github.djlpositional.options;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** An option that is not part of a model file, which may be loaded with another value. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface NotSaved {

    /**
     * {@return a value that alone is not saved, as text; empty if no value is} A model that was trained with this value
     * may be loaded with any other, and a model that was trained with another value only with that one.
     */
    String onlyIf() default "";
}
