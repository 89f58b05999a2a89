/** Interfaces of objects that {@code fromArguments} creates from a map of plain values. */
package io.github.djlpositional.options;
