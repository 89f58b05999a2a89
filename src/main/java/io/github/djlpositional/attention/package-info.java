/**
 * Relative positional encodings, which act within the attention, and an attention block that uses them.
 *
 * <p>{@link io.github.djlpositional} documents the rules for all blocks. This page documents the rules for all relative
 * encodings.
 *
 * <h2>Options</h2>
 *
 * Build an encoding with the sizes of its attention, N, H or D. An attention throws {@link IllegalArgumentException}
 * when it is built with an encoding of other sizes.
 *
 * <h2>Positions</h2>
 *
 * Query i and key j have the positions i and j. In a cross-attention, the start position is the position of query 0,
 * and the forward parameter {@link MultiHeadAttentionBlock#MEMORY_POSITIONS} gives the positions of the keys, (F) or
 * (B, F). With a {@link KeyValueCache} among the forward parameters, a self-attention appends its keys and values to
 * the cached ones, and i continues from there; F, also in the shape of a mask, is then the total length.
 *
 * <p>The forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS} gives the positions of the
 * queries, and, in a self-attention, of the keys: (T) or (B, T), or (axes, B, T) for a rotary embedding on several
 * axes, or for T5 biases on one of several axes. Relative encodings and chunks use them; causality, windows and masks
 * depend on the order of the tokens. A token that a mask of keys hides is counted neither in a window nor by an
 * encoding that sums over tokens. A forward does not wait for a GPU, except for floating-point positions, with
 * {@link MultiHeadAttentionBlock.Builder#optQueryScale}, for the mask of a window over a long sequence, and where a
 * {@link io.github.djlpositional.relative.RotaryEmbeddingBlock} or a
 * {@link io.github.djlpositional.relative.TransformerXlPositionBlock} reads positions.
 *
 * <p>The forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#DOCUMENTS} packs several documents
 * into a sequence. A self-attention then acts within each document. Windows, chunks, encodings that sum over tokens
 * and, without {@code POSITIONS}, positions start again in each document.
 *
 * <p>Positions are not bounded, except in the encodings of two-dimensional windows and in a rotary embedding. An
 * encoding that does not accept real positions rejects floating-point numbers.
 *
 * <h2>Memory</h2>
 *
 * On PyTorch, a fused kernel computes the attention where it supports the options
 * ({@link MultiHeadAttentionBlock.Builder#optFusedKernel}), without an array of scores. Elsewhere, scores are computed
 * for as many queries at a time as fit in the processor's caches, so a long sequence does not need memory for all T · F
 * scores. This does not hold in training, nor while gradients are recorded for the weights, which PyTorch does for a
 * block that was initialized, not loaded, until {@code freezeParameters(true)}.
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
 *   <li>{@code [queries, keys]}: keys is (…, F, D), with the positions 0 … F - 1, or those of the forward parameter
 *       {@link MultiHeadAttentionBlock#MEMORY_POSITIONS}.
 * </ul>
 *
 * The output is (B, N, T, F); for a bias it is (1, N, T, F), or (B, N, T, F) if each sequence has its own positions. A
 * learned term is rounded more than once, and in FLOAT16 once more, from FLOAT32. For an empty sequence, the forward
 * throws {@link IllegalArgumentException}.
 */
package io.github.djlpositional.attention;
