package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.transformer.ScaledDotProductAttentionBlock;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.ResidentMemory;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

class MultiHeadAttentionBlockTest {

    private static final int HEADS = 2;
    private static final int SIZE = HEADS * EncodingType.HEAD_SIZE;

    /** Weights that are the same on every engine, and large enough that the attention is far from even. */
    private static <B extends Block> B filled(NDManager manager, B block, DataType type) {
        block.initialize(manager, type, new Shape(-1, -1, SIZE));
        long seed = 1;
        for (Pair<String, Parameter> entry : block.getParameters()) {
            NDArray array = entry.getValue().getArray();
            NDArray values = numbers(manager, seed++, type, array.getShape().getShape());
            values.muli(0.5f).copyTo(array);
        }
        return block;
    }

    private static double[][][] batches(NDArray array) {
        Shape shape = array.getShape();
        double[] flat = array.toDoubleArray();
        double[][][] batches = new double[(int) shape.get(0)][(int) shape.get(1)][(int) shape.get(2)];
        int index = 0;
        for (double[][] rows : batches) {
            for (double[] row : rows) {
                System.arraycopy(flat, index, row, 0, row.length);
                index += row.length;
            }
        }
        return batches;
    }

    private static double[] flat(double[][] rows) {
        return Arrays.stream(rows).flatMapToDouble(Arrays::stream).toArray();
    }

    private static boolean[][] seen(int queries, int keys, boolean causal, double... padding) {
        boolean[][] seen = new boolean[queries][keys];
        for (int i = 0; i < queries; i++) {
            for (int j = 0; j < keys; j++) {
                seen[i][j] = (!causal || j <= i) && (padding.length == 0 || padding[j] == 1);
            }
        }
        return seen;
    }

