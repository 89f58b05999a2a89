package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Temporaries;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;

/**
 * A small network computes the bias of each head from the distance of query and key: the dynamic position bias of Wang
 * et al., <em>CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale Attention</em> (2021), section 3.3, in
 * the form of x-transformers ({@code DynamicPositionBias}, without its normalization).
 *
 * <pre>
 * Wₙ · silu(… silu(W₁ · (i - j) + b₁) …) + bₙ      for the query's position i and the key's position j
 * </pre>
 *
 * <p>With {@code optLogarithmic(true)}, the network gets sign(i - j) · ln(|i - j| + 1) instead of i - j.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(DistanceNetworkBiasBlock.builder()
 *                 .setHeadCount(8)
 *                 .setHiddenSize(128)
 *                 .build())
 *         .build();
 * }</pre>
 *
 * <p>The parameters are {@code weight1}, (E, 1), {@code bias1}, (E), to {@code weight}n, (N, E), {@code bias}n, (N),
 * for E hidden units. Their initial values are those of PyTorch. Inputs, output and errors are those of
 * {@link KerpleBiasBlock}.
 */
public final class DistanceNetworkBiasBlock extends RelativeBiasBlock {

    record Settings(int headCount, int hiddenSize, Integer hiddenLayers, Boolean logarithmic) {
        Settings {
            hiddenLayers = Objects.requireNonNullElse(hiddenLayers, 2);
            logarithmic = Objects.requireNonNullElse(logarithmic, false);
            Check.positive("headCount", headCount);
            Check.positive("hiddenSize", hiddenSize);
            Check.between("hiddenLayers", hiddenLayers, 1, 16);
        }
    }

    private final BiasNetwork network;
    private final ConstantTable distances;

    private DistanceNetworkBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        network = new BiasNetwork(
                this,
                true,
                true,
                1,
                Collections.nCopies(settings.hiddenLayers, settings.hiddenSize),
                settings.headCount);
        distances = addTable(new Shape(1), (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                int distance = -(first + i);
                double logarithm = Math.copySign(Math.log1p(Math.abs(distance)), distance);
                format.put(out, i, settings.logarithmic ? logarithm : distance);
            }
        });
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Creates a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static DistanceNetworkBiasBlock fromArguments(Map<?, ?> arguments) {
        return new DistanceNetworkBiasBlock(Records.read(Settings.class, arguments));
    }

    @Override
    NDArray biases(Temporaries temporaries, AttentionCall call, NDArray queries) {
        NDArray steps = rows(temporaries, distances, call, queries, PlainAttention.scoreType(queries));
        NDArray biases = network.biases(temporaries, call, steps);
        return AttentionMethod.toType(temporaries, biases, queries.getDataType());
    }

    /** Builds a {@link DistanceNetworkBiasBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            return options.set("headCount", headCount);
        }

        /**
         * Sets E, the number of units of each hidden layer.
         *
         * @param hiddenSize at least 1; x-transformers uses a quarter of the embedding size
         * @return this builder
         */
        public Builder setHiddenSize(int hiddenSize) {
            return options.set("hiddenSize", hiddenSize);
        }

        /**
         * Sets the number of hidden layers (default: 2).
         *
         * @param hiddenLayers from 1 to 16
         * @return this builder
         */
        public Builder optHiddenLayers(int hiddenLayers) {
            return options.set("hiddenLayers", hiddenLayers);
        }

        /**
         * Sets whether the network gets the logarithm of the distance, with its sign (default: false).
         *
         * @param logarithmic true for sign(i - j) · ln(|i - j| + 1)
         * @return this builder
         */
        public Builder optLogarithmic(boolean logarithmic) {
            return options.set("logarithmic", logarithmic);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is out of range
         */
        public DistanceNetworkBiasBlock build() {
            return new DistanceNetworkBiasBlock(options.build());
        }
    }
}
