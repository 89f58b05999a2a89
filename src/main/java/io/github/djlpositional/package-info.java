/**
 * Positional encodings as blocks for Deep Java Library models.
 *
 * <p>The letters in shapes are the same everywhere: B batch, T sequence length, D embedding size.
 */
package io.github.djlpositional;
