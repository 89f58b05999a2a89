package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.ConstantInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;

/**
 * FIRE: a small network computes the bias of each head from the distance between query and key, as a fraction of the
 * distance to the first token. After Li et al., <em>Functional Interpolation for Relative Positions Improves Long
 * Context Transformers</em> (2024). For the query's position i and the key's position j, the bias is
 *
 * <pre>
 * f(ψ(i - j) / (ψ(max(L · m, i)) + 10⁻⁶))      with ψ(x) = ln(|c · x| + 1)
 * </pre>
 *
 * <p>f has a hidden layer with ReLU. The parameters {@code c}, initially 0.1, and {@code multiplier}, m, initially 1,
 * are one number each; the threshold L distinguishes distances in short sequences. The inputs of f are between 0 and 1
 * for any length, so a model can process longer sequences than it was trained with. The encoding is meant for causal
 * attention: for a key after the query, the fraction may exceed 1.
 *
 * <p>The parameters of f are {@code weight1}, (E, 1), {@code bias1}, (E), {@code weight2}, (N, E), and {@code bias2},
 * (N), for E hidden units, with the initial values of PyTorch. f is computed for each pair of query and key, not for
 * each distance, because the bias depends on i too.
 *
 * @see <a href="https://arxiv.org/abs/2310.04418">Functional Interpolation for Relative Positions Improves Long Context
 *     Transformers</a>
 */
public final class FireBiasBlock extends ScoreTermBlock {

    /** As in the published code. */
    private static final double EPSILON = 1e-6;

    record Options(
            @Range(min = 1) int headCount,
            @Default("32") @Range(min = 1) int hiddenSize,
            @Default("512") @Range(above = 0) double threshold) {}

    private final Options options;
    private final Parameter c;
    private final Parameter multiplier;
    private final BiasNetwork network;

    private FireBiasBlock(Options options) {
        super(options, options.headCount, -1);
        this.options = options;
        c = addParameter("c", new Shape(1), new ConstantInitializer(0.1f));
        multiplier = addParameter("multiplier", new Shape(1), new ConstantInitializer(1));
        network = new BiasNetwork(this, BiasNetwork.RELU, false, true, 1, options.hiddenSize, 1, options.headCount);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static FireBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public boolean isForCausalAttention() {
        return true;
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.scores(this::biases).withPairSize(network::sizePerQueryAndKey));
    }

    private NDArray biases(AttentionCall call, NDArray queries, NDArray keys) {
        DataType type = DataTypes.ofScores(queries);
        NDArray i = call.queries().toArray(queries, type).expandDims(2);
        NDArray threshold = Arithmetic.multiply(call.value(multiplier, i).abs(), options.threshold);
        NDArray longest = Arithmetic.add(psi(call, i.maximum(threshold)), EPSILON);
        NDArray fraction = psi(call, call.distancesOfPairs(queries, type)).div(longest);
        Shape pairs = fraction.getShape();
        NDArray biases = network.biases(call, fraction.reshape(1, pairs.size()));
        NDArray byHead =
                biases.reshape(new Shape(options.headCount).addAll(pairs)).swapAxes(0, 1);
        return Arithmetic.toType(byHead, queries.getDataType());
    }

    /** ln(|c · x| + 1). */
    private NDArray psi(AttentionCall call, NDArray x) {
        return Arithmetic.add(x.mul(call.value(c, x)).abs(), 1).log();
    }

    /** Builds a {@link FireBiasBlock}. */
    public static final class Builder extends HeadsBuilder<FireBiasBlock, Builder> {

        private Builder() {
            super(Options.class, FireBiasBlock::new);
        }

        /** Sets E, the number of hidden units of f, at least 1 (default: 32). */
        public Builder optHiddenSize(int hiddenSize) {
            return set("hiddenSize", hiddenSize);
        }

        /**
         * Sets L, a positive number of positions: for queries up to position L · m, all distances are divided by the
         * same number (default: 512).
         */
        public Builder optThreshold(double threshold) {
            return set("threshold", threshold);
        }
    }
}
