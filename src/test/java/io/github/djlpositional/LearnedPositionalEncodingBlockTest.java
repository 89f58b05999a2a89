package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.refused;
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
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.List;

class LearnedPositionalEncodingBlockTest {

    private static final Shape X = new Shape(2, 3, 4);

    private static float[] table(LearnedPositionalEncodingBlock block) {
        return block.getTable().getArray().toFloatArray();
    }

    /** Expects the rows of three positions, from a first one on. */
    private static void assertRows(NDArray rows, LearnedPositionalEncodingBlock block, int first) {
        assertThat(rows.toFloatArray()).isEqualTo(Arrays.copyOfRange(table(block), first * 4, (first + 3) * 4));
    }

    @EngineTest
    void returnsACopyOfTheEncodings(NDManager manager) {
        LearnedPositionalEncodingBlock block =
                initialized(manager, learned().optAddToInput(false).build(), 2, 3, 4);
        NDArray y = Forward.infer(manager, block, manager.ones(X));
        assertThat(y.getShape()).isEqualTo(new Shape(1, 3, 4));
        assertRows(y, block, 0);
        y.addi(1).close();
        assertRows(Forward.infer(manager, block, manager.ones(X)), block, 0);
        assertThat(block.getOutputShapes(new Shape[] {X})).containsExactly(new Shape(1, 3, 4));
    }

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
    void isInitializedFromASinusoidalTable(NDManager manager) {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        LearnedPositionalEncodingBlock block =
                initialized(manager, learned().optEncoding(encoding).build(), 2, 3, 4);
        assertThat(table(block)).isEqualTo(encoding.table(0, 10));
        assertThat(block.getTable().requiresGradient()).isTrue();
    }

    @EngineTest
    void isInitializedFromAnArrayThatIsResampledLinearly(NDManager manager) {
        // numpy.interp(numpy.linspace(0, 2, n), [0, 1, 2], column); n = 1 keeps the first
        float[][] expected = {
            {0, 10}, {0, 10, 4, 20}, {0, 10, 1, 30, 4, 20}, null, {0, 10, .5f, 20, 1, 30, 2.5f, 25, 4, 20}
        };
        NDArray three = manager.create(expected[2], new Shape(3, 2));
        for (int length : new int[] {1, 2, 3, 5}) {
            LearnedPositionalEncodingBlock block = learned()
                    .setEmbeddingSize(2)
                    .optInitialEncodings(three)
                    .optMaxSequenceLength(length)
                    .optResampling(GridResampling.BILINEAR_ALIGNED)
                    .build();
            assertThat(table(initialized(manager, block, 1, 1, 2))).isEqualTo(expected[length - 1]);
        }
        LearnedPositionalEncodingBlock fromOne = learned()
                .setEmbeddingSize(2)
                .optMaxSequenceLength(2)
                .optInitialEncodings(manager.create(new double[] {0.1, 4}, new Shape(1, 1, 2)))
                .optResampling(GridResampling.BILINEAR_ALIGNED)
                .build();
        fromOne.initialize(manager, DataType.FLOAT64, new Shape(1, 1, 2));
        assertThat(fromOne.getTable().getArray().toDoubleArray()).containsExactly(0.1, 4, 0.1, 4);
    }

    @EngineTest
    void resamplesTheInitialEncodingsOfASequenceOnlyIfAsked(NDManager manager) {
        NDArray three = manager.create(new float[] {0, 10, 1, 30, 4, 20}, new Shape(3, 2));
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(2).optInitialEncodings(three);
        LearnedPositionalEncodingBlock same = builder.optMaxSequenceLength(3).build();
        assertThat(table(initialized(manager, same, 1, 1, 2))).isEqualTo(three.toFloatArray());
        refused(builder.optMaxSequenceLength(5)::build, "3 initial encodings", "maxSequenceLength 5", "optResampling");
        // the method is no setting of the block, whose model file does not change
        for (GridResampling method : GridResampling.values()) {
            LearnedPositionalEncodingBlock resampled =
                    builder.optMaxSequenceLength(3).optResampling(method).build();
            assertThat(resampled.getArguments()).isEqualTo(same.getArguments()).doesNotContainKey("resampling");
        }
    }

    @EngineTest
    void hasAsManyPositionsAsTheLastInitialEncodings(NDManager manager) {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(2);
        for (int length : new int[] {3, 5}) {
            builder.optInitialEncodings(manager.ones(new Shape(length, 2)));
            assertThat(builder.build().getMaxSequenceLength()).isEqualTo(length);
        }
    }

    @EngineTest
    void closesWhatItReadsAViewOfInitialEncodingsWith(NDManager manager) {
        NDArray wide = manager.arange(24f).reshape(6, 4).toType(DataType.FLOAT64, true);
        NDArray columns = wide.get(":, 1:3");
        int before = manager.getManagedArrays().size();
        learned()
                .setEmbeddingSize(2)
                .optMaxSequenceLength(6)
                .optInitialEncodings(columns)
                .build();
        assertThat(manager.getManagedArrays()).hasSize(before);
    }

