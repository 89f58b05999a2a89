package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.attention.TransformerLayerBlock.Nonlinearity;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Pictures of 6 or 3 by 8 cells, B = 2, and windows of 3 by 4; compared with torchvision's blocks. */
class WindowPartitionTest {

    private static final Map<String, Integer> ROWS = Map.of("swin", 6, "swin_with_one_row_of_windows", 3);

    private static WindowPartition partition(String name, boolean shifted) {
        return new WindowPartition(ROWS.get(name), 8, 3, 4, shifted);
    }

    private static TransformerLayerBlock layer(NDManager manager, StoredLayer stored) {
        TransformerLayerBlock layer = TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(8)
                        .setHeadCount(2)
                        .optRelativeEncoding(WindowBiasBlock.builder()
                                .setHeadCount(2)
                                .setWindow(3, 4)
                                .build())
                        .build())
                .setHiddenSize(16)
                .optNonlinearity(Nonlinearity.GELU)
                .optPreNorm(true)
                .build();
        layer.initialize(manager, DataType.FLOAT64, new Shape(-1, 12, 8));
        stored.parametersOf(layer, "").forEach((parameter, tensor) -> tensor.copyTo(parameter.getArray()));
        return layer;
    }

    private static NDArray forward(
            NDManager manager, WindowPartition partition, TransformerLayerBlock layer, NDArray x, boolean training) {
        NDList y = layer.forward(new ParameterStore(manager, false), partition.split(x), training);
        return partition.merge(y.singletonOrThrow());
    }

    @EngineTest
    void equalsSwinsBlock(NDManager manager, boolean shifted) throws Exception {
        for (String name : ROWS.keySet()) {
            StoredLayer stored = new StoredLayer(manager, name);
            TransformerLayerBlock layer = layer(manager, stored);
            NDArray x = stored.get("input").reshape(2, -1, 8);
            NDArray y = forward(manager, partition(name, shifted), layer, x, false);
            double[] expected =
                    stored.get(shifted ? "output_shifted" : "output").toDoubleArray();
            requireClose(y, expected, 1e-10);
        }
    }

    @EngineTest
    void gradientsAreThoseOfSwinsBlock(NDManager manager) throws Exception {
        for (String name : ROWS.keySet()) {
            StoredLayer stored = new StoredLayer(manager, name);
            TransformerLayerBlock layer = layer(manager, stored);
            NDArray x = stored.get("input").reshape(2, -1, 8);
            x.setRequiresGradient(true);
            NDArray weight = stored.get("gradient_weight").reshape(2, -1, 8);
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                collector.backward(forward(manager, partition(name, true), layer, x, true)
                        .mul(weight)
                        .sum());
            }
            // on MXNet, the gradient of erf, for GELU, has the factor 2 / √π in FLOAT32, which is 5e-8 of it too large;
            // gradients are up to 157
            double tolerance = manager.getEngine().getEngineName().equals("MXNet") ? 157 * 5e-8 : 1e-10;
            requireClose(x.getGradient(), stored.get("gradient.input").toDoubleArray(), tolerance);
            Map<Parameter, NDArray> expected = stored.parametersOf(layer, "gradient.");
            expected.forEach((parameter, gradient) ->
                    requireClose(parameter.getArray().getGradient(), gradient.toDoubleArray(), tolerance));
        }
    }

    /** The numbers of the cells in the windows of a picture. */
    private static int[][] cells(NDManager manager, WindowPartition partition) {
        int count = partition.rows() * partition.columns();
        NDArray windows = partition
                .split(manager.arange((float) count).reshape(1, count, 1))
                .head();
        float[] flat = windows.toFloatArray();
        int size = partition.height() * partition.width();
        int[][] cells = new int[count / size][size];
        IntStream.range(0, count).forEach(i -> cells[i / size][i % size] = (int) flat[i]);
        return cells;
    }

    @EngineTest
    void windowsAndTheirCellsAreInRows(NDManager manager) {
        assertThat(cells(manager, new WindowPartition(4, 6, 2, 3, false))).isDeepEqualTo(new int[][] {
            {0, 1, 2, 6, 7, 8}, {3, 4, 5, 9, 10, 11}, {12, 13, 14, 18, 19, 20}, {15, 16, 17, 21, 22, 23}
        });
        // one row and one column later
        assertThat(cells(manager, new WindowPartition(4, 6, 2, 3, true))).isDeepEqualTo(new int[][] {
            {7, 8, 9, 13, 14, 15}, {10, 11, 6, 16, 17, 12}, {19, 20, 21, 1, 2, 3}, {22, 23, 18, 4, 5, 0}
        });
        // on the axis with several windows only
        assertThat(cells(manager, new WindowPartition(2, 4, 2, 2, true)))
                .isDeepEqualTo(new int[][] {{1, 2, 5, 6}, {3, 0, 7, 4}});
    }

    @EngineTest
    void theMaskHidesWhatIsBeyondTheEndOfThePicture(NDManager manager) {
        WindowPartition partition = new WindowPartition(4, 4, 2, 2, true);
        NDList inputs = partition.split(manager.ones(new Shape(2, 16, 3)));
        assertThat(inputs.head().getShape()).isEqualTo(new Shape(8, 4, 3));
        NDArray mask = inputs.get(1);
        assertThat(mask.getShape()).isEqualTo(new Shape(8, 4, 4));
        assertThat(mask.getDataType()).isEqualTo(DataType.BOOLEAN);
        int[][] ofPicture = {
            {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
            {1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1},
            {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1},
            {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}
        };
        for (int window = 0; window < 8; window++) {
            assertThat(mask.get(window).toType(DataType.INT32, true).toIntArray())
                    .as("window %d", window)
                    .isEqualTo(ofPicture[window % 4]);
        }
        assertThat(new WindowPartition(4, 4, 2, 2, false).split(manager.ones(new Shape(2, 16, 3))))
                .hasSize(1);
        // a window of the whole picture
        assertThat(new WindowPartition(2, 2, 2, 2, true).split(manager.ones(new Shape(2, 4, 3))))
                .hasSize(1);
    }

    @EngineTest
    void mergeIsTheInverseOfSplit(NDManager manager, boolean shifted) {
        for (WindowPartition partition : new WindowPartition[] {
            new WindowPartition(6, 10, 3, 5, shifted),
            new WindowPartition(4, 4, 4, 2, shifted),
            new WindowPartition(3, 2, 1, 1, shifted),
            new WindowPartition(5, 3, 5, 3, shifted)
        }) {
            NDArray x = numbers(manager, 1, DataType.FLOAT32, 2, (long) partition.rows() * partition.columns(), 3);
            assertThat(partition.merge(partition.split(x).head())).isEqualTo(x);
        }
    }

    @EngineTest
    void leavesNoArrayOpenButItsResults(NDManager manager) {
        WindowPartition partition = new WindowPartition(4, 4, 2, 2, true);
        try (NDManager own = manager.newSubManager()) {
            NDArray x = own.ones(new Shape(2, 16, 3));
            NDList inputs = partition.split(x);
            assertThat(own.getManagedArrays()).hasSize(3);
            partition.merge(inputs.head());
            assertThat(own.getManagedArrays()).hasSize(4);
        }
    }

    @EngineTest
    void refusesOtherShapes(NDManager manager) {
        WindowPartition partition = new WindowPartition(4, 4, 2, 2, true);
        refused(() -> partition.split(manager.ones(new Shape(2, 15, 3))), "(2, 15, 3)", "(B, 16, D)");
        refused(() -> partition.split(manager.ones(new Shape(2, 4, 4, 3))), "(2, 4, 4, 3)", "(B, 16, D)");
        refused(() -> partition.merge(manager.ones(new Shape(8, 5, 3))), "(8, 5, 3)", "(B · 4, 4, D)");
        refused(() -> partition.merge(manager.ones(new Shape(6, 4, 3))), "(6, 4, 3)", "(B · 4, 4, D)");
    }

    @Test
    void refusesSizesThatAreNotWholeWindows() {
        refused(() -> new WindowPartition(7, 8, 3, 4, false), "7 rows", "3 by 4", "pad");
        refused(() -> new WindowPartition(6, 9, 3, 4, false), "9 columns");
        refused(() -> new WindowPartition(6, 8, 0, 4, false), "height 0");
        refused(() -> new WindowPartition(0, 8, 3, 4, false), "rows 0");
    }
}
