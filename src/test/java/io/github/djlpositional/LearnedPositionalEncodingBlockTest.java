package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.math.GridResampling;
import java.util.Arrays;
import java.util.List;

class LearnedPositionalEncodingBlockTest {

    @EngineTest
    void isInitializedFromANormalDistribution(Engine engine, NDManager manager) {
        engine.setRandomSeed(1);
        LearnedPositionalEncodingBlock block =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(256).build();
        NDArray table = initialized(manager, block, 1, 3, 256).getTable().getArray();
        assertThat(table.getShape()).isEqualTo(new Shape(512, 256));
        double[] values = table.toType(DataType.FLOAT64, false).toDoubleArray();
        double mean = Arrays.stream(values).average().orElseThrow();
        double square = Arrays.stream(values).map(x -> x * x).average().orElseThrow();
        // of 131,072 numbers, six standard deviations: of the mean 0.00033, of the deviation 1.2 %
        assertThat(mean).isCloseTo(0, within(0.00034));
        assertThat(Math.sqrt(square)).isCloseTo(0.02, within(0.00024));
    }

    @EngineTest
    void hasAsManyPositionsAsTheLastInitialEncodingsWhichItReadsAsAView(NDManager manager) {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(2);
        NDArray wide = manager.zeros(new Shape(6, 4), DataType.FLOAT64);
        for (NDArray view : List.of(wide.get(":3, 1:3"), wide.get(":, 1:3"))) {
            int before = manager.getManagedArrays().size();
            LearnedPositionalEncodingBlock block =
                    builder.optInitialEncodings(view).build();
            assertThat(manager.getManagedArrays()).hasSize(before);
            assertThat(block.getMaxSequenceLength())
                    .isEqualTo((int) view.getShape().get(0));
        }
    }

    /** A case of grid_resampling.csv, whose table and weights are numbers i · 37 mod 101 - 50 in units of 1/64. */
    private record Resampling(GridResampling method, int[] from, int[] to, double[] values, double[] gradient) {

        static List<Resampling> all() {
            return Goldens.rows("grid_resampling.csv").stream()
                    .map(row -> new Resampling(
                            GridResampling.valueOf(row[0]),
                            sizes(row[1]),
                            sizes(row[2]),
                            Goldens.reals(row[3]),
                            Goldens.reals(row[4])))
                    .toList();
        }

        private static int[] sizes(String text) {
            return Arrays.stream(Goldens.reals(text))
                    .mapToInt(size -> (int) size)
                    .toArray();
        }

        static NDArray numbers(NDManager manager, int rows) {
            return manager.create(Goldens.sixtyFourths(2 * rows), new Shape(rows, 2));
        }

        static int cells(int... sizes) {
            return Arrays.stream(sizes).reduce(1, (product, size) -> product * size);
        }

        LearnedPositionalEncodingBlock.Builder builder(int prefixTokens, int... grid) {
            return LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(2)
                    .optGrid(prefixTokens, grid)
                    .optResampling(method);
        }

        PairList<String, Object> params() {
            Shape sizes = new Shape(Arrays.stream(to).asLongStream().toArray());
            return Forward.params(LearnedPositionalEncodingBlock.GRID_SIZES, sizes);
        }
    }

    @EngineTest
    void initialEncodingsOfAnotherGridAreResampledAndThoseOfThePrefixKept(NDManager manager) {
        for (Resampling tested : Resampling.all()) {
            NDArray prefix = manager.create(new double[][] {{7, 8}, {9, 10}});
            NDArray cells = Resampling.numbers(manager, Resampling.cells(tested.from));
            LearnedPositionalEncodingBlock block = tested.builder(2, tested.to)
                    .optInitialEncodings(prefix.concat(cells), tested.from)
                    .build();
            block.initialize(manager, DataType.FLOAT64, new Shape(1, 2 + Resampling.cells(tested.to), 2));
            NDArray table = block.getTable().getArray();
            assertThat(table.get(":2")).isEqualTo(prefix);
            // the bound of ReferenceValuesTest
            requireClose(table.get("2:"), tested.values, 0x1p-41);
        }
    }

    @EngineTest
    void aForwardOfAnotherGridResamplesTheTableWithGradients(NDManager manager) {
        for (Resampling tested : Resampling.all()) {
            for (boolean isPrefixEncoded : new boolean[] {true, false}) {
                NDArray numbers = Resampling.numbers(manager, Resampling.cells(tested.from));
                NDArray prefix = manager.create(new double[][] {{7, 8}});
                LearnedPositionalEncodingBlock block = tested.builder(1, tested.from)
                        .optPrefixEncoded(isPrefixEncoded)
                        .optInitialEncodings(isPrefixEncoded ? prefix.concat(numbers) : numbers)
                        .build();
                int tokens = 1 + Resampling.cells(tested.to);
                block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 2));
                NDArray table = block.getTable().getArray();
                table.setRequiresGradient(true);
                NDArray x = manager.zeros(new Shape(1, tokens, 2), DataType.FLOAT64);
                NDArray weights = prefix.concat(Resampling.numbers(manager, tokens - 1));
                try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                    NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), true, tested.params())
                            .singletonOrThrow();
                    // the bound of ReferenceValuesTest
                    assertThat(y.get("0, :1")).isEqualTo(isPrefixEncoded ? prefix : prefix.zerosLike());
                    requireClose(y.get("0, 1:"), tested.values, 0x1p-41);
                    collector.backward(y.mul(weights).sum());
                }
                NDArray gradient = table.getGradient();
                if (isPrefixEncoded) {
                    assertThat(gradient.get(":1")).isEqualTo(prefix);
                }
                // sums of at most as many terms
                requireClose(isPrefixEncoded ? gradient.get("1:") : gradient, tested.gradient, 0x1p-38);
            }
        }
    }
}
