/**
 * A small transformer encoder built from blocks of DJL and of this library, and the program that trains it on real
 * text.
 */
package io.github.djlpositional.examples;
