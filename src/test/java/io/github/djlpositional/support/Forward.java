package io.github.djlpositional.support;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.Objects;

/** Calls a block as the tests do. */
public final class Forward {

    private Forward() {}

    public static NDArray infer(NDManager manager, Block block, NDArray... inputs) {
        return infer(manager, block, null, inputs);
    }

    public static NDArray inferFrom(NDManager manager, Object startPosition, Block block, NDArray... inputs) {
        return infer(manager, block, params(PositionalEncodingBlock.START_POSITION, startPosition), inputs);
    }

    /** With explicit positions as a forward parameter. */
    public static NDArray inferAt(NDManager manager, NDArray positions, Block block, NDArray... inputs) {
        return infer(manager, block, params(PositionalEncodingBlock.POSITIONS, positions), inputs);
    }

    /** Returns forward parameters with one entry. */
    public static PairList<String, Object> params(String name, Object value) {
        PairList<String, Object> params = new PairList<>();
        params.add(name, value);
        return params;
    }

    /** A forward in training. */
    public static NDArray train(NDManager manager, Block block, NDArray... inputs) {
        return block.forward(new ParameterStore(manager, false), new NDList(inputs), true)
                .singletonOrThrow();
    }

    /** A forward in training while gradients are recorded. MXNet drops numbers only then. */
    public static NDArray trainRecorded(NDManager manager, Block block, NDArray... inputs) {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            Objects.requireNonNull(collector); // javac warns of an unused resource
            return train(manager, block, inputs);
        }
    }

    /** With forward parameters; null for none. */
    public static NDArray infer(NDManager manager, Block block, PairList<String, Object> params, NDArray... inputs) {
        return block.forward(new ParameterStore(manager, false), new NDList(inputs), false, params)
                .singletonOrThrow();
    }
}
