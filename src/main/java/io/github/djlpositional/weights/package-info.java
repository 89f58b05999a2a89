/**
 * Weights from elsewhere: token and position tables from the files of PyTorch, Hugging Face and NumPy.
 *
 * <p>{@link io.github.djlpositional.weights.WeightFile} says what a file holds,
 * {@link io.github.djlpositional.weights.WeightLoader} takes it into a block's parameters. Files are data from strangers: each
 * number in them is checked against the file's size before anything is made of it, no code in them is run, and no path in them
 * is followed.
 */
package io.github.djlpositional.weights;
