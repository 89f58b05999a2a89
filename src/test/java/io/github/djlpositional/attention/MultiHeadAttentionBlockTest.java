package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallLayers.attention;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * The attention block: its formula, masks, grouped heads, options and files. {@link AttentionRejectionsTest} has the
 * inputs that it rejects on every device, {@link VisibilityTest} masks with every encoding, and
 * {@link StoredAttentionTest} results that were computed in Python, for every option.
 */
@Sampled(oneIn = 2)
class MultiHeadAttentionBlockTest extends OnEachEngine {

    /** FLOAT64: some ten roundings by 2^-53 of numbers up to 100. */
    private static final double TOLERANCE = 1e-12;

    private MultiHeadAttentionBlock initialized(MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 8));
        return block;
    }

    // the formula, computed by hand

    /** One head of size 2 and scale 1/2, whose projections change nothing. */
    private MultiHeadAttentionBlock ofIdentity(MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = builder.setEmbeddingSize(2)
                .setHeadCount(1)
                .optScale(0.5)
                .optBias(false)
                .build();
        block.initialize(manager, DataType.FLOAT64, new Shape(-1, -1, 2));
        for (Parameter weight : block.getParameters().values()) {
            manager.create(new double[] {1, 0, 0, 1}, new Shape(2, 2)).copyTo(weight.getArray());
        }
        return block;
    }

    /** A sequence of two tokens of size 2, (1, 2, 2). */
    private NDArray tokens(double... numbers) {
        return manager.create(numbers, new Shape(1, 2, 2));
    }

    /**
     * Keys, queries and values. The scores of the first query are 1/2 · 2 ln 3 = ln 3 and 0, so its weights are 3/4 and
     * 1/4; those of the second query are 0 and 0, so its weights are 1/2 and 1/2.
     */
    private NDList example() {
        return new NDList(tokens(1, 0, 0, 1), tokens(2 * Math.log(3), 0, 0, 0), tokens(4, 8, 0, 4));
    }

    private NDArray inferExample(MultiHeadAttentionBlock.Builder builder, NDArray... mask) {
        NDList inputs = example();
        inputs.addAll(List.of(mask));
        return infer(manager, ofIdentity(builder), inputs.toArray(NDArray[]::new));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void weightsValuesByTheSoftmaxOfScaledProducts(boolean isFused) {
        NDArray y = inferExample(MultiHeadAttentionBlock.builder().optFusedKernel(isFused));
        requireClose(y, new double[] {3, 7, 2, 6}, TOLERANCE);
    }

    /** Queries become (1, 0), values at most 4: the scores of the first query are 1/2 and 0. */
    @Test
    void limitsProjectedQueriesKeysAndValues() {
        double first = Math.sqrt(Math.E) / (1 + Math.sqrt(Math.E));
        NDArray y = inferExample(MultiHeadAttentionBlock.builder().optProjectionLimit(1));
        requireClose(y, new double[] {first, 1, 0.5, 1}, TOLERANCE);
    }

    @Test
    void probabilitiesAreTheWeights() {
        NDArray probabilities = ofIdentity(MultiHeadAttentionBlock.builder())
                .probabilities(new ParameterStore(manager, false), example());
        assertThat(probabilities.getShape()).isEqualTo(new Shape(1, 1, 2, 2));
        requireClose(probabilities, new double[] {0.75, 0.25, 0.5, 0.5}, TOLERANCE);
    }

    /** By the formula of each encoding. */
    @ParameterizedTest
    @EnumSource
    void probabilitiesAreThoseOfThePositions(EncodingType type) {
        MultiHeadAttentionBlock block = filled(manager, type.attention(HEADS).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 6, SIZE);
        int[] positions = {1, 0, 4, 5, 2, 3};
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, manager.create(positions));
        NDArray probabilities = block.probabilities(new ParameterStore(manager, false), new NDList(x), params);
        requireClose(
                probabilities, new NaiveAttention(type, block).at(positions).probabilities(x, x), 1e-12);
    }

    /** The rows of the whole sequence, by the formula; the cache of a window has dropped the first keys. */
    @CartesianTest
    void probabilitiesOfAStepAreOfAllKeysAndDoNotChangeTheCache(
            @CartesianTest.Enum EncodingType type, @Values(booleans = {true, false}) boolean hasWindow) {
        MultiHeadAttentionBlock.Builder builder = type.attention(HEADS).optCausal(true);
        MultiHeadAttentionBlock block =
                filled(manager, (hasWindow ? builder.optWindow(3) : builder).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 9, SIZE);
        double[] whole = doubles(infer(manager, block, x));
        try (NDManager own = manager.newSubManager();
                KeyValueCache cache = new KeyValueCache(manager)) {
            for (int[] step : new int[][] {{0, 2}, {2, 5}, {5, 6}, {6, 7}, {7, 9}}) {
                NDArray tokens = x.get(own, new NDIndex(":, {}:{}", step[0], step[1]));
                NDArray sofar = x.get(own, new NDIndex(":, :{}", step[1]));
                double[] all = new NaiveAttention(type, block).probabilities(sofar, sofar);
                double[] expected = IntStream.range(0, HEADS)
                        .boxed()
                        .flatMapToDouble(head -> Arrays.stream(
                                all, (head * step[1] + step[0]) * step[1], (head * step[1] + step[1]) * step[1]))
                        .toArray();
                PairList<String, Object> params = cache.nextStep();
                ParameterStore store = new ParameterStore(own, false);
                int before = own.getManagedArrays().size();
                NDArray first = block.probabilities(store, new NDList(tokens), params);
                assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
                assertThat(first.getShape()).isEqualTo(new Shape(1, HEADS, step[1] - step[0], step[1]));
                requireClose(first, expected, 1e-12);
                NDArray y = infer(manager, block, params, tokens);
                requireClose(y, Arrays.copyOfRange(whole, step[0] * SIZE, step[1] * SIZE), 1e-12);
                assertThat(cache.getLength()).isEqualTo(step[1]);
                requireClose(block.probabilities(store, new NDList(tokens), params), expected, 1e-12);
            }
        }
    }

    /** The mask of the first step hides the last key in later steps too. */
    @Test
    void probabilitiesOfAStepOfACrossAttentionHaveTheMaskOfTheCache() {
        MultiHeadAttentionBlock block =
                filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT64);
        NDArray keys = numbers(manager, 2, DataType.FLOAT64, 1, 4, SIZE);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 1, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(
                    manager,
                    block,
                    cache.nextStep(),
                    keys,
                    x,
                    keys,
                    integers(manager, 1, 1, 1, 0).reshape(1, 4));
            NDArray probabilities = block.probabilities(
                    new ParameterStore(manager, false), new NDList(keys, x, keys), cache.nextStep());
            double[] expected = new NaiveAttention(EncodingType.NONE, block)
                    .with((head, i, j) -> j < 3 ? 0 : Double.NEGATIVE_INFINITY)
                    .probabilities(x, keys);
            requireClose(probabilities, expected, 1e-12);
        }
    }

    @Test
    void probabilitiesRejectWhatAForwardRejects() {
        MultiHeadAttentionBlock block =
                filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 3, SIZE);
        ParameterStore store = new ParameterStore(manager, false);
        NDList withNull = new NDList(x);
        withNull.add(null);
        PairList<String, Object> twice = Forward.params("positions", manager.arange(3));
        twice.add("positions", manager.arange(3));
        PairList<String, Object> text = Forward.params("keyValueCache", "cache");
        assertAll(
                rejected(() -> block.probabilities(store, withNull), "input 1", "null"),
                rejected(() -> block.probabilities(store, new NDList(x), twice), "positions", "twice"),
                rejected(() -> block.probabilities(store, new NDList(x), text), "keyValueCache", "String"));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> withoutStart = Forward.params("keyValueCache", cache);
            PairList<String, Object> later = Forward.params("keyValueCache", cache);
            later.add("startPosition", 4);
            assertAll(
                    rejected(() -> block.probabilities(store, new NDList(x), withoutStart), "startPosition"),
                    rejected(() -> block.probabilities(store, new NDList(x), later), "startPosition", 4));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void causalHidesLaterKeys(boolean isFused) {
        NDArray y =
                inferExample(MultiHeadAttentionBlock.builder().optCausal(true).optFusedKernel(isFused));
        requireClose(y, new double[] {4, 8, 2, 6}, TOLERANCE);
    }

    @Test
    void aMaskOfKeysHidesThemFromAllQueries() {
        NDArray mask = integers(manager, 0, 1).reshape(1, 2);
        requireClose(inferExample(MultiHeadAttentionBlock.builder(), mask), new double[] {0, 4, 0, 4}, TOLERANCE);
    }

    @Test
    void aMaskOfQueriesAndKeysHidesKeysFromAQuery() {
        NDArray mask = integers(manager, 1, 1, 0, 1).reshape(1, 2, 2);
        requireClose(inferExample(MultiHeadAttentionBlock.builder(), mask), new double[] {3, 7, 0, 4}, TOLERANCE);
    }

    @Test
    void aBooleanMaskWithFourAxesHidesKeys() {
        NDArray mask = integers(manager, 0, 1).reshape(1, 1, 1, 2).neq(0);
        requireClose(inferExample(MultiHeadAttentionBlock.builder(), mask), new double[] {0, 4, 0, 4}, TOLERANCE);
    }

    /** The scores become ln 3 and ln 3, and 0 and ln 3. */
    @Test
    void aMaskOfNumbersIsAddedToTheScores() {
        NDArray mask = manager.create(new double[] {0, Math.log(3)}, new Shape(1, 1, 1, 2));
        requireClose(inferExample(MultiHeadAttentionBlock.builder(), mask), new double[] {2, 6, 1, 5}, TOLERANCE);
    }

    @Test
    void theResultOfAQueryWithoutKeysIsTheBiasOfTheResultProjection() {
        MultiHeadAttentionBlock block = filled(manager, attention().build(), DataType.FLOAT64, new Shape(-1, -1, 8));
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 2, 8);
        NDArray mask = integers(manager, 0, 0, 1, 1).reshape(1, 2, 2);
        NDArray bias = block.getResultProjection().getParameters().get("bias").getArray();
        requireSame(infer(manager, block, x, mask).get("0, 0"), bias);
    }

    // the formula, beside the straightforward implementation

    @CartesianTest
    void selfAttentionIsTheFormula(
            @Values(booleans = {true, false}) boolean causal, @Values(booleans = {true, false}) boolean fused) {
        MultiHeadAttentionBlock block = ofFormula(causal, fused);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
        double[] expected = new NaiveAttention(EncodingType.NONE, block).forward(0, x, x, x);
        requireClose(infer(manager, block, x), expected, TOLERANCE);
        requireClose(infer(manager, block, x, x, x), expected, TOLERANCE);
    }

    /** The inputs are keys, queries and values, as in DJL's attention. */
    @CartesianTest
    void crossAttentionIsTheFormula(
            @Values(booleans = {true, false}) boolean causal, @Values(booleans = {true, false}) boolean fused) {
        MultiHeadAttentionBlock block = ofFormula(causal, fused);
        NDArray queries = numbers(manager, 1, DataType.FLOAT64, 2, 3, SIZE);
        NDArray keys = numbers(manager, 2, DataType.FLOAT64, 2, 5, SIZE);
        NDArray values = numbers(manager, 3, DataType.FLOAT64, 2, 5, SIZE);
        double[] expected = new NaiveAttention(EncodingType.NONE, block).forward(0, queries, keys, values);
        requireClose(infer(manager, block, keys, queries, values), expected, TOLERANCE);
    }

    private static boolean addsToValues(EncodingType type) {
        return type.attention(HEADS).build().terms().haveValues();
    }

    /** Queries and keys have heads of size 4. */
    @CartesianTest
    void valuesMayHaveHeadsOfAnotherSize(
            @CartesianTest.Enum EncodingType type,
            @Values(ints = {3, 8}) int valueHeadSize,
            @Values(booleans = {true, false}) boolean fused) {
        assumeFalse(addsToValues(type));
        MultiHeadAttentionBlock block = filled(
                manager,
                type.attention(HEADS)
                        .optCausal(true)
                        .optValueHeadSize(valueHeadSize)
                        .optValueScale(0.7)
                        .optFusedKernel(fused)
                        .build(),
                DataType.FLOAT64);
        assertThat(block.getValueHeadSize()).isEqualTo(valueHeadSize);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
        NDArray values = numbers(manager, 2, DataType.FLOAT64, 2, 5, SIZE);
        double[] expected = new NaiveAttention(type, block).forward(0, x, x, values);
        requireClose(infer(manager, block, x, x, values), expected, 1e-11);
    }

    @Test
    void rejectsVectorsOfValuesOfAnotherSize() {
        ShawRelativePositionBlock shaw =
                ShawRelativePositionBlock.builder().setHeadSize(4).build();
        assertAll(rejectedOptions(
                builder -> builder.optValueHeadSize(3).optRelativeEncoding(shaw),
                "valueHeadSize 3",
                "ShawRelativePositionBlock",
                "headSize 4",
                "optValueHeadSize"));
        ShawRelativePositionBlock ofKeys = ShawRelativePositionBlock.builder()
                .setHeadSize(4)
                .optValues(false)
                .build();
        assertThat(attention()
                        .optValueHeadSize(3)
                        .optRelativeEncoding(ofKeys)
                        .build()
                        .getValueHeadSize())
                .isEqualTo(3);
    }

    @Test
    void aValueHeadSizeThatIsTheHeadSizeIsNotAnArgument() {
        assertThat(attention().optValueHeadSize(4).build().getArguments())
                .isEqualTo(attention().build().getArguments());
    }

    @CartesianTest
    void aGateMultipliesTheResultsOfTheHeads(
            @CartesianTest.Enum MultiHeadAttentionBlock.OutputGate gate,
            @Values(booleans = {true, false}) boolean isByHead,
            @Values(booleans = {true, false}) boolean fused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.ROTARY
                        .attention(HEADS)
                        .optOutputGate(gate)
                        .optOutputGateByHead(isByHead)
                        .optValueHeadSize(3)
                        .optFusedKernel(fused)
                        .build(),
                DataType.FLOAT64);
        NDArray queries = numbers(manager, 1, DataType.FLOAT64, 2, 3, SIZE);
        NDArray keys = numbers(manager, 2, DataType.FLOAT64, 2, 5, SIZE);
        double[] expected = new NaiveAttention(EncodingType.ROTARY, block).forward(0, queries, keys, keys);
        requireClose(infer(manager, block, keys, queries, keys), expected, TOLERANCE);
        double[] ofItself = new NaiveAttention(EncodingType.ROTARY, block).forward(0, queries, queries, queries);
        requireClose(infer(manager, block, queries), ofItself, TOLERANCE);
    }

    @Test
    void theGateHasABiasWhereTheOthersHaveOneUnlessItIsSet() {
        MultiHeadAttentionBlock.Builder gated = attention().optOutputGate(MultiHeadAttentionBlock.OutputGate.SIGMOID);
        assertThat(attention().build().getGateProjection()).isNull();
        assertThat(gated.build().getGateProjection().getDirectParameters().keys())
                .containsExactly("weight", "bias");
        assertThat(gated.optBias(false)
                        .build()
                        .getGateProjection()
                        .getDirectParameters()
                        .keys())
                .containsExactly("weight");
        MultiHeadAttentionBlock other = gated.optOutputGateBias(true).build();
        assertThat(other.getGateProjection().getDirectParameters().keys()).containsExactly("weight", "bias");
        assertThat(MultiHeadAttentionBlock.fromArguments(other.getArguments()).getArguments())
                .isEqualTo(other.getArguments())
                .containsEntry("outputGateBias", true)
                .doesNotContainKey("outputGateByHead");
    }

    @Test
    void rejectsSettingsOfAGateWithoutOne() {
        assertAll(
                rejectedOptions(builder -> builder.optOutputGateByHead(true), "outputGateByHead true", "optOutputGate"),
                rejectedOptions(builder -> builder.optOutputGateBias(false), "outputGateBias false", "optOutputGate"),
                rejectedArgument("outputGate", "TANH", "outputGate", "TANH", "SIGMOID", "SOFTPLUS"));
    }

    /** The weights of a gate by head do not fit a gate by element. */
    @Test
    void rejectsTheFileOfAGateOfAnotherSize() throws Exception {
        MultiHeadAttentionBlock.Builder gated = attention().optOutputGate(MultiHeadAttentionBlock.OutputGate.SIGMOID);
        MultiHeadAttentionBlock byElement = gated.build();
        byte[] file = fileOf(gated.optOutputGateByHead(true).build());
        assertAll(rejected(
                MalformedModelException.class, () -> BlockBytes.load(manager, byElement, file), "outputGateByHead"));
        assertThat(byElement.isInitialized()).isFalse();
    }

    private MultiHeadAttentionBlock ofFormula(boolean causal, boolean fused) {
        return filled(
                manager,
                EncodingType.NONE
                        .attention(HEADS)
                        .optCausal(causal)
                        .optFusedKernel(fused)
                        .build(),
                DataType.FLOAT64);
    }

    // grouped heads

    private static MultiHeadAttentionBlock.Builder ofFourHeads() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(16).setHeadCount(4);
    }

    private static LearnedRotaryEmbeddingBlock learnedRotary(int headCount) {
        return LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(headCount)
                .setHeadSize(4)
                .build();
    }

    private MultiHeadAttentionBlock filledForFourHeads(MultiHeadAttentionBlock.Builder builder) {
        return filled(manager, builder.build(), DataType.FLOAT64, new Shape(-1, -1, 16));
    }

    /** Copies rows of heads, each repeated so that there are as many as in the target. */
    private static void copyRepeated(Block from, Block to, int heads) {
        for (Pair<String, Parameter> entry : from.getParameters()) {
            NDArray source = entry.getValue().getArray();
            NDArray target = to.getParameters().get(entry.getKey()).getArray();
            source.reshape(heads, -1)
                    .repeat(0, target.size() / source.size())
                    .reshape(target.getShape())
                    .copyTo(target);
        }
    }

    /** Query head h uses the head ⌊h · K / N⌋ of keys and values. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aGroupOfQueryHeadsSharesAHeadOfKeysAndValues(int keyHeads) {
        MultiHeadAttentionBlock grouped = filledForFourHeads(ofFourHeads().optKeyValueHeadCount(keyHeads));
        requireSameAsWithoutGroups(grouped, filledForFourHeads(ofFourHeads()));
    }

    /** Head h of four uses the frequencies of head ⌊h / 2⌋ of two, with as many heads of keys or fewer. */
    @ParameterizedTest
    @ValueSource(ints = {4, 2})
    void aGroupOfHeadsSharesLearnedFrequencies(int keyHeads) {
        MultiHeadAttentionBlock grouped =
                filledForFourHeads(ofFourHeads().optKeyValueHeadCount(keyHeads).optRelativeEncoding(learnedRotary(2)));
        MultiHeadAttentionBlock whole = filledForFourHeads(ofFourHeads().optRelativeEncoding(learnedRotary(4)));
        copyRepeated(
                grouped.getRelativeEncodings().get(0),
                whole.getRelativeEncodings().get(0),
                2);
        requireSameAsWithoutGroups(grouped, whole);
    }

    private void requireSameAsWithoutGroups(MultiHeadAttentionBlock grouped, MultiHeadAttentionBlock whole) {
        int keyHeads = grouped.options().keyValueHeadCount();
        copyRepeated(grouped.getKeyProjection(), whole.getKeyProjection(), keyHeads);
        copyRepeated(grouped.getValueProjection(), whole.getValueProjection(), keyHeads);
        copyRepeated(grouped.getQueryProjection(), whole.getQueryProjection(), 4);
        copyRepeated(grouped.getResultProjection(), whole.getResultProjection(), 4);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 3, 16);
        requireClose(infer(manager, grouped, x), doubles(infer(manager, whole, x)), TOLERANCE);
    }

    // packed sequences

    /** The first has sequences of three tokens and of one, and the second of one, two and one. */
    private static final double[] PACKED = {
        1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, //
        1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1
    };

    private static void requirePacked(NDArray positions, Shape shape, double... expected) {
        NDArray mask = MultiHeadAttentionBlock.packedMask(positions);
        assertThat(mask.getDataType()).isEqualTo(DataType.BOOLEAN);
        assertThat(mask.getShape()).isEqualTo(shape);
        assertThat(doubles(mask)).isEqualTo(expected);
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"INT32", "INT64", "FLOAT32"})
    void aSequenceBeginsWhereThePositionIsNotGreaterThanTheOneBefore(DataType type) {
        NDArray positions =
                integers(manager, 0, 1, 2, 0, 5, 5, 6, 3).reshape(2, 4).toType(type, false);
        requirePacked(positions, new Shape(2, 4, 4), PACKED);
    }

    @Test
    void packedPositionsMayBeRealNumbers() {
        requirePacked(reals(manager, 0, 0.5, 2, 0.25, 5, 5, 6, 3.5).reshape(2, 4), new Shape(2, 4, 4), PACKED);
    }

    @Test
    void oneTokenIsASequence() {
        requirePacked(integers(manager, 7, 0).reshape(2, 1), new Shape(2, 1, 1), 1, 1);
    }

    // options

    @Test
    void hasTheOptionsOfThePaperByDefault() {
        assertThat(attention().build().getArguments())
                .containsEntry("keyValueHeadCount", 2)
                .containsEntry("headSize", 4)
                .containsEntry("scale", 0.5) // 1 / √H
                .containsEntry("causal", false)
                .containsEntry("bias", true)
                .containsEntry("resultBias", true)
                .containsEntry("fusedKernel", true)
                .containsEntry("dropoutRate", 0f)
                .doesNotContainKeys("relativeEncoding", "window", "chunkSize", "scoreCap", "queryScale", "kernelType");
    }

    @Test
    void theResultProjectionHasABiasWhereTheOthersHaveOneUnlessItIsSet() {
        assertThat(attention().optBias(false).build().getResultProjection().getDirectParameters())
                .hasSize(1);
        Linear ofQwen2 = attention().optResultBias(false).build().getResultProjection();
        assertThat(ofQwen2.getDirectParameters()).hasSize(1);
    }

    @Test
    void theKeyProjectionHasABiasWhereTheOthersHaveOneUnlessItIsSet() {
        MultiHeadAttentionBlock ofBeit = attention().optKeyBias(false).build();
        assertThat(ofBeit.getKeyProjection().getDirectParameters()).hasSize(1);
        assertThat(ofBeit.getQueryProjection().getDirectParameters()).hasSize(2);
        assertThat(attention()
                        .optBias(false)
                        .optKeyBias(true)
                        .build()
                        .getKeyProjection()
                        .getDirectParameters())
                .hasSize(2);
    }

    /** The scale of disentangled attention is 1 / √(3 · H). */
    @Test
    void takesTheScaleOfItsEncodingUnlessAnotherIsSet() {
        MultiHeadAttentionBlock.Builder builder = attention()
                .optRelativeEncoding(DisentangledPositionBlock.builder()
                        .setEmbeddingSize(8)
                        .setHeadCount(2)
                        .build());
        assertThat(builder.build().getArguments()).containsEntry("scale", 1 / Math.sqrt(12));
        assertThat(builder.optScale(0.25).build().getArguments()).containsEntry("scale", 0.25);
    }

    @Test
    void acceptsOptionsAtTheirLimits() {
        attention().optWindow(1).build();
        attention().optWindow(536870912).build();
        attention().optChunkSize(1 << 24).build();
        attention().optDropoutRate(Math.nextDown(1f)).build();
        assertThat(attention().optKernelType(DataType.BFLOAT16).build().getArguments())
                .containsEntry("kernelType", "BFLOAT16");
    }

    /** As from serving.properties, whose values are texts. */
    @Test
    void readsNumbersAndBooleansFromTexts() {
        Map<String, String> texts = Map.of("embeddingSize", "8", "headCount", "2", "scale", "0.25", "causal", "true");
        assertThat(MultiHeadAttentionBlock.fromArguments(texts).getArguments())
                .isEqualTo(attention().optScale(0.25).optCausal(true).build().getArguments());
    }

    // rejected options

    private static Executable rejectedOptions(
            UnaryOperator<MultiHeadAttentionBlock.Builder> options, Object... values) {
        return rejected(() -> options.apply(attention()).build(), values);
    }

    @Test
    void rejectsSizesOutOfRange() {
        int manyHeads = 1_000_000_000;
        assertAll(
                rejectedOptions(builder -> builder.setEmbeddingSize(0), "embeddingSize", 0),
                rejectedOptions(builder -> builder.setHeadCount(0), "headCount", 0),
                rejectedOptions(builder -> builder.optKeyValueHeadCount(0), "keyValueHeadCount", 0),
                rejectedOptions(builder -> builder.optHeadSize(0), "headSize", 0),
                rejectedOptions(builder -> builder.optValueHeadSize(0), "valueHeadSize", 0),
                rejectedOptions(
                        builder ->
                                builder.setHeadCount(manyHeads).optHeadSize(1).optValueHeadSize(4),
                        manyHeads,
                        "valueHeadSize",
                        4),
                rejectedOptions(builder -> builder.setHeadCount(manyHeads).optHeadSize(4), manyHeads, "headSize", 4),
                rejectedOptions(builder -> builder.optWindow(0), "window", 0),
                rejectedOptions(builder -> builder.optWindow(536870913), "window", 536870913),
                rejectedOptions(builder -> builder.optChunkSize(0), "chunkSize", 0),
                rejectedOptions(builder -> builder.optChunkSize(16777217), "chunkSize", 16777217));
    }

    @Test
    void rejectsNumbersOutOfRange() {
        assertAll(
                rejectedOptions(builder -> builder.optScale(0), "scale", 0.0),
                rejectedOptions(builder -> builder.optValueScale(-1), "valueScale", -1.0),
                rejectedOptions(builder -> builder.optScoreCap(0), "scoreCap", 0.0),
                rejectedOptions(builder -> builder.optScoreCap(-50), "scoreCap", -50.0),
                rejectedOptions(builder -> builder.optScoreCap(Double.POSITIVE_INFINITY), "scoreCap", "Infinity"),
                rejectedOptions(builder -> builder.optDropoutRate(-0.1f), "dropoutRate", -0.1f),
                rejectedOptions(builder -> builder.optDropoutRate(1), "dropoutRate", 1.0f),
                rejectedOptions(builder -> builder.optDropoutRate(Float.NaN), "dropoutRate", "NaN"));
    }

    @Test
    void rejectsHeadCountsThatDoNotDivide() {
        assertAll(
                rejectedOptions(builder -> builder.setHeadCount(3), "embeddingSize 8", "headCount 3"),
                rejectedOptions(
                        builder -> builder.setHeadCount(4).optKeyValueHeadCount(3),
                        "headCount 4",
                        "keyValueHeadCount 3"),
                rejectedOptions(builder -> builder.optKeyValueHeadCount(4), "headCount 2", "keyValueHeadCount 4"));
    }

    @Test
    void rejectsOptionsThatExcludeEachOther() {
        QueryScale learned = new QueryScale.LearnedLogN(0.5);
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(2).build();
        assertAll(
                rejectedOptions(builder -> builder.optWindow(3).optChunkSize(4), "window 3", "chunkSize 4"),
                rejectedOptions(
                        builder -> builder.optCosine(true).optQueryScale(learned), "cosine", "LearnedLogN", 0.5),
                rejectedOptions(
                        builder -> builder.optKernelType(DataType.FLOAT16).optFusedKernel(false),
                        "kernelType",
                        "float16",
                        "fusedKernel"),
                rejectedOptions(builder -> builder.optRelativeEncoding(alibi, alibi), "relativeEncoding", "twice"));
    }

    @Test
    void rejectsKernelTypesOfWholeNumbers() {
        assertAll(rejectedOptions(
                builder -> builder.optKernelType(DataType.INT8), "kernelType", "int8", "FLOAT16", "BFLOAT16"));
    }

    @Test
    void rejectsEncodingsForOtherHeads() {
        AlibiBiasBlock ofFourHeads = AlibiBiasBlock.builder().setHeadCount(4).build();
        ShawRelativePositionBlock ofSizeEight =
                ShawRelativePositionBlock.builder().setHeadSize(8).build();
        TransformerXlPositionBlock wider = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(16)
                .setHeadCount(2)
                .build();
        assertAll(
                rejectedOptions(builder -> builder.optRelativeEncoding(ofFourHeads), "headCount=4", "setHeadCount(2)"),
                rejectedOptions(builder -> builder.optRelativeEncoding(ofSizeEight), "headSize=8", "setHeadSize(4)"),
                rejectedOptions(
                        builder -> builder.optRelativeEncoding(wider),
                        "embeddingSize=16",
                        "setEmbeddingSize(8)",
                        "setHeadCount(2)"));
    }

    private static Executable rejectedArgument(String name, Object value, Object... values) {
        Map<String, Object> arguments = new HashMap<>(Map.of("embeddingSize", 8, "headCount", 2));
        arguments.put(name, value);
        return rejected(() -> MultiHeadAttentionBlock.fromArguments(arguments), values);
    }

    @Test
    void rejectsArgumentsOfAQueryScaleThatHasNone() {
        String types = "[FloorLogarithm, LogN, LearnedLogN]";
        assertAll(
                rejectedArgument("queryScale", Map.of("type", "Other"), "Other", types),
                rejectedArgument("queryScale", Map.of("type", 1), "'type'", types),
                rejectedArgument("queryScale", Map.of("trainedLength", 4), "'type'", "missing"),
                rejectedArgument("queryScale", Map.of("type", "LogN", "coefficient", 2), "LogN", "coefficient"));
    }

    /** A type may not be the name of any class. */
    @Test
    void rejectsArgumentsOfOtherChildren() {
        assertAll(
                rejectedArgument("queryNorm", Map.of("type", "RmsNormBlock"), "embeddingSize"),
                rejectedArgument("queryNorm", Map.of("type", "LayerNorm"), "LayerNorm"),
                rejectedArgument("relativeEncoding", Map.of("type", "DropoutBlock"), "'relativeEncoding.type'"),
                rejectedArgument("relativeEncoding", Map.of("type", "java.lang.Runtime"), "'relativeEncoding.type'"),
                rejectedArgument("relativeEncoding", Map.of("type", 1), "'relativeEncoding.type'"),
                rejectedArgument(
                        "relativeEncoding",
                        Map.of("type", "RotaryEmbeddingBlock", "headSize", 4, "x", 1),
                        "RotaryEmbeddingBlock",
                        "'x'"));
    }

    // positions that only a CPU checks

    private Executable rejectedPositions(MultiHeadAttentionBlock.Builder builder, NDArray positions, Object... values) {
        MultiHeadAttentionBlock block = initialized(builder);
        NDArray x = zeros(manager, 2, 3, 8);
        return rejectedWithoutLeak(manager, () -> inferAt(manager, positions, block, x), values);
    }

    @Test
    void rejectsPositionsOutOfRange() {
        assumeCpu();
        MultiHeadAttentionBlock.Builder inChunks = attention().optChunkSize(3);
        assertAll(
                rejectedPositions(
                        inChunks, reals(manager, 0, 0.5, Double.POSITIVE_INFINITY), "Infinity", "index 2", "finite"),
                rejectedPositions(inChunks, integers(manager, 0, -536870912, 2), -536870912, "index 1", -536870911),
                rejectedPositions(
                        inChunks, integers(manager, 0, 1, 536870912), 536870912, "index 2", 536870911, "FLOAT64"));
    }

    /** A table has no row for them. */
    @Test
    void rejectsNegativePositionsOfATable() {
        assumeCpu();
        NDArray negative = integers(manager, 0, -1, 2);
        MultiHeadAttentionBlock.Builder rotary = attention()
                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                        .setHeadSize(4)
                        .optXpos(512)
                        .build());
        MultiHeadAttentionBlock.Builder ofWindow = attention()
                .optRelativeEncoding(WindowBiasBlock.builder()
                        .setHeadCount(2)
                        .setWindow(2, 3)
                        .build());
        assertAll(
                rejectedPositions(rotary, negative, "position -1", "index 1", "0 to 4999", "FLOAT64"),
                rejectedPositions(ofWindow, negative, "position -1", "index 1", "0 to 5"),
                rejectedPositions(
                        attention().optQueryScale(new QueryScale.LogN(8)), negative, "position -1", "index 1"));
    }

    /** Seconds since 1970. */
    @Test
    void suggestsRealPositionsForTimes() {
        assumeCpu();
        NDArray seconds = manager.create(new long[] {1_763_000_000, 1_763_000_030, 1_763_000_060});
        MultiHeadAttentionBlock.Builder rotary = attention()
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(4).build());
        assertAll(
                rejectedPositions(rotary, seconds, 1_763_000_000, "real positions", "FLOAT64"),
                rejectedPositions(attention(), seconds, 1_763_000_000, "real positions", "FLOAT64"));
    }

    /** A window of 2 by 3 has the positions 0 to 5. */
    @Test
    void rejectsPositionsOutsideTheWindow() {
        assumeCpu();
        MultiHeadAttentionBlock.Builder ofWindow = attention()
                .optRelativeEncoding(WindowBiasBlock.builder()
                        .setHeadCount(2)
                        .setWindow(2, 3)
                        .build());
        MultiHeadAttentionBlock block = initialized(ofWindow);
        NDArray x = zeros(manager, 2, 7, 8);
        NDArray queries = zeros(manager, 2, 6, 8);
        Object[] values = {"position 6", "0 to 5"};
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, block, x), values),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, queries, x), values),
                rejectedPositions(ofWindow, integers(manager, 0, 6, 3), values),
                rejectedPositions(ofWindow, reals(manager, 0, 0.5, 1), "(1, 3)", "floating-point"));
    }

    // files

    /** An attention with a parameter of each kind. */
    private static MultiHeadAttentionBlock.Builder ofEachParameter() {
        return attention()
                .optKeyValueHeadCount(1)
                .optSinks(true)
                .optCosine(true)
                .optOutputGate(MultiHeadAttentionBlock.OutputGate.SOFTPLUS)
                .optQueryNorm(RmsNormBlock.builder().setEmbeddingSize(4).build())
                .optRelativeEncoding(
                        ShawRelativePositionBlock.builder().setHeadSize(4).build());
    }

    private byte[] fileOf(MultiHeadAttentionBlock block) throws IOException {
        return BlockBytes.saved(filled(manager, block, DataType.FLOAT32, new Shape(-1, -1, 8)));
    }

    private static void requireSameParameters(Block actual, Block expected) {
        assertThat(actual.getParameters().keys())
                .isEqualTo(expected.getParameters().keys());
        for (Pair<String, Parameter> entry : expected.getParameters()) {
            requireSame(
                    actual.getParameters().get(entry.getKey()).getArray(),
                    entry.getValue().getArray());
        }
    }

    @Test
    void loadsItsFileIntoABlockOfItsArguments() throws Exception {
        MultiHeadAttentionBlock saved = ofEachParameter().build();
        byte[] file = fileOf(saved);
        MultiHeadAttentionBlock loaded = MultiHeadAttentionBlock.fromArguments(saved.getArguments());
        BlockBytes.load(manager, loaded, file);
        requireSameParameters(loaded, saved);
    }

    @Test
    void aFileDoesNotDependOnDropoutOrTheKernel() throws Exception {
        MultiHeadAttentionBlock saved =
                ofEachParameter().optKernelType(DataType.FLOAT16).build();
        byte[] file = fileOf(saved);
        MultiHeadAttentionBlock loaded =
                ofEachParameter().optFusedKernel(false).optDropoutRate(0.5f).build();
        BlockBytes.load(manager, loaded, file);
        requireSameParameters(loaded, saved);
    }

    @Test
    void rejectsTheFileOfAnAttentionThatComputesSomethingElse() throws Exception {
        byte[] file = fileOf(attention().build());
        MultiHeadAttentionBlock causal = attention().optCausal(true).build();
        assertAll(rejected(MalformedModelException.class, () -> BlockBytes.load(manager, causal, file), "causal"));
        assertThat(causal.isInitialized()).isFalse();
    }
}
