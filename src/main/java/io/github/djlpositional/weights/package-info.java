/**
 * Loads token tables, position tables and other parameters from safetensors and npz files of PyTorch, Hugging Face and
 * NumPy.
 *
 * <p>{@link io.github.djlpositional.weights.WeightFile} lists the tensors of a file;
 * {@link io.github.djlpositional.weights.WeightLoader} copies them into parameters. Files may be untrusted: each number
 * in a header is checked against the file's size before it is used, no code in a file is run, and no name in it is used
 * as a path.
 */
package io.github.djlpositional.weights;
