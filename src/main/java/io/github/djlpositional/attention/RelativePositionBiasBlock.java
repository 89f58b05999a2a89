package io.github.djlpositional.attention;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.math.RelativeBuckets;

/**
 * A learned bias of each head for each bucket of relative positions, after Raffel et al., <em>Exploring the Limits of Transfer
 * Learning with a Unified Text-to-Text Transformer</em> (T5, 2020), section 2.1. Near positions have a bucket each, far ones
 * share them: see {@link RelativeBuckets}.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(RelativePositionBiasBlock.builder().setHeadCount(8).build())
 *         .optScale(1)                    // T5's own attention does not scale its scores
 *         .build();
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * T queries, F keys, N heads.
 *
 * <ul>
 *   <li>{@code [x]}: x is (…, T, D), of the data type of the biases. The queries have the positions s … s + T - 1 and the
 *       keys 0 … s + T - 1, where s is the forward parameter {@code startPosition}, an Integer or Long, 0 without it.
 *   <li>{@code [x, keys]}: keys is (…, F, D); they have the positions 0 … F - 1.
 * </ul>
 *
 * The output is the bias, (1, N, T, F), on x's device, attached to the manager of x and the caller's to close. It also serves
 * as the four-dimensional mask of DJL's {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}. T5 has one such block
 * for all layers of a stack: run it once, and give every layer's attention its output as the mask,
 * with -100,000 added to it at padding where there is any.
 *
 * <p>A forward throws {@link IllegalArgumentException} for another rank or data type of x and a negative start.
 */
public final class RelativePositionBiasBlock extends ScoreTermBlock {

    private static final int DEFAULT_BUCKETS = 32;
    private static final int DEFAULT_MAX_DISTANCE = 128;
    private static final float STANDARD_DEVIATION = 0.02f;

    private final int headCount;
    private final RelativeBuckets buckets;
    private final Parameter biases;

    private RelativePositionBiasBlock(Builder builder) {
        super(new BlockSettings(RelativePositionBiasBlock.class)
                .with("headCount", builder.headCount)
                .with("bidirectional", builder.bidirectional)
                .with("buckets", builder.buckets)
                .with("maxDistance", builder.maxDistance));
        headCount = builder.headCount;
        buckets = RelativeBuckets.of(builder.bidirectional, builder.buckets, builder.maxDistance);
        biases = addParameter(LearnedTerms.table("biases", tableShape(), new NormalInitializer(STANDARD_DEVIATION)));
    }

    private Shape tableShape() {
        return new Shape(buckets.size(), headCount);
    }

    /**
     * Returns a builder.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns the trained biases.
     *
     * @return the parameter (buckets, N), in the model's data type; this block's
     */
    public Parameter getBiases() {
        return biases;
    }

    @Override
    public void requireFits(int attentionHeads, int headSize) {
        HeadCounts.requireSame(headCount, attentionHeads, this);
    }

    @Override
    void requireQueries(Shape queries) {
        requireSequence(queries);
    }

    @Override
    Shape outputShape(Shape queries, long length, long keyLength) {
        return new Shape(1, headCount, length, keyLength);
    }

    /**
     * {@inheritDoc}
     *
     * @return the bias (1, N, T, F)
     */
    @Override
    public NDArray scoreTerm(AttentionCall call, NDArray queries) {
        NDArray table = call.parameterStore().getValue(biases, queries.getDevice(), call.training());
        DataTypes.requireSame(queries, table, "biases");
        int least = RelativeShift.least(call);
        int[] ids = new int[RelativeShift.columns(call)];
        for (int column = 0; column < ids.length; column++) {
            ids[column] = buckets.bucket((long) least + column);
        }
        NDManager manager = queries.getManager();
        try (NDArray indices = manager.create(ids);
                NDArray rows = Indices.lookUp(indices, table, manager)) {
            return RelativeShift.spread(rows, call);
        }
    }

    /** Gives the biases their shape again, which a file that was refused may have changed. */
    @Override
    protected void prepare(Shape[] inputShapes) {
        biases.setShape(tableShape());
    }

    @Override
    protected void loaded(NDManager manager) throws MalformedModelException {
        requireLoaded(biases, tableShape());
    }

    /** Builds a {@link RelativePositionBiasBlock}. */
    public static final class Builder {

        private int headCount;
        private boolean bidirectional = true;
        private int buckets = DEFAULT_BUCKETS;
        private int maxDistance = DEFAULT_MAX_DISTANCE;

        private Builder() {}

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            this.headCount = headCount;
            return this;
        }

        /**
         * Sets whether keys before and after the query are told apart; true without it, as in an encoder. In a decoder, which
         * sees no key after the query, all buckets are for those before it.
         *
         * @param bidirectional false for a decoder
         * @return this builder
         */
        public Builder optBidirectional(boolean bidirectional) {
            this.bidirectional = bidirectional;
            return this;
        }

        /**
         * Sets the number of buckets; 32 without it.
         *
         * @param buckets from 2 to 4096; for two directions even and at least 4
         * @return this builder
         */
        public Builder optBuckets(int buckets) {
            this.buckets = buckets;
            return this;
        }

        /**
         * Sets the distance from which on all share the last bucket; 128 without it.
         *
         * @param maxDistance steps; more than a quarter of the buckets, for one direction half of them
         * @return this builder
         */
        public Builder optMaxDistance(int maxDistance) {
            this.maxDistance = maxDistance;
            return this;
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is outside its range
         */
        public RelativePositionBiasBlock build() {
            BlockSettings.requirePositive("head count", headCount, "setHeadCount(int)");
            return new RelativePositionBiasBlock(this);
        }
    }
}
