package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.Map;

/**
 * Root mean square layer normalization, γ · x / √(mean(x²) + ε), after Zhang and Sennrich, <em>Root Mean Square Layer
 * Normalization</em> (2019), equation 4. Llama, Mistral, Qwen and T5 use it.
 *
 * <p>Input and output are (…, D). The parameter is {@code gamma}, γ, (D). As in the published models, FLOAT16 is
 * normalized in FLOAT32, rounded, and then multiplied by γ.
 */
public final class RmsNormBlock extends NormBlock {

    record Options(
            @Range(min = 1) int embeddingSize,
            @Default("1e-6") @Range(above = 0) double epsilon) {}

    private final Options options;

    private RmsNormBlock(Options options) {
        super(options, options.embeddingSize);
        this.options = options;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static RmsNormBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return ε} */
    public double getEpsilon() {
        return options.epsilon;
    }

    @Override
    NDArray normalized(NDArray x, NDArray gamma, ParameterStore parameterStore, boolean training) {
        TorchFunctions functions = training || x.hasGradient() || gamma.hasGradient() ? null : TorchFunctions.of(x);
        if (functions != null) {
            return functions.rmsNorm(x, gamma, options.epsilon);
        }
        return Temporaries.result(() -> {
            DataType type = x.getDataType();
            NDArray wide = Arithmetic.toType(x, type == DataType.FLOAT16 ? DataType.FLOAT32 : type);
            NDArray mean = wide.mul(wide).mean(new int[] {x.getShape().dimension() - 1}, true);
            NDArray root = Arithmetic.add(mean, options.epsilon).sqrt();
            return Arithmetic.toType(wide.div(root), type).mul(gamma);
        });
    }

    /** Builds an {@link RmsNormBlock}. */
    public static final class Builder extends BaseBuilder<RmsNormBlock, Builder> {

        private Builder() {
            super(Options.class, RmsNormBlock::new);
        }
    }
}
