package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.TestEngine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** An attention of packed documents is that of each document alone. */
@Sampled(oneIn = 2)
class PackedDocumentsTest extends OnEachEngine {

    /** FLOAT64; documents of one length are computed together, whose sums may be rounded in another order. */
    private static final double TOLERANCE = 1e-12;

    /** Two rows of six tokens: documents of one length in one row and in both, and of one token. */
    private static final Documents DOCUMENTS =
            Documents.ofRows(Documents.ofLengths(2, 1, 3), Documents.ofLengths(4, 2));

    /** Row, first token and end of each document. */
    private static final int[][] SPANS = {{0, 0, 2}, {0, 2, 3}, {0, 3, 6}, {1, 0, 4}, {1, 4, 6}};

    private MultiHeadAttentionBlock attention(EncodingType type, boolean causal) {
        return filled(manager, type.attention(HEADS).optCausal(causal).build(), DataType.FLOAT64);
    }

    private NDArray x() {
        return numbers(manager, 7, DataType.FLOAT64, 2, 6, SIZE);
    }

    /** Some of the tokens of an array (B, T, …), with one row. */
    private static NDArray document(NDArray array, int... span) {
        return array.get("{}:{}, {}:{}", span[0], span[0] + 1, span[1], span[2]);
    }

    private static PairList<String, Object> packed(Documents documents) {
        return params(PositionalEncodingBlock.DOCUMENTS, documents);
    }

    private static PairList<String, Object> packed(Object positions) {
        PairList<String, Object> params = packed(DOCUMENTS);
        params.add(PositionalEncodingBlock.POSITIONS, positions);
        return params;
    }

