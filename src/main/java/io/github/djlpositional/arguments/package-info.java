/**
 * Configurations as maps of plain values: text, numbers, true and false, lists and maps of them. What a
 * {@link ai.djl.nn.BlockFactory} is given, and what JSON or properties can hold.
 */
package io.github.djlpositional.arguments;
