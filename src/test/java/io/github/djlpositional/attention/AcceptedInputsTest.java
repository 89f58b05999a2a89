package io.github.djlpositional.attention;

import static io.github.djlpositional.Forward.infer;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.translate.Batchifier;
import ai.djl.translate.PaddingStackBatchifier;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Correct programs whose arrays look like mistakes. */
class AcceptedInputsTest {

    private static MultiHeadAttentionBlock attention(NDManager manager, EncodingType type, boolean isCausal) {
        return filled(manager, type.attention(HEADS).optCausal(isCausal).build(), DataType.FLOAT64);
    }

    private static NDArray x(NDManager manager, long batch, long length) {
        return numbers(manager, 1, DataType.FLOAT64, batch, length, SIZE);
    }

    private static PairList<String, Object> with(PairList<String, Object> params, NDArray positions) {
        params.add(PositionalEncodingBlock.POSITIONS, positions);
        return params;
    }

    @EngineTest(Selection.PAIRS)
    void sequencesSortedByLength(NDManager manager, EncodingType type, boolean isCausal) {
        MultiHeadAttentionBlock block = attention(manager, type, isCausal);
        NDArray x = x(manager, 3, 3);
        NDArray mask = manager.create(new int[][] {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}});
        for (NDArray each : List.of(mask, mask.neq(0))) {
            NDArray y = infer(manager, block, x, each);
            for (int row = 0; row < 3; row++) {
                String tokens = row + ":" + (row + 1) + ", :" + (row + 1);
                requireClose(y.get(tokens), doubles(infer(manager, block, x.get(tokens))), 1e-12);
            }
        }
    }

    /** Masks of a row whose tokens are all padding, in every form. */
    private static List<NDArray> padding(NDManager manager, int length) {
        NDArray zeros = manager.zeros(new Shape(1, length));
        NDArray infinite = manager.full(new Shape(1, 1, 1, length), Float.NEGATIVE_INFINITY, DataType.FLOAT64);
        return List.of(
                zeros,
                zeros.neq(0),
                zeros.toType(DataType.INT64, true),
                manager.zeros(new Shape(1, length, length)),
                manager.zeros(new Shape(1, 1, 1, length)).neq(0),
                manager.zeros(new Shape(1, 1, 1, 1)).neq(0),
                infinite,
                infinite.maximum(-Float.MAX_VALUE),
                infinite.get("..., :1"));
    }

    @EngineTest(Selection.PAIRS)
    void aRowOfPadding(NDManager manager, EncodingType type, boolean isCausal, boolean isSelf) {
        MultiHeadAttentionBlock block = attention(manager, type, isCausal);
        double[] bias =
                doubles(block.getResultProjection().getParameters().get("bias").getArray());
        for (int length : new int[] {1, 3}) {
            NDArray x = x(manager, 1, length);
            NDArray queries = isSelf ? x : x.duplicate();
            for (NDArray mask : padding(manager, length)) {
                NDArray y = infer(manager, block, x, queries, x, mask);
                for (int token = 0; token < length; token++) {
                    requireClose(y.get("0, " + token), bias, 0);
                }
                NDArray probabilities =
                        block.probabilities(new ParameterStore(manager, false), new NDList(x, queries, x, mask));
                assertThat(doubles(probabilities)).containsOnly(0);
            }
        }
    }

    @EngineTest(Selection.PAIRS)
    void biasesOfAGraph(NDManager manager, EncodingType type, boolean isCausal) {
        MultiHeadAttentionBlock block = attention(manager, type, isCausal);
        block.freezeParameters(true);
        NDArray x = x(manager, 1, 4);
        double[][] neighbors = {{0, 1, 0, 1}, {1, 0, 1, 0}, {0, 1, 0, 1}, {1, 0, 1, 0}};
        NDArray mask = manager.create(
                Arrays.stream(neighbors).flatMapToDouble(Arrays::stream).toArray(), new Shape(1, 1, 4, 4));
        double[] expected = new NaiveAttention(type, block)
                .with((head, query, key) -> neighbors[query][key])
                .forward(0, x, x, x, (query, key) -> !isCausal || key <= query);
        requireClose(infer(manager, block, x, mask), expected, 1e-12);
    }

    @EngineTest
    void positionsOfZerosAndOnes(NDManager manager) {
        LearnedPositionalEncodingBlock segments = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(4)
                .build();
        segments.initialize(manager, DataType.FLOAT64, new Shape(2, 4, SIZE));
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        NDArray table = segments.getTable().getArray();
        for (int[][] rows : new int[][][] {{{0, 1, 1}, {0, 0, 1}}, {{1, 1, 1}, {1, 1, 0}}}) {
            NDArray positions = manager.create(rows);
            NDArray x = x(manager, 2, 3);
            NDArray flat = positions.reshape(6);
            NDArray expected = table.get(flat).reshape(2, 3, SIZE).add(x);
            requireClose(infer(manager, segments, x, positions), doubles(expected), 1e-15);
            assertThat(infer(manager, sinusoids, x, positions))
                    .isEqualTo(infer(manager, sinusoids, x, positions.toType(DataType.FLOAT32, true)));
            MultiHeadAttentionBlock rotary = attention(manager, EncodingType.ROTARY, false);
            NDArray y = infer(manager, rotary, with(new PairList<>(), positions), x);
            for (int row = 0; row < 2; row++) {
                NDArray one = x.get(row + ":" + (row + 1));
                double[] ofRow = new NaiveAttention(EncodingType.ROTARY, rotary)
                        .at(rows[row])
                        .forward(0, one, one, one, (query, key) -> true);
                requireClose(y.get(row + ":" + (row + 1)), ofRow, 1e-12);
            }
        }
    }

    /** A classifier's own data, in the same list as the library's parameters. */
    @EngineTest
    void forwardParametersOfOthers(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, EncodingType.ROTARY, true);
        NDArray x = x(manager, 2, 3);
        NDArray expected = infer(manager, block, x);
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        for (String name : List.of("mask", "position", "cache", "attention_mask", "start_index", "gridsize", "")) {
            assertThat(infer(manager, block, Forward.params(name, "any"), x)).isEqualTo(expected);
            assertThat(infer(manager, sinusoids, Forward.params(name, 3.5), x)).isEqualTo(infer(manager, sinusoids, x));
        }
    }

    @EngineTest(Selection.PAIRS)
    void numbersThatAreTheSameForAllKeys(NDManager manager, EncodingType type, boolean isCausal, boolean isFused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                type.attention(HEADS)
                        .optCausal(isCausal)
                        .optFusedKernel(isFused)
                        .build(),
                DataType.FLOAT64);
        block.freezeParameters(true);
        // PyTorch's kernel gets hidden keys with 9 to 15 beyond a multiple of 16
        for (int length : new int[] {13, 16, 27}) {
            NDArray x = x(manager, 1, length);
            NDArray expected = infer(manager, block, x);
            NDArray mask = numbers(manager, 9, DataType.FLOAT64, 1, 1, length, 1);
            requireClose(infer(manager, block, x, mask), doubles(expected), 1e-11);
        }
    }

    @EngineTest
    void unixSecondsAsPositions(NDManager manager) {
        // one minute in June 2026; rotary is a function of the distance, exact to 2e9 · 2^-53 radians
        NDArray seconds = manager.create(new double[] {1.78e9, 1.78e9 + 30, 1.78e9 + 60});
        NDArray relative = manager.create(new double[] {0, 30, 60});
        NDArray x = x(manager, 1, 3);
        MultiHeadAttentionBlock rotary = attention(manager, EncodingType.ROTARY, true);
        NDArray expected = infer(manager, rotary, with(new PairList<>(), relative), x);
        requireClose(infer(manager, rotary, with(new PairList<>(), seconds), x), doubles(expected), 2e-6);
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        NDArray any = manager.create(new double[] {2.5, 1.78e9, 4999.5});
        double[] formulas = new double[3 * SIZE];
        double[] positions = any.toDoubleArray();
        Arrays.setAll(formulas, i -> sinusoids.getEncoding().value(positions[i / SIZE], i % SIZE));
        requireClose(sinusoids.encode(any).toType(DataType.FLOAT64, false), formulas, 1e-7);
        requireClose(infer(manager, sinusoids, x.zerosLike(), any), formulas, 1e-12);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, rotary, with(cache.nextStep(), seconds.get(":2")), x.get(":, :2"));
            NDArray last = infer(manager, rotary, with(cache.nextStep(), seconds.get("2:")), x.get(":, 2:"));
            requireClose(last, doubles(expected.get(":, 2:")), 2e-6);
        }
    }

    /** Token ids of any length, and the vectors of their tokens. */
    private static final class Sentences implements Translator<long[], float[][]> {

        @Override
        public NDList processInput(TranslatorContext context, long[] ids) {
            return new NDList(context.getNDManager().create(ids));
        }

        @Override
        public float[][] processOutput(TranslatorContext context, NDList output) {
            NDArray vectors = output.singletonOrThrow();
            return IntStream.range(0, (int) vectors.getShape().get(0))
                    .mapToObj(token -> vectors.get(token).toFloatArray())
                    .toArray(float[][]::new);
        }

        @Override
        public Batchifier getBatchifier() {
            return PaddingStackBatchifier.builder()
                    .optIncludeValidLengths(false)
                    .addPad(0, 0, manager -> manager.create(0L))
                    .build();
        }
    }

    private static TransformerStackBlock stack() {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(10)
                        .setEmbeddingSize(SIZE)
                        .optPaddingIndex(0)
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(EncodingType.NONE.attention(HEADS).build())
                                .setHiddenSize(16))
                .build();
    }

    /** The sentence of a length: no token is padding. */
    private static long[] sentence(int length) {
        return IntStream.range(0, length)
                .mapToLong(i -> 1 + (3L * i + length) % 9)
                .toArray();
    }

    /** All subsets of some lengths, in every order. */
    private static List<List<Integer>> arrangements(List<Integer> lengths) {
        List<List<Integer>> all = new ArrayList<>(List.of(List.of()));
        for (int from = 0; from < all.size(); from++) {
            List<Integer> before = all.get(from);
            for (int length : lengths) {
                if (!before.contains(length)) {
                    List<Integer> longer = new ArrayList<>(before);
                    longer.add(length);
                    all.add(longer);
                }
            }
        }
        return all.subList(1, all.size());
    }

    @EngineTest(onCpu = true)
    void batchesOfSentencesInEveryOrder(Engine engine) throws Exception {
        TransformerStackBlock stack = stack();
        try (Model model = Model.newInstance("stack", Device.cpu(), engine.getEngineName())) {
            stack.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(-1, -1));
            model.setBlock(stack);
            try (Predictor<long[], float[][]> predictor = model.newPredictor(new Sentences())) {
                List<float[][]> alone = new ArrayList<>();
                for (int length = 1; length <= 4; length++) {
                    alone.add(predictor.predict(sentence(length)));
                }
                List<List<Integer>> arrangements = arrangements(List.of(1, 2, 3, 4));
                assertThat(arrangements).hasSize(64).contains(List.of(1, 2, 3));
                for (List<Integer> lengths : arrangements) {
                    List<float[][]> batch = predictor.batchPredict(
                            lengths.stream().map(AcceptedInputsTest::sentence).toList());
                    for (int i = 0; i < lengths.size(); i++) {
                        for (int token = 0; token < lengths.get(i); token++) {
                            assertThat(batch.get(i)[token])
                                    .as("%s, token %d of sentence %d", lengths, token, i)
                                    .usingComparatorWithPrecision(1e-5f)
                                    .containsExactly(alone.get(lengths.get(i) - 1)[token]);
                        }
                    }
                }
            }
        }
    }
}
