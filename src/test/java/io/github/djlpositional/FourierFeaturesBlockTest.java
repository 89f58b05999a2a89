package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.UninitializedParameterException;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.Inputs;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.support.TestEngine;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** sin(x · A + φ) of real coordinates, with the features of {@link FourierFeatures}. */
class FourierFeaturesBlockTest extends OnEachEngine {

    private static FourierFeaturesBlock.Builder builder(FourierFeatures features) {
        return FourierFeaturesBlock.builder().setFeatures(features);
    }

    /** NeRF's: x, and sin(πx), cos(πx), sin(2πx) and cos(2πx), of 0.5 and 0.25. */
    @Test
    void givesTheCoordinateAndItsSinesAndCosines() {
        Block block = builder(FourierFeatures.powersOfTwo(1, 2, true, true)).build();
        NDArray x = manager.create(new double[] {0.5, 0.25}, new Shape(2, 1));
        double half = Math.sqrt(0.5);
        double[] expected = {0.5, 1, 0, 0, -1, 0.25, half, half, 1, 0};
        requireClose(Forward.infer(manager, block, x), expected, 1e-12);
    }

    private static double[][] matrix(int rows, int columns, double factor) {
        double[] numbers = Goldens.sixtyFourths(rows * columns);
        double[][] matrix = new double[rows][columns];
        for (int i = 0; i < numbers.length; i++) {
            matrix[i / columns][i % columns] = factor * numbers[i];
        }
        return matrix;
    }

    private static FourierFeatures features(String convention) {
        return switch (convention) {
            case "random" -> FourierFeatures.of(true, matrix(3, 2, 1));
            case "nerf" -> FourierFeatures.powersOfTwo(2, 4, true, false);
            case "nerf code" -> FourierFeatures.powersOfTwo(2, 4, false, true);
            case "logarithm" -> FourierFeatures.of(false, matrix(4, 1, 16)).ofLogarithm();
            case "time2vec" -> FourierFeatures.time2Vec(5, 0);
            default -> throw new IllegalArgumentException(convention);
        };
    }

    /** A block with the parameters of the reference values. */
    private Block initialized(String convention, DataType type, int coordinates) {
        boolean isLearned = convention.equals("time2vec");
        Block block = builder(features(convention)).optLearned(isLearned).build();
        block.initialize(manager, type, new Shape(-1, coordinates));
        if (isLearned) {
            NDArray features = block.getParameters().get("features").getArray();
            manager.create(Goldens.sixtyFourths(10), features.getShape())
                    .toType(type, false)
                    .copyTo(features);
        }
        return block;
    }

