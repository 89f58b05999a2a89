package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;
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
 * <p>The parameters are {@code logA} = ln(a), and {@code logB} = ln(b) or {@code logitP} = ln(p / (2 - p)), (N) each,
 * so that a and b stay positive in training, and p between 0 and 2. As in the authors' code, the initial values of a
 * are uniform random numbers from 0.01 to 1, and the initial values of b and p from 0.01 to 2.
 *
 * @see <a href="https://arxiv.org/abs/2205.09921">KERPLE: Kernelized Relative Positional Embedding for Length
 *     Extrapolation</a>
 */
public final class KerpleBiasBlock extends ScoreTermBlock {

    /** The authors' code clamps smaller values to this one. */
    private static final float SMALLEST = 0.01f;

    /** Replaces the logarithm of 0, -∞, whose gradient would be NaN; its exponential is 0 too. */
    private static final double LOG_OF_ZERO = -1e30;

    /** How the bias grows with the distance. */
    public enum Form {
        /** -b · ln(1 + a · |i - j|), which performs best in the paper. */
        LOGARITHMIC,
        /** -a · |i - j|<sup>p</sup>; ALiBi's bias with p = 1. */
        POWER
    }

    record Options(
            @Range(min = 1) int headCount,
            @Default("LOGARITHMIC") Form form) {}

    private final boolean isPower;
    private final Parameter logA;

    /** The logarithms of b, or of p / (2 - p). */
    private final Parameter second;

    private KerpleBiasBlock(Options options) {
        super(options, options.headCount);
        isPower = options.form == Form.POWER;
        Shape heads = new Shape(options.headCount);
        logA = addParameter("logA", heads, uniform(1, NDArray::log));
        second = isPower
                ? addParameter(
                        "logitP",
                        heads,
                        uniform(2 - SMALLEST, p -> p.div(p.neg().add(2)).log()))
                : addParameter("logB", heads, uniform(2, NDArray::log));
    }

    private static Initializer uniform(float largest, UnaryOperator<NDArray> function) {
        return (manager, shape, type) ->
                Temporaries.result(() -> function.apply(manager.randomUniform(SMALLEST, largest, shape, type)));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static KerpleBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray d = distances.toArray().abs();
        NDArray a = call.value(logA, d).exp().expandDims(1);
        NDArray other = call.value(second, d).expandDims(1);
        if (!isPower) {
            return Arithmetic.add(d.mul(a), 1).log().mul(other.exp().neg());
        }
        // |i - j|^p is the exponential of p times the logarithm
        NDArray logarithms = d.log().maximum(Arithmetic.number(d, LOG_OF_ZERO));
        NDArray p = Arithmetic.multiply(Activation.sigmoid(other), 2);
        return p.mul(logarithms).exp().mul(a.neg());
    }

    /** Builds a {@link KerpleBiasBlock}. */
    public static final class Builder extends HeadsBuilder<KerpleBiasBlock, Builder> {

        private Builder() {
            super(Options.class, KerpleBiasBlock::new);
        }

        /** Sets how the bias grows with the distance (default: {@link Form#LOGARITHMIC}). */
        public Builder optForm(Form form) {
            return set("form", form);
        }
    }
}
