package io.github.djlpositional.internal.options;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The range of an option that is a number, or of each number in a list. A number is always finite. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Range {

    /** {@return the smallest value} */
    double min() default Double.NEGATIVE_INFINITY;

    /** {@return the largest value} */
    double max() default Double.POSITIVE_INFINITY;

    /** {@return the exclusive lower bound} */
    double above() default Double.NEGATIVE_INFINITY;

    /** {@return the exclusive upper bound} */
    double below() default Double.POSITIVE_INFINITY;
}
