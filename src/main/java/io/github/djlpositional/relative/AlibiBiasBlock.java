package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
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

    /**
     * The exponents of powers of two between which numbers are rounded to 8 significant bits; 52 are exact in FLOAT64.
     */
    private static final int SMALLEST = -20;

    private static final int LARGEST = 31;

    /** Added to a number below 2 and subtracted again in FLOAT64, it leaves 8 significant bits. */
    private static final double ROUNDING = 1.5 * (1L << 45);

    record Options(
            @Range(min = 1) int headCount,
            List<Double> slopes,
            @Default("false") boolean learned,
            @Default("false") boolean scaled,
            Boolean roundedByKey) {

        Options {
            int count = slopes == null ? headCount : slopesOf(headCount, slopes).heads();
            Check.that(
                    count == headCount,
                    count + " slopes with headCount " + headCount
                            + ": expected one for each head; pass as many slopes as heads");
            // files without it stay valid
            roundedByKey = Boolean.TRUE.equals(roundedByKey) ? true : null;
            Check.that(
                    roundedByKey == null || !learned,
                    "roundedByKey true with learned true: expected one of them; leave one out");
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

    /** Powers of two, and the slopes rounded to BFLOAT16, (N, 1), each as a number from 1 to 2 and a power of two. */
    private final ConstantTable powers;

    private final ConstantTable mantissas;
    private final ConstantTable powersOfSlopes;

    /** The logarithms of learned slopes; null for fixed ones. */
    private final Parameter logSlopes;

    private AlibiBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        slopes = Options.slopesOf(options.headCount, options.slopes);
        table = addDistances(Rows.of(options.headCount, (distance, head) -> slopes.bias(head, (long) distance)));
        factors = addColumn(options.headCount, head -> -slopes.get(head));
        powers = addColumn(LARGEST - SMALLEST, row -> Math.scalb(1.0, row + SMALLEST));
        mantissas = addColumn(options.headCount, head -> roundedSlope(head) / powerOfSlope(head));
        powersOfSlopes = addColumn(options.headCount, this::powerOfSlope);
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
        return List.of(options.roundedByKey == null ? Term.bias(this::biases) : Term.scores(this::biasesByKey));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray unscaled = logSlopes == null ? fixed(distances) : learned(call, distances.toArray());
        return options.scaled ? scaled(call, unscaled) : unscaled;
    }

    /** The biases by the positions of keys, (1 or B, N, 1, F). */
    private NDArray biasesByKey(AttentionCall call, NDArray queries, NDArray keys) {
        NDArray positions =
                rounded(call.keys().toArray(queries, DataType.FLOAT64)).expandDims(1);
        NDArray products = rounded(positions.mul(mantissas.array(positions, DataType.FLOAT64)));
        NDArray biases = products.mul(powersOfSlopes.array(positions, DataType.FLOAT64));
        NDArray converted = Arithmetic.toType(biases, queries.getDataType()).expandDims(2);
        return options.scaled ? scaled(call, converted) : converted;
    }

    /** The nearest numbers with 8 significant bits, ties to even, as in BFLOAT16. */
    private NDArray rounded(NDArray numbers) {
        NDArray all = powers.array(numbers, DataType.FLOAT64).reshape(-1);
        NDArray isAbove = Arithmetic.toType(numbers.abs().expandDims(-1).gte(all.add(all)), DataType.FLOAT64);
        NDArray first = Arithmetic.number(numbers, Math.scalb(1.0, SMALLEST));
        NDArray unit = Arithmetic.multiply(isAbove.mul(all).sum(new int[] {-1}).add(first), ROUNDING);
        return numbers.add(unit).sub(unit);
    }

    private double roundedSlope(int head) {
        int bits = Float.floatToRawIntBits((float) slopes.get(head));
        return Float.intBitsToFloat((bits + 0x7fff + (bits >>> 16 & 1)) & 0xffff0000);
    }

    private double powerOfSlope(int head) {
        return Math.scalb(1.0, Math.getExponent(roundedSlope(head)));
    }

    private NDArray fixed(Distances distances) {
        return biases(table, distances, real -> {
            NDArray d = real.toArray(DataType.FLOAT64).abs().expandDims(0);
            return factors.array(d, DataType.FLOAT64).mul(d);
        });
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

        /**
         * Adds slope · j by the key's position j instead of the distance, with the slope, j and the product rounded to
         * BFLOAT16, as transformers' code for Falcon does (default: false). In a causal attention, the softmax of these
         * scores is that of the distances but for the rounding, which begins at position 257.
         */
        public Builder optRoundedByKey(boolean roundedByKey) {
            return set("roundedByKey", roundedByKey);
        }

        /** Also multiplies the biases by the scale of the attention, usually 1 / √H, as in Falcon (default: false). */
        public Builder optScaled(boolean scaled) {
            return set("scaled", scaled);
        }
    }
}
