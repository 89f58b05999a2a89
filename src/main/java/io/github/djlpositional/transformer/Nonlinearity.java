package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Activation;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.internal.options.Check;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;

/**
 * The function between the two matrices of a {@link FeedForwardBlock}: a constant of this class, or any other. It is a
 * function of the hidden values h = W₁ x, and if it is gated also of the gate's values g = G x, each (…, H) for a
 * hidden size H. Gates are after Shazeer, <em>GLU Variants Improve Transformer</em> (2020).
 *
 * <pre>{@code
 * Nonlinearity swiglu = Nonlinearity.SWIGLU;
 * Nonlinearity tanh = Nonlinearity.of(NDArray::tanh);
 * Nonlinearity bilinear = Nonlinearity.gated((g, h) -> g.mul(h));
 * }</pre>
 */
public final class Nonlinearity {

    /** max(0, h), as in the original transformer. */
    public static final Nonlinearity RELU = named("RELU", 0, Activation::relu);

    /** max(0, h)², after So et al., <em>Primer</em> (2021); as in Nemotron. */
    public static final Nonlinearity SQUARED_RELU =
            named("SQUARED_RELU", 4, h -> Activation.relu(h).square());

    /** h · Φ(h), exact, as in BERT. */
    public static final Nonlinearity GELU = named("GELU", 1, Nonlinearity::gelu);

    /**
     * GELU with h / 2 · (1 + tanh(√(2 / π) · (h + 0.044715 h³))), as in GPT-2; PyTorch's {@code approximate="tanh"}.
     */
    public static final Nonlinearity GELU_TANH = named("GELU_TANH", 2, Nonlinearity::geluTanh);

    /** GELU with h · sigmoid(1.702 h), as in CLIP. */
    public static final Nonlinearity QUICK_GELU = named("QUICK_GELU", 5, Nonlinearity::quickGelu);

    /** h · sigmoid(h), also called swish. */
    public static final Nonlinearity SILU = named("SILU", 3, Nonlinearity::silu);

    /** SiLU(g) ⊙ h, as in Llama. */
    public static final Nonlinearity SWIGLU = namedGated("SWIGLU", 3, (g, h) -> silu(g).mul(h));

    /** QuickGELU(min(g, 7)) ⊙ (clamp(h, -7, 7) + 1), as in gpt-oss. */
    public static final Nonlinearity CLAMPED_SWIGLU = namedGated("CLAMPED_SWIGLU", 6, Nonlinearity::clampedSwiglu);

    /** GELU(g) ⊙ h, exact, as in ModernBERT. */
    public static final Nonlinearity GEGLU = namedGated("GEGLU", 1, (g, h) -> gelu(g).mul(h));

    /** GELU(g) ⊙ h with the formula of {@link #GELU_TANH}, as in T5 1.1 and Gemma. */
    public static final Nonlinearity GEGLU_TANH =
            namedGated("GEGLU_TANH", 2, (g, h) -> geluTanh(g).mul(h));

    /** The number of a function that {@code feedForward} in {@code functions.py} does not have. */
    private static final int OTHER = -1;

    private static final double CLAMP = 7;

    private final String name;
    private final int number;
    private final boolean isGated;
    private final BinaryOperator<NDArray> function;

    private Nonlinearity(String name, int number, boolean isGated, BinaryOperator<NDArray> function) {
        this.name = name;
        this.number = number;
        this.isGated = isGated;
        this.function = function;
    }

    private static Nonlinearity named(String name, int number, UnaryOperator<NDArray> function) {
        return new Nonlinearity(name, number, false, (gate, hidden) -> function.apply(hidden));
    }

    private static Nonlinearity namedGated(String name, int number, BinaryOperator<NDArray> function) {
        return new Nonlinearity(name, number, true, function);
    }

    /**
     * {@return any function without a gate} Like any function of a program, it has no name: a model file does not
     * distinguish it from another such function, and {@code getArguments} of a block with it throws
     * {@link UnsupportedOperationException}.
     *
     * @param function maps h, (…, H), to an array of the same shape and data type. It must not store an array: those
     *     that it creates are closed after use. Several threads may call it at once.
     */
    public static Nonlinearity of(UnaryOperator<NDArray> function) {
        Check.notNull("function", function, "a function of the hidden values");
        return new Nonlinearity(null, OTHER, false, (gate, hidden) -> function.apply(hidden));
    }

    /**
     * {@return any function with a gate} It has no name, as one of {@link #of}.
     *
     * @param function maps g and h, (…, H) each, to an array as {@link #of} does
     */
    public static Nonlinearity gated(BinaryOperator<NDArray> function) {
        return new Nonlinearity(
                null, OTHER, true, Check.notNull("function", function, "a function of the gate and the hidden values"));
    }

    /** Returns whether it is also a function of a gate. */
    boolean isGated() {
        return isGated;
    }

    /** Returns its number for {@code feedForward} in {@code functions.py}; negative for none. */
    int number() {
        return number;
    }

    /** Computes a new array, within a scope that closes others. */
    NDArray apply(NDArray gate, NDArray hidden) {
        NDArray result = function.apply(gate, hidden);
        Check.that(
                result.getShape().equals(hidden.getShape()) && result.getDataType() == hidden.getDataType(),
                () -> "the nonlinearity maps " + hidden.getShape() + " " + hidden.getDataType() + " to "
                        + result.getShape() + " " + result.getDataType()
                        + ": expected the same shape and data type; correct the function");
        return result;
    }

    private static NDArray silu(NDArray x) {
        return x.mul(Activation.sigmoid(x));
    }

    private static NDArray quickGelu(NDArray x) {
        return x.mul(Activation.sigmoid(Arithmetic.multiply(x, 1.702)));
    }

    private static NDArray clampedSwiglu(NDArray gate, NDArray hidden) {
        NDArray g = gate.minimum(Arithmetic.number(gate, CLAMP));
        NDArray h = hidden.maximum(Arithmetic.number(hidden, -CLAMP)).minimum(Arithmetic.number(hidden, CLAMP));
        return quickGelu(g).mul(Arithmetic.add(h, 1));
    }

    private static NDArray geluTanh(NDArray x) {
        TorchFunctions functions = TorchFunctions.of(x);
        if (functions != null) {
            return functions.geluTanh(x);
        }
        // (1 + tanh(z)) / 2 = sigmoid(2z)
        double scale = 2 * Math.sqrt(2 / Math.PI);
        NDArray square = Arithmetic.multiply(x.mul(x), 0.044715 * scale);
        NDArray product = x.mul(Arithmetic.add(square, scale));
        return x.mul(Activation.sigmoid(product));
    }

    private static NDArray gelu(NDArray x) {
        if (x.getDataType() != DataType.FLOAT64) {
            return Activation.gelu(x);
        }
        // MXNet computes its GELU in FLOAT32
        NDArray erf = Arithmetic.multiply(x, Math.sqrt(0.5)).erf();
        NDArray half = Arithmetic.multiply(x, 0.5);
        return half.add(half.mul(erf));
    }

    /** Returns the name of the constant, or the name of the class for any other function. */
    @Override
    public String toString() {
        return name == null ? "Nonlinearity" : name;
    }
}
