package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConstantTable;
import java.util.Map;
import java.util.Objects;

/**
 * A small network computes the bias of each head from the distance of query and key: the dynamic position bias of Wang
 * et al., <em>CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale Attention</em> (2021), section 3.3, in
 * the form of x-transformers ({@code DynamicPositionBias}).
 *
 * <pre>
 * W₃ · silu(W₂ · silu(W₁ · (i - j) + b₁) + b₂) + b₃      for the query's position i and the key's position j
 * </pre>
 *
 * <p>With {@code optLogarithmic(true)}, the network gets sign(i - j) · ln(|i - j| + 1) instead of i - j. With
 * {@code optNormalized(true)}, the layers before each silu are normalized.
 *
 * <p>The parameters are {@code weight1}, (E, 1), {@code bias1}, (E), {@code weight2}, (E, E), {@code bias2}, (E),
 * {@code weight3}, (N, E), and {@code bias3}, (N), for E hidden units, and for normalized layers {@code scale1},
 * {@code offset1}, {@code scale2} and {@code offset2}, (E). Their initial values are PyTorch's.
 * {@link RelativeEncoding} describes inputs, output and errors.
 *
 * @see <a href="https://arxiv.org/abs/2108.00154">CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale
 *     Attention</a>
 */
public final class DistanceNetworkBiasBlock extends RelativeBiasBlock {

    record Settings(int headCount, int hiddenSize, Boolean logarithmic, Boolean normalized) {
        Settings {
            logarithmic = Objects.requireNonNullElse(logarithmic, false);
            normalized = Objects.requireNonNullElse(normalized, false);
            Check.positive("headCount", headCount);
            Check.positive("hiddenSize", hiddenSize);
        }
    }

    private final BiasNetwork network;
    private final ConstantTable distances;

    private DistanceNetworkBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        network = new BiasNetwork(
                this,
                BiasNetwork.SILU,
                settings.normalized,
                true,
                1,
                settings.hiddenSize,
                settings.hiddenSize,
                settings.headCount);
        distances = addNumbers(relative -> {
            double logarithm = Math.copySign(Math.log1p(Math.abs(relative)), -relative);
            return settings.logarithmic ? logarithm : -relative;
        });
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
    public static DistanceNetworkBiasBlock fromArguments(Map<?, ?> arguments) {
        return new DistanceNetworkBiasBlock(Records.read(Settings.class, arguments));
    }

    @Override
    NDArray biases(AttentionCall call, Distances requested) {
        return network.biases(call, requested.numbers(distances).expandDims(0));
    }

    /** Builds a {@link DistanceNetworkBiasBlock}. */
    public static final class Builder extends HeadsBuilder<DistanceNetworkBiasBlock, Builder> {

        private Builder() {
            super(Settings.class, DistanceNetworkBiasBlock::new);
        }

        /**
         * Sets E, the number of units of each hidden layer.
         *
         * @param hiddenSize at least 1; x-transformers uses a quarter of the embedding size
         * @return this builder
         */
        public Builder setHiddenSize(int hiddenSize) {
            return set("hiddenSize", hiddenSize);
        }

        /**
         * Sets whether the network gets the logarithm of the distance, with its sign (default: false).
         *
         * @param logarithmic true for sign(i - j) · ln(|i - j| + 1)
         * @return this builder
         */
        public Builder optLogarithmic(boolean logarithmic) {
            return set("logarithmic", logarithmic);
        }

        /**
         * Sets whether each hidden layer is normalized before its silu, with a learned scale and offset for each unit
         * (default: false).
         *
         * @param normalized true for {@code norm} of x-transformers
         * @return this builder
         */
        public Builder optNormalized(boolean normalized) {
            return set("normalized", normalized);
        }
    }
}
