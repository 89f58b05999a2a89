package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.FloatFormat;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

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
 * With the forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, integers (T) or (B, T),
 * the queries have these positions, and without keys the keys too; the output is then (1 or B, N, T, F).
 *
 * <p>The output is the bias, (1, N, T, F), {@code -slope · |i - j|} for the query's position i and the key's position
 * j, each value the nearest one that the data type of x has. It is on the device of x, attached to the manager of x,
 * and the caller's to close. It also serves as the four-dimensional mask of DJL's
 * {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}. With {@code optCausal(true)} the bias of keys after the
 * query is -∞, which hides them. Learned slopes are parameters: x has their data type, and the bias is a product
 * rounded in it. With {@code optScaled(true)} an attention multiplies the bias by its scale.
 *
 * <p>There is no greatest position: the block holds a table of the biases by distance, which grows with the longest
 * sequence. The table is not a parameter, and has the lifetime of that of
 * {@link io.github.djlpositional.PositionalEncodingBlock}.
 *
 * <p>A forward throws {@link IllegalArgumentException} for an x of rank below 2 or of another data type, and for a
 * negative start position.
 */
public final class AlibiBiasBlock extends RelativeBiasBlock {

    record Settings(int headCount, Boolean causal, List<Double> slopes, Boolean learned, Boolean scaled) {
        Settings {
            causal = Objects.requireNonNullElse(causal, false);
            learned = Objects.requireNonNullElse(learned, false);
            scaled = Objects.requireNonNullElse(scaled, false);
            Check.that(
                    !causal || !learned,
                    "causal and learned biases: expected one of them; build the MultiHeadAttentionBlock with optCausal(true)");
            AlibiSlopes found = slopesOf(headCount, slopes);
            Check.that(
                    found.heads() == headCount,
                    found.heads() + " slopes with headCount " + headCount
                            + ": expected one for each head; give as many slopes");
        }

        static AlibiSlopes slopesOf(int headCount, List<Double> given) {
            return given == null
                    ? AlibiSlopes.of(headCount)
                    : AlibiSlopes.given(
                            given.stream().mapToDouble(Double::doubleValue).toArray());
        }
    }

    private final Settings settings;
    private final AlibiSlopes slopes;

    /** The biases, or only the negative distances if the slopes are learned. */
    private final ConstantTable table;

    /** The logarithms of learned slopes; null for fixed ones. */
    private final Parameter logSlopes;

    private AlibiBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        this.settings = settings;
        slopes = Settings.slopesOf(settings.headCount, settings.slopes);
        table = addTable(new Shape(settings.learned ? 1 : settings.headCount), this::write);
        logSlopes = settings.learned ? addParameter("logSlopes", new Shape(settings.headCount), this::logSlopes) : null;
    }

    private NDArray logSlopes(NDManager manager, Shape shape, DataType type) {
        return HostData.computed(manager, manager.getDevice(), shape, type, (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                format.put(out, i, Math.log(slopes.get(first + i)));
            }
        });
    }

    private void write(int first, int count, FloatFormat format, ByteBuffer out) {
        int index = 0;
        for (int relative = first; relative < first + count; relative++) {
            boolean isMasked = settings.causal && relative > 0;
            int columns = settings.learned ? 1 : settings.headCount;
            for (int head = 0; head < columns; head++) {
                double bias = settings.learned ? -Math.abs(relative) : slopes.bias(head, relative);
                format.put(out, index++, isMasked ? Double.NEGATIVE_INFINITY : bias);
            }
        }
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static AlibiBiasBlock fromArguments(Map<?, ?> arguments) {
        return new AlibiBiasBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the slopes of the N heads, before any training} */
    public AlibiSlopes getSlopes() {
        return slopes;
    }

    @Override
    public boolean isCausal() {
        return settings.causal;
    }

    @Override
    NDArray biases(AttentionCall call, Distances distances) {
        NDArray rows = distances.rows(table, distances.type());
        NDArray biases =
                settings.learned ? rows.mul(value(logSlopes, call, rows).exp()) : rows;
        return (settings.scaled ? scaled(call, biases) : biases).squeeze(0).transpose(1, 0);
    }

    /** Builds an {@link AlibiBiasBlock}. */
    public static final class Builder extends OptionsBuilder<AlibiBiasBlock, Builder> {

        private Builder() {
            super(options -> new AlibiBiasBlock(Records.create(Settings.class, options)));
        }

        /**
         * Sets N, the number of heads.
         *
         * @param headCount from 1 to 65,536; it need not be a power of two
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            return set("headCount", headCount);
        }

        /**
         * Sets whether keys after the query are hidden (default: false, so that the distance counts in both
         * directions). A {@link MultiHeadAttentionBlock} that is causal hides them already.
         *
         * @param causal true for a decoder
         * @return this builder
         */
        public Builder optCausal(boolean causal) {
            return set("causal", causal);
        }

        /**
         * Sets the slopes of the heads (default: {@link AlibiSlopes#of(int)}).
         *
         * @param slopes as many as there are heads
         * @return this builder
         */
        public Builder optSlopes(AlibiSlopes slopes) {
            return set(
                    "slopes",
                    IntStream.range(0, slopes.heads()).mapToObj(slopes::get).toList());
        }

        /**
         * Sets whether the slopes are trained, starting from the given ones (default: false). The parameter
         * {@code logSlopes}, (N), holds their logarithms, so that they stay positive; a head without bias keeps none.
         * Not together with {@link #optCausal}.
         *
         * @param learned true to train them
         * @return this builder
         */
        public Builder optLearned(boolean learned) {
            return set("learned", learned);
        }

        /**
         * Sets whether the attention's scale, usually 1 / √H, multiplies the biases too (default: false). Falcon adds
         * them before it divides the scores.
         *
         * @param scaled true to multiply them
         * @return this builder
         */
        public Builder optScaled(boolean scaled) {
            return set("scaled", scaled);
        }
    }
}
