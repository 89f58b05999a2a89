/**
 * Records of options and their builders, in plain Java. To add an option, add a component to the record of options and
 * a method to the builder; its default and range are annotations. Arguments, description and model file are derived
 * from the record. See {@link io.github.djlpositional.internal.options.Settings}.
 */
package io.github.djlpositional.internal.options;
