package io.github.djlpositional.arguments;

import java.util.Map;

/**
 * An object that is configured by a record of settings and can be created again from them: every block of this library,
 * and every encoding that a block is built with. Each class has a static {@code fromArguments(Map)}.
 */
@FunctionalInterface
public interface HasArguments {

    /**
     * Returns the settings that this object was built with, defaults included, as a map of plain values, always in the
     * same order. A setting that was not set and has no default is left out.
     *
     * @return an unmodifiable map of {@link String}, {@link Boolean}, {@link Number}, {@link java.util.List} and
     *     {@link Map}
     * @throws UnsupportedOperationException if a block within this block is not one of this library's, or several
     *     attentions share a relative encoding
     */
    Map<String, Object> getArguments();
}
