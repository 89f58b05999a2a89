package io.github.djlpositional.internal.options;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The default value of an option, as text. A component without a default is required if it is primitive; otherwise its
 * default is null.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Default {

    /** {@return the value} */
    String value();
}
