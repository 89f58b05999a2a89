package io.github.djlpositional.weights;

import ai.djl.ndarray.types.Shape;

/**
 * The type and shape of a tensor in a weight file.
 *
 * @param type the type as the file names it: {@code F32} or {@code BF16} in safetensors, {@code <f4} or {@code |O} in
 *     npz
 * @param shape the tensor's shape
 */
public record TensorInfo(String type, Shape shape) {}
