package io.github.djlpositional.conformance;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.relative.EncodingType.ALIBI_LEARNED;
import static io.github.djlpositional.relative.EncodingType.DISENTANGLED;
import static io.github.djlpositional.relative.EncodingType.DISTANCE_NETWORK;
import static io.github.djlpositional.relative.EncodingType.FIRE;
import static io.github.djlpositional.relative.EncodingType.KERPLE;
import static io.github.djlpositional.relative.EncodingType.LEARNED_ROTARY;
import static io.github.djlpositional.relative.EncodingType.PROJECTED_DISTANCE;
import static io.github.djlpositional.relative.EncodingType.SHAW;
import static io.github.djlpositional.relative.EncodingType.T5;
import static io.github.djlpositional.relative.EncodingType.TRANSFORMER_XL;
import static io.github.djlpositional.relative.EncodingType.WINDOW;
import static io.github.djlpositional.relative.EncodingType.WINDOW_NETWORK;
import static io.github.djlpositional.relative.EncodingType.WINDOW_NETWORK_OF_FRAMES;
import static io.github.djlpositional.relative.EncodingType.WINDOW_VECTORS;
import static io.github.djlpositional.support.FileEdits.withByte;
import static io.github.djlpositional.support.FileEdits.withInt;
import static io.github.djlpositional.support.FileEdits.withLong;
import static io.github.djlpositional.support.FileEdits.withOptions;
import static io.github.djlpositional.support.FileEdits.withRows;
import static io.github.djlpositional.support.FileEdits.withText;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.SmallBlocks.embedding;
import static io.github.djlpositional.support.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.UninitializedParameterException;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Inputs;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the blocks write to a model file, and which files they accept and reject.
 *
 * <p>The folder {@code model-files} has a file of each of {@link TestBlocks}, so that names, defaults and values of all
 * settings are protected. The file of a new case is written with {@code mvn test -Dtest=ModelFileTest#write
 * -Dmodel-files.write=v1}; existing files are not changed. A new version of the format gets a new folder, {@code v2},
 * and a test that it still reads {@code v1}.
 */
class ModelFileTest extends OnEachEngine {

    @TempDir
    private Path folder;

    private static LearnedPositionalEncodingBlock.Builder learned() {
        return SmallBlocks.learned().optMaxSequenceLength(6);
    }

