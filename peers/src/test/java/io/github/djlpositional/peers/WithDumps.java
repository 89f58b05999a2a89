package io.github.djlpositional.peers;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Tests of this class and its subclasses run only with the numbers of {@code dump.py}, whose folder {@code peers} is.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@EnabledIfSystemProperty(named = "peers", matches = ".+")
@interface WithDumps {}
