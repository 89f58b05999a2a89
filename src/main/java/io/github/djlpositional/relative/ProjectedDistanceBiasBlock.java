package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;

/**
 * A mixture of learned curves of the distance, by weights that each head computes from the query's token: the relative
 * logits of the Inkling models, after x-transformers' {@code RelativeProjPositionalBias}; there is no paper. For the
 * attention's input x, the query's position i and the key's position j, the bias is
 *
 * <pre>
 * (W xᵢ + b) · c(i - j)   for 0 ≤ i - j &lt; M,   otherwise 0
 * </pre>
 *
 * <p>The parameters are {@code weight}, (N · R, D), and {@code bias}, (N · R), the R rows of each head in turn, with
 * the initial values of PyTorch, and the {@code curves} of all heads, (R, M), initially from N(0, 0.02²).
 */
public final class ProjectedDistanceBiasBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headCount,
            @Range(min = 1) int embeddingSize,
            @Default("16") @Range(min = 1) int curves,
            @Default("1024") @Range(min = 1) int maxDistance) {}

    private final Options options;
    private final Layer weights;
    private final Parameter curves;

    private ProjectedDistanceBiasBlock(Options options) {
        super(options, options.headCount, -1, options.embeddingSize);
        this.options = options;
        weights = addLayer("weight", "bias", options.embeddingSize, (long) options.headCount * options.curves);
        curves = addParameter("curves", new Shape(options.curves, options.maxDistance), new NormalInitializer(0.02f));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static ProjectedDistanceBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.scoresOfTokens((call, input) -> linearOfInput(weights, call, input), null, this::biases));
    }

    /** The biases from the weights of the curves, (B, T, N · R). */
    private NDArray biases(AttentionCall call, NDArray mixture, NDArray none) {
        NDArray byHead = mixture.reshape(-1, call.queries().count(), options.headCount, options.curves)
                .transpose(0, 2, 1, 3);
        NDArray rows = call.shared(
                curves, () -> betweenZeros(call.value(curves, mixture).transpose(1, 0), mixture)); // (M + 2, R)
        if (call.hasPositions()) {
            NDArray indices = rowsOf(call.distancesOfPairs(mixture, DataType.INT32));
            return selected(Arithmetic.multiplyRows(byHead, rows.transpose(1, 0)), indices);
        }
        NDArray indices = rowsOf(call.distances(mixture).toArray(DataType.INT32));
        NDArray needed = Indices.lookUp(indices, rows, mixture.getManager());
        NDArray biases = Arithmetic.multiplyRows(byHead, needed.transpose(1, 0));
        return RelativeShift.toKeys(biases, call.keys().count());
    }

    /** The rows for distances, a key's position minus a query's. */
    private NDArray rowsOf(NDArray distances) {
        NDArray rows = Arithmetic.add(distances.neg(), 1);
        return rows.maximum(Arithmetic.number(rows, 0)).minimum(Arithmetic.number(rows, options.maxDistance + 1));
    }

    /** Builds a {@link ProjectedDistanceBiasBlock}. */
    public static final class Builder extends HeadsBuilder<ProjectedDistanceBiasBlock, Builder> {

        private Builder() {
            super(Options.class, ProjectedDistanceBiasBlock::new);
        }

        /** Sets D, the embedding size of the attention, at least 1. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /** Sets R, the number of curves, at least 1 (default: 16). */
        public Builder optCurves(int curves) {
            return set("curves", curves);
        }

        /** Sets M, the distance from which the bias is 0, at least 1 (default: 1024). */
        public Builder optMaxDistance(int maxDistance) {
            return set("maxDistance", maxDistance);
        }
    }
}
