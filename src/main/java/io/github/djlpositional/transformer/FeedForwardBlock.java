package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The feed-forward network of a transformer layer: W₂ f(W₁ x + b₁) + b₂, after Vaswani et al., <em>Attention Is All You
 * Need</em> (2017), section 3.3. If the {@linkplain Nonlinearity function} f is gated, it is also a function of a third
 * product, the gate G x + b.
 *
 * <pre>{@code
 * FeedForwardBlock llamas = FeedForwardBlock.builder()
 *         .setEmbeddingSize(4096)
 *         .setHiddenSize(11_008)
 *         .optNonlinearity(Nonlinearity.SWIGLU)
 *         .optBias(false)
 *         .build();                       // (B, T, 4096) -> the same
 * }</pre>
 *
 * <p>Input and output are (…, D).
 */
public final class FeedForwardBlock extends OptionsBlock {

    record Options(
            @Range(min = 1) int embeddingSize,
            @Range(min = 1) int hiddenSize,
            @Default("RELU") Nonlinearity nonlinearity,
            @Default("true") boolean bias,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate) {}

    private final Options options;
    private final Linear hiddenProjection;

    /** Null unless the nonlinearity is gated. */
    private final Linear gateProjection;

    private final Linear outputProjection;

    private FeedForwardBlock(Options options) {
        super(options);
        this.options = options;
        int size = options.embeddingSize;
        hiddenProjection = addProjection("hiddenProjection", size, options.hiddenSize, options.bias);
        gateProjection = options.nonlinearity.isGated()
                ? addProjection("gateProjection", size, options.hiddenSize, options.bias)
                : null;
        outputProjection = addProjection("outputProjection", options.hiddenSize, size, options.bias);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static FeedForwardBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** Returns D. */
    int embeddingSize() {
        return options.embeddingSize;
    }

    /** {@return the projection W₁, from D to the hidden size} */
    public Linear getHiddenProjection() {
        return hiddenProjection;
    }

    /** {@return the gate G, a projection from D to the hidden size; null unless the nonlinearity is gated} */
    public Linear getGateProjection() {
        return gateProjection;
    }

    /** {@return the projection W₂, from the hidden size to D} */
    public Linear getOutputProjection() {
        return outputProjection;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        requireType(this, parameterStore, x, training);
        if (x.getShape().size() == 0) {
            return new NDList(x.duplicate());
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray hidden = temporaries.add(project(hiddenProjection, parameterStore, x, training));
            NDArray gate = gateProjection == null
                    ? null
                    : temporaries.add(project(gateProjection, parameterStore, x, training));
            NDArray result = temporaries.addResult(() -> options.nonlinearity.apply(gate, hidden));
            NDArray dropped = training && options.dropoutRate > 0
                    ? temporaries.add(
                            Dropout.dropout(result, options.dropoutRate, true).singletonOrThrow())
                    : result;
            return new NDList(project(outputProjection, parameterStore, dropped, training));
        }
    }

    private static NDArray project(Linear projection, ParameterStore store, NDArray x, boolean training) {
        return projection.forward(store, new NDList(x), training).singletonOrThrow();
    }

    /** Checks that the input of a block has the data type of the parameters. */
    void requireType(Block block, ParameterStore store, NDArray x, boolean training) {
        Parameter weight = hiddenProjection.getDirectParameters().get("weight");
        DataTypes.requireSame(x, DataTypes.value(block, weight, store, x, training), "projections");
    }

    /**
     * Adds the result to x in one call of PyTorch, without gradients: x + f(n(x)), or n(x + f(x)), where n is a
     * normalization and f this block. The input must be one that {@link #forward} accepts, and not empty.
     *
     * @param epsilon the epsilon of the normalization
     * @param isFirst whether x is normalized, and not the sum
     * @return a new array; null on another engine, for a nonlinearity that the call does not support, or if gradients
     *     are recorded
     */
    NDArray addInOneCall(ParameterStore store, NDArray x, Block norm, double epsilon, boolean isFirst) {
        TorchFunctions functions = options.nonlinearity.number() < 0 ? null : TorchFunctions.of(x);
        return functions == null
                ? null
                : reading(() -> {
                    NDArray[] arrays = new NDArray[10];
                    arrays[0] = x;
                    set(arrays, 1, hiddenProjection, store);
                    set(arrays, 3, gateProjection, store);
                    set(arrays, 5, outputProjection, store);
                    set(arrays, 7, norm, store);
                    if (Stream.of(arrays).anyMatch(array -> array != null && array.hasGradient())) {
                        return null;
                    }
                    arrays[9] = functions.epsilon(epsilon, x);
                    return functions.feedForward(arrays, options.nonlinearity.number(), isFirst ? 1 : 0);
                });
    }

    /** Sets the parameters of a block, or of none, from an index on. */
    private void set(NDArray[] arrays, int index, Block block, ParameterStore store) {
        int next = index;
        for (Parameter parameter :
                block == null ? List.<Parameter>of() : block.getParameters().values()) {
            arrays[next++] = DataTypes.value(this, parameter, store, arrays[0], false);
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return inputShapes.clone();
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        Check.that(
                inputShapes.length == 1, () -> inputShapes.length + " inputs were given: expected [x]; pass one array");
        Shape shape = inputShapes[0];
        long width = shape.dimension() == 0 ? 0 : shape.get(shape.dimension() - 1);
        Check.that(
                width == -1 || width == options.embeddingSize,
                () -> "input of shape " + shape + ": expected (…, " + options.embeddingSize
                        + "); pass an input of this shape, or build the block with another setEmbeddingSize(int)");
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        for (Block projection : getChildren().values()) {
            int size = projection == outputProjection ? options.hiddenSize : options.embeddingSize;
            initializeChild(projection, manager, dataType, new Shape(-1, size));
        }
    }

    /** Builds a {@link FeedForwardBlock}. */
    public static final class Builder extends BlockBuilder<FeedForwardBlock, Builder> {

        private Builder() {
            super(Options.class, FeedForwardBlock::new);
        }

        /** Sets D, at least 1. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /** Sets the number of hidden values of a token, at least 1, often 4 · D. */
        public Builder setHiddenSize(int hiddenSize) {
            return set("hiddenSize", hiddenSize);
        }

        /** Sets the function f (default: {@link Nonlinearity#RELU}). */
        public Builder optNonlinearity(Nonlinearity nonlinearity) {
            return set("nonlinearity", nonlinearity);
        }

        /** Adds a bias to each projection (default: true); Llama has none. */
        public Builder optBias(boolean bias) {
            return set("bias", bias);
        }

        /** Sets the dropout rate of the results of f in training, at least 0 and below 1 (default: 0). */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
