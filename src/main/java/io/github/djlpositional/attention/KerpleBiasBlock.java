package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;

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
 * <p>The numbers a and b of the head must be positive, and p positive and less than 2. The parameters are their
 * logarithms {@code logA} and {@code logB}, or {@code logitP}, ln(p / (2 - p)), (N) each, so that they stay so in
 * training.
 *
 * <p>As in the authors' code, the initial values of a are uniform random numbers from 0.01 to 1, and those of b and p
 * from 0.01 to 2.
 *
 * <p>{@link RelativeEncoding} describes inputs, output and errors.
 *
 * @see <a href="https://arxiv.org/abs/2205.09921">KERPLE: Kernelized Relative Positional Embedding for Length
 *     Extrapolation</a>
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
        logA = addParameter("logA", heads, ofUniform(1, NDArray::log));
        second = isPower
                ? addParameter(
                        "logitP",
                        heads,
                        ofUniform(2 - LEAST, p -> p.div(p.neg().add(2)).log()))
                : addParameter("logB", heads, ofUniform(2, NDArray::log));
        distances = addNumbers(relative -> {
            int distance = Math.abs(relative);
            return isPower ? Math.max(LOG_OF_ZERO, 2 * Math.log(distance)) : distance;
        });
    }

    private static Initializer ofUniform(float greatest, UnaryOperator<NDArray> function) {
        return (manager, shape, type) ->
                Temporaries.result(() -> function.apply(manager.randomUniform(LEAST, greatest, shape, type)));
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
    public static KerpleBiasBlock fromArguments(Map<?, ?> arguments) {
        return new KerpleBiasBlock(Records.read(Settings.class, arguments));
    }

    @Override
    NDArray biases(AttentionCall call, Distances requested) {
        NDArray steps = requested.numbers(distances);
        NDArray a = value(logA, call, steps).exp().expandDims(1);
        NDArray other = value(second, call, steps).expandDims(1);
        return isPower
                // |i - j|^p is the exponential of p / 2 times the logarithm of the square
                ? steps.mul(Activation.sigmoid(other)).exp().mul(a.neg())
                : Arithmetic.add(steps.mul(a), 1).log().mul(other.exp().neg());
    }

    /** Builds a {@link KerpleBiasBlock}. */
    public static final class Builder extends HeadsBuilder<KerpleBiasBlock, Builder> {

        private Builder() {
            super(Settings.class, KerpleBiasBlock::new);
        }

        /**
         * Sets how the bias grows with the distance (default: {@link Form#LOGARITHMIC}).
         *
         * @param form the form
         * @return this builder
         */
        public Builder optForm(Form form) {
            return set("form", form);
        }
    }
}
