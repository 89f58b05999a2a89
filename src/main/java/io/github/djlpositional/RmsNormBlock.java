package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Default;
import io.github.djlpositional.options.Range;
import java.util.Map;

/**
 * Root mean square layer normalization, γ · x / √(mean(x²) + ε), after Zhang and Sennrich, <em>Root Mean Square Layer
 * Normalization</em> (2019), equation 4. Llama, Mistral, Qwen and T5 use it.
 *
 * <p>Input and output are (…, D). The parameter is {@code gamma}, γ, (D). As in the published models, FLOAT16 is
 * normalized in FLOAT32, rounded, and then multiplied by γ.
 */
public final class RmsNormBlock extends OptionsBlock {

    record Options(
            @Range(min = 1) int embeddingSize,
            @Default("1e-6") @Range(above = 0) double epsilon) {}

    private final Options options;
    private final Parameter scale;

    private RmsNormBlock(Options options) {
        super(options);
        this.options = options;
        scale = addParameter("gamma", new Shape(options.embeddingSize), Initializer.ONES);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return the block that {@link #getArguments} describes}
     *
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static RmsNormBlock fromArguments(Map<?, ?> arguments) {
        return builder().setAll(arguments).build();
    }

    /** {@return γ, the parameter (D)} */
    public Parameter getScale() {
        return scale;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        NDArray factor = DataTypes.value(this, scale, parameterStore, x, training);
        DataTypes.requireSame(x, factor, "scale");
        if (x.getShape().size() == 0) {
            // MXNet has no mean of an empty array
            return new NDList(x.duplicate());
        }
        return new NDList(Temporaries.result(() -> {
            DataType type = x.getDataType();
            NDArray wide = Arithmetic.toType(x, type == DataType.FLOAT16 ? DataType.FLOAT32 : type);
            NDArray mean = wide.mul(wide).mean(new int[] {x.getShape().dimension() - 1}, true);
            NDArray root = Arithmetic.add(mean, options.epsilon).sqrt();
            return Arithmetic.toType(wide.div(root), type).mul(factor);
        }));
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
                        + "); give such an input, or build the block with another setEmbeddingSize(int)");
    }

    /** Builds an {@link RmsNormBlock}. */
    public static final class Builder extends BlockBuilder<RmsNormBlock, Builder> {

        private Builder() {
            super(Options.class, RmsNormBlock::new);
        }

        /**
         * Sets D, the number of values that are normalized together, at least 1: the embedding size, or the head size
         * for a norm of queries and keys.
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets ε, positive, which is added to the mean square (default: 10<sup>-6</sup>); Llama 2 and 3 use
         * 10<sup>-5</sup>.
         */
        public Builder optEpsilon(double epsilon) {
            return set("epsilon", epsilon);
        }
    }
}
