package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.GrowingTable;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.math.RelativeBuckets;
import java.util.Map;

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
 * T queries, F keys, N heads, D embedding size.
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
 * with -100,000 (FLOAT16: -30,000) added to it at padding where there is any.
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

    /**
     * The buckets by key less query, from -(length - 1) to length - 1: (2 · length - 1), as floats, which hold them exactly. An
     * array that is made on the host in every forward would make it wait for a GPU.
     */
    private final GrowingTable bucketNumbers;

    private RelativePositionBiasBlock(Builder builder) {
        super(new BlockSettings(RelativePositionBiasBlock.class)
                .with("headCount", builder.headCount)
                .with("bidirectional", builder.bidirectional)
                .with("buckets", builder.buckets)
                .with("maxDistance", builder.maxDistance));
        headCount = builder.headCount;
        buckets = RelativeBuckets.of(builder.bidirectional, builder.buckets, builder.maxDistance);
        biases = addParameter(LearnedTerms.table("biases", tableShape(), new NormalInitializer(STANDARD_DEVIATION)));
        bucketNumbers = tableOf(this::bucketNumbers);
    }

    private ConstantArray bucketNumbers(int length) {
        return new ConstantArray(new Shape(2L * length - 1), (first, count, format, out) -> {
            for (int row = 0; row < count; row++) {
                format.put(out, row, buckets.bucket((long) first + row - (length - 1)));
            }
        });
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
     * Makes a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static RelativePositionBiasBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(RelativePositionBiasBlock.class, arguments);
        Builder builder = builder();
        builder.setHeadCount(given.getInt("headCount"));
        given.optFlag("bidirectional").ifPresent(builder::optBidirectional);
        given.optInt("buckets").ifPresent(builder::optBuckets);
        given.optInt("maxDistance").ifPresent(builder::optMaxDistance);
        given.requireNoOthers();
        return builder.build();
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
        AttentionSizes.requireSameHeadCount(headCount, attentionHeads, this);
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
        try (NDArray numbers = DistanceTable.rows(bucketNumbers, call, queries, DataType.FLOAT32);
                NDArray indices = numbers.toType(DataType.INT32, false);
                NDArray rows = Indices.lookUp(indices, table, queries.getManager())) {
            return RelativeShift.spread(rows, call);
        }
    }

    @Override
    GrowingTable table() {
        return bucketNumbers;
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
            BuilderChecks.requirePositive("head count", headCount, "setHeadCount(int)");
            return new RelativePositionBiasBlock(this);
        }
    }
}
