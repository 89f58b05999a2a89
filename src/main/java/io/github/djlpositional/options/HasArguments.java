package io.github.djlpositional.options;

import java.util.Map;

/**
 * An object that can be created again from its options: every block of this library, and every encoding that a block is
 * built with.
 *
 * <p>Each class has a static method {@code fromArguments(Map)}, which returns an equal object for a result of
 * {@link #getArguments}. The keys are the names of the builder's methods without {@code set} or {@code opt}, or of the
 * components of a record. {@code type} may be missing where the class is known. Values may have any {@link Number}
 * type, as JSON readers differ, and numbers and booleans may be strings, as in properties files. It throws
 * {@link IllegalArgumentException} for an argument that is missing, unknown, of another type or out of range; the
 * message names it.
 */
@FunctionalInterface
public interface HasArguments {

    /**
     * Returns the options that this object was built with, defaults included, as a map of plain values, always in the
     * same order: {@code type}, the simple name of its class, and a value for each option. An option that was not set
     * and has no default is left out.
     *
     * @return an unmodifiable map of {@link String}, {@link Boolean}, {@link Number}, {@link java.util.List} and
     *     {@link Map}
     * @throws UnsupportedOperationException if a block within this block has no arguments, or several attentions share
     *     a relative encoding
     */
    Map<String, Object> getArguments();
}
