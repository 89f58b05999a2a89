package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.UninitializedParameterException;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares with W₂ f(W₁ x + b₁) + b₂ in Java; D = 4, and 6 hidden values. */
public class FeedForwardBlockTest extends OnEachEngine {

    private static final int SIZE = 4;
    private static final int HIDDEN = 6;

    /** The largest relative error of a rounding. */
    private static final Map<DataType, Double> ROUNDINGS =
            Map.of(DataType.FLOAT16, 0x1p-11, DataType.FLOAT32, 0x1p-24, DataType.FLOAT64, 0x1p-53);

    /** The functions of the gate's value g, if there is a gate, and of the hidden value h. */
    private static final Map<Nonlinearity, DoubleBinaryOperator> FORMULAS = Map.of(
            Nonlinearity.RELU, (g, h) -> Math.max(0, h),
            // So et al., Primer (2021), section 4.1
            Nonlinearity.SQUARED_RELU, (g, h) -> Math.max(0, h) * Math.max(0, h),
            // Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2: exact, and two approximations
            Nonlinearity.GELU, (g, h) -> gelu(h),
            Nonlinearity.GELU_TANH, (g, h) -> geluTanh(h),
            Nonlinearity.QUICK_GELU, (g, h) -> h * sigmoid(1.702 * h),
            Nonlinearity.SILU, (g, h) -> h * sigmoid(h),
            // Shazeer, GLU Variants Improve Transformer (2020), equation 6
            Nonlinearity.SWIGLU, (g, h) -> g * sigmoid(g) * h,
            Nonlinearity.GEGLU, (g, h) -> gelu(g) * h,
            Nonlinearity.GEGLU_TANH, (g, h) -> geluTanh(g) * h,
            // GptOssExperts of transformers: alpha is 1.702, limit is 7
            Nonlinearity.CLAMPED_SWIGLU,
                    (g, h) -> Math.min(g, 7) * sigmoid(1.702 * Math.min(g, 7)) * (Math.max(-7, Math.min(h, 7)) + 1));

    private static double sigmoid(double x) {
        return 1 / (1 + Math.exp(-x));
    }

    private static double geluTanh(double x) {
        return x / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
    }

