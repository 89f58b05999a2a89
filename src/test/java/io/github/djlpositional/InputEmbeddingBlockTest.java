package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallBlocks.embedding;
import static io.github.djlpositional.support.SmallBlocks.ids;
import static io.github.djlpositional.support.SmallBlocks.initialized;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Inputs;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.weights.WeightLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Token ids become the sum of their vectors and their positions: Vaswani et al. (2017), sections 3.4 and 3.5. */
class InputEmbeddingBlockTest extends OnEachEngine {

    private static final SinusoidalEncoding ENCODING = SinusoidalEncoding.vaswani(4);

    /** The rounding of a sinusoid to FLOAT32. */
    private static final double ROUNDING = 0x1p-24;

    private InputEmbeddingBlock initialized23(InputEmbeddingBlock.Builder builder) {
        return initialized(manager, builder.build(), 2, 3);
    }

    /** A token embedding of a user, whose vectors are zero: a block with it gives the encoded positions. */
    private static Block zeroTokens() {
        return LambdaBlock.singleton(
                ids -> ids.getManager().zeros(ids.getShape().add(4)));
    }

    private static float[] table(InputEmbeddingBlock block) {
        return block.getTokenTable().getArray().toFloatArray();
    }

    private NDArray infer(Block block) {
        return Forward.infer(manager, block, ids(manager));
    }

