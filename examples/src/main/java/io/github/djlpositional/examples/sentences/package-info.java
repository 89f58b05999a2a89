/**
 * A published sentence encoder, all-MiniLM-L6-v2, built from this library's blocks: searching, training, stretching.
 */
package io.github.djlpositional.examples.sentences;
