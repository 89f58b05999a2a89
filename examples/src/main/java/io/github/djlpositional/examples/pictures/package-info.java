/** Which encoding of two dimensions helps? A small vision transformer for handwritten digits. */
package io.github.djlpositional.examples.pictures;
