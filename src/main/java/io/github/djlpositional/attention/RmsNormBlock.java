package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;
import java.util.Objects;

/**
 * Root mean square layer normalization, γ · x / √(mean(x²) + ε), after Zhang and Sennrich, <em>Root Mean Square Layer
 * Normalization</em> (2019), equation 4. Llama, Mistral, Qwen and T5 use it.
 *
 * <p>Input and output are (…, D), FLOAT16, FLOAT32 or FLOAT64, of the data type of γ. The output is a new array on the
 * device and the manager of the input; the caller's to close. As in the published models, FLOAT16 is normalized in
 * FLOAT32, rounded, and then multiplied by γ. A forward throws {@link IllegalArgumentException} for an input of another
 * width or data type.
 */
public final class RmsNormBlock extends ConfiguredBlock {

    record Settings(int embeddingSize, Double epsilon) {
        Settings {
            Check.positive("embeddingSize", embeddingSize);
            epsilon = Objects.requireNonNullElse(epsilon, 1e-6);
            Check.positive("epsilon", epsilon, "usually 1e-6");
        }
    }

    private final Settings settings;
    private final Parameter scale;

    private RmsNormBlock(Settings settings) {
        super(settings);
        this.settings = settings;
        scale = addParameter("gamma", new Shape(settings.embeddingSize), Initializer.ONES);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static RmsNormBlock fromArguments(Map<?, ?> arguments) {
        return new RmsNormBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the scale: the parameter γ, (D), in the model's data type; a parameter of this block} */
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
            NDArray root = Arithmetic.add(mean, settings.epsilon).sqrt();
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
                width == -1 || width == settings.embeddingSize,
                () -> "input of shape " + shape + ": expected (…, " + settings.embeddingSize
                        + "); give such an input, or build the block with another setEmbeddingSize(int)");
    }

    /** Builds an {@link RmsNormBlock}. */
    public static final class Builder extends OptionsBuilder<RmsNormBlock, Builder> {

        private Builder() {
            super(Settings.class, RmsNormBlock::new);
        }

        /**
         * Sets D, the number of values that are normalized together: the embedding size, or the head size for a norm of
         * queries and keys.
         *
         * @param embeddingSize at least 1
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets ε, which is added to the mean square (default: 10<sup>-6</sup>). Llama 2 and 3 use 10<sup>-5</sup>.
         *
         * @param epsilon positive and finite
         * @return this builder
         */
        public Builder optEpsilon(double epsilon) {
            return set("epsilon", epsilon);
        }
    }
}
