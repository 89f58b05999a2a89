/**
 * Decoders of the Llama family, from the folders in which Hugging Face publishes them, and the text that they generate.
 */
package io.github.djlpositional.examples.llama;
