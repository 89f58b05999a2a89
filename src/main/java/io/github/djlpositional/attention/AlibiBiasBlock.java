package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.GrowingTable;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.FloatFormat;
import java.nio.ByteBuffer;
import java.util.Map;

/**
 * Attention with linear biases: each key's score falls with its distance from the query, by a slope of each head's own, and
 * no position is added to the embeddings. After Press, Smith and Lewis, <em>Train Short, Test Long</em> (2022).
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(8).build())
 *         .build();
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * T queries, F keys, N heads, D embedding size.
 *
 * <ul>
 *   <li>{@code [x]}: x is (…, T, D), FLOAT16, FLOAT32 or FLOAT64. The queries have the positions s … s + T - 1 and the keys
 *       0 … s + T - 1, where s is the forward parameter {@code startPosition}, an Integer or Long, 0 without it.
 *   <li>{@code [x, keys]}: keys is (…, F, D); they have the positions 0 … F - 1.
 * </ul>
 *
 * The output is the bias, (1, N, T, F), {@code -slope · |i - j|} for the query's position i and the key's j, each value the
 * nearest one of x's data type. It is on x's device, attached to the manager of x and the caller's to close. It also serves
 * as the four-dimensional mask of DJL's {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}. With
 * {@code optCausal(true)} the keys after a query get -100,000 (FLOAT16: -30,000), which masks them.
 *
 * <p>There is no greatest position: the block holds a table of the biases by distance, which grows with the longest
 * sequence. It is no parameter, and lives as that of {@link io.github.djlpositional.PositionalEncodingBlock} does.
 *
 * <p>A forward throws {@link IllegalArgumentException} for another rank or data type of x and a negative start.
 */
public final class AlibiBiasBlock extends ScoreTermBlock {

    private final AlibiSlopes slopes;
    private final boolean causal;

    /** The biases by key less query, from -(length - 1) to length - 1: (2 · length - 1, N). */
    private final GrowingTable table;

    private AlibiBiasBlock(Builder builder) {
        super(new BlockSettings(AlibiBiasBlock.class)
                .with("headCount", builder.headCount)
                .with("causal", builder.causal));
        slopes = AlibiSlopes.of(builder.headCount);
        causal = builder.causal;
        table = tableOf(this::biases);
    }

    private ConstantArray biases(int length) {
        return new ConstantArray(
                new Shape(2L * length - 1, slopes.heads()),
                (first, count, format, out) -> write(first - (length - 1), count, format, out));
    }

    private void write(int relative, int count, FloatFormat format, ByteBuffer out) {
        int index = 0;
        for (int row = 0; row < count; row++) {
            boolean isMasked = causal && relative + row > 0;
            for (int head = 0; head < slopes.heads(); head++) {
                double bias = isMasked ? MaskedScore.in(format) : slopes.bias(head, (long) relative + row);
                format.put(out, index++, bias);
            }
        }
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
    public static AlibiBiasBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(AlibiBiasBlock.class, arguments);
        Builder builder = builder();
        builder.setHeadCount(given.getInt("headCount"));
        given.optFlag("causal").ifPresent(builder::optCausal);
        given.requireNoOthers();
        return builder.build();
    }

    /**
     * Returns the slopes of the heads.
     *
     * @return N slopes
     */
    public AlibiSlopes getSlopes() {
        return slopes;
    }

    @Override
    public void requireFits(int headCount, int headSize) {
        AttentionSizes.requireSameHeadCount(slopes.heads(), headCount, this);
    }

    @Override
    void requireQueries(Shape queries) {
        requireSequence(queries);
    }

    @Override
    Shape outputShape(Shape queries, long length, long keyLength) {
        return new Shape(1, slopes.heads(), length, keyLength);
    }

    /**
     * {@inheritDoc}
     *
     * @return the bias (1, N, T, F)
     */
    @Override
    public NDArray scoreTerm(AttentionCall call, NDArray queries) {
        try (NDArray biases = DistanceTable.rows(table, call, queries)) {
            NDArray spread = RelativeShift.spread(biases, call);
            if (call.queryLength() > 1) {
                return spread;
            }
            // it may be a view of the table
            try (spread) {
                return spread.duplicate();
            }
        }
    }

    @Override
    GrowingTable table() {
        return table;
    }

    /** Builds an {@link AlibiBiasBlock}. */
    public static final class Builder {

        private int headCount;
        private boolean causal;

        private Builder() {}

        /**
         * Sets N, the number of heads.
         *
         * @param headCount from 1 to 65,536; any number, not powers of two alone
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            this.headCount = headCount;
            return this;
        }

        /**
         * Sets whether keys after the query are masked; false without it: keys before and after it are then treated alike. A
         * {@link MultiHeadAttentionBlock} that is causal itself needs none of it.
         *
         * @param causal true for a decoder
         * @return this builder
         */
        public Builder optCausal(boolean causal) {
            this.causal = causal;
            return this;
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if the number of heads is outside 1 to 65,536
         */
        public AlibiBiasBlock build() {
            BuilderChecks.requirePositive("head count", headCount, "setHeadCount(int)");
            return new AlibiBiasBlock(this);
        }
    }
}
