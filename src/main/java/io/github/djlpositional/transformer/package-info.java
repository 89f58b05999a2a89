/**
 * Layers, feed-forward networks and stacks of transformers, vision transformers, and the generation of tokens.
 * {@link io.github.djlpositional} documents the rules for all blocks.
 */
package io.github.djlpositional.transformer;
