package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.RelativeBuckets;
import io.github.djlpositional.math.Rows;
import java.util.List;
import java.util.Map;

/**
 * A learned bias of each head for each bucket of relative positions, after Raffel et al., <em>Exploring the Limits of
 * Transfer Learning with a Unified Text-to-Text Transformer</em> (T5, 2020), section 2.1. Each near position has its
 * own bucket; far positions share buckets: see {@link RelativeBuckets}. The parameter is {@code biases}, (buckets, N).
 * With real positions, a key less than 1 after the query is in a bucket that integers never use, so that a pretrained
 * bidirectional model has not trained its bias.
 *
 * <p>T5 does not scale its scores: build the attention with {@code optScale(1)}.
 *
 * <p>T5 has one such block for all layers of a stack: run it once, and pass its output to the attention of every layer
 * as the mask. For padding, add -100,000 (FLOAT16: -30,000) to the output.
 *
 * @see <a href="https://arxiv.org/abs/1910.10683">Exploring the Limits of Transfer Learning with a Unified Text-to-Text
 *     Transformer</a>
 */
public final class RelativePositionBiasBlock extends ScoreTermBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    record Options(
            @Range(min = 1) int headCount,
            @Default("true") boolean bidirectional,
            @Default("32") int buckets,
            @Default("128") int maxDistance) {}

    private final Options options;
    private final Parameter biases;

    /**
     * The buckets as floats, which represent them exactly. Creating an array on the host in each forward would wait for
     * a GPU.
     */
    private final ConstantTable bucketRows;

    /** The {@linkplain RelativeBuckets#boundaries boundaries} of buckets, for real positions. */
    private final ConstantTable boundaries;

    /** The bucket up to each boundary, and the one after the last. */
    private final ConstantTable ascending;

    private RelativePositionBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        RelativeBuckets buckets = RelativeBuckets.of(options.bidirectional, options.buckets, options.maxDistance);
        biases = addParameter(
                "biases", new Shape(buckets.size(), options.headCount), new NormalInitializer(STANDARD_DEVIATION));
        bucketRows = addDistances(Rows.of(1, (distance, column) -> buckets.bucket(distance)));
        double[] largest = buckets.boundaries();
        boundaries = addColumn(largest.length, row -> largest[row]);
        ascending = addColumn(
                buckets.size(), row -> buckets.bucket(row < largest.length ? largest[row] : Double.POSITIVE_INFINITY));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static RelativePositionBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return the learned biases, the parameter (buckets, N)} */
    public Parameter getBiases() {
        return biases;
    }

    /** With real positions, MXNet compares each distance with all boundaries. */
    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases)
                .withPairSize(call -> call.hasRealPositions() ? sequences(call) * options.buckets : 0));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray like = distances.like();
        if (call.hasRealPositions()) {
            NDArray d = distances.toArray(DataType.FLOAT64);
            NDArray all = boundaries.array(d, DataType.FLOAT64).reshape(-1);
            NDArray sorted = lookUp(call.value(biases, like), ascending.array(like, DataType.FLOAT32));
            return lookUp(sorted.transpose(1, 0), Indices.countBelow(d, all));
        }
        int limit = Math.min(
                options.maxDistance, Math.max(call.queries().end(), call.keys().end()));
        NDArray rows = constants(bucketRows, distances, limit, DataType.FLOAT32);
        return lookUp(call.value(biases, like), rows);
    }

    /** Builds a {@link RelativePositionBiasBlock}. */
    public static final class Builder extends HeadsBuilder<RelativePositionBiasBlock, Builder> {

        private Builder() {
            super(Options.class, RelativePositionBiasBlock::new);
        }

        /**
         * Uses different buckets for keys before and after the query (default: true, as in an encoder). With false, as
         * in a decoder, all buckets are for keys before the query.
         */
        public Builder optBidirectional(boolean bidirectional) {
            return set("bidirectional", bidirectional);
        }

        /** Sets the number of buckets, from 2 to 4096 (default: 32); if bidirectional, it is even and at least 4. */
        public Builder optBuckets(int buckets) {
            return set("buckets", buckets);
        }

        /**
         * Sets the distance from which all positions share the last bucket (default: 128): more than half the number of
         * buckets, or more than a quarter of it if bidirectional.
         */
        public Builder optMaxDistance(int maxDistance) {
            return set("maxDistance", maxDistance);
        }
    }
}
