/**
 * Relative positions: encodings that act within the attention, and an attention block that takes any of them.
 *
 * <p>{@link io.github.djlpositional} says what holds for every block. This page says what holds for every relative
 * encoding.
 *
 * <h2>Options</h2>
 *
 * An encoding is built with the sizes of its attention, N, H or D. Otherwise the attention throws
 * {@link IllegalArgumentException} when it is built.
 *
 * <h2>Positions</h2>
 *
 * There is no largest position, except in a window and with a rotary embedding: a table by distance grows with the
 * longest sequence. Positions are integers, except with a rotary embedding.
 *
 * <h2>A forward without an attention</h2>
 *
 * An encoding that adds a term to the scores is also a block. Its own forward returns the term, unscaled, for example
 * as the four-dimensional mask of DJL's {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}.
 *
 * <ul>
 *   <li>{@code [queries]}: (B, N, T, H), or for a bias, which does not depend on their content, (…, T, D). With the
 *       start position s, the queries have the positions s … s + T - 1, and the keys 0 … s + T - 1. With the forward
 *       parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, (T) or (B, T), both have these
 *       positions.
 *   <li>{@code [queries, keys]}: keys is (…, F, D), with the positions 0 … F - 1.
 * </ul>
 *
 * The output is (B, N, T, F), or of a bias (1, N, T, F), with positions for each sequence (B, N, T, F). A learned term
 * is rounded more than once, in FLOAT16 once more from FLOAT32. A forward throws {@link IllegalArgumentException} also
 * for an empty sequence.
 */
package io.github.djlpositional.attention;
