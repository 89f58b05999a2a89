package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.LayerNorm;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.Map;

/**
 * Layer normalization over the last axis, γ · (x - mean(x)) / √(var(x) + ε) + β, after Ba, Kiros and Hinton, <em>Layer
 * Normalization</em> (2016). BERT, GPT-2 and vision transformers use it. By default, DJL's {@link LayerNorm} normalizes
 * over all axes except the first, and takes its size from its first input.
 *
 * <p>Input and output are (…, D). The parameters are {@code gamma}, γ, and {@code beta}, β, (D) each.
 */
public final class LayerNormBlock extends NormBlock {

    record Options(
            @Range(min = 1) int embeddingSize,
            @Default("1e-5") @Range(above = 0) double epsilon) {}

    private final Options options;
    private final Parameter offset;

    private LayerNormBlock(Options options) {
        super(options, options.embeddingSize);
        this.options = options;
        offset = addParameter("beta", new Shape(options.embeddingSize), Initializer.ZEROS);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static LayerNormBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return β, the parameter (D)} */
    public Parameter getOffset() {
        return offset;
    }

    /** {@return ε} */
    public double getEpsilon() {
        return options.epsilon;
    }

    @Override
    NDArray normalized(NDArray x, NDArray gamma, ParameterStore parameterStore, boolean training) {
        NDArray beta = DataTypes.value(this, offset, parameterStore, x, training);
        // on MXNet the operation leaves intermediate arrays open, some of them on the manager of the weights
        return Temporaries.result(
                () -> LayerNorm.layerNorm(x, new Shape(options.embeddingSize), gamma, beta, (float) options.epsilon)
                        .singletonOrThrow());
    }

    /** Builds a {@link LayerNormBlock}. */
    public static final class Builder extends BaseBuilder<LayerNormBlock, Builder> {

        private Builder() {
            super(Options.class, LayerNormBlock::new);
        }
    }
}
