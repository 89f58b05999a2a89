package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.AlibiSlopes;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Attention with linear biases (ALiBi): the score of a key falls with its distance from the query, by a slope that each
 * head has for itself. No position is added to the embeddings. After Press, Smith and Lewis, <em>Train Short, Test
 * Long</em> (2022). For the query's position i and the key's position j, the bias is
 *
 * <pre>
 * -slope · |i - j|
 * </pre>
 *
 * <p>Each bias is the nearest number that the data type has, unless the slopes are learned. {@link RelativeEncoding}
 * describes inputs, output and errors.
 *
 * @see <a href="https://arxiv.org/abs/2108.12409">Train Short, Test Long: Attention with Linear Biases Enables Input
 *     Length Extrapolation</a>
 */
public final class AlibiBiasBlock extends RelativeBiasBlock {

    record Settings(int headCount, List<Double> slopes, Boolean learned, Boolean scaled) {
        Settings {
            learned = Objects.requireNonNullElse(learned, false);
            scaled = Objects.requireNonNullElse(scaled, false);
            Check.positive("headCount", headCount);
            int count = slopes == null ? headCount : slopesOf(headCount, slopes).heads();
            Check.that(
                    count == headCount,
                    count + " slopes with headCount " + headCount
                            + ": expected one for each head; give as many slopes");
        }

        static AlibiSlopes slopesOf(int headCount, List<Double> slopes) {
            return slopes == null
                    ? AlibiSlopes.of(headCount)
                    : AlibiSlopes.given(
                            slopes.stream().mapToDouble(Double::doubleValue).toArray());
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
        table = settings.learned
                ? addNumbers(distance -> -Math.abs(distance))
                : addNumbers(
                        settings.headCount,
                        distance -> IntStream.range(0, settings.headCount)
                                .mapToDouble(head -> slopes.bias(head, distance))
                                .toArray());
        logSlopes = settings.learned ? addParameter("logSlopes", new Shape(settings.headCount), this::logSlopes) : null;
    }

    private NDArray logSlopes(NDManager manager, Shape shape, DataType type) {
        return HostData.computed(manager, manager.getDevice(), shape, type, (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                format.put(out, i, Math.log(slopes.get(first + i)));
            }
        });
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the arguments that {@link #getArguments} returns}
     *
     * @param arguments see {@link RelativeEncoding#fromArguments}
     */
    public static AlibiBiasBlock fromArguments(Map<?, ?> arguments) {
        return new AlibiBiasBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the slopes of the N heads, before any training} */
    public AlibiSlopes getSlopes() {
        return slopes;
    }

    @Override
    NDArray biases(AttentionCall call, Distances distances) {
        NDArray biases = logSlopes == null ? distances.biases(table) : learned(call, distances.numbers(table));
        return settings.scaled ? scaled(call, biases) : biases;
    }

    private NDArray learned(AttentionCall call, NDArray distances) {
        return value(logSlopes, call, distances).exp().expandDims(1).mul(distances);
    }

    /** Builds an {@link AlibiBiasBlock}. */
    public static final class Builder extends HeadsBuilder<AlibiBiasBlock, Builder> {

        private Builder() {
            super(Settings.class, AlibiBiasBlock::new);
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