    /** A case of grid_resampling.csv, whose table and weights are numbers i · 37 mod 101 - 50 in units of 1/64. */
    private static final class Resampling {
        private final GridResampling method;
        private final int[] from;
        private final int[] to;
        private final double[] values;
        private final double[] gradient;

        Resampling(String... row) {
            method = GridResampling.valueOf(row[0]);
            from = sizes(row[1]);
            to = sizes(row[2]);
            values = reals(row[3]);
            gradient = reals(row[4]);
        }

        static List<Resampling> all() {
            return Goldens.rows("grid_resampling.csv").stream()
                    .map(Resampling::new)
                    .toList();
        }

        private static int[] sizes(String text) {
            return Arrays.stream(reals(text)).mapToInt(size -> (int) size).toArray();
        }

        private static double[] reals(String text) {
            return Arrays.stream(text.split(" ", -1))
                    .mapToDouble(Double::parseDouble)
                    .toArray();
        }

        static NDArray numbers(NDManager manager, int rows) {
            double[] numbers = new double[2 * rows];
            Arrays.setAll(numbers, i -> (i * 37 % 101 - 50) / 64.0);
            return manager.create(numbers, new Shape(rows, 2));
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
            NDArray prefix = manager.create(new double[] {7, 8, 9, 10}, new Shape(1, 2, 2));
            NDArray cells =
                    Resampling.numbers(manager, Resampling.cells(tested.from)).expandDims(0);
            LearnedPositionalEncodingBlock block = tested.builder(2, tested.to)
                    .optInitialEncodings(prefix.concat(cells, 1), tested.from)
                    .build();
            block.initialize(manager, DataType.FLOAT64, new Shape(1, 2 + Resampling.cells(tested.to), 2));
            double[] table = block.getTable().getArray().toDoubleArray();
            assertThat(Arrays.copyOf(table, 4)).containsExactly(7, 8, 9, 10);
            // the bound of ReferenceValuesTest
            assertThat(Arrays.copyOfRange(table, 4, table.length)).containsExactly(tested.values, within(0x1p-41));
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
                double[] y;
                try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                    NDArray output = block.forward(
                                    new ParameterStore(manager, false), new NDList(x), true, tested.params())
                            .singletonOrThrow();
                    y = output.toDoubleArray();
                    collector.backward(output.mul(weights).sum());
                }
                double[] gradient = table.getGradient().toDoubleArray();
                // the bound of ReferenceValuesTest; the sums of a gradient have at most as many terms
                assertThat(Arrays.copyOf(y, 2)).containsExactly(isPrefixEncoded ? 7 : 0, isPrefixEncoded ? 8 : 0);
                assertThat(Arrays.copyOfRange(y, 2, y.length)).containsExactly(tested.values, within(0x1p-41));
                int first = isPrefixEncoded ? 2 : 0;
                assertThat(Arrays.copyOf(gradient, first))
                        .containsExactly(isPrefixEncoded ? new double[] {7, 8} : new double[0]);
                assertThat(Arrays.copyOfRange(gradient, first, gradient.length))
                        .containsExactly(tested.gradient, within(0x1p-38));
            }
        }
    }

    /** MXNet has no parameters in FLOAT16. */
    @EngineTest(engine = "PyTorch")
    void float16IsResampledInFloat32(NDManager manager) {
        for (Resampling tested : Resampling.all()) {
            LearnedPositionalEncodingBlock block = tested.builder(0, tested.from)
                    .optInitialEncodings(Resampling.numbers(manager, Resampling.cells(tested.from)))
                    .build();
            block.initialize(manager, DataType.FLOAT16, new Shape(1, -1, 2));
            NDArray x = SmallBlocks.zeros(manager, DataType.FLOAT16, 1, Resampling.cells(tested.to), 2);
            float[] y = Forward.infer(manager, block, tested.params(), x)
                    .toType(DataType.FLOAT32, false)
                    .toFloatArray();
            for (int i = 0; i < y.length; i++) {
                // values below 2: half an ulp is at most 2^-11, and FLOAT32 is wrong by less than 2^-17
                assertThat((double) y[i]).isCloseTo(tested.values[i], within(0x1p-11 + 0x1p-17));
            }
        }
    }

    @EngineTest
    void tokensOfAGridMayBeAddressedByPosition(NDManager manager) {
        LearnedPositionalEncodingBlock block =
                initialized(manager, sequence().optGrid(1, 2, 3).build(), 1, 7, 4);
        assertThat(block.getMaxSequenceLength()).isEqualTo(7);
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        assertRows(Forward.infer(manager, block, x, manager.create(new long[] {4, 5, 6})), block, 4);
        assertThat(Forward.infer(manager, block, manager.zeros(new Shape(1, 7, 4)))
                        .toFloatArray())
                .isEqualTo(table(block));
    }

    private static LearnedPositionalEncodingBlock.Builder sequence() {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4);
    }
}
