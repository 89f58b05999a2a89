package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;

/**
 * What an attention is computed from, all of it the forward's to close.
 *
 * @param attention the block
 * @param call the queries and keys
 * @param queries before the relative encoding, (B, N, T, H)
 * @param encoded encoded queries times their factors by position, (B, N, T, H)
 * @param keys encoded keys, (B, K, F, H), where K is the number of key heads
 * @param values (B, K, F, H)
 * @param mask what hides keys from queries, in the data type of the scores
 * @param distanceBiases the biases that a cache keeps for this step of one token; null for none
 */
record AttentionOperands(
        MultiHeadAttentionBlock attention,
        AttentionCall call,
        NDArray queries,
        NDArray encoded,
        NDArray keys,
        NDArray values,
        AttentionMask mask,
        NDArray distanceBiases) {}
