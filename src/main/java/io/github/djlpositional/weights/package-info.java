/**
 * Loads token tables, position tables and other parameters from safetensors files of PyTorch, Hugging Face and NumPy,
 * and reads the configurations of their models.
 *
 * <p>{@link io.github.djlpositional.weights.WeightFile} lists the tensors of a file, which may be untrusted;
 * {@link io.github.djlpositional.weights.WeightLoader} copies them into parameters.
 * {@link io.github.djlpositional.huggingface.HuggingFaceConfig} builds the rotary encoding and the attention that the
 * configuration of a model describes. Null arguments result in a {@link NullPointerException}.
 */
package io.github.djlpositional.weights;
