package io.github.djlpositional.arguments;

import java.util.Map;

/**
 * What can be said by a map of plain values, and made again from it: every block of this library, and every encoding that a
 * block is built with. Each class has a static {@code fromArguments} beside it. A block of a user's may have arguments too, but
 * none of these blocks is made again with it inside.
 */
@FunctionalInterface
public interface HasArguments {

    /**
     * Returns what this was built with, defaults included: as names and plain values, always in the same order. What was not
     * set and has no default is left out.
     *
     * @return an unmodifiable map of {@link String}, {@link Boolean}, {@link Integer}, {@link Long}, {@link Float}, {@link Double},
     *     {@link java.util.List} and {@link Map}
     * @throws UnsupportedOperationException if it has a part that a user wrote, of which no map can tell
     */
    Map<String, Object> getArguments();
}
