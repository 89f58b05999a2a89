/**
 * Positional encodings as blocks for Deep Java Library models.
 *
 * <p>The letters in shapes: B batch, T sequence length, D embedding size; those of grids are
 * {@link io.github.djlpositional.GridPositionalEncodingBlock}'s own.
 */
package io.github.djlpositional;
