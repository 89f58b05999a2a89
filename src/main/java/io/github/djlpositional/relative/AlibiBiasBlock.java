package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.Rows;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Attention with linear biases (ALiBi): the score of a key falls with its distance from the query, by a slope that
 * differs between heads. No position is added to the embeddings. After Press, Smith and Lewis, <em>Train Short, Test
 * Long</em> (2022). For the query's position i and the key's position j, the bias is
 *
 * <pre>
 * -slope · |i - j|
 * </pre>
 *
 * <p>Each bias is the nearest number of the data type, unless the slopes are learned.
 *
 * @see <a href="https://arxiv.org/abs/2108.12409">Train Short, Test Long: Attention with Linear Biases Enables Input
 *     Length Extrapolation</a>
 */
public final class AlibiBiasBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headCount,
            List<Double> slopes,
            @Default("false") boolean learned,
            @Default("false") boolean scaled) {

        Options {
            int count = slopes == null ? headCount : slopesOf(headCount, slopes).heads();
            Check.that(
                    count == headCount,
                    count + " slopes with headCount " + headCount
                            + ": expected one for each head; pass as many slopes as heads");
        }

        static AlibiSlopes slopesOf(int headCount, List<Double> slopes) {
            return slopes == null
                    ? AlibiSlopes.of(headCount)
                    : AlibiSlopes.custom(
                            slopes.stream().mapToDouble(Double::doubleValue).toArray());
        }
    }

    private final Options options;
    private final AlibiSlopes slopes;

    /** The biases by distance, each rounded once. */
    private final ConstantTable table;

    /** The negative slopes, (N, 1). */
    private final ConstantTable factors;

    /** The logarithms of learned slopes; null for fixed ones. */
    private final Parameter logSlopes;

    private AlibiBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        slopes = Options.slopesOf(options.headCount, options.slopes);
        table = addDistances(Rows.of(options.headCount, (distance, head) -> slopes.bias(head, (long) distance)));
        factors = addColumn(options.headCount, head -> -slopes.get(head));
        logSlopes = options.learned ? addParameter("logSlopes", new Shape(options.headCount), this::logSlopes) : null;
    }

    private NDArray logSlopes(NDManager manager, Shape shape, DataType type) {
        Rows logarithms = Rows.of(1, (head, column) -> Math.log(slopes.get((int) head)));
        return HostData.computed(manager, manager.getDevice(), shape, type, logarithms);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static AlibiBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return the slopes of the N heads, before any training} */
    public AlibiSlopes getSlopes() {
        return slopes;
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray unscaled = logSlopes == null ? fixed(distances) : learned(call, distances.toArray());
        return options.scaled ? scaled(call, unscaled) : unscaled;
    }

    private NDArray fixed(Distances distances) {
        return biases(
                table,
                distances,
                d -> factors.array(d, d.getDataType()).mul(d.abs().expandDims(0)));
    }

    private NDArray learned(AttentionCall call, NDArray distances) {
        return call.value(logSlopes, distances).exp().neg().expandDims(1).mul(distances.abs());
    }

    /** Builds an {@link AlibiBiasBlock}. */
    public static final class Builder extends HeadsBuilder<AlibiBiasBlock, Builder> {

        private Builder() {
            super(Options.class, AlibiBiasBlock::new);
        }

        /** Sets the slopes, one for each head (default: {@link AlibiSlopes#of(int)}). */
        public Builder optSlopes(AlibiSlopes slopes) {
            Check.notNull("slopes", slopes, "one slope for each head");
            return set(
                    "slopes",
                    IntStream.range(0, slopes.heads()).mapToObj(slopes::get).toList());
        }

        /**
         * Trains the slopes, starting from the initial ones (default: false). The parameter {@code logSlopes}, (N),
         * holds their logarithms, so that they stay positive; a head without bias stays without one.
         */
        public Builder optLearned(boolean learned) {
            return set("learned", learned);
        }

        /** Also multiplies the biases by the scale of the attention, usually 1 / √H, as in Falcon (default: false). */
        public Builder optScaled(boolean scaled) {
            return set("scaled", scaled);
        }
    }
}