    @EngineTest
    void everyKindIsItsPapersFormula(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            for (int length : new int[] {1, 2, 3, 9}) {
                for (boolean causal : new boolean[] {false, true}) {
                    MultiHeadAttentionBlock block = filled(
                            manager, kind.attention(HEADS).optCausal(causal).build(), DataType.FLOAT64);
                    NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, length, SIZE);
                    NDArray y = Forward.infer(manager, block, x);
                    assertThat(y.getShape()).isEqualTo(x.getShape());
                    double[][][] given = batches(x);
                    double[][][] actual = batches(y);
                    for (int batch = 0; batch < 2; batch++) {
                        double[][] expected = new NaiveAttention(kind, block)
                                .forward(given[batch], given[batch], given[batch], seen(length, length, causal));
                        assertThat(flat(actual[batch]))
                                .as("%s of %d, causal %s", kind, length, causal)
                                .containsExactly(flat(expected), within(1e-12));
                    }
                }
            }
        }
    }

    @EngineTest
    void everyKindMasksPaddingAndTakesKeysOfAnotherLength(NDManager manager) {
        double[] padding = {1, 0, 1, 1, 0, 1};
        for (EncodingType kind : EncodingType.values()) {
            for (int length : new int[] {1, 4, 8}) {
                MultiHeadAttentionBlock block =
                        filled(manager, kind.attention(HEADS).build(), DataType.FLOAT64);
                NDArray queries = numbers(manager, 1, DataType.FLOAT64, 1, length, SIZE);
                NDArray keys = numbers(manager, 2, DataType.FLOAT64, 1, 6, SIZE);
                NDArray values = numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE);
                NDArray mask = manager.create(padding, new Shape(1, 6)).toType(DataType.INT32, false);
                double[][] expected = new NaiveAttention(kind, block)
                        .forward(
                                batches(queries)[0],
                                batches(keys)[0],
                                batches(values)[0],
                                seen(length, 6, false, padding));
                double[] actual = Forward.infer(manager, block, keys, queries, values, mask)
                        .toDoubleArray();
                assertThat(actual).as("%s of %d", kind, length).containsExactly(flat(expected), within(1e-12));
            }
        }
    }

    @EngineTest
    void queriesMayStandFarBehindTheKeys(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            for (int first : new int[] {1, 5, 60}) {
                MultiHeadAttentionBlock block =
                        filled(manager, kind.attention(HEADS).build(), DataType.FLOAT64);
                NDArray queries = numbers(manager, 1, DataType.FLOAT64, 1, 3, SIZE);
                NDArray keys = numbers(manager, 2, DataType.FLOAT64, 1, 6, SIZE);
                NDArray values = numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE);
                double[][] expected = new NaiveAttention(kind, block)
                        .forward(first, batches(queries)[0], batches(keys)[0], batches(values)[0], seen(3, 6, false));
                PairList<String, Object> params = new PairList<>();
                params.add(PositionalEncodingBlock.START_POSITION, first);
                double[] actual = block.forward(
                                new ParameterStore(manager, false), new NDList(keys, queries, values), false, params)
                        .singletonOrThrow()
                        .toDoubleArray();
                assertThat(actual).as("%s from %d", kind, first).containsExactly(flat(expected), within(1e-12));
            }
        }
    }

    @EngineTest
    void probabilitiesAreThoseThatAForwardMixesTheValuesWith(NDManager manager) {
        double[] padding = {1, 0, 1, 1, 0, 1};
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).build(), DataType.FLOAT64);
            NDArray queries = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
            NDArray keys = numbers(manager, 2, DataType.FLOAT64, 1, 6, SIZE);
            NDArray values = numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE);
            NDArray mask = manager.create(padding, new Shape(1, 6)).toType(DataType.INT32, false);
            NDArray actual =
                    block.probabilities(new ParameterStore(manager, false), new NDList(keys, queries, values, mask));
            assertThat(actual.getShape()).isEqualTo(new Shape(1, HEADS, 4, 6));
            double[][][] expected = new NaiveAttention(kind, block)
                    .probabilities(0, batches(queries)[0], batches(keys)[0], seen(4, 6, false, padding));
            double[] flat = Arrays.stream(expected)
                    .flatMap(Arrays::stream)
                    .flatMapToDouble(Arrays::stream)
                    .toArray();
            assertThat(actual.toDoubleArray()).as("%s", kind).containsExactly(flat, within(1e-12));
        }
    }

    @EngineTest
    void probabilitiesObeyTheMaskAndLeaveNothingBehind(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
            NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, 5, SIZE);
            block.probabilities(new ParameterStore(manager, false), new NDList(x))
                    .close();
            int arraysBefore = manager.getManagedArrays().size();
            NDArray actual = block.probabilities(new ParameterStore(manager, false), new NDList(x));
            assertThat(manager.getManagedArrays()).as("%s", kind).hasSize(arraysBefore + 1);
            double[][][] expected =
                    new NaiveAttention(kind, block).probabilities(0, batches(x)[0], batches(x)[0], seen(5, 5, true));
            double[] flat = Arrays.stream(expected)
                    .flatMap(Arrays::stream)
                    .flatMapToDouble(Arrays::stream)
                    .toArray();
            assertThat(actual.toDoubleArray()).as("%s", kind).containsExactly(flat, within(1e-12));
        }
    }

    @EngineTest
    void isDjlsBlockWithoutARelativeEncoding(NDManager manager) {
        MultiHeadAttentionBlock block =
                filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT32);
        ScaledDotProductAttentionBlock djls = ScaledDotProductAttentionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(HEADS)
                .build();
        djls.initialize(manager, DataType.FLOAT32, new Shape(3, 5, SIZE));
        copyWeights(block.getKeyProjection(), djls.getKeyProjection());
        copyWeights(block.getQueryProjection(), djls.getQueryProjection());
        copyWeights(block.getValueProjection(), djls.getValueProjection());
        copyWeights(block.getResultProjection(), djls.getResultProjection());
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 3, 5, SIZE);
        NDArray keys = numbers(manager, 8, DataType.FLOAT32, 3, 4, SIZE);
        NDArray values = numbers(manager, 9, DataType.FLOAT32, 3, 4, SIZE);
        NDArray seen = numbers(manager, 10, DataType.FLOAT32, 3, 5, 5).gt(-1).toType(DataType.INT32, false);
        NDArray crossSeen =
                numbers(manager, 11, DataType.FLOAT32, 3, 5, 4).gt(-1).toType(DataType.INT32, false);
        NDArray offset = numbers(manager, 12, DataType.FLOAT32, 1, HEADS, 5, 5);
        requireSame(manager, djls, block, x);
        requireSame(manager, djls, block, x, seen);
        requireSame(manager, djls, block, x, offset);
        requireSame(manager, djls, block, keys, x, values);
        requireSame(manager, djls, block, keys, x, values, crossSeen);
    }

    private static void requireSame(NDManager manager, Block expected, Block actual, NDArray... inputs) {
        assertThat(Forward.infer(manager, actual, inputs).toFloatArray())
                .containsExactly(Forward.infer(manager, expected, inputs).toFloatArray(), within(2e-6f));
    }

    @EngineTest
    void stepByStepIsTheWholeAtOnce(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
            NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 9, SIZE);
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                int from = 0;
                for (int count : new int[] {3, 1, 1, 2, 1, 1}) {
                    NDArray step = x.get(":, {}:{}", from, from + count);
                    NDArray y = block.forward(
                                    new ParameterStore(manager, false), new NDList(step), false, cache.nextStep())
                            .singletonOrThrow();
                    from += count;
                    // dynamic scaling turns every key anew for each length: what it gives is that of this length
                    NDArray whole = Forward.infer(manager, block, x.get(":, :{}", from));
                    assertThat(y.toDoubleArray())
                            .as("%s up to %d", kind, from)
                            .containsExactly(whole.get(":, {}:", from - count).toDoubleArray(), within(1e-13));
                    assertThat(cache.getLength()).isEqualTo(from);
                }
            }
        }
    }

    @EngineTest
    void absoluteEncodingsToo(NDManager manager) {
        Block[] absolute = {
            PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build(),
            LearnedPositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build()
        };
        for (Block positions : absolute) {
            filled(manager, positions, DataType.FLOAT64);
            MultiHeadAttentionBlock first = filled(
                    manager, EncodingType.NONE.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
            MultiHeadAttentionBlock second = filled(
                    manager,
                    EncodingType.ROTARY.attention(HEADS).optCausal(true).build(),
                    DataType.FLOAT64);
            NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 100, SIZE);
            ParameterStore store = new ParameterStore(manager, false);
            NDList whole = new NDList(x);
            for (Block block : new Block[] {positions, first, second}) {
                whole = block.forward(store, whole, false);
            }
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                for (int step = 0; step < 100; step++) {
                    var params = cache.nextStep();
                    NDList y = new NDList(x.get(":, {}:{}", step, step + 1));
                    for (Block block : new Block[] {positions, first, second}) {
                        y = block.forward(store, y, false, params);
                    }
                    assertThat(y.singletonOrThrow().toDoubleArray())
                            .containsExactly(
                                    whole.singletonOrThrow()
                                            .get(":, {}:{}", step, step + 1)
                                            .toDoubleArray(),
                                    within(1e-12));
                }
            }
        }
    }

    @EngineTest
    void cacheKeepsWhatAnEncoderGave(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).build(), DataType.FLOAT64);
            NDArray memory = numbers(manager, 7, DataType.FLOAT64, 2, 3, SIZE);
            NDArray other = numbers(manager, 8, DataType.FLOAT64, 2, 6, SIZE);
            NDArray query = numbers(manager, 9, DataType.FLOAT64, 2, 1, SIZE);
            ParameterStore store = new ParameterStore(manager, false);
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                int position = 0;
                for (NDArray keys : new NDArray[] {memory, memory, other, memory, memory, memory, memory}) {
                    PairList<String, Object> params = cache.nextStep();
                    // as a self-attention beside it would count
                    params.remove("startPosition");
                    params.add("startPosition", position);
                    NDArray y = block.forward(store, new NDList(keys, query, keys), false, params)
                            .singletonOrThrow();
                    assertThat(y.toDoubleArray())
                            .as("%s at %d", kind, position)
                            .containsExactly(
                                    Forward.inferFrom(manager, position, block, keys, query, keys)
                                            .toDoubleArray(),
                                    within(1e-14));
                    position++;
                }
            }
        }
    }

    @EngineTest
    void cacheTakesAMaskOverAllSteps(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
            NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 70, SIZE);
            NDArray mask = numbers(manager, 8, DataType.FLOAT64, 2, 70).gt(-1);
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                for (int step = 0; step < 70; step += 10) {
                    NDArray y = block.forward(
                                    new ParameterStore(manager, false),
                                    new NDList(x.get(":, {}:{}", step, step + 10), mask.get(":, :{}", step + 10)),
                                    false,
                                    cache.nextStep())
                            .singletonOrThrow();
                    NDArray whole =
                            Forward.infer(manager, block, x.get(":, :{}", step + 10), mask.get(":, :{}", step + 10));
                    assertThat(y.toDoubleArray())
                            .as("%s at %d", kind, step)
                            .containsExactly(whole.get(":, {}:", step).toDoubleArray(), within(1e-13));
                }
                cache.clear();
                assertThat(cache.getLength()).isZero();
                NDArray again = block.forward(
                                new ParameterStore(manager, false), new NDList(x.get(":, :4")), false, cache.nextStep())
                        .singletonOrThrow();
                assertThat(again.toDoubleArray())
                        .containsExactly(
                                Forward.infer(manager, block, x.get(":, :4")).toDoubleArray(), within(1e-13));
            }
        }
    }

    @EngineTest
    void aScopeOfTheUsersClosesNothingThatIsKept(NDManager manager) throws Exception {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    kind.attention(HEADS).optCausal(true).build();
            NDArray x = numbers(manager, 7, DataType.FLOAT32, 1, 3, SIZE);
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                for (int step = 0; step < 3; step++) {
                    try (NDScope scope = new NDScope()) {
                        scope.suppressNotUsedWarning();
                        if (step == 0) {
                            block.initialize(manager, DataType.FLOAT32, x.getShape());
                        }
                        block.forward(new ParameterStore(manager, false), new NDList(x), false, cache.nextStep());
                    }
                }
                assertThat(cache.getLength()).isEqualTo(9);
            }
            byte[] file = BlockBytes.saved(block);
            MultiHeadAttentionBlock loaded =
                    kind.attention(HEADS).optCausal(true).build();
            try (NDScope scope = new NDScope()) {
                scope.suppressNotUsedWarning();
                BlockBytes.load(manager, loaded, file);
            }
            assertThat(Forward.infer(manager, loaded, x).toFloatArray())
                    .isEqualTo(Forward.infer(manager, block, x).toFloatArray());
        }
    }

    @EngineTest
    void dropsOutInTrainingAlone(NDManager manager) {
        MultiHeadAttentionBlock block = filled(
                manager, EncodingType.SHAW.attention(HEADS).optDropoutRate(0.5f).build(), DataType.FLOAT32);
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 2, 6, SIZE);
        float[] inferred = Forward.infer(manager, block, x).toFloatArray();
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(inferred);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), true)
                    .singletonOrThrow();
            assertThat(y.toFloatArray()).isNotEqualTo(inferred);
            collector.backward(y.sum());
        }
    }

    @EngineTest
    void withoutBiasAndWithAnotherScale(NDManager manager) {
        MultiHeadAttentionBlock scaled = filled(
                manager,
                EncodingType.SHAW.attention(HEADS).optScale(1).optBias(false).build(),
                DataType.FLOAT64);
        assertThat(scaled.getQueryProjection().getParameters()).hasSize(1);
        // queries of half the size, scaled by one, are queries scaled by 1 / √4
        MultiHeadAttentionBlock usual = filled(
                manager, EncodingType.SHAW.attention(HEADS).optBias(false).build(), DataType.FLOAT64);
        usual.getQueryProjection().getParameters().get("weight").getArray().muli(2);
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 6, SIZE);
        assertThat(Forward.infer(manager, scaled, x).toDoubleArray())
                .containsExactly(Forward.infer(manager, usual, x).toDoubleArray(), within(1e-12));
    }

    @EngineTest
    void longSequencesAreDoneInParts(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            // 4 · 2 · 1200 · 1200 scores are more than are done at once
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).optCausal(true).build(), DataType.FLOAT32);
            NDArray x = numbers(manager, 7, DataType.FLOAT32, 4, 1200, SIZE);
            NDArray mask = numbers(manager, 8, DataType.FLOAT32, 4, 1200, 1200).gt(0);
            mask = mask.toType(DataType.FLOAT32, false)
                    .maximum(manager.eye(1200).expandDims(0));
            NDArray whole = Forward.infer(manager, block, x, mask);
            NDArray one = Forward.infer(manager, block, x.get("2:3"), mask.get("2:3"));
            assertThat(whole.get("2:3").toFloatArray())
                    .as("%s", kind)
                    .containsExactly(one.toFloatArray(), within(2e-5f));
        }
    }

    @EngineTest
    void gradientsAreThoseOfFiniteDifferences(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            for (int length : new int[] {1, 5}) {
                boolean causal = length == 5;
                MultiHeadAttentionBlock block =
                        filled(manager, kind.attention(HEADS).optCausal(causal).build(), DataType.FLOAT64);
                NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, length, SIZE);
                NDArray weights = numbers(manager, 8, DataType.FLOAT64, 1, length, SIZE);
                Map<String, NDArray> learned = new LinkedHashMap<>();
                learned.put("input", x);
                for (Pair<String, Parameter> entry : block.getParameters()) {
                    learned.put(entry.getKey(), entry.getValue().getArray());
                }
                Map<String, double[]> gradients = gradients(manager, block, learned, weights);
                learned.forEach((name, array) -> requireDifferences(
                        manager, block, array, x, weights, gradients.get(name), kind + " " + name + " of " + length));
            }
        }
    }

    private static Map<String, double[]> gradients(
            NDManager manager, Block block, Map<String, NDArray> learned, NDArray weights) {
        learned.values().forEach(array -> array.setRequiresGradient(true));
        Map<String, double[]> gradients = new HashMap<>();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(new ParameterStore(manager, false), new NDList(learned.get("input")), true)
                    .singletonOrThrow();
            collector.backward(y.mul(weights).sum());
            learned.forEach(
                    (name, array) -> gradients.put(name, array.getGradient().toDoubleArray()));
        }
        learned.values().forEach(array -> array.setRequiresGradient(false));
        return gradients;
    }

    /** Compares a dozen of the numbers of a gradient, all of a small one. */
    private static void requireDifferences(
            NDManager manager, Block block, NDArray of, NDArray x, NDArray weights, double[] gradient, String what) {
        double[] values = of.toDoubleArray();
        double step = 1e-5;
        for (int i = 0; i < values.length; i += 1 + values.length / 13) {
            double[] moved = values.clone();
            double[] sums = new double[2];
            for (int side = 0; side < 2; side++) {
                moved[i] = values[i] + (side == 0 ? step : -step);
                manager.create(moved, of.getShape()).copyTo(of);
                sums[side] = Forward.infer(manager, block, x).mul(weights).sum().getDouble();
            }
            assertThat(gradient[i]).as("%s [%d]", what, i).isCloseTo((sums[0] - sums[1]) / (2 * step), within(1e-7));
        }
        manager.create(values, of.getShape()).copyTo(of);
    }

    @EngineTest
    void savedAndLoadedIsTheSame(NDManager manager) throws Exception {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).build(), DataType.FLOAT32);
            NDArray x = numbers(manager, 7, DataType.FLOAT32, 2, 6, SIZE);
            byte[] file = BlockBytes.saved(block);
            MultiHeadAttentionBlock loaded = kind.attention(HEADS).build();
            BlockBytes.load(manager, loaded, file);
            assertThat(Forward.infer(manager, loaded, x).toFloatArray())
                    .as("%s", kind)
                    .isEqualTo(Forward.infer(manager, block, x).toFloatArray());
        }
    }

    @EngineTest
    void float16IsFloat32RoundedOrAClearRefusal(Engine engine, NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    kind.attention(HEADS).optCausal(true).build();
            if (engine.getEngineName().equals("MXNet")) {
                assertThatExceptionOfType(UnsupportedOperationException.class)
                        .isThrownBy(() -> block.initialize(manager, DataType.FLOAT16, new Shape(1, 4, SIZE)))
                        .withMessageContaining("MXNet cannot make the")
                        .withMessageContaining("use float32 or float64");
                assertThat(block.isInitialized()).isFalse();
                continue;
            }
            filled(manager, block, DataType.FLOAT16);
            MultiHeadAttentionBlock floats =
                    kind.attention(HEADS).optCausal(true).build();
            floats.initialize(manager, DataType.FLOAT32, new Shape(1, 4, SIZE));
            for (Pair<String, Parameter> entry : block.getParameters()) {
                entry.getValue()
                        .getArray()
                        .toType(DataType.FLOAT32, true)
                        .copyTo(floats.getParameters().get(entry.getKey()).getArray());
            }
            NDArray x = numbers(manager, 7, DataType.FLOAT16, 2, 6, SIZE);
            NDArray y = Forward.infer(manager, block, x);
            assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
            float[] expected = Forward.infer(manager, floats, x.toType(DataType.FLOAT32, true))
                    .toFloatArray();
            // values of up to about 8 with 11 bits, and a handful of roundings on the way
            assertThat(y.toType(DataType.FLOAT32, false).toFloatArray())
                    .as("%s", kind)
                    .containsExactly(expected, within(0.03f));
        }
    }

    @EngineTest
    void leavesNothingBehindButItsAnswer(NDManager manager) {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).optCausal(true).build(), DataType.FLOAT32);
            NDArray seed = numbers(manager, 7, DataType.FLOAT32, 2, 6, SIZE);
            for (int round = 0; round < 2; round++) {
                try (NDManager own = manager.newSubManager();
                        KeyValueCache cache = new KeyValueCache(manager)) {
                    NDArray x = seed.duplicate();
                    x.attach(own);
                    NDArray mask = own.ones(new Shape(2, 6));
                    int before = own.getManagedArrays().size();
                    NDArray y = Forward.infer(own, block, x, mask);
                    assertThat(y.getManager()).isSameAs(own);
                    assertThat(own.getManagedArrays()).as("%s", kind).hasSize(before + 1);
                    block.forward(new ParameterStore(own, false), new NDList(x), false, cache.nextStep());
                    assertThat(own.getManagedArrays()).as("%s", kind).hasSize(before + 2);
                }
            }
        }
    }

    @EngineTest
    void fourThousandStepsNeedLessMemoryThanTheirScores(NDManager manager) throws Exception {
        if (ResidentMemory.bytes() == 0) {
            return;
        }
        int length = 4096;
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block =
                    filled(manager, kind.attention(HEADS).build(), DataType.FLOAT32);
            // as of a loaded model: parameters that ask for gradients keep the softmax of every part
            block.freezeParameters(true);
            try (NDManager own = manager.newSubManager()) {
                NDArray x = numbers(own, 7, DataType.FLOAT32, 2, length, SIZE);
                // parts of 16 MB, a handful at a time (107 MB at most were measured); all scores at once, their sum
                // with a term, and their softmax would be three times as many
                long before = ResidentMemory.resetPeak();
                Forward.infer(own, block, x).close();
                long scores = 2 * 4L * HEADS * length * length;
                assertThat(ResidentMemory.peak() - before)
                        .as("%s: peak beside %d bytes of scores", kind, scores)
                        .isLessThan(scores);
            }
        }
    }
}
