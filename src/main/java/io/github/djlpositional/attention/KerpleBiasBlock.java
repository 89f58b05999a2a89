package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;
import java.util.Objects;

/**
 * A bias that falls with the distance between query and key, at a rate that each head learns, after Chi, Fan, Ramadge
 * and Rudnicky, <em>KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation</em> (2022), section 4.
 * For the query's position i and the key's position j, the bias of a head is one of
 *
 * <pre>
 * -b · ln(1 + a · |i - j|)      {@link Form#LOGARITHMIC}
 * -a · |i - j|ᵖ                {@link Form#POWER}
 * </pre>
 *
 * <p>The numbers a and b of the head must be positive, and p positive and less than 2. The parameters are ln a, ln b
 * and ln(p / (2 - p)), so that they stay so in training.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(KerpleBiasBlock.builder().setHeadCount(8).build())
 *         .build();
 * }</pre>
 *
 * <p>As in the authors' code, the initial values of a are uniform random numbers from 0.01 to 1, and those of b and p
 * from 0.01 to 2.
 *
 * <p>Inputs, output and errors are those of {@link AlibiBiasBlock}, except that x must have the data type of the
 * parameters, that keys after the query are never masked, and that the output is not rounded only once. FLOAT16 is
 * computed in FLOAT32.
 */
public final class KerpleBiasBlock extends RelativeBiasBlock {

    /** The authors' code raises smaller numbers to this one. */
    private static final float LEAST = 0.01f;

    /** Instead of the logarithm of 0, -∞, whose gradient would be NaN: its exponential is 0 too. */
    private static final double LOG_OF_ZERO = -1e30;

    /** How the bias grows with the distance. */
    public enum Form {
        /** -b · ln(1 + a · |i - j|), the paper's best. */
        LOGARITHMIC,
        /** -a · |i - j|<sup>p</sup>; ALiBi's bias with p = 1. */
        POWER
    }

    record Settings(int headCount, Form form) {
        Settings {
            Check.positive("headCount", headCount);
            form = Objects.requireNonNullElse(form, Form.LOGARITHMIC);
        }
    }

    private final boolean isPower;
    private final Parameter logA;

    /** The logarithms of b, or of p / (2 - p). */
    private final Parameter second;

    /** The distances, or the logarithms of their squares. */
    private final ConstantTable distances;

    private KerpleBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        isPower = settings.form == Form.POWER;
        Shape heads = new Shape(settings.headCount);
        logA = addParameter("logA", heads, (manager, shape, type) -> logOf(uniform(manager, 1, shape, type)));
        second = isPower
                ? addParameter("logitP", heads, KerpleBiasBlock::logit)
                : addParameter("logB", heads, (manager, shape, type) -> logOf(uniform(manager, 2, shape, type)));
        distances = addTable(new Shape(1), (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                int distance = Math.abs(first + i);
                format.put(out, i, isPower ? logOfSquare(distance) : distance);
            }
        });
    }

    private static double logOfSquare(int distance) {
        return distance == 0 ? LOG_OF_ZERO : 2 * Math.log(distance);
    }

    private static NDArray uniform(NDManager manager, float greatest, Shape shape, DataType type) {
        return manager.randomUniform(LEAST, greatest, shape, type);
    }

    private static NDArray logOf(NDArray numbers) {
        try (numbers) {
            return numbers.log();
        }
    }

    private static NDArray logit(NDManager manager, Shape shape, DataType type) {
        try (NDArray p = uniform(manager, 2 - LEAST, shape, type);
                NDArray rest = p.neg();
                NDArray odds = p.div(rest.addi(2))) {
            return odds.log();
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
    public static KerpleBiasBlock fromArguments(Map<?, ?> arguments) {
        return new KerpleBiasBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the logarithms of a: the parameter (N), in the model's data type; a parameter of this block} */
    public Parameter getLogA() {
        return logA;
    }

    /**
     * {@return the logarithms of b: the parameter (N), in the model's data type; a parameter of this block; null with
     * {@link Form#POWER}}
     */
    public Parameter getLogB() {
        return isPower ? null : second;
    }

    /**
     * {@return the logarithms of p / (2 - p): the parameter (N), in the model's data type; a parameter of this block;
     * null with {@link Form#LOGARITHMIC}}
     */
    public Parameter getLogitP() {
        return isPower ? second : null;
    }

    @Override
    NDArray biases(Temporaries temporaries, AttentionCall call, NDArray queries) {
        DataType type = PlainAttention.scoreType(queries);
        NDArray steps = rows(temporaries, distances, call, queries, type);
        NDArray a = temporaries.add(value(temporaries, logA, call, steps).exp());
        NDArray other = value(temporaries, second, call, steps);
        NDArray biases;
        if (isPower) {
            // |i - j|^p is the exponential of p / 2 times the logarithm of the square
            NDArray half = temporaries.add(Activation.sigmoid(other));
            NDArray powers = temporaries.add(temporaries.add(steps.mul(half)).exp());
            biases = temporaries.add(powers.mul(temporaries.add(a.neg())));
        } else {
            NDArray one = temporaries.add(queries.getManager().ones(new Shape(1), type, queries.getDevice()));
            NDArray scaled = temporaries.add(steps.mul(a));
            NDArray logarithms =
                    temporaries.add(temporaries.add(scaled.add(one)).log());
            biases = temporaries.add(
                    logarithms.mul(temporaries.add(temporaries.add(other.exp()).neg())));
        }
        return AttentionMethod.toType(temporaries, biases, queries.getDataType());
    }

    /** Builds a {@link KerpleBiasBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            return options.set("headCount", headCount);
        }

        /**
         * Sets how the bias grows with the distance (default: {@link Form#LOGARITHMIC}).
         *
         * @param form the form
         * @return this builder
         */
        public Builder optForm(Form form) {
            return options.set("form", form);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if the number of heads is not positive
         */
        public KerpleBiasBlock build() {
            return new KerpleBiasBlock(options.build());
        }
    }
}