    /**
     * Angles are below 16 · 2π · 4.4 · 0.8 &lt; 360 (of the logarithms), and products of two coordinates, a sum and the
     * phase have four roundings.
     */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT64", "FLOAT32"})
    void featuresAreThoseOfThePublishedFormulas(DataType type) {
        double unit = type == DataType.FLOAT64 ? 0x1p-53 : 0x1p-24;
        for (String[] row : Goldens.rows("fourier_features.csv")) {
            double[] x = Goldens.reals(row[1]);
            double[] expected = Goldens.reals(row[2]);
            Block block = initialized(row[0], type, x.length);
            NDArray coordinates = manager.create(x, new Shape(1, 1, x.length));
            NDArray y = Forward.infer(manager, block, coordinates.toType(type, false));
            assertThat(y.getDataType()).isEqualTo(type);
            assertThat(y.getShape()).isEqualTo(new Shape(1, 1, expected.length));
            assertThat(doubles(y))
                    .as(String.join(",", row[0], row[1]))
                    .containsExactly(expected, within(4 * 360 * unit));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT64", "FLOAT32"})
    void learnedFeaturesBeginWithTheNumbersOfTheFixedOnes(DataType type) {
        FourierFeatures features = FourierFeatures.of(true, new double[][] {{0.25, -3}, {1, 0.5}});
        Block block = builder(features).optLearned(true).build();
        block.initialize(manager, type, new Shape(-1, 2));
        // the rows of both coordinates, and the phases
        double[] expected = new double[3 * 4];
        Arrays.setAll(expected, i -> features.get(i / 4, i % 4));
        NDArray numbers = manager.create(expected, new Shape(3, 4)).toType(type, false);
        requireSame(block.getParameters().get("features").getArray(), numbers);
    }

    static Stream<FourierFeatures> featuresOfTwoCoordinates() {
        return Stream.of(FourierFeatures.of(true, matrix(3, 2, 1)), FourierFeatures.powersOfTwo(2, 10, true, true));
    }

    /**
     * FLOAT16 is computed in FLOAT32 and rounded once, by up to 2^-12. Angles of up to 3 · 2^9 π may differ by 2^-12 if
     * they are computed twice. The coordinates are exact.
     */
    @ParameterizedTest
    @MethodSource("featuresOfTwoCoordinates")
    void float16IsComputedInFloat32(FourierFeatures features) {
        assumeEngine(TestEngine.PYTORCH);
        Block block = builder(features).build();
        NDArray x = manager.create(new float[] {0.5f, -0.25f, 3, 1.75f}, new Shape(2, 2));
        NDArray y = Forward.infer(manager, block, x.toType(DataType.FLOAT16, true));
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        requireClose(y, doubles(Forward.infer(manager, block, x)), 0x1p-11);
    }

    /** EveryForwardTest has the gradients of other features. */
    @Test
    void gradientsReachCoordinatesThroughTheirLogarithm() {
        Block block = initialized("logarithm", DataType.FLOAT64, 1);
        NDArray x = manager.create(new double[] {8, 20}, new Shape(2, 1));
        FiniteDifferences.requireGradients(manager, block, null, x);
    }

    @Test
    void gaussianMatricesFollowFromTheirSeedOnEveryMachine() {
        for (String[] row : Goldens.rows("gaussians.csv")) {
            // 3 frequencies of 2 coordinates: the number with index 2 · frequency + coordinate
            int index = Integer.parseInt(row[1]);
            double number = FourierFeatures.gaussian(2, 3, 0.5, Long.parseLong(row[0]), true)
                    .get(index % 2, index / 2);
            // half of it times 2π
            assertThat(number).isCloseTo(Math.PI * new BigDecimal(row[2]).doubleValue(), within(0x1p-49));
        }
    }

    private static FourierFeaturesBlock.Builder plane() {
        return builder(FourierFeatures.of(true, new double[][] {{0.5, 1}, {1, 2}, {2, 3}}));
    }

    private static FourierFeaturesBlock.Builder time() {
        return builder(FourierFeatures.time2Vec(5, 0)).optLearned(true);
    }

    @Test
    void rejectsInputsOfOtherShapesAndTypes() {
        Block block = plane().build();
        NDArray points = Inputs.zeros(manager, 4, 2);
        assertAll(
                rejectedInputs(block, new NDList(Inputs.zeros(manager, 4, 3)), "(4, 3)", "(…, 2)"),
                rejectedInputs(block, new NDList(Inputs.zeros(manager)), "()", "(…, 2)"),
                rejectedInputs(block, new NDList(points, points), "2 inputs", "[x]"),
                rejectedInputs(block, new NDList(points.toType(DataType.INT32, true)), "int32"),
                rejected(() -> block.initialize(manager, DataType.FLOAT32, new Shape(4, 3)), "(4, 3)", "(…, 2)"));
    }

    @Test
    void rejectsInputsOfAnotherTypeThanItsLearnedFeatures() throws Throwable {
        Block block = SmallBlocks.initialized(manager, time().build(), -1, 1);
        NDArray x = Inputs.zeros(manager, DataType.FLOAT64, 2, 1);
        rejectedInputs(block, new NDList(x), "float64", "float32", "learned features")
                .execute();
    }

    @Test
    void rejectsAForwardOfLearnedFeaturesBeforeTheirInitialization() throws Throwable {
        NDArray x = Inputs.zeros(manager, 2, 1);
        rejected(
                        UninitializedParameterException.class,
                        () -> Forward.infer(manager, time().build(), x),
                        "FourierFeaturesBlock")
                .execute();
    }

    @Test
    void requiresFeatures() throws Throwable {
        rejected(FourierFeaturesBlock.builder()::build, "features").execute();
    }
}
