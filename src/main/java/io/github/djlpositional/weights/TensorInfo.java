package io.github.djlpositional.weights;

import ai.djl.ndarray.types.Shape;
import java.util.Objects;

/**
 * What a weight file says of one of its tensors.
 *
 * @param type the type's name as the file has it: {@code F32} or {@code BF16} in safetensors, {@code <f4} or {@code |O} in npz
 * @param shape the tensor's shape
 */
public record TensorInfo(String type, Shape shape) {

    /**
     * Makes one.
     *
     * @param type the type's name as the file has it
     * @param shape the tensor's shape
     * @throws NullPointerException if one of them is null
     */
    public TensorInfo {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(shape, "shape");
    }
}
