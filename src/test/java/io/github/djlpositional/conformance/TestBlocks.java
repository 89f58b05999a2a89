package io.github.djlpositional.conformance;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.EncodingType;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.stream.Stream;

/** A small example of a block of the library. {@code @MethodSource} of {@link #values()} runs a test for each. */
public interface TestBlocks {

    /** All of them. XPos is a block case of two inputs. */
    static TestBlocks[] values() {
        EnumSet<EncodingType> without = EnumSet.of(EncodingType.NONE, EncodingType.ROTARY_XPOS);
        return Stream.<TestBlocks>concat(Arrays.stream(BlockCase.values()), EnumSet.complementOf(without).stream())
                .toArray(TestBlocks[]::new);
    }

    /** The shape of the first input. */
    Shape input();

    /** The shapes of all inputs: of token ids, positions or a mask if there are two axes, otherwise of real numbers. */
    default Shape[] shapes() {
        return new Shape[] {input()};
    }

    /** Whether the block gives the results of the whole sequence in steps along the second axis. */
    default boolean hasSteps() {
        return false;
    }

    /** A new block. */
    Block block();

    /** The id of the token whose row of the table begins with zeros, and is not trained; -1 for none. */
    default int paddingIndex() {
        Map<String, Object> arguments = ((HasArguments) block()).getArguments();
        Object input = arguments.getOrDefault("input", arguments);
        return ((Map<?, ?>) input).get("paddingIndex") instanceof Integer index ? index : -1;
    }

    /**
     * Inputs of the shapes, new arrays: 0 to 6 repeated as whole numbers, otherwise divided by 8. With equal tokens,
     * the output of an attention would not depend on its queries and keys.
     */
    default NDList numbers(NDManager manager) {
        return numbers(manager, DataType.FLOAT32);
    }

    /** The inputs, with real numbers of a type. */
    default NDList numbers(NDManager manager, DataType real) {
        NDList inputs = new NDList();
        for (Shape shape : shapes()) {
            int first = 3 * inputs.size();
            // DJL's MXNet engine copies Java arrays from memory that the garbage collector may free meanwhile
            try (NDArray integers = HostData.integers(manager, manager.getDevice(), shape, i -> (i + first) % 7)) {
                DataType type = shape.dimension() == 2 ? DataType.INT64 : real;
                NDArray numbers = integers.toType(type, true);
                inputs.add(type == DataType.INT64 ? numbers : numbers.divi(8));
            }
        }
        return inputs;
    }

    /** A new block, initialized in FLOAT32. */
    default Block initialized(NDManager manager) {
        Block block = block();
        block.initialize(manager, DataType.FLOAT32, shapes());
        return block;
    }

    /** The first output for inputs; any others are closed. */
    default NDArray infer(NDManager manager, Block block, NDList inputs) {
        NDList outputs = block.forward(new ParameterStore(manager, false), inputs, false);
        outputs.subList(1, outputs.size()).forEach(NDArray::close);
        return outputs.head();
    }

    /** The first output of a block for the numbers. All arrays of the forward are closed. */
    default float[] values(NDManager manager, Block block) {
        try (NDManager own = manager.newSubManager()) {
            return infer(own, block, numbers(own)).toFloatArray();
        }
    }
}
