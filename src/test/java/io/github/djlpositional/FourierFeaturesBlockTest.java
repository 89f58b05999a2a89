package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.math.FourierFeatures;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class FourierFeaturesBlockTest {

    private static final double[][] MATRIX = sixtyFourths(3, 2);

    /** The numbers i · 37 mod 101 - 50 in units of 1/64, as in {@code reference_values.py}. */
    private static double[][] sixtyFourths(int rows, int columns) {
        double[][] numbers = new double[rows][columns];
        for (int i = 0; i < rows * columns; i++) {
            numbers[i / columns][i % columns] = (i * 37 % 101 - 50) / 64.0;
        }
        return numbers;
    }

    private static FourierFeaturesBlock.Builder builder(FourierFeatures features) {
        return FourierFeaturesBlock.builder().setFeatures(features);
    }

    private static Block block(String convention) {
        return switch (convention) {
            case "random" -> builder(FourierFeatures.of(true, MATRIX)).build();
            case "nerf" ->
                builder(FourierFeatures.powersOfTwo(2, 4, true, false)).build();
            case "nerf code" ->
                builder(FourierFeatures.powersOfTwo(2, 4, false, true)).build();
            case "logarithm" -> {
                double[][] matrix = sixtyFourths(4, 1);
                Arrays.stream(matrix).forEach(row -> row[0] *= 16);
                yield builder(FourierFeatures.of(false, matrix).ofLogarithm()).build();
            }
            case "time2vec" ->
                builder(FourierFeatures.time2Vec(5, 0)).optLearned(true).build();
            default -> throw new IllegalArgumentException(convention);
        };
    }

    /** A block with the parameters of the reference values. */
    private static Block initialized(NDManager manager, String convention, DataType type, int coordinates) {
        Block block = block(convention);
        block.initialize(manager, type, new Shape(-1, coordinates));
        if ("time2vec".equals(convention)) {
            double[][] rows = sixtyFourths(2, 5);
            set(
                    block.getParameters().get("features"),
                    Stream.of(rows).flatMapToDouble(Arrays::stream).toArray());
        }
        return block;
    }

    private static void set(Parameter parameter, double... values) {
        NDArray array = parameter.getArray();
        try (NDArray given = array.getManager().create(values, array.getShape());
                NDArray converted = given.toType(array.getDataType(), true)) {
            converted.copyTo(array);
        }
    }

    private static double[] reals(String text) {
        return Arrays.stream(text.split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }

    /**
     * Angles are below 16 · 2π · 4.4 · 0.8 &lt; 360 (of the logarithms), and products of two coordinates, a sum and the
     * phase have four roundings.
     */
    @EngineTest
    void featuresAreThoseOfThePublishedFormulas(NDManager manager) {
        for (String[] row : Goldens.rows("fourier_features.csv")) {
            double[] x = reals(row[1]);
            double[] expected = reals(row[2]);
            for (DataType type : new DataType[] {DataType.FLOAT64, DataType.FLOAT32}) {
                Block block = initialized(manager, row[0], type, x.length);
                NDArray given = manager.create(x, new Shape(1, 1, x.length));
                NDArray y = Forward.infer(manager, block, given.toType(type, false));
                assertThat(y.getDataType()).isEqualTo(type);
                assertThat(y.getShape()).isEqualTo(new Shape(1, 1, expected.length));
                double unit = type == DataType.FLOAT64 ? 0x1p-53 : 0x1p-24;
                assertThat(y.toType(DataType.FLOAT64, false).toDoubleArray())
                        .as(String.join(",", row[0], row[1], type.toString()))
                        .containsExactly(expected, within(4 * 360 * unit));
            }
        }
    }

    /** MXNet has no matrix products in FLOAT16. */
    @EngineTest(engine = "PyTorch")
    void float16IsComputedInFloat32AndRoundedOnce(NDManager manager) {
        for (FourierFeatures features :
                List.of(FourierFeatures.of(true, MATRIX), FourierFeatures.powersOfTwo(2, 10, true, true))) {
            Block block = builder(features).build();
            NDArray x = manager.create(new float[] {0.5f, -0.25f, 3, 1.75f}, new Shape(2, 2));
            NDArray half = Forward.infer(manager, block, x.toType(DataType.FLOAT16, false));
            assertThat(half).isEqualTo(Forward.infer(manager, block, x).toType(DataType.FLOAT16, false));
        }
    }

    /** EveryForwardTest has the gradients of other features. */
    @EngineTest
    void gradientsReachCoordinatesThroughTheirLogarithm(NDManager manager) {
        Block block = initialized(manager, "logarithm", DataType.FLOAT64, 1);
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
}
