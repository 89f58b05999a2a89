package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.FloatFormat;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Objects;

/**
 * Attention with linear biases (ALiBi): the score of a key falls with its distance from the query, by a slope that each
 * head has for itself. No position is added to the embeddings. After Press, Smith and Lewis, <em>Train Short, Test
 * Long</em> (2022).
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
 *   <li>{@code [x]}: x is (…, T, D), FLOAT16, FLOAT32 or FLOAT64. The queries have the positions s … s + T - 1 and the
 *       keys 0 … s + T - 1, where s is the forward parameter {@code startPosition}, an Integer or a Long (default: 0).
 *   <li>{@code [x, keys]}: keys is (…, F, D); they have the positions 0 … F - 1.
 * </ul>
 *
 * The output is the bias, (1, N, T, F), {@code -slope · |i - j|} for the query's position i and the key's position j,
 * each value the nearest one that the data type of x has. It is on the device of x, attached to the manager of x, and
 * the caller's to close. It also serves as the four-dimensional mask of DJL's
 * {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}. With {@code optCausal(true)} the bias of keys after the
 * query is -∞, which hides them.
 *
 * <p>There is no greatest position: the block holds a table of the biases by distance, which grows with the longest
 * sequence. The table is not a parameter, and has the lifetime of that of
 * {@link io.github.djlpositional.PositionalEncodingBlock}.
 *
 * <p>A forward throws {@link IllegalArgumentException} for an x of rank below 2 or of another data type, and for a
 * negative start position.
 */
public final class AlibiBiasBlock extends RelativeBiasBlock {

    record Settings(int headCount, Boolean causal) {
        Settings {
            causal = Objects.requireNonNullElse(causal, false);
        }
    }

    private final AlibiSlopes slopes;
    private final boolean causal;
    private final ConstantTable table;

    private AlibiBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        slopes = AlibiSlopes.of(settings.headCount);
        causal = settings.causal;
        table = addTable(new Shape(settings.headCount), this::write);
    }

    private void write(int first, int count, FloatFormat format, ByteBuffer out) {
        int index = 0;
        for (int relative = first; relative < first + count; relative++) {
            boolean isMasked = causal && relative > 0;
            for (int head = 0; head < slopes.heads(); head++) {
                format.put(out, index++, isMasked ? Double.NEGATIVE_INFINITY : slopes.bias(head, relative));
            }
        }
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
    public static AlibiBiasBlock fromArguments(Map<?, ?> arguments) {
        return new AlibiBiasBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the slopes of the N heads} */
    public AlibiSlopes getSlopes() {
        return slopes;
    }

    @Override
    public boolean isCausal() {
        return causal;
    }

    @Override
    NDArray biases(Temporaries temporaries, AttentionCall call, NDArray queries) {
        NDArray rows = rows(temporaries, table, call, queries, queries.getDataType());
        return call.queryLength() == 1 ? temporaries.add(rows.duplicate()) : rows;
    }

    /** Builds an {@link AlibiBiasBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets N, the number of heads.
         *
         * @param headCount from 1 to 65,536; it need not be a power of two
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            return options.set("headCount", headCount);
        }

        /**
         * Sets whether keys after the query are hidden (default: false, so that the distance counts in both
         * directions). A {@link MultiHeadAttentionBlock} that is causal hides them already.
         *
         * @param causal true for a decoder
         * @return this builder
         */
        public Builder optCausal(boolean causal) {
            return options.set("causal", causal);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if the number of heads is outside 1 to 65,536
         */
        public AlibiBiasBlock build() {
            return new AlibiBiasBlock(options.build());
        }
    }
}