    @CartesianTest
    void isThatOfEachDocumentAlone(
            @CartesianTest.Enum EncodingType type,
            @Values(booleans = {true, false}) boolean causal,
            @Values(booleans = {true, false}) boolean isFused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                type.attention(HEADS).optCausal(causal).optFusedKernel(isFused).build(),
                DataType.FLOAT64);
        NDManager own = manager.newSubManager();
        NDArray x = numbers(own, 7, DataType.FLOAT64, 2, 6, SIZE);
        int before = own.getManagedArrays().size();
        NDArray y = infer(own, block, packed(DOCUMENTS), x);
        assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
        assertThat(y.getShape()).isEqualTo(x.getShape());
        for (int[] span : SPANS) {
            double[] expected =
                    new NaiveAttention(type, block).forward(0, document(x, span), document(x, span), document(x, span));
            requireClose(document(y, span), expected, TOLERANCE);
        }
    }

    static Stream<Consumer<MultiHeadAttentionBlock.Builder>> options() {
        return Stream.of(
                builder -> builder.optCausal(true).optWindow(2),
                builder -> builder.optWindow(2),
                builder -> builder.optCausal(true).optWindow(2).optWindowByPosition(true),
                builder -> builder.optCausal(true).optChunkSize(2),
                builder -> builder.optKeyValueHeadCount(1),
                builder -> builder.optSinks(true).optScoreCap(5),
                builder -> builder.optCosine(true),
                builder -> builder.optQueryScale(new QueryScale.LogN(2)));
    }

    @ParameterizedTest
    @MethodSource("options")
    void optionsCountTokensAndPositionsOfADocument(Consumer<MultiHeadAttentionBlock.Builder> options) {
        MultiHeadAttentionBlock.Builder builder = EncodingType.ROTARY.attention(HEADS);
        options.accept(builder);
        MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64);
        NDArray x = x();
        NDArray y = infer(manager, block, packed(DOCUMENTS), x);
        for (int[] span : SPANS) {
            requireClose(document(y, span), doubles(infer(manager, block, document(x, span))), TOLERANCE);
        }
    }

    @Test
    void oneRowOfDocumentsStandsForAllRows() {
        MultiHeadAttentionBlock block = attention(EncodingType.T5, true);
        NDArray x = x();
        for (Documents documents : List.of(Documents.ofLengths(3, 3), Documents.ofLengths(3, 2, 1))) {
            NDArray y = infer(manager, block, packed(documents), x);
            for (int row = 0; row < 2; row++) {
                NDArray alone = infer(manager, block, document(x, row, 0, 3));
                requireClose(document(y, row, 0, 3), doubles(alone), TOLERANCE);
            }
        }
        NDArray whole = infer(manager, block, packed(Documents.ofLengths(6)), x);
        requireClose(whole, doubles(infer(manager, block, x)), TOLERANCE);
    }

    /** The mask is the form of before. */
    @CartesianTest
    void isThatOfAMaskOfAllPairs(
            @CartesianTest.Enum(names = {"ROTARY", "ALIBI", "T5", "SHAW"}) EncodingType type,
            @Values(booleans = {true, false}) boolean causal) {
        MultiHeadAttentionBlock block = attention(type, causal);
        NDArray positions = manager.create(new int[][] {{0, 1, 0, 0, 1, 2}, {0, 1, 2, 3, 0, 1}});
        NDArray mask = MultiHeadAttentionBlock.packedMask(positions);
        NDArray expected = inferAt(manager, positions, block, x(), mask);
        requireClose(infer(manager, block, packed(DOCUMENTS), x()), doubles(expected), TOLERANCE);
        Documents read = Documents.ofPositions(positions);
        requireClose(infer(manager, block, packed(read), x()), doubles(expected), TOLERANCE);
    }

    @CartesianTest
    void masksOfKeysHidePadding(
            @Values(booleans = {true, false}) boolean causal,
            @CartesianTest.Enum(names = {"BOOLEAN", "INT32", "FLOAT32"}) DataType type) {
        // of all tokens of the last document, and of one of others
        NDArray mask = manager.create(new int[][] {{1, 0, 1, 1, 1, 0}, {0, 1, 1, 1, 0, 0}})
                .toType(type, false);
        MultiHeadAttentionBlock block = attention(EncodingType.FORGETTING, causal);
        NDArray x = x();
        NDArray y = infer(manager, block, packed(DOCUMENTS), x, mask);
        for (int[] span : SPANS) {
            NDArray alone = infer(manager, block, document(x, span), document(mask, span));
            requireClose(document(y, span), doubles(alone), TOLERANCE);
        }
    }

    @Test
    void masksOfPairsAreThoseOfEachDocument() {
        MultiHeadAttentionBlock block = attention(EncodingType.ROTARY, true);
        NDArray x = x();
        NDArray scores = numbers(manager, 3, DataType.FLOAT64, 2, HEADS, 6, 6);
        NDArray pairs = numbers(manager, 4, DataType.FLOAT64, 2, 6, 6).gt(-1);
        for (NDArray mask : List.of(scores, scores.get(":1"), scores.get(":, :, :1"), scores.get(":, :1, :, :1"))) {
            NDArray whole = mask.broadcast(scores.getShape());
            NDArray y = infer(manager, block, packed(DOCUMENTS), x, mask);
            for (int[] span : SPANS) {
                NDArray own =
                        whole.get("{}:{}, :, {}:{}, {}:{}", span[0], span[0] + 1, span[1], span[2], span[1], span[2]);
                requireClose(document(y, span), doubles(infer(manager, block, document(x, span), own)), TOLERANCE);
            }
        }
        NDArray y = infer(manager, block, packed(DOCUMENTS), x, pairs);
        for (int[] span : SPANS) {
            NDArray own = pairs.get("{}:{}, {}:{}, {}:{}", span[0], span[0] + 1, span[1], span[2], span[1], span[2]);
            requireClose(document(y, span), doubles(infer(manager, block, document(x, span), own)), TOLERANCE);
        }
    }

    @Test
    void positionsThatAreGivenAreUsed() {
        MultiHeadAttentionBlock block = attention(EncodingType.ROTARY, true);
        NDArray x = x();
        NDArray ofRows = manager.create(new long[][] {{3, 1, 4, 1, 5, 9}, {2, 6, 5, 3, 5, 8}});
        NDArray real = ofRows.toType(DataType.FLOAT32, false);
        NDArray shared = ofRows.get(":1").broadcast(new Shape(2, 6));
        Map<Object, NDArray> cases = new LinkedHashMap<>();
        cases.put(ofRows, ofRows);
        cases.put(Positions.of(ofRows), ofRows);
        cases.put(real, real);
        cases.put(ofRows.get("0"), shared);
        cases.put(ofRows.get(":1"), shared);
        cases.forEach((positions, each) -> {
            NDArray y = infer(manager, block, packed(positions), x);
            for (int[] span : SPANS) {
                NDArray alone = inferAt(manager, document(each, span), block, document(x, span));
                requireClose(document(y, span), doubles(alone), TOLERANCE);
            }
        });
    }

    /** Positions of M-RoPE, whose tokens of a picture share a time, begin again in each document. */
    @Test
    void positionsMayBeOnSeveralAxes() {
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optAxes(RotaryAxes.sections(1, 1))
                .build();
        MultiHeadAttentionBlock block = filled(
                manager,
                MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(SIZE)
                        .setHeadCount(HEADS)
                        .optCausal(true)
                        .optRelativeEncoding(rotary)
                        .build(),
                DataType.FLOAT64);
        NDArray x = x();
        NDArray time = manager.create(new int[][] {{0, 1, 0, 0, 0, 1}, {0, 0, 0, 2, 0, 1}});
        NDArray height = manager.create(new int[][] {{0, 1, 0, 0, 1, 1}, {0, 1, 0, 2, 0, 1}});
        NDArray positions = time.stack(height); // (axes, B, T)
        NDArray y = infer(manager, block, packed(positions), x);
        for (int[] span : SPANS) {
            NDArray own = positions.get(":, {}:{}, {}:{}", span[0], span[0] + 1, span[1], span[2]);
            NDArray alone = inferAt(manager, own, block, document(x, span));
            requireClose(document(y, span), doubles(alone), TOLERANCE);
        }
        // positions and causal order alone would not separate them
        assertThat(doubles(inferAt(manager, positions, block, x))).isNotEqualTo(doubles(y));
    }

    @CartesianTest
    void gradientsAreTheSumsOfThoseOfTheDocuments(
            @CartesianTest.Enum EncodingType type, @Values(booleans = {true, false}) boolean causal) {
        MultiHeadAttentionBlock block = attention(type, causal);
        NDArray x = x();
        NDArray weights = numbers(manager, 9, DataType.FLOAT64, 2, 6, SIZE);
        List<double[]> together = gradients(
                block, x, () -> train(block, packed(DOCUMENTS), x).mul(weights).sum());
        List<double[]> alone = gradients(block, x, () -> {
            NDArray sum = null;
            for (int[] span : SPANS) {
                NDArray loss = train(block, null, document(x, span))
                        .mul(document(weights, span))
                        .sum();
                sum = sum == null ? loss : sum.add(loss);
            }
            return sum;
        });
        for (int i = 0; i < together.size(); i++) {
            requireClose(manager.create(together.get(i)), alone.get(i), 1e-11);
        }
    }

    private NDArray train(MultiHeadAttentionBlock block, PairList<String, Object> params, NDArray x) {
        return block.forward(new ParameterStore(manager, false), new NDList(x), true, params)
                .singletonOrThrow();
    }

    /** The gradients of the input and of all parameters. */
    private List<double[]> gradients(MultiHeadAttentionBlock block, NDArray x, Supplier<NDArray> loss) {
        List<NDArray> learned = new ArrayList<>();
        learned.add(x);
        for (Pair<String, Parameter> entry : block.getParameters()) {
            learned.add(entry.getValue().getArray());
        }
        learned.forEach(array -> array.setRequiresGradient(true));
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.zeroGradients();
            collector.backward(loss.get());
        }
        return learned.stream().map(array -> doubles(array.getGradient())).toList();
    }

    /** Three rows of 24 tokens, of one to twenty documents each, and padding. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void isThatOfRandomDocumentsAlone(long seed) {
        Random random = new Random(seed);
        EncodingType type = List.of(EncodingType.values()).get(random.nextInt(EncodingType.values().length));
        MultiHeadAttentionBlock block = attention(type, random.nextBoolean());
        NDArray numbers =
                manager.create(random.ints(3 * 24, 0, 2 + random.nextInt(5)).toArray(), new Shape(3, 24));
        Documents documents = Documents.ofNumbers(numbers);
        NDArray mask = manager.create(random.ints(3 * 24, 0, 5).toArray(), new Shape(3, 24));
        NDArray x = numbers(manager, seed, DataType.FLOAT64, 3, 24, SIZE);
        NDArray y = infer(manager, block, packed(documents), x, mask);
        for (int row = 0; row < 3; row++) {
            int from = 0;
            for (int length : documents.getLengths().get(row)) {
                int[] span = {row, from, from + length};
                NDArray alone = infer(manager, block, document(x, span), document(mask, span));
                requireClose(document(y, span), doubles(alone), TOLERANCE);
                from += length;
            }
        }
    }

    /** MXNet cannot create the parameters in FLOAT16. */
    @ParameterizedTest
    @EnumSource(names = {"ROTARY", "ALIBI", "FORGETTING"})
    void mayBeOfHalfPrecision(EncodingType type) {
        assumeEngine(TestEngine.PYTORCH);
        MultiHeadAttentionBlock block =
                filled(manager, type.attention(HEADS).optCausal(true).build(), DataType.FLOAT16);
        NDArray x = numbers(manager, 7, DataType.FLOAT16, 2, 6, SIZE);
        NDArray y = infer(manager, block, packed(DOCUMENTS), x);
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        for (int[] span : SPANS) {
            // values of up to about 8 with 11 bits
            requireClose(document(y, span), doubles(infer(manager, block, document(x, span))), 0.03);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"NONE", "ALIBI", "ROTARY"})
    void probabilitiesOfOtherDocumentsAreZero(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type, true);
        NDManager own = manager.newSubManager();
        NDArray x = numbers(own, 7, DataType.FLOAT64, 2, 6, SIZE);
        ParameterStore store = new ParameterStore(own, false);
        int before = own.getManagedArrays().size();
        NDArray all = block.probabilities(store, new NDList(x), packed(DOCUMENTS));
        assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
        assertThat(all.getShape()).isEqualTo(new Shape(2, HEADS, 6, 6));
        requireClose(all.sum(new int[] {3}), doubles(all.sum(new int[] {3}).onesLike()), TOLERANCE);
        for (int[] span : SPANS) {
            NDArray expected = block.probabilities(store, new NDList(document(x, span)));
            NDArray actual =
                    all.get("{}:{}, :, {}:{}, {}:{}", span[0], span[0] + 1, span[1], span[2], span[1], span[2]);
            requireClose(actual, doubles(expected), TOLERANCE);
        }
    }

    @Test
    void anEmptyBatchIsEmpty() {
        NDArray empty = manager.create(new Shape(0, 6, SIZE), DataType.FLOAT64);
        NDArray y = infer(manager, attention(EncodingType.ROTARY, true), packed(DOCUMENTS), empty);
        assertThat(y.getShape()).isEqualTo(empty.getShape());
    }

    @Test
    void rejectsWhatDoesNotFit() {
        MultiHeadAttentionBlock block = attention(EncodingType.ROTARY, true);
        NDArray x = x();
        NDArray other = x.add(1);
        Documents short5 = Documents.ofLengths(2, 3);
        Documents three = Documents.ofRows(short5, short5, short5);
        PairList<String, Object> startAt3 = packed(DOCUMENTS);
        startAt3.add(PositionalEncodingBlock.START_POSITION, 3);
        NDArray shortMask = manager.ones(new Shape(2, 5));
        NDArray shortPositions = manager.create(new int[] {0, 1, 2});
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> step = cache.nextStep();
            step.add(PositionalEncodingBlock.DOCUMENTS, DOCUMENTS);
            assertAll(
                    rejectedWithoutLeak(manager, () -> infer(manager, block, packed(short5), x), "[2, 3]", "5", "6"),
                    rejectedWithoutLeak(manager, () -> infer(manager, block, packed(three), x), "3 rows", "2"),
                    rejected(
                            () -> infer(manager, block, params(PositionalEncodingBlock.DOCUMENTS, List.of(2, 3)), x),
                            "documents",
                            "Documents.ofLengths"),
                    rejectedWithoutLeak(
                            manager,
                            () -> infer(manager, block, packed(DOCUMENTS), x, other, x),
                            "2 rows",
                            "cross-attention"),
                    rejected(() -> infer(manager, block, startAt3, x), "documents", "=3"),
                    rejectedWithoutLeak(
                            manager, () -> infer(manager, block, step, x), "documents", ForwardParameters.CACHE),
                    rejectedWithoutLeak(manager, () -> infer(manager, block, packed(shortPositions), x), "(3)", "(6)"),
                    rejectedWithoutLeak(
                            manager, () -> infer(manager, block, packed(DOCUMENTS), x, shortMask), "(2, 5)", "(2, 6)"));
        }
    }
}
