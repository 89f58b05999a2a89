/**
 * Relative positions: encodings that act within the attention, and an attention block that takes any of them.
 *
 * <p>The letters in shapes are the same everywhere: B batch, T sequence length (of the queries), F source length (of
 * the keys and values), D embedding size, N heads, H head size, r rotary size.
 *
 * <p>Builders throw {@link NullPointerException} for an option that is null.
 */
package io.github.djlpositional.attention;