    /** With the series Φ(x) = 1/2 + φ(x) · (x + x³ / 3 + x⁵ / (3 · 5) + …). */
    private static double gelu(double x) {
        double sum = 0;
        double term = x;
        for (int n = 3; Math.abs(term) > 1e-18; n += 2) {
            sum += term;
            term *= x * x / n;
        }
        return x * (0.5 + sum * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI));
    }

    /** The constants of the class. */
    public static List<Nonlinearity> nonlinearities() {
        return Stream.of(Nonlinearity.class.getFields())
                .filter(field -> Modifier.isStatic(field.getModifiers()))
                .map(field -> {
                    try {
                        return (Nonlinearity) field.get(null);
                    } catch (IllegalAccessException e) {
                        throw new AssertionError(e);
                    }
                })
                .toList();
    }

    private static FeedForwardBlock.Builder feedForward() {
        return FeedForwardBlock.builder().setEmbeddingSize(SIZE).setHiddenSize(HIDDEN);
    }

    private static FeedForwardBlock.Builder feedForward(Nonlinearity nonlinearity) {
        return feedForward().optNonlinearity(nonlinearity);
    }

    /** Initialized, with hidden values on both sides of -7 and 7. */
    private FeedForwardBlock initialized(FeedForwardBlock.Builder builder, DataType type) {
        FeedForwardBlock block = filled(manager, builder.build(), type, new Shape(-1, -1, SIZE));
        scale(block.getHiddenProjection());
        if (block.getGateProjection() != null) {
            scale(block.getGateProjection());
        }
        return block;
    }

    private static void scale(Linear projection) {
        projection.getParameters().get("weight").getArray().muli(4);
    }

    private NDArray x(DataType type) {
        return numbers(manager, 1, type, 2, 5, SIZE);
    }

    private static double[] linear(Linear projection, double[] x) {
        double[] weight = doubles(projection.getParameters().get("weight").getArray());
        int units = weight.length / x.length;
        double[] y = projection.getParameters().contains("bias")
                ? doubles(projection.getParameters().get("bias").getArray())
                : new double[units];
        for (int i = 0; i < weight.length; i++) {
            y[i / x.length] += weight[i] * x[i % x.length];
        }
        return y;
    }

    private static double[] formula(FeedForwardBlock block, DoubleBinaryOperator function, NDArray x) {
        double[] all = doubles(x);
        double[] y = new double[all.length];
        for (int token = 0; token < all.length; token += SIZE) {
            double[] one = new double[SIZE];
            System.arraycopy(all, token, one, 0, SIZE);
            double[] hidden = linear(block.getHiddenProjection(), one);
            double[] gate = block.getGateProjection() == null ? hidden : linear(block.getGateProjection(), one);
            for (int i = 0; i < HIDDEN; i++) {
                hidden[i] = function.applyAsDouble(gate[i], hidden[i]);
            }
            System.arraycopy(linear(block.getOutputProjection(), hidden), 0, y, token, SIZE);
        }
        return y;
    }

    @Test
    void aFormulaIsTestedForEachConstant() {
        assertThat(FORMULAS.keySet()).containsExactlyInAnyOrderElementsOf(nonlinearities());
    }

    /** Twenty roundings, each by up to half a unit in the last place, of the largest number. */
    private static double tolerance(DataType type, double... expected) {
        double largest = DoubleStream.of(expected).map(Math::abs).max().orElseThrow();
        return 20 * largest * ROUNDINGS.get(type);
    }

    private void requireFormula(FeedForwardBlock block, DoubleBinaryOperator function, NDArray x) {
        NDArray y = infer(manager, block, x);
        double[] expected = formula(block, function, x);
        assertThat(y.getShape()).isEqualTo(x.getShape());
        assertThat(y.getDataType()).isEqualTo(x.getDataType());
        requireClose(y, expected, tolerance(x.getDataType(), expected));
    }

    @ParameterizedTest
    @MethodSource("nonlinearities")
    void equalsTheFormulaOfEachNonlinearity(Nonlinearity nonlinearity) {
        ROUNDINGS.keySet().stream().filter(this::hasParameters).forEach(type -> {
            for (boolean bias : new boolean[] {true, false}) {
                FeedForwardBlock block = initialized(feedForward(nonlinearity).optBias(bias), type);
                requireFormula(block, FORMULAS.get(nonlinearity), x(type));
            }
        });
    }

    private boolean hasParameters(DataType type) {
        return engine == TestEngine.PYTORCH || type != DataType.FLOAT16;
    }

    /** PyTorch adds the network to x in one call, before or after which it normalizes. */
    @ParameterizedTest
    @MethodSource("nonlinearities")
    void addsItsResultInOneCallOfPyTorch(Nonlinearity nonlinearity) {
        FeedForwardBlock block = initialized(feedForward(nonlinearity), DataType.FLOAT64);
        RmsNormBlock norm =
                RmsNormBlock.builder().setEmbeddingSize(SIZE).optEpsilon(0.5).build();
        filled(manager, norm, DataType.FLOAT64, new Shape(-1, -1, SIZE));
        block.freezeParameters(true);
        norm.freezeParameters(true);
        NDArray x = x(DataType.FLOAT64);
        ParameterStore store = new ParameterStore(manager, false);
        NDArray before = block.addInOneCall(store, x, norm, 0.5, true);
        NDArray after = block.addInOneCall(store, x, norm, 0.5, false);
        if (engine == TestEngine.PYTORCH) {
            NDArray normed = infer(manager, norm, x);
            NDArray sum = x.add(manager.create(formula(block, FORMULAS.get(nonlinearity), x), x.getShape()));
            double[] added = formula(block, FORMULAS.get(nonlinearity), normed);
            requireClose(
                    before, doubles(x.add(manager.create(added, x.getShape()))), tolerance(DataType.FLOAT64, added));
            double[] expected = doubles(infer(manager, norm, sum));
            requireClose(after, expected, tolerance(DataType.FLOAT64, doubles(sum)));
        } else {
            assertThat(before).isNull();
            assertThat(after).isNull();
        }
    }

    @ParameterizedTest
    @MethodSource("nonlinearities")
    void gradientsAreThoseOfFiniteDifferences(Nonlinearity nonlinearity) {
        FeedForwardBlock block =
                filled(manager, feedForward(nonlinearity).build(), DataType.FLOAT64, new Shape(-1, -1, SIZE));
        FiniteDifferences.requireGradients(manager, block, null, x(DataType.FLOAT64));
    }

    static Stream<Shape> shapes() {
        return Stream.of(new Shape(SIZE), new Shape(6, SIZE), new Shape(2, 3, SIZE), new Shape(1, 2, 3, SIZE));
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void hasAnyNumberOfAxes(Shape shape) {
        FeedForwardBlock block = initialized(feedForward(Nonlinearity.SWIGLU), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, shape.getShape());
        requireFormula(block, FORMULAS.get(Nonlinearity.SWIGLU), x);
    }

    @Test
    void dropsHiddenValuesInTrainingOnly() {
        FeedForwardBlock block = feedForward().optDropoutRate(0.75f).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, SIZE));
        NDArray ones = manager.ones(new Shape(HIDDEN));
        zeros(manager, HIDDEN, SIZE)
                .copyTo(block.getHiddenProjection()
                        .getParameters()
                        .get("weight")
                        .getArray());
        ones.copyTo(block.getHiddenProjection().getParameters().get("bias").getArray());
        // the first output is the first hidden value
        NDArray first = manager.eye(SIZE, HIDDEN, 0, DataType.FLOAT32);
        first.copyTo(block.getOutputProjection().getParameters().get("weight").getArray());
        NDArray x = zeros(manager, 1000, SIZE);
        assertThat(infer(manager, block, x).toFloatArray()).containsOnly(1f);
        NDArray y = Forward.trainRecorded(manager, block, x);
        assertThat(y.toFloatArray()).containsOnly(0f, 4f);
        double share = y.sum().getFloat() / 4 / y.size();
        // within five standard deviations
        assertThat(share).isCloseTo(0.25, within(5 * Math.sqrt(0.25 * 0.75 / y.size())));
    }

    // any function

    @Test
    void hasAnyFunction() {
        FeedForwardBlock block = initialized(feedForward(Nonlinearity.of(NDArray::tanh)), DataType.FLOAT64);
        assertThat(block.getGateProjection()).isNull();
        requireFormula(block, (g, h) -> Math.tanh(h), x(DataType.FLOAT64));
    }

    @Test
    void hasAnyFunctionWithAGate() {
        Nonlinearity difference = Nonlinearity.gated((g, h) -> h.sub(g.mul(g)));
        FeedForwardBlock block = initialized(feedForward(difference), DataType.FLOAT64);
        NDArray x = x(DataType.FLOAT64);
        requireFormula(block, (g, h) -> h - g * g, x);
        assertThat(block.addInOneCall(new ParameterStore(manager, false), x, null, 1, true))
                .isNull();
    }

    @Test
    void hasTheFunctionThatReturnsItsInput() {
        FeedForwardBlock block = initialized(feedForward(Nonlinearity.gated((g, h) -> g)), DataType.FLOAT64);
        requireFormula(block, (g, h) -> g, x(DataType.FLOAT64));
    }

    @Test
    void closesTheArraysOfAFunction() {
        Nonlinearity square = Nonlinearity.of(h -> h.mul(h).add(h).sub(h));
        FeedForwardBlock block = initialized(feedForward(square), DataType.FLOAT32);
        NDArray x = x(DataType.FLOAT32);
        int before = manager.getManagedArrays().size();
        infer(manager, block, x).close();
        assertThat(manager.getManagedArrays()).hasSizeLessThanOrEqualTo(before);
    }

    @Test
    void rejectsResultsOfAnotherShape() {
        Nonlinearity half = Nonlinearity.of(h -> h.get("..., :3"));
        FeedForwardBlock block = initialized(feedForward(half), DataType.FLOAT32);
        assertAll(rejectedInputs(block, new NDList(x(DataType.FLOAT32)), "(2, 5, 6)", "(2, 5, 3)"));
    }

    @Test
    void aFunctionWithoutANameIsSavedButHasNoArguments() throws Throwable {
        FeedForwardBlock saved = initialized(feedForward(Nonlinearity.of(NDArray::tanh)), DataType.FLOAT32);
        byte[] file = BlockBytes.saved(saved);
        FeedForwardBlock loaded = feedForward(Nonlinearity.of(NDArray::tanh)).build();
        BlockBytes.load(manager, loaded, file);
        NDArray x = x(DataType.FLOAT32);
        // the same products, from arrays at other addresses
        double[] expected = doubles(infer(manager, saved, x));
        requireClose(infer(manager, loaded, x), expected, tolerance(DataType.FLOAT32, expected));
        FeedForwardBlock relu = feedForward().build();
        assertAll(
                rejected(
                        MalformedModelException.class,
                        () -> BlockBytes.load(manager, relu, file),
                        "nonlinearity Nonlinearity",
                        "RELU"),
                rejected(
                        UnsupportedOperationException.class,
                        saved::getArguments,
                        "Nonlinearity",
                        "FeedForwardBlock",
                        "CLAMPED_SWIGLU"));
    }

    // options

    @ParameterizedTest
    @MethodSource("nonlinearities")
    void isCreatedFromTheNameOfAConstant(Nonlinearity nonlinearity) {
        Map<String, Object> arguments = feedForward(nonlinearity).build().getArguments();
        assertThat(arguments.get("nonlinearity")).isEqualTo(nonlinearity.toString());
        assertThat(FeedForwardBlock.fromArguments(arguments).getArguments()).isEqualTo(arguments);
    }

    @Test
    void hasReluAndBiasesByDefault() {
        assertThat(feedForward().build().getArguments())
                .containsEntry("nonlinearity", "RELU")
                .containsEntry("bias", true)
                .containsEntry("dropoutRate", 0f);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void hasBiasesIfTheyAreSet(boolean bias) {
        FeedForwardBlock block = feedForward(Nonlinearity.SWIGLU).optBias(bias).build();
        assertThat(Stream.of(block.getHiddenProjection(), block.getGateProjection(), block.getOutputProjection()))
                .allMatch(projection -> projection.getParameters().contains("bias") == bias);
    }

    @Test
    void rejectsOptionsThatAreMissingOrOutOfRange() {
        assertAll(
                rejected(FeedForwardBlock.builder().setHiddenSize(6)::build, "embeddingSize"),
                rejected(FeedForwardBlock.builder().setEmbeddingSize(4)::build, "hiddenSize"),
                rejected(feedForward().setEmbeddingSize(0)::build, "embeddingSize 0"),
                rejected(feedForward().setHiddenSize(0)::build, "hiddenSize 0"),
                rejected(feedForward().optDropoutRate(1)::build, "dropoutRate 1.0"),
                rejected(NullPointerException.class, () -> feedForward(null), "nonlinearity"),
                rejected(NullPointerException.class, () -> Nonlinearity.of(null), "function"),
                rejected(NullPointerException.class, () -> Nonlinearity.gated(null), "function"));
    }

    // inputs

    @Test
    void rejectsInputsOfOtherShapesAndTypes() {
        FeedForwardBlock block = initialized(feedForward(), DataType.FLOAT32);
        NDArray x = zeros(manager, 2, SIZE);
        assertAll(
                rejectedInputs(block, new NDList(zeros(manager, 4, 6)), "(4, 6)", "(…, 4)"),
                rejectedInputs(block, new NDList(zeros(manager)), "()", "(…, 4)"),
                rejectedInputs(block, new NDList(x, x), "2 inputs", "[x]"),
                rejectedInputs(block, new NDList(x.toType(DataType.FLOAT64, true)), "float64", "float32"));
    }

    @Test
    void rejectsAForwardBeforeItIsInitialized() {
        NDArray x = zeros(manager, 2, 5, SIZE);
        assertAll(rejected(
                UninitializedParameterException.class,
                () -> infer(manager, feedForward().build(), x),
                "FeedForwardBlock",
                "initialize"));
    }
}
