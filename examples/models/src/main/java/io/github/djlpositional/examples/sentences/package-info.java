/** A published sentence encoder, all-MiniLM-L6-v2, built from this library's blocks: searching and training. */
package io.github.djlpositional.examples.sentences;
