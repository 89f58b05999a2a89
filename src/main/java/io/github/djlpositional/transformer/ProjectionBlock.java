package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.Map;

/**
 * A linear layer, then a function and a norm: n(f(W x + b)), each optional. The heads of BERT and other masked language
 * models have one before the scores of the tokens, as in Devlin et al., <em>BERT</em> (2019):
 *
 * <pre>{@code
 * ProjectionBlock transform = ProjectionBlock.builder()
 *         .setInputSize(768)
 *         .setOutputSize(768)
 *         .optNonlinearity(Nonlinearity.GELU)
 *         .optNorm(LayerNormBlock.builder().setEmbeddingSize(768).build())
 *         .build();                       // (B, T, 768) -> (B, T, 768)
 * }</pre>
 *
 * <p>The input is (…, D), the output (…, E).
 *
 * @see TransformerStackBlock.Builder#optOutputTransform
 */
public final class ProjectionBlock extends OptionsBlock {

    record Options(
            @Range(min = 1) int inputSize,
            @Range(min = 1) int outputSize,
            Nonlinearity nonlinearity,
            Block norm,
            @Default("true") boolean bias) {

        Options {
            Check.that(
                    nonlinearity == null || !nonlinearity.isGated(),
                    "nonlinearity " + nonlinearity + ": expected one without a gate, since a projection has one matrix;"
                            + " use a FeedForwardBlock");
        }
    }

    private final Options options;
    private final Linear projection;

    /** Null for none. */
    private final Block norm;

    private ProjectionBlock(Options options) {
        super(options);
        this.options = options;
        projection = addProjection("projection", options.inputSize, options.outputSize, options.bias);
        norm = options.norm == null ? null : addChild("norm", options.norm);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static ProjectionBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return the linear layer, from D to E} */
    public Linear getProjection() {
        return projection;
    }

    /** {@return the norm, with parameters of (E); null for none} */
    public Block getNorm() {
        return norm;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        DataTypes.requireSame(
                x,
                DataTypes.value(this, projection.getDirectParameters().get("weight"), parameterStore, x, training),
                "projections");
        if (x.getShape().size() == 0) {
            return new NDList(x.getManager().create(outputShape(x.getShape()), x.getDataType(), x.getDevice()));
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray projected = temporaries.add(
                    projection.forward(parameterStore, new NDList(x), training).singletonOrThrow());
            NDArray y = options.nonlinearity == null
                    ? projected
                    : temporaries.addResult(() -> options.nonlinearity.apply(null, projected));
            NDArray result = norm == null
                    ? y
                    : temporaries.add(norm.forward(parameterStore, new NDList(y), training)
                            .singletonOrThrow());
            return new NDList(temporaries.remove(result));
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return new Shape[] {outputShape(inputShapes[0])};
    }

    private Shape outputShape(Shape input) {
        return Shape.update(input, input.dimension() - 1, options.outputSize);
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        Check.that(
                inputShapes.length == 1, () -> inputShapes.length + " inputs were given: expected [x]; pass one array");
        Shape shape = inputShapes[0];
        long width = shape.dimension() == 0 ? 0 : shape.get(shape.dimension() - 1);
        Check.that(
                width == -1 || width == options.inputSize,
                () -> "input of shape " + shape + ": expected (…, " + options.inputSize
                        + "); pass an input of this shape, or build the block with another setInputSize(int)");
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        initializeChild(projection, manager, dataType, new Shape(-1, options.inputSize));
        initializeChild(norm, manager, dataType, outputShape(inputShapes[0]));
    }

    /** Builds a {@link ProjectionBlock}. */
    public static final class Builder extends BlockBuilder<ProjectionBlock, Builder> {

        private Builder() {
            super(Options.class, ProjectionBlock::new);
        }

        /** Sets D, at least 1. */
        public Builder setInputSize(int inputSize) {
            return set("inputSize", inputSize);
        }

        /** Sets E, at least 1. */
        public Builder setOutputSize(int outputSize) {
            return set("outputSize", outputSize);
        }

        /** Sets the function f, which has no gate (default: none). */
        public Builder optNonlinearity(Nonlinearity nonlinearity) {
            return set("nonlinearity", nonlinearity);
        }

        /** Sets the norm n, a block (…, E) to the same shape, such as a {@code LayerNormBlock} (default: none). */
        public Builder optNorm(Block norm) {
            return setChild("norm", norm);
        }

        /** Adds the bias b (default: true). */
        public Builder optBias(boolean bias) {
            return set("bias", bias);
        }
    }
}
