package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.training.initializer.ConstantInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;

/**
 * A bias that falls with each token between query and key, by the logarithm of the gate of that token: forgetting
 * attention, or data-dependent ALiBi. After Lin, Nikishin, He and Courville, <em>Forgetting Transformer: Softmax
 * Attention with a Forget Gate</em> (2025), section 3. For the query of token i and the key of token j, the bias is
 *
 * <pre>
 * ln fⱼ₊₁ + … + ln fᵢ      with fₗ = σ(w · xₗ + b)
 * </pre>
 *
 * <p>x is the input of the attention. The parameters are {@code weight}, (N, D), with the initial values of PyTorch,
 * and {@code bias}, (N), initially 5 as in x-transformers, for gates of about 0.993. Tokens are counted by their
 * indices; explicit positions have no effect. For a key after the query, the sum is over the tokens after the query up
 * to the key. In a cross-attention, the gates are those of the keys, and a query after the last key has its bias. A
 * token that the mask of keys hides contributes nothing.
 *
 * <p>Logarithms are added in FLOAT64. A bias is the difference of two sums that begin at the first of the queries that
 * are processed together, rounded to the type of the scores. So its error in FLOAT32 is at most 2<sup>-23</sup> of the
 * bias and of the sum over these queries, at any length of the sequence.
 *
 * @see <a href="https://arxiv.org/abs/2503.02130">Forgetting Transformer: Softmax Attention with a Forget Gate</a>
 */
public final class ForgettingBiasBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headCount, @Range(min = 1) int embeddingSize) {}

    private final Layer gates;

    private ForgettingBiasBlock(Options options) {
        super(options, options.headCount, -1, options.embeddingSize);
        Layer initial = addLayer("weight", null, options.embeddingSize, options.headCount);
        gates = new Layer(
                initial.weight(), addParameter("bias", new Shape(options.headCount), new ConstantInitializer(5)));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static ForgettingBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public boolean isForCausalAttention() {
        return true;
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.scoresOfTokens(null, this::logarithms, this::biases));
    }

    /** The logarithms of the gates, ln σ(x) = -softplus(-x), (B, n, N), FLOAT64: many small ones are added. */
    private NDArray logarithms(AttentionCall call, NDArray input) {
        NDArray logits = linearOfInput(gates, call, input);
        return Activation.softPlus(Arithmetic.toType(logits, DataType.FLOAT64).neg())
                .neg();
    }

    private NDArray biases(AttentionCall call, NDArray none, NDArray logarithms) {
        NDArray visible = call.visibleKeys(DataType.FLOAT64); // (B, F)
        NDArray counted = visible == null ? logarithms : logarithms.mul(visible.expandDims(2));
        NDArray sums = counted.transpose(0, 2, 1).cumSum(2); // (B, N, F)
        NDArray ofQueries = ofQueries(call, sums); // (B, N, T)
        NDArray first = ofQueries.get(NDIndex.sliceAxis(2, 0, 1));
        NDArray i = Arithmetic.toType(ofQueries.sub(first), call.scoreType()).expandDims(3);
        NDArray j = Arithmetic.toType(sums.sub(first), call.scoreType()).expandDims(2);
        NDArray biases = i.sub(j);
        // in a causal attention, keys after the query do not matter
        return call.causal() ? biases : biases.abs().neg();
    }

    /** The sums up to the token of each query, or up to the last key. */
    private static NDArray ofQueries(AttentionCall call, NDArray sums) {
        int keys = call.keys().count();
        int from = Math.min(call.queries().first() - call.keys().first(), keys - 1);
        int to = Math.min(from + call.queries().count(), keys);
        NDArray found = sums.get(NDIndex.sliceAxis(2, from, to));
        int missing = call.queries().count() - (to - from);
        return missing == 0
                ? found
                : found.concat(sums.get(NDIndex.sliceAxis(2, keys - 1, keys)).repeat(2, missing), 2);
    }

    /** Builds a {@link ForgettingBiasBlock}. */
    public static final class Builder extends HeadsBuilder<ForgettingBiasBlock, Builder> {

        private Builder() {
            super(Options.class, ForgettingBiasBlock::new);
        }

        /** Sets D, the embedding size of the attention, at least 1. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }
    }
}
