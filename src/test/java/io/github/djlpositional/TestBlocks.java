package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.relative.EncodingType;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.stream.Stream;

/** A small example of a block of the library. A test that has it as a parameter runs for each. */
public interface TestBlocks {

    /** All of them. XPos needs two inputs, so only attentions are tested with it. */
    static TestBlocks[] values() {
        EnumSet<EncodingType> without = EnumSet.of(EncodingType.NONE, EncodingType.ROTARY_XPOS);
        return Stream.<TestBlocks>concat(Arrays.stream(BlockType.values()), EnumSet.complementOf(without).stream())
                .toArray(TestBlocks[]::new);
    }

    /** The example of a name. */
    static TestBlocks valueOf(String name) {
        return Arrays.stream(values())
                .filter(block -> block.toString().equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** The shape of an input of real numbers, or of token ids for an embedding. */
    Shape input();

    /**
     * Numbers of that shape, a new array: 0 to 6 repeated as token ids, otherwise divided by 8. With equal tokens, the
     * output of an attention would not depend on its queries and keys.
     */
    default NDArray numbers(NDManager manager) {
        Shape input = input();
        NDArray ids;
        // DJL's MXNet engine copies Java arrays from memory that the garbage collector may free meanwhile
        try (NDArray integers = HostData.integers(manager, manager.getDevice(), input, i -> i % 7)) {
            ids = integers.toType(DataType.INT64, true);
        }
        if (input.dimension() == 2) {
            return ids;
        }
        try (ids;
                NDArray floats = ids.toType(DataType.FLOAT32, true)) {
            return floats.div(8);
        }
    }

    /** A new block. */
    Block block();

    /** A new block, initialized in FLOAT32. */
    default Block initialized(NDManager manager) {
        Block block = block();
        block.initialize(manager, DataType.FLOAT32, input());
        return block;
    }

    /** The output of a block for the numbers. All arrays of the forward are closed. */
    default float[] values(NDManager manager, Block block) {
        try (NDManager own = manager.newSubManager()) {
            return Forward.infer(own, block, numbers(own)).toFloatArray();
        }
    }
}