    /** The sinusoids of positions; zeros for those below 0. */
    private static double[] encoded(int... positions) {
        double[] values = new double[4 * positions.length];
        Arrays.setAll(values, i -> positions[i / 4] < 0 ? 0 : ENCODING.value(positions[i / 4], i % 4));
        return values;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void addsSinusoidsToTheVectorsOfTokensTimesTheRootOfTheirSize(boolean isScaled) {
        InputEmbeddingBlock block = initialized23(embedding().optScaleEmbedding(isScaled));
        // the vector of token v is (4v + 1, …, 4v + 4) / 8
        NDArray table = Inputs.counted(manager, 7, 4).div(8);
        table.copyTo(block.getTokenTable().getArray());
        double[] expected = encoded(0, 1, 2, 0, 1, 2);
        long[] ids = ids(manager).toLongArray();
        for (int i = 0; i < expected.length; i++) {
            expected[i] += (4 * ids[i / 4] + i % 4 + 1) / 8.0 * (isScaled ? 2 : 1);
        }
        // numbers below 8, rounded to FLOAT32
        requireClose(infer(block), expected, 0x1p-21);
        requireSame(block.getTokenTable().getArray(), table);
    }

    /** The norm of (tokens · 0.5 + positions), projected. */
    @Test
    void scalesNormalizesAndProjects() {
        InputEmbeddingBlock plain = initialized23(embedding().optTokenScale(0.5));
        InputEmbeddingBlock block = initialized23(embedding()
                .optTokenScale(0.5)
                .optNorm(RmsNormBlock.builder().setEmbeddingSize(4).build())
                .optOutputSize(3));
        NDArray table = Inputs.counted(manager, 7, 4).div(8);
        for (InputEmbeddingBlock each : List.of(plain, block)) {
            table.copyTo(each.getTokenTable().getArray());
        }
        double[] vectors = encoded(0, 1, 2, 0, 1, 2);
        long[] ids = ids(manager).toLongArray();
        for (int i = 0; i < vectors.length; i++) {
            vectors[i] += (4 * ids[i / 4] + i % 4 + 1) / 16.0;
        }
        requireClose(infer(plain), vectors, 0x1p-21);
        NDArray normed = Forward.infer(manager, block.getNorm(), infer(plain));
        NDArray expected = Forward.infer(manager, block.getProjection(), normed);
        NDArray y = infer(block);
        requireClose(y, expected.toType(DataType.FLOAT64, false).toDoubleArray(), 0x1p-21);
        assertThat(y.getShape()).isEqualTo(new Shape(2, 3, 3));
        assertThat(block.getOutputShapes(new Shape[] {new Shape(2, 3)})).containsExactly(y.getShape());
        assertThat(block.getOutputSize()).isEqualTo(3);
        assertThat(block.getEmbeddingSize()).isEqualTo(4);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT32", "INT8", "UINT8"})
    void takesIdsOfEveryIntegerType(DataType type) {
        InputEmbeddingBlock block = initialized23(embedding().optNoPositions());
        requireSame(Forward.infer(manager, block, ids(manager).toType(type, true)), infer(block));
    }

    @Test
    void hasUnscaledTokensAnd5000PositionsUnlessTheyAreSet() {
        InputEmbeddingBlock block = embedding().build();
        assertThat(block.getArguments())
                .containsEntry("scaleEmbedding", false)
                .containsEntry("noPositions", false)
                .containsEntry("dropoutRate", 0f)
                .doesNotContainKeys("paddingIndex", "positionsFromPadding", "tokenEmbedding", "tokenTypes");
        assertThat(block.hasDefaultPositions()).isTrue();
        assertThat(((PositionalEncodingBlock) block.getPositionalEncoding()).maxSequenceLength())
                .isEqualTo(5000);
    }

    @Test
    void anIdentityEncodingIsNone() {
        InputEmbeddingBlock block =
                embedding().optPositionalEncoding(Blocks.identityBlock()).build();
        assertThat(block.getArguments()).containsEntry("noPositions", true);
        assertThat(block.getPositionalEncoding()).isNull();
    }

    /** As in a file serving.properties. */
    @Test
    void takesTextsAsArguments() {
        InputEmbeddingBlock block = InputEmbeddingBlock.fromArguments(
                Map.of("vocabularySize", "7", "embeddingSize", "4", "scaleEmbedding", "true"));
        assertThat(block.getArguments())
                .containsEntry("vocabularySize", 7)
                .containsEntry("embeddingSize", 4)
                .containsEntry("scaleEmbedding", true);
    }

    /** Without positions, N(0, 1) as PyTorch's nn.Embedding; otherwise N(0, 1 / D), as Vaswani et al., section 3.4. */
    @ParameterizedTest
    @CsvSource({"false, false, 512", "true, false, 1", "false, true, 1", "true, true, 1"})
    void tokenVectorsAreShortBesidePositions(boolean isScaled, boolean hasPositions, double meanSquareTimesSize) {
        InputEmbeddingBlock.Builder builder = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(512)
                .optScaleEmbedding(isScaled);
        InputEmbeddingBlock block =
                initialized(manager, (hasPositions ? builder : builder.optNoPositions()).build(), 1, 1);
        double meanSquare = block.getTokenTable().getArray().square().mean().getFloat();
        // of 512,000 numbers: five standard deviations of the mean
        assertThat(meanSquare * 512 / meanSquareTimesSize).isCloseTo(1, within(5 * Math.sqrt(2 / 512_000.0)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void neverWritesToTheOutputOfATokenEmbedding(boolean isScaled) {
        NDArray held = manager.ones(new Shape(2, 3, 4));
        InputEmbeddingBlock block = initialized23(
                embedding().optScaleEmbedding(isScaled).optTokenEmbedding(LambdaBlock.singleton(ids -> held)));
        double[] expected = encoded(0, 1, 2, 0, 1, 2);
        Arrays.setAll(expected, i -> expected[i] + (isScaled ? 2 : 1));
        // numbers below 4, rounded to FLOAT32
        requireClose(infer(block), expected, 0x1p-22);
        assertThat(held.toFloatArray()).containsOnly(1f);
    }

    static Stream<InputEmbeddingBlock.Builder> blocksOfZeroTokens() {
        return Stream.of(
                embedding().optTokenEmbedding(zeroTokens()),
                embedding().optTokenEmbedding(zeroTokens()).optPaddingIndex(1).optPositionsFromPadding(1));
    }

    @ParameterizedTest
    @MethodSource("blocksOfZeroTokens")
    void takesPositionsAsASecondInputOrAForwardParameter(InputEmbeddingBlock.Builder builder) {
        InputEmbeddingBlock block = builder.build();
        NDArray ids = manager.zeros(new Shape(2, 3), DataType.INT64);
        NDArray each = Inputs.integers(manager, 4, 0, 9, 1, 2, 3).reshape(2, 3);
        NDArray same = Inputs.integers(manager, 4, 0, 9);
        List<NDArray> ofTheBatch = List.of(same, same.toType(DataType.INT32, true), same.reshape(1, 3));
        for (NDArray positions : ofTheBatch) {
            for (NDArray y : inferAt(block, ids, positions)) {
                requireClose(y, encoded(4, 0, 9, 4, 0, 9), ROUNDING);
            }
        }
        for (NDArray y : inferAt(block, ids, each)) {
            requireClose(y, encoded(4, 0, 9, 1, 2, 3), ROUNDING);
        }
    }

    /** With positions as an input, and as a forward parameter. */
    private List<NDArray> inferAt(Block block, NDArray ids, NDArray positions) {
        return List.of(Forward.infer(manager, block, ids, positions), Forward.inferAt(manager, positions, block, ids));
    }

    /** torch.nn.Embedding(padding_idx): "the embedding vector at padding_idx is not updated", but is looked up. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void looksUpTheRowOfPaddingAndDoesNotTrainIt(boolean isTraining) {
        InputEmbeddingBlock block = initialized23(embedding().optPaddingIndex(0));
        NDArray table = block.getTokenTable().getArray();
        table.set(new NDIndex("0"), 5);
        double[] expected = encoded(1);
        Arrays.setAll(expected, i -> expected[i] + 5);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = isTraining ? Forward.train(manager, block, ids(manager)) : infer(block);
            // the second id is padding; numbers below 8, rounded to FLOAT32
            requireClose(y.get("0, 1"), expected, 0x1p-21);
            collector.backward(y.sum());
        }
        // how often each id occurs, but for padding
        assertThat(table.getGradient().get(":, 0").toFloatArray()).containsExactly(0, 1, 0, 2, 0, 0, 1);
    }

    /** Also infinite numbers of a token are not multiplied by 0. */
    @Test
    void keepsEveryNumberOfTheTableInTraining() {
        InputEmbeddingBlock block = initialized23(embedding().optPaddingIndex(0).optNoPositions());
        NDArray table = block.getTokenTable().getArray();
        table.set(new NDIndex("0"), Float.POSITIVE_INFINITY);
        table.set(new NDIndex("1"), Float.NEGATIVE_INFINITY);
        requireSame(Forward.train(manager, block, ids(manager)), infer(block));
        assertThat(infer(block).get("0, :2, 0").toFloatArray())
                .containsExactly(Float.NEGATIVE_INFINITY, Float.POSITIVE_INFINITY);
    }

    @Test
    void aHeadWithTheSameTableTrainsTheRowOfPadding() {
        InputEmbeddingBlock block = initialized23(embedding().optPaddingIndex(0).optNoPositions());
        NDArray table = block.getTokenTable().getArray();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray x = Forward.train(manager, block, ids(manager));
            collector.backward(x.stopGradient()
                    .reshape(6, 4)
                    .matMul(table.transpose())
                    .sum()
                    .add(x.sum()));
        }
        double[] sums = TestNumbers.doubles(infer(block).reshape(6, 4).sum(new int[] {0}));
        // the sum of all x for each row, and the number of each id but that of padding
        requireClose(table.getGradient().get("0"), sums, 1e-5);
        requireClose(
                table.getGradient().get("3"),
                Arrays.stream(sums).map(sum -> sum + 2).toArray(),
                1e-5);
    }

    @Test
    void aLoadedRowOfPaddingIsKept() throws Exception {
        InputEmbeddingBlock saved = initialized23(embedding());
        InputEmbeddingBlock padded = initialized23(embedding().optPaddingIndex(3));
        WeightLoader.ofBlock(saved).load(padded);
        InputEmbeddingBlock loaded = embedding().optPaddingIndex(3).build();
        BlockBytes.load(manager, loaded, BlockBytes.saved(padded));
        requireSame(infer(padded), infer(saved));
        requireSame(infer(loaded), infer(saved));
    }

    @Test
    void aTokenEmbeddingOfAUserIsNotTrainedAtPadding() {
        Linear vectors = Linear.builder().setUnits(4).optBias(false).build();
        Block ofIds = new SequentialBlock()
                .add(LambdaBlock.singleton(
                        ids -> ids.toType(DataType.FLOAT32, false).add(1).expandDims(2), "ids"))
                .add(vectors);
        InputEmbeddingBlock block = initialized23(
                embedding().optTokenEmbedding(ofIds).optPaddingIndex(3).optNoPositions());
        SmallBlocks.train(manager, block, manager.ones(new Shape(2, 3, 4)), ids(manager));
        // the sum of all ids + 1 but padding, which occurs twice: 2 + 1 + 7 + 1
        assertThat(vectors.getParameters()
                        .get("weight")
                        .getArray()
                        .getGradient()
                        .toFloatArray())
                .containsOnly(11);
        NDArray weight = vectors.getParameters().get("weight").getArray();
        requireClose(
                infer(block).get("1, 0"),
                Arrays.stream(TestNumbers.doubles(weight)).map(w -> 4 * w).toArray(),
                1e-6);
    }

    /** BERT's input, of V = 7 and two types, by its formula in double: the sum of three rows, normalized. */
    private double[] bert(InputEmbeddingBlock block, NDArray positions, long[] ids, int[] at, int... types) {
        double[] tokens = TestNumbers.doubles(block.getTokenTable().getArray());
        double[] rows = TestNumbers.doubles(positions);
        double[] ofTypes = TestNumbers.doubles(block.getTokenTypeTable().getArray());
        double[] expected = new double[4 * ids.length];
        for (int i = 0; i < ids.length; i++) {
            double[] sum = new double[4];
            for (int d = 0; d < 4; d++) {
                sum[d] = tokens[(int) ids[i] * 4 + d] + rows[at[i] * 4 + d] + ofTypes[types[i] * 4 + d];
            }
            double mean = Arrays.stream(sum).average().orElseThrow();
            double variance = Arrays.stream(sum)
                    .map(x -> (x - mean) * (x - mean))
                    .average()
                    .orElseThrow();
            for (int d = 0; d < 4; d++) {
                expected[4 * i + d] = (sum[d] - mean) / Math.sqrt(variance + 1e-12);
            }
        }
        return expected;
    }

    /** transformers' BertEmbeddings: word_embeddings + position_embeddings + token_type_embeddings, LayerNorm. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void addsTheTypesOfTokensAsBert(DataType type) {
        LearnedPositionalEncodingBlock positions = SmallBlocks.learned().build();
        InputEmbeddingBlock block = embedding()
                .optTokenTypes(2)
                .optPositionalEncoding(new SequentialBlock()
                        .add(positions)
                        .add(LayerNormBlock.builder()
                                .setEmbeddingSize(4)
                                .optEpsilon(1e-12)
                                .build()))
                .build();
        block.initialize(manager, type, new Shape(2, 3));
        NDArray table = positions.getTable().getArray();
        NDArray types = Inputs.integers(manager, 0, 1, 1, 0, 0, 1).reshape(2, 3);
        long[] ids = ids(manager).toLongArray();
        int[] at = {0, 1, 2, 0, 1, 2};
        double tolerance = type == DataType.FLOAT32 ? 1e-3 : 1e-8; // of differences of numbers about 1
        double[] first = bert(block, table, ids, at, 0, 0, 0, 0, 0, 0);
        double[] expected = bert(block, table, ids, at, 0, 1, 1, 0, 0, 1);
        requireClose(infer(block), first, tolerance);
        requireClose(Forward.infer(manager, block, withTypes(types), ids(manager)), expected, tolerance);
        for (String name : List.of(InputEmbeddingBlock.TOKEN_TYPES, "token_type_ids")) {
            NDArray named = types.toType(DataType.INT32, true);
            named.setName(name);
            requireClose(Forward.infer(manager, block, ids(manager), named), expected, tolerance);
        }
        // one row for all sequences
        NDArray row = Inputs.integers(manager, 0, 1, 1);
        requireClose(
                Forward.infer(manager, block, withTypes(row), ids(manager)),
                bert(block, table, ids, at, 0, 1, 1, 0, 1, 1),
                tolerance);
    }

    private static PairList<String, Object> withTypes(Object types) {
        return Forward.params(InputEmbeddingBlock.TOKEN_TYPES, types);
    }

    @Test
    void typesAreNotScaledAndAreTrained() {
        InputEmbeddingBlock block = initialized23(
                embedding().optTokenTypes(3).optScaleEmbedding(true).optPaddingIndex(0));
        NDArray types = Inputs.integers(manager, 2, 1, 1).reshape(1, 3);
        NDArray table = block.getTokenTypeTable().getArray();
        NDArray before = infer(block);
        double[] expected = TestNumbers.doubles(before);
        double[] ofTypes = TestNumbers.doubles(table);
        int[] each = {2, 1, 1, 2, 1, 1};
        for (int i = 0; i < expected.length; i++) {
            expected[i] += ofTypes[4 * each[i / 4] + i % 4] - ofTypes[i % 4];
        }
        requireClose(Forward.infer(manager, block, withTypes(types), ids(manager)), expected, 1e-5);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(
                            new ParameterStore(manager, false), new NDList(ids(manager)), true, withTypes(types))
                    .singletonOrThrow();
            collector.backward(y.sum());
        }
        // also those of padding
        assertThat(table.getGradient().get(":, 0").toFloatArray()).containsExactly(0, 4, 2);
        NDArray tokens = block.getTokenTable().getArray();
        assertThat(tokens.getGradient().get(":, 0").toFloatArray()).containsExactly(0, 2, 0, 4, 0, 0, 2);
    }

    @Test
    void acceptsTypesBesidePositions() {
        InputEmbeddingBlock block = initialized23(embedding().optTokenTypes(2));
        NDArray positions = Inputs.integers(manager, 4, 0, 9).reshape(1, 3);
        NDArray types = Inputs.integers(manager, 1, 0, 1, 1, 1, 0).reshape(2, 3);
        NDArray expected = Forward.infer(manager, block, withTypes(types), ids(manager), positions);
        NDArray named = types.duplicate();
        named.setName(InputEmbeddingBlock.TOKEN_TYPES);
        requireSame(Forward.infer(manager, block, ids(manager), positions, named), expected);
        requireSame(Forward.infer(manager, block, ids(manager), named, positions), expected);
        // without the name, 0 and 1 are positions
        NDArray zeros = Inputs.integers(manager, 0, 1, 1).reshape(1, 3);
        requireSame(
                Forward.infer(manager, block, ids(manager), zeros),
                Forward.inferAt(manager, zeros, block, ids(manager)));
    }

    @Test
    void rejectsTypesThatDoNotFit() {
        InputEmbeddingBlock block = initialized23(embedding().optTokenTypes(2));
        InputEmbeddingBlock without = initialized23(embedding());
        NDList ids = new NDList(zeroIds(2, 3));
        NDArray named = zeroIds(2, 3);
        named.setName("token_type_ids");
        List<Executable> all = new ArrayList<>(List.of(
                rejectedInputs(without, withTypes(zeroIds(2, 3)), ids, "(2, 3)", "optTokenTypes(int)"),
                rejectedInputs(without, new NDList(zeroIds(2, 3), named), "(2, 3)", "optTokenTypes(int)"),
                rejectedInputs(block, withTypes(zeroIds(2, 4)), ids, "(2, 4)", "(2, 3)"),
                rejectedInputs(block, withTypes(zeroIds(2, 3, 1)), ids, "(2, 3, 1)", "(2, 3)"),
                rejectedInputs(block, withTypes(Inputs.zeros(manager, 2, 3)), ids, "float32", "(2, 3)"),
                rejectedInputs(block, withTypes(1), ids, "Integer", "NDArray"),
                rejectedInputs(block, withTypes(zeroIds(2, 3)), new NDList(zeroIds(2, 3), named), "tokenTypes"),
                rejected(embedding().optTokenTypes(0)::build, "tokenTypes 0")));
        if (!manager.getDevice().isGpu()) {
            NDArray beyond = Inputs.integers(manager, 0, 1, 2);
            all.add(rejectedInputs(block, withTypes(beyond), ids, "token type 2", "0 to 1", "optTokenTypes(int)"));
        }
        assertAll(all);
    }

    static List<Optimizer> optimizers() {
        return List.of(
                Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.1f)).build(),
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(0.1f))
                        .optMomentum(0.9f)
                        .optWeightDecays(0.1f)
                        .build());
    }

    @ParameterizedTest
    @MethodSource("optimizers")
    void paddingStaysZeroInTraining(Optimizer optimizer) {
        InputEmbeddingBlock block = embedding().optPaddingIndex(0).build();
        block.setInitializer(new NormalInitializer(1), Parameter.Type.WEIGHT);
        initialized(manager, block, 2, 3);
        float[] before = table(block);
        assertThat(Arrays.copyOf(before, 4)).containsOnly(0);
        NDArray weight = block.getTokenTable().getArray();
        for (int i = 0; i < 5; i++) {
            SmallBlocks.train(manager, block, manager.arange(24f).reshape(2, 3, 4), ids(manager));
            optimizer.update(block.getTokenTable().getId(), weight, weight.getGradient());
        }
        assertThat(Arrays.copyOf(table(block), 4)).containsOnly(0);
        // token 1 was trained
        assertThat(Arrays.copyOfRange(table(block), 4, 8)).isNotEqualTo(Arrays.copyOfRange(before, 4, 8));
    }

    @Test
    void paddingIsZeroIfInitializedWhileGradientsAreRecorded() {
        InputEmbeddingBlock block = embedding().optPaddingIndex(2).build();
        SmallBlocks.train(manager, block, manager.ones(new Shape(2, 3, 4)), ids(manager));
        assertThat(Arrays.copyOfRange(table(block), 8, 12)).containsOnly(0);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT64", "INT32", "UINT8"})
    void countsPositionsFromPaddingAsFairseq(DataType type) {
        // with padding index 1, the first token is at position 2, and padding is zero
        InputEmbeddingBlock block = embedding()
                .optTokenEmbedding(zeroTokens())
                .optPaddingIndex(1)
                .optPositionsFromPadding(2)
                .build();
        NDArray sentences = Inputs.integers(manager, 5, 6, 0, 1, 1, 1, 1, 5, 6, 0, 1, 5, 1, 6, 0, 1, 1, 1, 1, 1)
                .reshape(4, 5)
                .toType(type, true);
        int none = -1;
        double[] expected = encoded(
                2, 3, 4, none, none, //
                none, none, 2, 3, 4, //
                none, 2, none, 3, 4, //
                none, none, none, none, none);
        requireClose(Forward.infer(manager, block, sentences), expected, ROUNDING);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -3})
    void countsPositionsAlongTheAxisOfTheSequence(int axis) {
        InputEmbeddingBlock block = embedding()
                .optTokenEmbedding(zeroTokens())
                .optPaddingIndex(0)
                .optPositionsFromPadding(1)
                .optPositionalEncoding(PositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optSequenceAxis(axis)
                        .build())
                .build();
        // two sentences, in columns
        NDArray ids = Inputs.integers(manager, 5, 0, 6, 3, 0, 4).reshape(3, 2);
        requireClose(Forward.infer(manager, block, ids), encoded(1, -1, 2, 1, -1, 2), ROUNDING);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT64", "UINT8"})
    void noIdIsAPaddingIndexBeyondTheRangeOfTheirType(DataType type) {
        InputEmbeddingBlock block = embedding()
                .setVocabularySize(257)
                .optTokenEmbedding(zeroTokens())
                .optPaddingIndex(256)
                .optPositionsFromPadding(2)
                .build();
        NDArray ids = Inputs.integers(manager, 0, 1).reshape(1, 2).toType(type, true);
        requireClose(Forward.infer(manager, block, ids), encoded(2, 3), ROUNDING);
        assertThat(block.mask(ids).toBooleanArray()).containsExactly(true, true);
    }

    @Test
    void aMaskIsFalseForPaddingOnly() {
        NDArray mask = embedding().optPaddingIndex(3).build().mask(ids(manager));
        assertThat(mask.getShape()).isEqualTo(new Shape(2, 3));
        assertThat(mask.toBooleanArray()).containsExactly(true, true, true, false, false, true);
        assertThat(embedding().build().mask(ids(manager))).isNull();
    }

    @Test
    void hasNoTableOfACustomTokenEmbedding() throws Throwable {
        InputEmbeddingBlock block = embedding().optTokenEmbedding(zeroTokens()).build();
        rejected(IllegalStateException.class, block::getTokenTable, "LambdaBlock")
                .execute();
    }

    private NDArray zeroIds(long... shape) {
        return Inputs.zeros(manager, DataType.INT64, shape);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT64", "INT32", "INT8"})
    void rejectsIdsOutsideOfTheVocabulary(DataType type) {
        assumeCpu();
        InputEmbeddingBlock block = initialized23(embedding());
        NDArray beyond = Inputs.integers(manager, 0, 6, 7, 1).reshape(2, 2).toType(type, true);
        NDArray negative = Inputs.integers(manager, 0, 6, -1, 1).reshape(2, 2).toType(type, true);
        assertAll(
                rejectedInputs(block, new NDList(beyond), "token id 7", "index 2", "(2, 2)", "0 to 6"),
                rejectedInputs(block, new NDList(negative), "token id -1", "index 2", "setVocabularySize(int)"));
    }

    @Test
    void rejectsIdsOfOtherShapesAndTypes() {
        InputEmbeddingBlock block = initialized23(embedding().optMaxSequenceLength(10));
        List<Executable> all = new ArrayList<>(List.of(
                rejectedInputs(block, new NDList(), "0 inputs", "[ids, positions]"),
                rejectedInputs(block, new NDList(zeroIds()), "()", "(B, T)"),
                rejectedInputs(block, new NDList(zeroIds(3)), "(3)", "(B, T)"),
                rejectedInputs(block, new NDList(zeroIds(1, 3, 1)), "(1, 3, 1)", "(B, T)"),
                rejectedInputs(block, new NDList(zeroIds(1, 11)), "length 11", "maximum 10")));
        for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT64, DataType.BOOLEAN)) {
            NDArray ids = Inputs.zeros(manager, type, 1, 3);
            all.add(rejectedInputs(block, new NDList(ids), "(1, 3)", type, "toType(DataType.INT64, false)"));
        }
        assertAll(all);
    }

    @Test
    void rejectsMasksAsPositions() {
        InputEmbeddingBlock with = initialized23(embedding());
        InputEmbeddingBlock without = initialized23(embedding().optNoPositions());
        NDArray mask = Inputs.zeros(manager, DataType.BOOLEAN, 2, 3);
        assertAll(
                rejectedInputs(with, new NDList(zeroIds(2, 3), mask), "positions", "boolean", "mask"),
                rejectedInputs(without, new NDList(zeroIds(2, 3), mask), "2 arrays", "[ids]", "attention"),
                rejectedInputs(without, new NDList(zeroIds(2, 3), zeroIds(3)), "2 arrays", "[ids]"));
    }

    @Test
    void rejectsPositionsTwice() {
        InputEmbeddingBlock block = initialized23(embedding());
        InputEmbeddingBlock padded =
                initialized23(embedding().optPaddingIndex(0).optPositionsFromPadding(1));
        NDArray positions = zeroIds(1, 3);
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, positions);
        NDList inputs = new NDList(zeroIds(2, 3), positions);
        assertAll(
                rejectedInputs(block, params, inputs, "positions", "(1, 3)"),
                rejectedInputs(padded, params, inputs, "positions", "(1, 3)"));
    }

    @Test
    void rejectsAStartPositionOfPositionsFromPadding() throws Throwable {
        InputEmbeddingBlock padded =
                initialized23(embedding().optPaddingIndex(0).optPositionsFromPadding(1));
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.START_POSITION, 1);
        rejectedInputs(padded, params, new NDList(zeroIds(2, 3)), "startPosition 1", "(2, 3)", "[ids, positions]")
                .execute();
    }

    @Test
    void rejectsOtherShapesOfCustomBlocks() {
        Block wide = LambdaBlock.singleton(ids -> ids.getManager().zeros(new Shape(2, 3, 5)));
        InputEmbeddingBlock ofTokens = embedding().optTokenEmbedding(wide).build();
        InputEmbeddingBlock ofPositions = initialized23(
                embedding().optPositionalEncoding(Linear.builder().setUnits(5).build()));
        assertAll(
                rejected(() -> infer(ofTokens), "(2, 3, 5)", "(2, 3)", "(2, 3, 4)"),
                rejected(() -> infer(ofPositions), "Linear", "(2, 3, 5)", "(2, 3, 4)"));
    }

    @Test
    void aRejectedInitializationChangesNothing() {
        InputEmbeddingBlock fresh = embedding().optMaxSequenceLength(10).build();
        InputEmbeddingBlock block = initialized23(embedding().optMaxSequenceLength(10));
        Shape[] before = block.getInputShapes();
        Shape eleven = new Shape(1, 11);
        assertAll(
                rejected(() -> fresh.initialize(manager, DataType.BFLOAT16, new Shape(1, 3)), "bfloat16"),
                rejected(() -> fresh.initialize(manager, DataType.FLOAT32, eleven), "length 11", "maximum 10"),
                () -> assertThat(fresh.isInitialized()).isFalse(),
                rejected(() -> block.initialize(manager, DataType.FLOAT32), "0 inputs"),
                rejected(() -> block.initialize(manager, DataType.FLOAT32, eleven), "length 11", "maximum 10"),
                () -> assertThat(block.getInputShapes()).isEqualTo(before));
    }

    @Test
    void rejectsATableThatNoMachineHasMemoryFor() throws Throwable {
        assumeCpu();
        InputEmbeddingBlock block = embedding()
                .setVocabularySize(2_000_000_000)
                .setEmbeddingSize(1024)
                .build();
        rejectedWithoutLeak(
                        manager,
                        () -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 3)),
                        "(2000000000, 1024)",
                        8_192_000_000_000L)
                .execute();
    }

    @Test
    void rejectsOptionsOutOfRange() {
        assertAll(
                rejected(embedding().setVocabularySize(0)::build, "vocabularySize 0"),
                rejected(embedding().setEmbeddingSize(0)::build, "embeddingSize 0"),
                rejected(embedding().optMaxSequenceLength(0)::build, "maxSequenceLength 0"),
                rejected(embedding().optPaddingIndex(-1)::build, "paddingIndex -1"),
                rejected(embedding().optPaddingIndex(7)::build, "paddingIndex 7", "0 to 6"),
                rejected(embedding().optPaddingIndex(0).optPositionsFromPadding(-1)::build, "positionsFromPadding -1"),
                rejected(embedding().optDropoutRate(-0.1f)::build, "dropoutRate -0.1"),
                rejected(embedding().optDropoutRate(1)::build, "dropoutRate 1.0"),
                rejected(embedding().optDropoutRate(Float.NaN)::build, "dropoutRate NaN"));
    }

    @Test
    void rejectsPositionalEncodingsThatDoNotFit() {
        PositionalEncodingBlock.Builder positions =
                PositionalEncodingBlock.builder().setEmbeddingSize(4);
        GridPositionalEncodingBlock grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(4))
                .build();
        assertAll(
                rejected(
                        embedding().setEmbeddingSize(6).optPositionalEncoding(positions.build())::build,
                        "size 4",
                        "embeddingSize 6"),
                rejected(
                        embedding()
                                .optPositionalEncoding(
                                        positions.optAddToInput(false).build())::build,
                        "addToInput=false",
                        "optAddToInput(true)"),
                rejected(
                        embedding().optPositionalEncoding(grid)::build,
                        "GridPositionalEncodingBlock",
                        "PositionalEncodingBlock"));
    }

    @Test
    void rejectsOptionsThatExcludeEachOther() {
        Block positions = SmallBlocks.positions().build();
        InputEmbeddingBlock.Builder padded = embedding().optPaddingIndex(0).optPositionsFromPadding(2);
        assertAll(
                rejected(
                        embedding().optPositionalEncoding(positions).optMaxSequenceLength(20)::build,
                        "maxSequenceLength 20"),
                rejected(embedding().optNoPositions().optMaxSequenceLength(20)::build, "maxSequenceLength 20"),
                rejected(
                        embedding().optNoPositions().optPositionalEncoding(positions)::build,
                        "PositionalEncodingBlock",
                        "noPositions"),
                rejected(
                        embedding().optScaleEmbedding(true).optTokenScale(2)::build,
                        "tokenScale 2.0",
                        "scaleEmbedding true"),
                rejected(embedding().optPositionsFromPadding(1)::build, "positionsFromPadding 1", "paddingIndex null"),
                rejected(padded.optNoPositions()::build, "positionsFromPadding 2", "noPositions true"));
    }

    @Test
    void rejectsArgumentsOfOtherClasses() {
        assertAll(
                rejected(() -> ofPositions(Map.of("type", "DropoutBlock")), "'positionalEncoding.type'"),
                rejected(() -> ofPositions(Map.of("type", "java.lang.Runtime")), "'positionalEncoding.type'"),
                rejected(() -> ofPositions(Map.of("type", 1)), "'positionalEncoding.type'"),
                rejected(
                        () -> ofPositions(Map.of("type", "PositionalEncodingBlock", "embeddingSize", 4, "x", 1)),
                        "PositionalEncodingBlock",
                        "'x'"));
    }

    private static InputEmbeddingBlock ofPositions(Map<String, Object> encoding) {
        return InputEmbeddingBlock.fromArguments(
                Map.of("vocabularySize", 7, "embeddingSize", 4, "positionalEncoding", encoding));
    }

    static Stream<Block> blocksWithoutArguments() {
        return Stream.of(Linear.builder().setUnits(4).build(), zeroTokens());
    }

    @ParameterizedTest
    @MethodSource("blocksWithoutArguments")
    void rejectsArgumentsWithBlocksThatHaveNone(Block custom) {
        InputEmbeddingBlock ofPositions =
                embedding().optPositionalEncoding(custom).build();
        InputEmbeddingBlock ofTokens = embedding().optTokenEmbedding(custom).build();
        String type = custom.getClass().getName();
        assertAll(
                rejected(UnsupportedOperationException.class, ofPositions::getArguments, type, "InputEmbeddingBlock"),
                rejected(UnsupportedOperationException.class, ofTokens::getArguments, type, "InputEmbeddingBlock"));
    }
}