    private static RotaryEmbeddingBlock.Builder rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(4);
    }

    private static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(4).setHeadCount(2);
    }

    private static FeedForwardBlock.Builder feedForward(int hiddenSize) {
        return FeedForwardBlock.builder().setEmbeddingSize(4).setHiddenSize(hiddenSize);
    }

    private static FeedForwardBlock.Builder gelu() {
        return feedForward(16).optNonlinearity(Nonlinearity.GELU);
    }

    private static TransformerLayerBlock.Builder layer(MultiHeadAttentionBlock.Builder attention) {
        return TransformerLayerBlock.builder()
                .setAttention(attention.build())
                .optFeedForward(feedForward(4).build());
    }

    private static TransformerStackBlock.Builder stack(int layers) {
        return TransformerStackBlock.builder()
                .setLayers(layers, () -> layer(attention()))
                .optFinalNorm(true);
    }

    private static TransformerLayerBlock.Builder decoderLayer() {
        return layer(attention().optCausal(true))
                .optCrossAttention(attention().build())
                .optFeedForward(gelu().build())
                .optNormPlacement(NormPlacement.BEFORE_PART);
    }

    /** The model file of a block that is initialized for an input. */
    private byte[] file(Block block, long... shape) throws IOException {
        return BlockBytes.saved(SmallBlocks.initialized(manager, block, shape));
    }

    private byte[] fileOfPositions() throws IOException {
        return file(positions().build(), 2, 3, 4);
    }

    private byte[] fileOfTable() throws IOException {
        return file(learned().build(), 2, 3, 4);
    }

    private byte[] fileOfTokens() throws IOException {
        return file(embedding().build(), 2, 3);
    }

    /** Expects a file to be rejected, and nothing of it to be loaded. */
    private Executable rejectedFile(byte[] file, Block to, Object... values) {
        return () -> {
            int before = manager.getManagedArrays().size();
            rejected(MalformedModelException.class, () -> BlockBytes.load(manager, to, file), values)
                    .execute();
            assertThat(manager.getManagedArrays()).hasSizeLessThanOrEqualTo(before);
            assertThat(to.isInitialized()).isFalse();
            assertThat(to.getParameters().values()).noneMatch(Parameter::isInitialized);
        };
    }

    @Test
    void rejectsOtherOptionsOfPositions() throws IOException {
        byte[] file = fileOfPositions();
        byte[] scaled = file(positions().optLearnedScale(0.5f).build(), 2, 3, 4);
        SinusoidalEncoding ofBase500 = SinusoidalEncoding.vaswani(4, 500);
        assertAll(
                rejectedFile(file, positions().setEmbeddingSize(6).build(), "embeddingSize 4", 6),
                rejectedFile(file, positions().optAddToInput(false).build(), "addToInput true", false),
                rejectedFile(file, positions().optSequenceAxis(0).build(), "sequenceAxis -2", 0),
                rejectedFile(file, positions().optEncoding(ofBase500).build(), "encoding {", "10000.0", "500.0"),
                rejectedFile(file, positions().optLearnedScale(1).build(), "no learned scale", 1.0),
                rejectedFile(scaled, positions().optLearnedScale(0.25f).build(), "learnedScale 0.5", 0.25),
                rejectedFile(scaled, positions().build(), "learnedScale 0.5", "no learned scale"));
    }

    @Test
    void rejectsOtherOptionsOfTokens() throws IOException {
        byte[] file = fileOfTokens();
        byte[] withoutPositions = file(embedding().optNoPositions().build(), 2, 3);
        PositionalEncodingBlock timeMajor = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optSequenceAxis(0)
                .build();
        assertAll(
                rejectedFile(file, embedding().setVocabularySize(8).build(), "vocabularySize 7", 8),
                rejectedFile(file, embedding().optScaleEmbedding(true).build(), "scaleEmbedding false", true),
                rejectedFile(file, embedding().optPaddingIndex(0).build(), "no padding index", 0),
                rejectedFile(file, embedding().optNoPositions().build(), "noPositions false", true),
                rejectedFile(withoutPositions, embedding().build(), "noPositions true", false),
                // the encoding is a block within the block, with a section of its own
                rejectedFile(file, embedding().optPositionalEncoding(timeMajor).build(), "sequenceAxis -2", 0));
    }

    @Test
    void rejectsOtherOptionsOfTablesAndGrids() throws IOException {
        byte[] table = fileOfTable();
        byte[] grid = file(
                SmallBlocks.learned().optMaxSequenceLength(6).optGrid(0, 2, 3).build(), 2, 6, 4);
        assertAll(
                rejectedFile(table, learned().optMaxSequenceLength(7).build(), "maxSequenceLength 6", 7),
                rejectedFile(grid, learned().optGrid(0, 3, 2).build(), "[2, 3]", "[3, 2]"),
                rejectedFile(grid, learned().optGrid(0, 6).build(), "[2, 3]", "[6]"));
    }

    @Test
    void rejectsOtherOptionsOfRotations() throws IOException {
        byte[] scaled = file(rotary().optScaling(RotaryScaling.linear(2)).build(), 1, 2, 3, 4);
        byte[] listed = file(rotary().optFrequencies(Frequencies.of(1, 16)).build(), 1, 2, 3, 4);
        assertAll(
                rejectedFile(scaled, rotary().build(), "type=Linear", "factor=2.0", "no scaling"),
                rejectedFile(
                        scaled, rotary().optScaling(RotaryScaling.linear(4)).build(), "factor=2.0", "factor=4.0"),
                // lists are compared number by number
                rejectedFile(
                        listed, rotary().optFrequencies(Frequencies.of(1, 16.5)).build(), "frequencies {", "16.5"));
    }

    private static Stream<Arguments> optionsOfRelativeEncodings() {
        return Stream.of(
                arguments(ALIBI_LEARNED, "learned", false),
                arguments(ALIBI_LEARNED, "slopes", List.of(1.0, 2.0)),
                arguments(T5, "maxDistance", 64),
                arguments(T5, "bidirectional", false),
                arguments(KERPLE, "form", "POWER"),
                arguments(FIRE, "threshold", 4.0),
                arguments(DISTANCE_NETWORK, "logarithmic", false),
                arguments(DISTANCE_NETWORK, "hiddenLayers", 2),
                arguments(SHAW, "maxDistance", 3),
                arguments(SHAW, "values", false),
                arguments(SHAW, "clipped", false),
                arguments(
                        TRANSFORMER_XL,
                        "encoding",
                        SinusoidalEncoding.vaswani(8).getArguments()),
                arguments(DISENTANGLED, "maxDistance", 13),
                arguments(DISENTANGLED, "positionToContent", false),
                arguments(PROJECTED_DISTANCE, "maxDistance", 4),
                arguments(LEARNED_ROTARY, "layout", "CONCATENATED"),
                arguments(WINDOW, "window", List.of(3, 2)),
                arguments(WINDOW_NETWORK, "window", List.of(2, 4)),
                arguments(WINDOW_NETWORK_OF_FRAMES, "form", "LOGARITHMIC"),
                arguments(WINDOW_VECTORS, "window", List.of(2, 3, 2)));
    }

    @ParameterizedTest
    @MethodSource("optionsOfRelativeEncodings")
    void rejectsOtherOptionsOfRelativeEncodings(EncodingType type, String option, Object other) throws Throwable {
        byte[] file = BlockBytes.saved(type.initialized(manager));
        Object saved = ((HasArguments) type.block()).getArguments().get(option);
        rejectedFile(file, withOption(type, option, other), option, saved, other)
                .execute();
    }

    private static Block withOption(EncodingType type, String option, Object value) {
        Map<String, Object> arguments = new HashMap<>(((HasArguments) type.block()).getArguments());
        arguments.put(option, value);
        return (Block) RelativeEncoding.fromArguments(arguments);
    }

    @Test
    void rejectsOtherOptionsOfAttentions() throws IOException {
        MultiHeadAttentionBlock.Builder biased = attention()
                .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(2).build());
        String none = "no relative encoding";
        assertAll(
                rejectedFile(file(attention().build(), 2, 3, 4), biased.build(), none, "[AlibiBiasBlock]"),
                rejectedFile(
                        file(biased.build(), 2, 3, 4), attention().build(), "relativeEncoding [AlibiBiasBlock]", none));
    }

    @Test
    void rejectsOtherOptionsOfLayers() throws IOException {
        Block saved = decoderLayer().build();
        saved.initialize(manager, DataType.FLOAT32, new Shape(2, 5, 4), new Shape(2, 4, 4));
        byte[] file = BlockBytes.saved(saved);
        Block withoutCrossAttention = layer(attention().optCausal(true))
                .optFeedForward(gelu().build())
                .optNormPlacement(NormPlacement.BEFORE_PART)
                .build();
        assertAll(
                rejectedFile(
                        file,
                        decoderLayer().optNormPlacement(NormPlacement.AFTER_SUM).build(),
                        "normPlacement BEFORE_PART",
                        "AFTER_SUM"),
                rejectedFile(
                        file,
                        decoderLayer().optFeedForward(feedForward(16).build()).build(),
                        "nonlinearity GELU",
                        "RELU"),
                rejectedFile(file, decoderLayer().optNorm(Norm.RMS).build(), "norm LAYER", "RMS"),
                rejectedFile(
                        file,
                        decoderLayer()
                                .optFeedForward(gelu().setHiddenSize(12).build())
                                .build(),
                        "hiddenSize 16",
                        12),
                rejectedFile(file, withoutCrossAttention, "crossAttention", "no cross attention"),
                rejectedFile(
                        file, decoderLayer().setAttention(attention().build()).build(), "causal true", false));
    }

    @Test
    void rejectsOtherOptionsOfStacks() throws IOException {
        byte[] two = file(stack(2).build(), 2, 3, 4);
        TransformerLayerBlock preNorm =
                layer(attention()).optNormPlacement(NormPlacement.BEFORE_PART).build();
        List<TransformerLayerBlock> mixed = List.of(preNorm, layer(attention()).build());
        assertAll(
                rejectedFile(two, stack(1).build(), "2 layers", 1),
                rejectedFile(file(stack(1).build(), 2, 3, 4), stack(2).build(), "1 layer,", 2),
                rejectedFile(two, stack(2).optFinalNorm(false).build(), "finalNorm true", false),
                rejectedFile(two, stack(2).optInput(embedding().build()).build(), "no input", "InputEmbeddingBlock"),
                rejectedFile(two, stack(2).setLayers(mixed).build(), "normPlacement AFTER_SUM", "BEFORE_PART"));
    }

    @Test
    void namesAFileOfFewerBlocksOfASequence() throws IOException {
        byte[] two = file(sequence(2), 2, 3, 4);
        byte[] followed = Arrays.copyOf(two, two.length + 100);
        Arrays.fill(followed, two.length, followed.length, (byte) 7);
        assertAll(
                rejected(
                        MalformedModelException.class,
                        () -> BlockBytes.load(manager, sequence(3), two),
                        "PositionalEncodingBlock",
                        "as many blocks"),
                rejected(
                        MalformedModelException.class,
                        () -> BlockBytes.load(manager, sequence(3), followed),
                        "PositionalEncodingBlock",
                        "version 7",
                        "fewer layers"));
    }

    private static Block sequence(int count) {
        SequentialBlock block = new SequentialBlock();
        for (int i = 0; i < count; i++) {
            block.add(positions().optLearnedScale(i).build());
        }
        return block;
    }

    /** With a version that DJL knows, its blocks would read the options as shapes. */
    @Test
    void blocksOfDjlRejectTheVersion() throws IOException {
        byte[] file = fileOfPositions();
        assertAll(
                rejected(
                        MalformedModelException.class,
                        () -> BlockBytes.load(
                                manager, Linear.builder().setUnits(4).build(), file),
                        100),
                rejected(
                        MalformedModelException.class,
                        () -> BlockBytes.load(manager, new SequentialBlock(), file),
                        100));
    }

    @Test
    void rejectsAnEmptyFileAndOtherVersions() throws IOException {
        byte[] file = fileOfPositions();
        assertAll(
                rejectedFile(new byte[0], learned().build(), "LearnedPositionalEncodingBlock"),
                rejectedFile(withByte(file, 0, 99), positions().build(), "version 99", "version 100"));
    }

    /** The length of the options is the second value. One shape of three sizes ends the file: 4 + 4 + 3 · 8 bytes. */
    @ParameterizedTest
    @ValueSource(ints = {Integer.MAX_VALUE, -1, 100_000})
    void rejectsCountsBeyondWhatTheBlockNeeds(int count) throws IOException {
        byte[] file = fileOfPositions();
        assertAll(
                rejectedFile(withInt(file, 1, count), positions().build(), count + " bytes of options"),
                rejectedFile(withInt(file, -32, count), positions().build(), count + " input shapes", 8),
                rejectedFile(withInt(file, -28, count), positions().build(), count + " dimensions", 32));
    }

    @Test
    void rejectsMoreShapesAndSizesThanAFileHas() throws IOException {
        byte[] file = fileOfPositions();
        assertAll(
                rejectedFile(withInt(file, -32, 9), positions().build(), "9 input shapes", 8),
                rejectedFile(withInt(file, -28, 33), positions().build(), "33 dimensions", 32),
                rejectedFile(withLong(file, -8, -2), positions().build(), "size -2", -1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"4.0000001", "-4", "4e1", "1e999999999", "\"4\"", "null", "true", "[4]", "{}"})
    void rejectsOtherValuesOfAnOption(String value) throws Throwable {
        byte[] file = withOptions(fileOfPositions(), "\"embeddingSize\":4,", "\"embeddingSize\":" + value + ",");
        rejectedFile(file, positions().build(), "expected 4").execute();
    }

    @Test
    void rejectsMissingUnknownAndRepeatedOptions() throws IOException {
        byte[] file = fileOfPositions();
        String start = "{\"type\":\"Pos";
        assertAll(
                rejectedFile(
                        withOptions(file, ",\"sequenceAxis\":-2", ""),
                        positions().optSequenceAxis(0).build(),
                        "no sequence axis",
                        0),
                rejectedFile(
                        withOptions(file, "\"embeddingSize\":4,", ""),
                        positions().build(),
                        "no embedding size",
                        4),
                rejectedFile(
                        withOptions(file, start, "{\"other\":1,\"type\":\"Pos"),
                        positions().build(),
                        "other 1",
                        "no other"),
                rejectedFile(
                        withOptions(file, start, "{\"embeddingSize\":4,\"type\":\"Pos"),
                        positions().build(),
                        "'embeddingSize'",
                        "twice"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "{}{}",
                "[]",
                "4",
                "null",
                "{embeddingSize:4}",
                "{'embeddingSize':4}",
                "{\"embeddingSize\":4;}",
                "{\"embeddingSize\":NaN}",
                "/**/{\"embeddingSize\":4}",
                "{\"embeddingSize\":4,}"
            })
    void rejectsOptionsThatAreNotStrictJson(String options) throws Throwable {
        rejectedFile(withOptions(fileOfPositions(), options), positions().build(), "PositionalEncodingBlock")
                .execute();
    }

    @Test
    void rejectsBytesThatAreNotText() throws Throwable {
        rejectedFile(withByte(fileOfPositions(), 7, -1), positions().build(), "PositionalEncodingBlock")
                .execute();
    }

    @Test
    void rejectsDeeplyNestedOptions() throws IOException {
        byte[] file = fileOfPositions();
        String seventeen = "{\"a\":" + "[".repeat(17) + "]".repeat(17) + "}";
        assertAll(
                rejectedFile(withOptions(file, seventeen), positions().build(), 16),
                rejectedFile(withOptions(file, "[".repeat(30_000)), positions().build(), "PositionalEncodingBlock"),
                rejectedFile(
                        withOptions(file, "{\"a\":".repeat(10_000)), positions().build(), "PositionalEncodingBlock"));
    }

    /** PyTorch aborts the JVM when an array of BFLOAT16 is created. */
    @Test
    void rejectsParametersOfOtherTypesNamesAndShapes() throws IOException {
        byte[] file = fileOfTable();
        assertAll(
                rejectedFile(withText(file, "FLOAT32", "BFLOA16"), learned().build(), "BFLOA16", "FLOAT16", "FLOAT64"),
                rejectedFile(withText(file, "FLOAT32", "float32"), learned().build(), "float32", "FLOAT16", "FLOAT64"),
                // a type that the block has, with twice the bytes that the file has
                rejectedFile(withText(file, "FLOAT32", "FLOAT64"), learned().build(), "FLOAT64"),
                rejectedFile(
                        withText(file, "encodings", "encodingz"),
                        learned().build(),
                        "encodingz (6, 4)",
                        "encodings (6, 4)"),
                rejectedFile(withRows(file, 1L << 40), learned().build(), "(1099511627776, 4)", "(6, 4)"),
                rejectedFile(withRows(file, 7), learned().build(), "(7, 4)", "(6, 4)"),
                rejectedFile(withRows(file, 0), learned().build(), "(0, 4)", "(6, 4)"),
                rejectedFile(withRows(file, -1), learned().build(), "(-1, 4)", "(6, 4)"));
    }

    private NDArray positionsOf(byte[] file, PositionalEncodingBlock.Builder builder) throws Exception {
        Block block = builder.build();
        BlockBytes.load(manager, block, file);
        return Forward.infer(manager, block, Inputs.zeros(manager, 1, 3, 4));
    }

    /** Dropout and the length of a constant table may change from one run to the next. */
    @Test
    void acceptsOtherOptionsThatDoNotChangeAResult() throws Exception {
        byte[] file = fileOfPositions();
        NDArray expected = Forward.infer(manager, positions().build(), Inputs.zeros(manager, 1, 3, 4));
        requireSame(positionsOf(file, positions().optDropoutRate(0.5f)), expected);
        requireSame(positionsOf(file, positions().optMaxSequenceLength(3)), expected);
        requireSame(positionsOf(file, positions().optMaxSequenceLength(20)), expected);
        requireSame(positionsOf(file, positions().optAutoExtend(10_000)), expected);
    }

    /** {@code skip} of a stream may skip fewer bytes than it is asked to. */
    @Test
    void readsAStreamThatSkipsNothing() throws Exception {
        LearnedPositionalEncodingBlock saved =
                SmallBlocks.initialized(manager, learned().build(), 2, 3, 4);
        InputStream stream = new FilterInputStream(new ByteArrayInputStream(BlockBytes.saved(saved))) {
            @Override
            public long skip(long count) {
                return 0;
            }
        };
        LearnedPositionalEncodingBlock loaded = learned().build();
        loaded.loadParameters(manager, new DataInputStream(stream));
        requireSame(loaded.getTable().getArray(), saved.getTable().getArray());
    }

    @Test
    void acceptsOtherOptionsWithinAnEmbedding() throws Exception {
        InputEmbeddingBlock saved = SmallBlocks.initialized(manager, embedding().build(), 2, 3);
        InputEmbeddingBlock loaded =
                embedding().optMaxSequenceLength(20_000).optDropoutRate(0.5f).build();
        BlockBytes.load(manager, loaded, BlockBytes.saved(saved));
        requireSame(loaded.getTokenTable().getArray(), saved.getTokenTable().getArray());
    }

    /** The encoding and the initial encodings of a table only initialize it. */
    @Test
    void acceptsOtherInitialValuesOfATable() throws Exception {
        LearnedPositionalEncodingBlock saved =
                SmallBlocks.initialized(manager, learned().build(), 2, 3, 4);
        byte[] file = BlockBytes.saved(saved);
        List<LearnedPositionalEncodingBlock> others = new ArrayList<>();
        others.add(learned().optEncoding(SinusoidalEncoding.vaswani(4)).build());
        for (GridResampling resampling : EnumSet.complementOf(EnumSet.of(GridResampling.GEOMETRIC))) {
            others.add(learned()
                    .optInitialEncodings(Inputs.zeros(manager, 3, 4))
                    .optResampling(resampling)
                    .build());
        }
        for (LearnedPositionalEncodingBlock other : others) {
            BlockBytes.load(manager, other, file);
            requireSame(other.getTable().getArray(), saved.getTable().getArray());
        }
    }

    /** They only initialize parameters, which are in the file. */
    @ParameterizedTest
    @CsvSource({"GAUSSIAN, sigma, 100", "LEARNED_ROTARY, base, 100"})
    void acceptsOtherInitialValuesOfARelativeEncoding(EncodingType type, String option, int other) throws Exception {
        Block saved = TestNumbers.filled(manager, type.block(), DataType.FLOAT32, type.shapes());
        Block loaded = withOption(type, option, other);
        BlockBytes.load(manager, loaded, BlockBytes.saved(saved));
        requireSame(
                loaded.getParameters().valueAt(0).getArray(),
                saved.getParameters().valueAt(0).getArray());
    }

    private NDArray rotated(byte[] file, RotaryEmbeddingBlock.Builder builder) throws Exception {
        Block block = builder.build();
        BlockBytes.load(manager, block, file);
        return rotated(block);
    }

    private NDArray rotated(Block block) {
        return Forward.infer(manager, block, Inputs.counted(manager, 1, 2, 3, 4).toType(DataType.FLOAT64, false));
    }

    @Test
    void acceptsAFileOfAShorterRotation() throws Exception {
        byte[] file = file(rotary().build(), 1, 2, 3, 4);
        double[] expected = doubles(rotated(rotary().build()));
        // FLOAT64: a pair of numbers up to 24 is rotated with a few roundings of 2^-53
        requireClose(rotated(file, rotary().optMaxSequenceLength(20_000)), expected, 1e-12);
    }

    /** No scaling is not saved, so a model that is extended after its training loads its file. */
    @Test
    void acceptsAFileOfARotationWithoutAScaling() throws Exception {
        double[] expected =
                doubles(rotated(rotary().optScaling(RotaryScaling.linear(2)).build()));
        byte[] without = file(rotary().build(), 1, 2, 3, 4);
        byte[] with = file(rotary().optScaling(RotaryScaling.linear(2)).build(), 1, 2, 3, 4);
        requireClose(rotated(without, rotary().optScaling(RotaryScaling.linear(2))), expected, 1e-12);
        requireClose(rotated(with, rotary().optScaling(RotaryScaling.linear(2))), expected, 1e-12);
    }

    @ParameterizedTest
    @ValueSource(strings = {"4.0", "4.000", "0.4e1", "40E-1"})
    void acceptsAnEqualNumberThatIsWrittenInAnotherWay(String number) throws Exception {
        byte[] file = withOptions(fileOfPositions(), "\"embeddingSize\":4,", "\"embeddingSize\":" + number + ",");
        Block block = positions().build();
        BlockBytes.load(manager, block, file);
        assertThat(block.isInitialized()).isTrue();
    }

    @Test
    void acceptsAFileWithoutAnOptionThatHasItsDefault() throws Exception {
        Block block = positions().build();
        BlockBytes.load(manager, block, withOptions(fileOfPositions(), ",\"sequenceAxis\":-2", ""));
        assertThat(block.isInitialized()).isTrue();
    }

    /** The first bytes of a model file are DJL's; where they are damaged, DJL loads nothing on PyTorch. */
    @Test
    void aForwardSaysThatModelLoadMaySkipAFile() throws Throwable {
        Files.writeString(folder.resolve("model-0000.params"), "not a model");
        try (Model model = Model.newInstance("model", Device.cpu(), engine.engineName())) {
            model.setBlock(learned().build());
            if (engine == TestEngine.PYTORCH) {
                model.load(folder, "model");
            }
            NDArray x = Inputs.zeros(manager, 1, 3, 4);
            rejected(
                            UninitializedParameterException.class,
                            () -> Forward.infer(manager, model.getBlock(), x),
                            "LearnedPositionalEncodingBlock",
                            "DJL@")
                    .execute();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBlockIsSavedCompletelyAfterItsStreamFailedOrWasReset(boolean isReset) throws Exception {
        Block block = positions().optLearnedScale(1).build();
        SmallBlocks.initialized(manager, block, 2, 3, 4);
        AtomicBoolean isFull = new AtomicBoolean(!isReset);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream() {
            @Override
            public synchronized void write(byte[] from, int first, int length) {
                if (isFull.getAndSet(false)) {
                    throw new UncheckedIOException(new IOException("once"));
                }
                super.write(from, first, length);
            }
        };
        DataOutputStream out = new DataOutputStream(bytes);
        if (isReset) {
            block.saveParameters(out);
        } else {
            assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> block.saveParameters(out));
        }
        bytes.reset();
        block.saveParameters(out);
        assertThat(bytes.toByteArray()).isEqualTo(BlockBytes.saved(block));
    }

    private static Block embeddingThatShares(Block inTokens, Block inPositions) {
        SequentialBlock tokens = new SequentialBlock()
                .add(LambdaBlock.singleton(
                        ids -> ids.toType(DataType.FLOAT32, true).expandDims(2).repeat(2, 4), "ids"))
                .add(inTokens);
        return embedding()
                .optTokenEmbedding(tokens)
                .optPositionalEncoding(new SequentialBlock().add(inPositions))
                .build();
    }

    @Test
    void blocksOfDjlInBetweenShareABlockWithTheOuterBlock() throws Exception {
        Block one = learned().build();
        Block saved = embeddingThatShares(one, one);
        byte[] file = file(saved, 2, 3);
        Block other = learned().build();
        Block loaded = embeddingThatShares(other, other);
        BlockBytes.load(manager, loaded, file);
        NDArray ids = SmallBlocks.ids(manager);
        assertThat(Forward.infer(manager, loaded, ids).toFloatArray())
                .isEqualTo(Forward.infer(manager, saved, ids).toFloatArray());
    }

    /** Numbers that FLOAT32 holds exactly. */
    private static float[] weights(Shape shape) {
        float[] values = new float[Math.toIntExact(shape.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (i * 37 % 101 - 50) / 64f;
        }
        return values;
    }

    private static Path storedFile(String version, TestBlocks kind) {
        return Path.of("src/test/resources/model-files", version, kind + ".params");
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void storedFilesLoadAndAreSavedTheSame(TestBlocks kind) throws Exception {
        Path file = storedFile("v1", kind);
        assertThat(file).as("write it with -Dmodel-files.write=v1").exists();
        Block block = kind.block();
        byte[] bytes = Files.readAllBytes(file);
        BlockBytes.load(manager, block, bytes);
        for (Parameter parameter : block.getParameters().values()) {
            float[] expected = weights(parameter.getArray().getShape());
            int padding = kind.paddingIndex();
            if ("embedding".equals(parameter.getName()) && padding >= 0) {
                int size = (int) parameter.getShape().get(1);
                Arrays.fill(expected, padding * size, (padding + 1) * size, 0);
            }
            assertThat(parameter.getArray().toFloatArray())
                    .as("%s", parameter.getName())
                    .containsExactly(expected);
        }
        assertThat(block.isInitialized()).isTrue();
        if (kind.paddingIndex() < 0) {
            assertThat(BlockBytes.saved(block)).as("the same file").isEqualTo(bytes);
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    @EnabledIfSystemProperty(named = "model-files.write", matches = "v[0-9]+")
    void write(TestBlocks kind) throws IOException {
        Path file = storedFile(System.getProperty("model-files.write"), kind);
        Files.createDirectories(file.getParent());
        if (!Files.exists(file)) {
            Block block = kind.block();
            block.setInitializer((owner, shape, type) -> owner.create(weights(shape), shape), parameter -> true);
            block.initialize(manager, DataType.FLOAT32, kind.shapes());
            Files.write(file, BlockBytes.saved(block));
        }
    }
}
