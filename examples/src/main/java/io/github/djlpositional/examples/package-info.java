/** A small transformer encoder of DJL's blocks and this library's, and the program that trains it on real text. */
package io.github.djlpositional.examples;
