package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Map;

/**
 * The vector of a time in a diffusion model, W₂ · silu(W₁ · f(t) + b₁) + b₂, with silu(x) = x · sigmoid(x) and the
 * sinusoids or other features f(t). Ho et al., <em>Denoising Diffusion Probabilistic Models</em> (2020), appendix B;
 * {@code Timesteps} and {@code TimestepEmbedding} of diffusers.
 *
 * <pre>{@code
 * Block time = TimestepEmbeddingBlock.builder()
 *         .setEmbeddingSize(1280)
 *         .setFeatures(FourierFeatures.sinusoids(SinusoidalEncoding.diffusion(320, 0, 1, true)))
 *         .build();                       // (B) -> (B, 1280)
 * }</pre>
 *
 * <p>The input t is of any shape (…) and any integer or real type. The output is (…, D) in the data type of the
 * parameters, on the device and the manager of t; the caller's to close. Features are computed in FLOAT64 and rounded
 * once, so that they are as accurate at time 1000 as at time 1. Gradients reach the parameters, and a time of a real
 * type.
 *
 * <p>A forward throws {@link IllegalArgumentException} for another number of inputs, and
 * {@link ai.djl.nn.UninitializedParameterException} in inference if the block was neither initialized nor loaded.
 *
 * @see <a href="https://arxiv.org/abs/2006.11239">Denoising Diffusion Probabilistic Models</a>
 */
public final class TimestepEmbeddingBlock extends ConfiguredBlock {

    record Settings(FourierFeatures features, int embeddingSize) {
        Settings {
            Check.positive("embeddingSize", embeddingSize);
            int coordinates = Check.given("features", features).coordinates();
            Check.that(
                    coordinates == 1,
                    "features of " + coordinates + " coordinates: expected 1, the time; use other features");
        }
    }

    private final Settings settings;
    private final ConstantTable fixed;
    private final Linear hiddenProjection;
    private final Linear outputProjection;

    private TimestepEmbeddingBlock(Settings settings) {
        super(settings);
        this.settings = settings;
        int width = settings.features.getEmbeddingSize();
        fixed = addTable(FourierFeaturesBlock.table(settings.features));
        hiddenProjection = addProjection("hiddenProjection", width, settings.embeddingSize, true);
        outputProjection = addProjection("outputProjection", settings.embeddingSize, settings.embeddingSize, true);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments {@code features}, a map for {@link FourierFeatures#fromArguments}; and {@code embeddingSize}
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static TimestepEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        return new TimestepEmbeddingBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the first projection, W₁ and b₁, of diffusers' {@code linear_1}; it belongs to this block} */
    public Linear getHiddenProjection() {
        return hiddenProjection;
    }

    /** {@return the second projection, W₂ and b₂, of diffusers' {@code linear_2}; it belongs to this block} */
    public Linear getOutputProjection() {
        return outputProjection;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray times = inputs.head();
        NDManager manager = times.getManager();
        DataType type = DataTypes.value(
                        this, hiddenProjection.getParameters().get("weight"), parameterStore, times, training)
                .getDataType();
        Shape shape = getOutputShapes(inputs.getShapes())[0];
        if (shape.size() == 0) {
            return new NDList(manager.create(shape, type, times.getDevice()));
        }
        NDArray table = fixed.table(0, times, DataType.FLOAT64);
        try (Temporaries temporaries = new Temporaries()) {
            NDArray features = temporaries.add(Temporaries.result(() -> {
                NDArray exact = Arithmetic.toType(times, DataType.FLOAT64);
                return Arithmetic.toType(FourierFeaturesBlock.features(settings.features, exact, table), type);
            }));
            NDArray hidden = projected(temporaries, hiddenProjection, parameterStore, features, training);
            NDArray active = temporaries.add(hidden.mul(temporaries.add(Activation.sigmoid(hidden))));
            NDArray output = projected(temporaries, outputProjection, parameterStore, active, training);
            return new NDList(output.reshape(shape));
        }
    }

    private static NDArray projected(
            Temporaries temporaries, Linear projection, ParameterStore store, NDArray x, boolean training) {
        return temporaries.add(
                projection.forward(store, new NDList(x), training).singletonOrThrow());
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return new Shape[] {inputShapes[0].add(settings.embeddingSize)};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 1, "[t], the times");
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        hiddenProjection.initialize(manager, dataType, new Shape(-1, settings.features.getEmbeddingSize()));
        outputProjection.initialize(manager, dataType, new Shape(-1, settings.embeddingSize));
    }

    /** Builds a {@link TimestepEmbeddingBlock}. */
    public static final class Builder extends OptionsBuilder<TimestepEmbeddingBlock, Builder> {

        private Builder() {
            super(Settings.class, TimestepEmbeddingBlock::new);
        }

        /**
         * Sets D, the size of the output and of the hidden layer.
         *
         * @param embeddingSize at least 1
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets the function from time to vector: for sinusoids {@link FourierFeatures#sinusoids(SinusoidalEncoding)}.
         *
         * @param features features of one coordinate
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder setFeatures(FourierFeatures features) {
            return set("features", features);
        }
    }
}
