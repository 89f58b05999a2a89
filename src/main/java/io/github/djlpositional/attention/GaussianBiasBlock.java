package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.ConstantInitializer;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.ModelFile.NotCompared;
import java.util.Map;
import java.util.Objects;

/**
 * A Gaussian of the distance between query and key: each weight of the attention is multiplied by it, before the
 * weights of a query are divided by their sum. Each head learns its width, as in Sperber, Niehues, Neubig, Stüker and
 * Waibel, <em>Self-Attentional Acoustic Models</em> (2018). For the query's position i and the key's position j, the
 * bias of a head is
 *
 * <pre>
 * -(i - j)² / (2 · σ²)
 * </pre>
 *
 * <p>The parameter is the logarithm of σ, {@code logSigma}, (N), so that σ stays positive in training.
 *
 * <p>{@link RelativeEncoding} describes inputs, output and errors.
 *
 * @see <a href="https://arxiv.org/abs/1803.09519">Self-Attentional Acoustic Models</a>
 */
public final class GaussianBiasBlock extends RelativeBiasBlock {

    record Settings(int headCount, @NotCompared Double sigma) {
        Settings {
            sigma = Objects.requireNonNullElse(sigma, 3.0);
            Check.positive("headCount", headCount);
            Check.positive("sigma", sigma, "3 by default");
        }
    }

    private final Parameter logSigma;

    /** The biases with σ = 1. */
    private final ConstantTable unit;

    private GaussianBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        logSigma = addParameter(
                "logSigma", new Shape(settings.headCount), new ConstantInitializer((float) Math.log(settings.sigma)));
        // as doubles: the square of an int overflows at a distance of 46,341
        unit = addNumbers(distance -> -0.5 * distance * distance);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the arguments that {@link #getArguments} returns}
     *
     * @param arguments see {@link RelativeEncoding#fromArguments}
     */
    public static GaussianBiasBlock fromArguments(Map<?, ?> arguments) {
        return new GaussianBiasBlock(Records.read(Settings.class, arguments));
    }

    @Override
    NDArray biases(AttentionCall call, Distances distances) {
        NDArray numbers = distances.numbers(unit);
        NDArray inverse = value(logSigma, call, numbers).neg().exp();
        return inverse.mul(inverse).expandDims(1).mul(numbers);
    }

    /** Builds a {@link GaussianBiasBlock}. */
    public static final class Builder extends HeadsBuilder<GaussianBiasBlock, Builder> {

        private Builder() {
            super(Settings.class, GaussianBiasBlock::new);
        }

        /**
         * Sets the initial σ of every head, as a number of positions (default: 3). A σ as large as the sequences are
         * long hardly tells near from far, and trains slowly. A model file may be loaded into a block with another
         * initial value.
         *
         * @param sigma positive and finite
         * @return this builder
         */
        public Builder optSigma(double sigma) {
            return set("sigma", sigma);
        }
    }
}
