package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.ConstantInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;

/**
 * Multiplies each attention weight by a Gaussian of the distance between query and key, before the weights of a query
 * are normalized. Each head learns the width of its Gaussian, as in Sperber, Niehues, Neubig, Stüker and Waibel,
 * <em>Self-Attentional Acoustic Models</em> (2018). For the query's position i and the key's position j, the bias of a
 * head is
 *
 * <pre>
 * -(i - j)² / (2 · σ²)
 * </pre>
 *
 * <p>The parameter is the logarithm of σ, {@code logSigma}, (N), so that σ stays positive in training.
 *
 * @see <a href="https://arxiv.org/abs/1803.09519">Self-Attentional Acoustic Models</a>
 */
public final class GaussianBiasBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headCount,
            @NotSaved @Default("3") @Range(above = 0) double sigma) {}

    private final Parameter logSigma;

    private GaussianBiasBlock(Options options) {
        super(options, options.headCount);
        logSigma = addParameter(
                "logSigma", new Shape(options.headCount), new ConstantInitializer((float) Math.log(options.sigma)));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static GaussianBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray d = distances.toArray();
        NDArray ratios = call.value(logSigma, d).neg().exp().expandDims(1).mul(d);
        return Arithmetic.multiply(ratios.square(), -0.5);
    }

    /** Builds a {@link GaussianBiasBlock}. */
    public static final class Builder extends HeadsBuilder<GaussianBiasBlock, Builder> {

        private Builder() {
            super(Options.class, GaussianBiasBlock::new);
        }

        /**
         * Sets the initial σ of every head, a positive number of positions (default: 3). A σ as large as the sequence
         * length hardly distinguishes near keys from far ones, and trains slowly. A model file may be loaded into a
         * block with another initial value.
         */
        public Builder optSigma(double sigma) {
            return set("sigma", sigma);
        }
    }
}
