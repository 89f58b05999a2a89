/**
 * Relative encodings, which act between two tokens in the attention: rotary embeddings, biases of distances, and terms
 * of queries and keys. {@link io.github.djlpositional.attention} documents the rules for all of them.
 */
package io.github.djlpositional.relative;
