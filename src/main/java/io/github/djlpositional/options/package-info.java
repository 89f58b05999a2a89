/**
 * Options of blocks and encodings, in plain Java. A new option is a component of the record of options and a method of
 * the builder with one sentence; its default and range are annotations, and arguments, description and model file
 * follow. See {@link io.github.djlpositional.options.Settings}.
 */
package io.github.djlpositional.options;
