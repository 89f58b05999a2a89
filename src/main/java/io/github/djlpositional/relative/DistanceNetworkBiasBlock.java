package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;

/**
 * A small network computes the bias of each head from the distance between query and key: the dynamic position bias of
 * Wang et al., <em>CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale Attention</em> (2021), as
 * implemented in x-transformers ({@code DynamicPositionBias}).
 *
 * <pre>
 * W₃ · silu(W₂ · silu(W₁ · (i - j) + b₁) + b₂) + b₃      for the query's position i and the key's position j
 * </pre>
 *
 * <p>With {@code optLogarithmic(true)}, the input of the network is sign(i - j) · ln(|i - j| + 1) instead of i - j.
 * With {@code optNormalized(true)}, each hidden layer is normalized before its silu. The number of hidden layers is
 * {@code optHiddenLayers}. CrossFormer's own network, of the differences of rows and columns, is a
 * {@link WindowNetworkBiasBlock} with {@link WindowNetworkBiasBlock.Form#LINEAR}.
 *
 * <p>The parameters are {@code weight1}, (E, 1), {@code bias1}, (E), {@code weight2}, (E, E), {@code bias2}, (E),
 * {@code weight3}, (N, E), and {@code bias3}, (N), for E hidden units, and for normalized layers {@code scale1},
 * {@code offset1}, {@code scale2} and {@code offset2}, (E); their numbers end with that of the layer. Their initial
 * values are PyTorch's.
 *
 * @see <a href="https://arxiv.org/abs/2108.00154">CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale
 *     Attention</a>
 */
public final class DistanceNetworkBiasBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headCount,
            @Range(min = 1) int hiddenSize,
            @Default("2") @Range(min = 1) int hiddenLayers,
            @Default("false") boolean logarithmic,
            @Default("false") boolean normalized) {}

    private final Options options;
    private final BiasNetwork network;

    private DistanceNetworkBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        network = new BiasNetwork(
                this,
                BiasNetwork.SILU,
                options.normalized,
                true,
                1,
                options.hiddenSize,
                options.hiddenLayers,
                options.headCount);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static DistanceNetworkBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** With explicit positions, the network may be computed for each query and key. */
    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases)
                .withPairSize(call -> call.hasPositions() ? network.sizePerQueryAndKey(call) : 0));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray d = distances.toArray().neg();
        NDArray input = options.logarithmic ? Arithmetic.add(d.abs(), 1).log().mul(d.sign()) : d;
        return network.biases(call, input.expandDims(0));
    }

    /** Builds a {@link DistanceNetworkBiasBlock}. */
    public static final class Builder extends HeadsBuilder<DistanceNetworkBiasBlock, Builder> {

        private Builder() {
            super(Options.class, DistanceNetworkBiasBlock::new);
        }

        /** Sets E, the number of units of each hidden layer, at least 1; x-transformers uses D / 4. */
        public Builder setHiddenSize(int hiddenSize) {
            return set("hiddenSize", hiddenSize);
        }

        /** Sets the number of hidden layers, {@code depth} in x-transformers, at least 1 (default: 2). */
        public Builder optHiddenLayers(int hiddenLayers) {
            return set("hiddenLayers", hiddenLayers);
        }

        /** Passes sign(i - j) · ln(|i - j| + 1) to the network instead of i - j (default: false). */
        public Builder optLogarithmic(boolean logarithmic) {
            return set("logarithmic", logarithmic);
        }

        /**
         * Normalizes each hidden layer before its silu, with a learned scale and offset for each unit (default: false),
         * as {@code norm} of x-transformers does.
         */
        public Builder optNormalized(boolean normalized) {
            return set("normalized", normalized);
        }
    }
}
