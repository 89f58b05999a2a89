package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.math.FourierFeatures;
import java.math.BigDecimal;
import org.junit.jupiter.api.Test;

class FourierFeaturesBlockTest {

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
    private static Block initialized(NDManager manager, String convention, DataType type, int coordinates) {
        boolean isLearned = convention.equals("time2vec");
        Block block = FourierFeaturesBlock.builder()
                .setFeatures(features(convention))
                .optLearned(isLearned)
                .build();
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
    @EngineTest
    void featuresAreThoseOfThePublishedFormulas(NDManager manager) {
        for (String[] row : Goldens.rows("fourier_features.csv")) {
            double[] x = Goldens.reals(row[1]);
            double[] expected = Goldens.reals(row[2]);
            for (DataType type : new DataType[] {DataType.FLOAT64, DataType.FLOAT32}) {
                Block block = initialized(manager, row[0], type, x.length);
                NDArray coordinates = manager.create(x, new Shape(1, 1, x.length));
                NDArray y = Forward.infer(manager, block, coordinates.toType(type, false));
                assertThat(y.getDataType()).isEqualTo(type);
                assertThat(y.getShape()).isEqualTo(new Shape(1, 1, expected.length));
                double unit = type == DataType.FLOAT64 ? 0x1p-53 : 0x1p-24;
                assertThat(y.toType(DataType.FLOAT64, false).toDoubleArray())
                        .as(String.join(",", row[0], row[1], type.toString()))
                        .containsExactly(expected, within(4 * 360 * unit));
            }
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
