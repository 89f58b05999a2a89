package io.github.djlpositional.options;

import java.util.Map;

/**
 * Provides classes that arguments may name as their {@code type}. Implementations are found by
 * {@link java.util.ServiceLoader}: a program that adds its own encoding lists its implementation in
 * {@code META-INF/services/io.github.djlpositional.options.TypeProvider}, and a named module in its {@code provides}.
 *
 * <p>Providers are looked up with the class loader of this library, those of the classes that call it, and the context
 * class loader of the thread. Loaders that see another copy of this library, or none, are skipped. A named module must
 * export or open the package of a provided class, but not that of its provider.
 */
@FunctionalInterface
public interface TypeProvider {

    /**
     * Returns the classes by the names that papers and models give them, such as {@code ALiBi}. A class is also found
     * by its simple name. A class may have several names: lists contain the first one, and all are accepted, in any
     * case and with or without spaces, hyphens and underscores. Each class {@linkplain HasArguments has arguments} and
     * a public static method {@code fromArguments(Map)} that returns an object of it.
     *
     * @return the classes by name; the order of the map is the order of the names
     */
    Map<String, Class<?>> types();
}
