/**
 * Loads token tables, position tables and other parameters from safetensors and npz files of PyTorch, Hugging Face and
 * NumPy.
 *
 * <p>{@link io.github.djlpositional.weights.WeightFile} lists the tensors of a file, which may be untrusted;
 * {@link io.github.djlpositional.weights.WeightLoader} copies them into parameters. Null arguments result in a
 * {@link NullPointerException}.
 */
package io.github.djlpositional.weights;
