package io.github.djlpositional.conformance;

import static io.github.djlpositional.math.PairLayout.CONCATENATED;
import static io.github.djlpositional.support.SmallLayers.attention;
import static io.github.djlpositional.support.SmallLayers.causal;
import static io.github.djlpositional.transformer.TransformerLayerBlock.Arrangement.PARALLEL;
import static io.github.djlpositional.transformer.TransformerLayerBlock.Arrangement.PARALLEL_WITH_ONE_NORM;
import static io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement.AFTER_PART;
import static io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement.AROUND_PART;
import static io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement.BEFORE_PART;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.AxialPositionalEncodingBlock;
import io.github.djlpositional.FourierFeaturesBlock;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock.OutputGate;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.PoolingBlock;
import io.github.djlpositional.transformer.ProjectionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock.Coordinates;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Every block but the relative encodings, and those of their options that {@code EncodingType} does not have. A name is
 * also that of a stored model file.
 */
@SuppressWarnings("ImmutableEnumChecker") // the functions have no state
public enum BlockCase implements TestBlocks {
    POSITIONS(inSteps(2, 3, 4), () -> positions(4).build()),
    POSITIONS_OF_EVERY_SETTING(
            input(3, 2, 5),
            () -> positions(5)
                    .optMaxSequenceLength(9)
                    .optAddToInput(false)
                    .optSequenceAxis(0)
                    .optLearnedScale(0.25f)
                    .optAutoExtend(1 << 20)
                    .optDropoutRate(0.1f)
                    .optEncoding(SinusoidalEncoding.builder()
                            .setEmbeddingSize(5)
                            .optFrequencies(Frequencies.timescales(2, 1, 20).scaledBy(0.5))
                            .optLayout(CONCATENATED)
                            .optCosineFirst(true)
                            .optOddSize(OddSize.ZERO_PADDED)
                            .build())
                    .build()),
    EXPLICIT_POSITIONS(
            input(2, 3, 4).and(2, 3),
            () -> positions(4).optMaxSequenceLength(8).optAddToInput(false).build()),

    LEARNED(
            inSteps(2, 3, 4),
            () -> learned().optMaxSequenceLength(6).optEncoding(timescales()).build()),
    LEARNED_WITHOUT_INPUT(
            inSteps(2, 3, 4),
            () -> learned().optMaxSequenceLength(6).optAddToInput(false).build()),
    LEARNED_AT_POSITIONS(
            input(2, 3, 4).and(2, 3), () -> learned().optMaxSequenceLength(8).build()),
    LEARNED_GRID(
            input(2, 7, 4),
            () -> learned()
                    .optGrid(1, 2, 3)
                    .optPrefixEncoded(false)
                    .optResampling(GridResampling.BILINEAR_ALIGNED)
                    .build()),

    AXIAL(input(2, 6, 4), () -> axial(2, 3).build()),
    AXIAL_OF_A_SEQUENCE(
            inSteps(2, 3, 4),
            () -> axial(2, 3)
                    .optConcatenated(1, 3)
                    .optOrder(1, 0)
                    .optSequence(true)
                    .build()),
    AXIAL_RESAMPLED(
            input(2, 5, 4),
            () -> axial(2, 2)
                    .optPrefixTokens(1)
                    .optResampling(GridResampling.BILINEAR)
                    .optAspectRatioKept(true)
                    .build()),
    AXIAL_AT_POSITIONS(
            input(2, 3, 4).and(2, 3), () -> axial(3, 2).optPrefixTokens(1).build()),

    GRID(
            input(2, 8, 3, 2),
            () -> grid(GridEncoding.tensor2tensor(2, 8, 1, 100))
                    .optChannelsFirst(true)
                    .build()),
    GRID_OF_A_VISION_TRANSFORMER(
            input(2, 3, 2, 8), () -> grid(columnsAndRows().build()).build()),
    GRID_WITHOUT_INPUT(
            input(2, 3, 2, 8),
            () -> grid(columnsAndRows().build()).optAddToInput(false).build()),
    GRID_OF_TOKENS(
            input(2, 7, 8),
            () -> grid(GridEncoding.builder()
                            .setAxes(2)
                            .add(1, SinusoidalEncoding.vaswani(4))
                            .add(0, concatenated(), 1, 3)
                            .optChannels(8)
                            .optOffset(0.5)
                            .optScale(4)
                            .optNormalized(1e-6)
                            .optCenterCrop(9)
                            .build())
                    .optGrid(1, 2, 3)
                    .optDropoutRate(0.1f)
                    .build()),
    GRID_WITH_A_MASK(
            input(2, 3, 2, 8).and(2, 3, 2),
            () -> grid(columnsAndRows().optNormalized(1e-6).build()).build()),

    FOURIER(
            input(2, 3, 2),
            () -> FourierFeaturesBlock.builder()
                    .setFeatures(FourierFeatures.powersOfTwo(2, 3, true, true))
                    .build()),
    FOURIER_LEARNED(
            input(4, 3, 1),
            () -> FourierFeaturesBlock.builder()
                    .setFeatures(FourierFeatures.time2Vec(4, 7))
                    .optLearned(true)
                    .build()),

    EMBEDDING(
            inSteps(2, 3),
            () -> SmallBlocks.embedding().optMaxSequenceLength(10).build()),
    EMBEDDING_OF_EVERY_SETTING(
            input(2, 3),
            () -> SmallBlocks.embedding()
                    .optScaleEmbedding(true)
                    .optPaddingIndex(1)
                    .optPositionsFromPadding(2)
                    .optDropoutRate(0.5f)
                    .optPositionalEncoding(learned().optMaxSequenceLength(6).build())
                    .build()),
    EMBEDDING_WITH_PADDING(
            inSteps(2, 3),
            () -> SmallBlocks.embedding()
                    .optScaleEmbedding(true)
                    .optPaddingIndex(3)
                    .build()),
    EMBEDDING_WITH_TOKEN_TYPES(
            inSteps(2, 3), () -> SmallBlocks.embedding().optTokenTypes(2).build()),
    EMBEDDING_OF_WIDER_LAYERS(
            inSteps(2, 3),
            () -> SmallBlocks.embedding()
                    .optTokenScale(0.5)
                    .optNorm(rmsNorm(4).build())
                    .optOutputSize(6)
                    .build()),
    EMBEDDING_WITHOUT_POSITIONS(
            inSteps(2, 3), () -> SmallBlocks.embedding().optNoPositions().build()),

    ROTARY_OF_EVERY_SETTING(
            input(1, 2, 3, 8),
            () -> rotary(8)
                    .optRotarySize(4)
                    .optBase(500_000.5)
                    .optLayout(CONCATENATED)
                    .optMaxSequenceLength(12)
                    .optAutoExtend(1 << 20)
                    .optScaling(new RotaryScaling.LongRope(
                            List.of(1.0, 1.1), List.of(2.0, 4.0), 4, 16, Math.sqrt(2), Math.sqrt(2), 16))
                    .build()),
    ROTARY_ON_AXES(
            input(1, 3, 2, 8),
            () -> rotary(8)
                    .optRotaryStart(2)
                    .optAxes(RotaryAxes.of(1, 0, 1))
                    .optSequenceAxis(1)
                    .optFrequencies(Frequencies.joined(
                            Frequencies.proportional(4, 0.5, 100, 2), Frequencies.geometric(1, 10, 1)))
                    .build()),
    ROTARY_OF_QUERIES_AND_KEYS(
            input(1, 2, 3, 4).and(1, 2, 3, 4), () -> rotary(4).optXpos(1024).build()),
    ALIBI_OF_GIVEN_SLOPES(
            input(2, 3, 4),
            () -> AlibiBiasBlock.builder()
                    .setHeadCount(3)
                    .optSlopes(AlibiSlopes.custom(0.5, 0, 0.25))
                    .build()),
    T5_OF_A_DECODER(
            input(2, 3, 4),
            () -> RelativePositionBiasBlock.builder()
                    .setHeadCount(3)
                    .optBidirectional(false)
                    .build()),
    SHAW_WITHOUT_VALUES(
            input(1, 2, 3, 4),
            () -> ShawRelativePositionBlock.builder()
                    .setHeadSize(4)
                    .optValues(false)
                    .build()),
    TRANSFORMER_XL_OF_OTHER_SINUSOIDS(
            input(1, 2, 3, 4),
            () -> TransformerXlPositionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optEncoding(SinusoidalEncoding.vaswani(6))
                    .build()),

    ATTENTION(input(2, 3, 8), () -> attention().build()),
    ATTENTION_WITH_A_MASK(input(2, 3, 8).and(2, 3), () -> attention().build()),
    CROSS_ATTENTION(
            input(2, 4, 8).and(2, 3, 8).and(2, 4, 8).and(2, 4),
            () -> attention()
                    .optRelativeEncoding(
                            AlibiBiasBlock.builder().setHeadCount(2).build())
                    .build()),
    ATTENTION_OF_EVERY_SETTING(inSteps(2, 3, 8), () -> yarn().build()),
    ATTENTION_WITH_XPOS(
            input(2, 3, 8),
            () -> attention()
                    .optRelativeEncoding(rotary(4)
                            .optScaling(RotaryScaling.ntkAware(2))
                            .optXpos(1024)
                            .build())
                    .build()),
    ATTENTION_OF_GROUPED_HEADS(
            inSteps(2, 3, 8),
            () -> causal().setHeadCount(4)
                    .optKeyValueHeadCount(2)
                    .optHeadSize(6)
                    .optWindow(2)
                    .optQueryScale(new QueryScale.LogN(2))
                    .optScoreCap(30.5)
                    .optSinks(true)
                    .optBias(false)
                    .optResultBias(true)
                    .optQueryNorm(rmsNorm(6).build())
                    .optKeyNorm(rmsNorm(6).optEpsilon(1e-5).build())
                    .optRelativeEncoding(RelativePositionBiasBlock.builder()
                            .setHeadCount(4)
                            .optBuckets(8)
                            .optMaxDistance(20)
                            .build())
                    .build()),
    ATTENTION_WITH_NORMS_OF_ALL_HEADS(
            inSteps(2, 3, 8),
            () -> causal().optKeyValueHeadCount(1)
                    .optNormOfAllHeads(true)
                    .optQueryNorm(rmsNorm(8).build())
                    .optKeyNorm(rmsNorm(4).build())
                    .build()),
    ATTENTION_OF_COSINES(
            inSteps(2, 3, 8),
            () -> causal().optKeyValueHeadCount(1).optCosine(true).build()),
    ATTENTION_WITH_A_LEARNED_SCALE(
            inSteps(2, 3, 8),
            () -> causal().optQueryScale(new QueryScale.LearnedLogN(0.43)).build()),
    ATTENTION_OF_LIMITED_PROJECTIONS(
            inSteps(2, 3, 8),
            () -> causal().optKeyBias(false).optProjectionLimit(0.75).build()),
    ATTENTION_OF_OTHER_VALUES(
            inSteps(2, 3, 8),
            () -> causal().optKeyValueHeadCount(1)
                    .optValueHeadSize(3)
                    .optRelativeEncoding(rotary(4).build())
                    .build()),
    ATTENTION_WITH_A_GATE(
            inSteps(2, 3, 8),
            () -> causal().optOutputGate(OutputGate.SIGMOID)
                    .optOutputGateBias(false)
                    .optRelativeEncoding(rotary(4).build())
                    .build()),
    ATTENTION_WITH_A_GATE_OF_EACH_HEAD(
            inSteps(2, 3, 8),
            () -> causal().optOutputGate(OutputGate.SOFTPLUS)
                    .optOutputGateByHead(true)
                    .optValueHeadSize(6)
                    .optValueScale(0.75)
                    .build()),
    ATTENTION_IN_CHUNKS(
            input(2, 3, 8),
            () -> attention()
                    .optKeyValueHeadCount(1)
                    .optChunkSize(2)
                    .optQueryScale(new QueryScale.FloorLogarithm(0.25, 2))
                    .build()),

    FEED_FORWARD(input(2, 3, 8), () -> feedForward(Nonlinearity.RELU).build()),
    FEED_FORWARD_OF_EVERY_SETTING(input(2, 3, 8), () -> everyFeedForward().build()),

    PROJECTION(
            input(2, 3, 8),
            () -> ProjectionBlock.builder().setInputSize(8).setOutputSize(4).build()),
    PROJECTION_OF_EVERY_SETTING(
            input(2, 3, 8),
            () -> ProjectionBlock.builder()
                    .setInputSize(8)
                    .setOutputSize(4)
                    .optNonlinearity(Nonlinearity.GELU)
                    .optNorm(rmsNorm(4).build())
                    .optBias(false)
                    .build()),

    LAYER(input(2, 3, 8), () -> layer().build()),
    LAYER_OF_EVERY_SETTING(
            inSteps(2, 3, 8),
            () -> layer(yarn())
                    .optFeedForward(everyFeedForward().build())
                    .optNorm(Norm.RMS)
                    .optEpsilon(1e-6)
                    .optNormPlacement(BEFORE_PART)
                    .optArrangement(PARALLEL_WITH_ONE_NORM)
                    .optResidualScale(0.5f)
                    .optDropoutRate(0.1f)
                    .optDropPathRate(0.1f)
                    .build()),
    LAYER_WITH_GELU(
            input(2, 3, 8),
            () -> layer().optFeedForward(feedForward(Nonlinearity.GELU).build()).build()),
    LAYER_WITH_SILU(
            input(2, 3, 8),
            () -> layer().optFeedForward(feedForward(Nonlinearity.SILU).build()).build()),
    LAYER_WITH_GEGLU(
            input(2, 3, 8),
            () -> layer().optFeedForward(feedForward(Nonlinearity.GEGLU).build())
                    .build()),
    LAYER_WITH_GEGLU_TANH(
            input(2, 3, 8),
            () -> layer().optFeedForward(feedForward(Nonlinearity.GEGLU_TANH).build())
                    .build()),
    DECODER_LAYER(inSteps(2, 3, 8).and(2, 4, 8), () -> gptLayer().build()),
    LAYER_IN_PARALLEL(
            input(2, 3, 8),
            () -> layer().optNormPlacement(BEFORE_PART).optArrangement(PARALLEL).build()),
    LAYER_WITH_NORMS_BEHIND_PARTS(
            input(2, 3, 8), () -> layer().optNormPlacement(AFTER_PART).build()),
    LAYER_WITHOUT_NORM_OF_THE_ATTENTION(
            input(2, 3, 8), () -> layer().optAttentionNorm(false).build()),
    LAYER_WITHOUT_NORM_OF_THE_NETWORK(
            input(2, 3, 8), () -> layer().optFeedForwardNorm(false).build()),
    DECODER_LAYER_WITH_SCALES(
            inSteps(2, 3, 8).and(2, 4, 8),
            () -> decoderLayer().optResidualScale(1e-5f).build()),
    DECODER_LAYER_WITH_NORMS_AROUND_PARTS(
            inSteps(2, 3, 8).and(2, 4, 8),
            () -> decoderLayer().optNormPlacement(AROUND_PART).build()),

    STACK(
            input(2, 3, 8),
            () -> TransformerStackBlock.builder().setLayers(2, () -> layer()).build()),
    STACK_OF_EVERY_SETTING(
            input(2, 3),
            () -> TransformerStackBlock.builder()
                    .optInput(paddedInput().optNoPositions().build())
                    .setLayers(
                            3,
                            () -> layer(attention()
                                            .optRelativeEncoding(rotary(4).build()))
                                    .optNorm(Norm.RMS)
                                    .optEpsilon(1e-5))
                    .optFinalNorm(true)
                    .build()),
    STACK_WITH_LIMITED_SCORES(
            input(2, 3, 8),
            () -> TransformerStackBlock.builder()
                    .setLayers(1, () -> layer().optResidualFactor(0.5))
                    .optOutputSize(3)
                    .optScoreScale(0.25)
                    .optScoreCap(1.5)
                    .build()),
    STACK_WITH_A_TRANSFORMED_OUTPUT(
            input(2, 3),
            () -> TransformerStackBlock.builder()
                    .optInput(paddedInput().build())
                    .setLayers(1, () -> layer())
                    .optOutputTransform(ProjectionBlock.builder()
                            .setInputSize(8)
                            .setOutputSize(8)
                            .optNonlinearity(Nonlinearity.SILU)
                            .build())
                    .optTiedOutput(true)
                    .optOutputBias(true)
                    .build()),
    STACK_OF_REPEATED_LAYERS(
            input(2, 3, 8),
            () -> TransformerStackBlock.builder()
                    .setLayers(2, () -> layer())
                    .optRepetitions(3)
                    .build()),
    DECODER(
            inSteps(2, 3).and(2, 4, 8).and(2, 0).and(2, 4),
            () -> TransformerStackBlock.builder()
                    .optInput(paddedInput().build())
                    .setLayers(List.of(gptLayer().build(), decoderLayer().build()))
                    .build()),

    PATCHES(
            input(2, 3, 4, 6),
            () -> PatchEmbeddingBlock.builder()
                    .setPatchSize(2, 3)
                    .setEmbeddingSize(4)
                    .build()),
    PATCHES_OF_EVERY_SETTING(
            input(2, 1, 4, 6),
            () -> PatchEmbeddingBlock.builder()
                    .setPatchSize(2, 3)
                    .setEmbeddingSize(4)
                    .optChannels(1)
                    .optClassToken(true)
                    .optRegisters(2)
                    .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                            .setEmbeddingSize(4)
                            .optGrid(1, 2, 2)
                            .build())
                    .optNorm(rmsNorm(4).build())
                    .optDropoutRate(0.1f)
                    .build()),
    PICTURES_WITH_COORDINATES(
            input(2, 1, 4, 6),
            () -> VisionTransformerBlock.builder()
                    .setInput(PatchEmbeddingBlock.builder()
                            .setPatchSize(2, 2)
                            .setEmbeddingSize(8)
                            .optChannels(1)
                            .optClassToken(true)
                            .build())
                    .setStages(TransformerStackBlock.builder()
                            .setLayers(
                                    2,
                                    () -> layer(attention()
                                            .optRelativeEncoding(
                                                    RotaryPresets.dinov3(4).build())))
                            .build())
                    .optCoordinates(Coordinates.CENTERS)
                    .build()),
    PICTURES_WITH_WINDOWS(
            input(2, 1, 8, 8),
            () -> VisionTransformerBlock.builder()
                    .setInput(PatchEmbeddingBlock.builder()
                            .setPatchSize(2, 2)
                            .setEmbeddingSize(4)
                            .optChannels(1)
                            .build())
                    .setStages(windowed(4, 2), windowed(8, 2))
                    .build()),

    RMS_NORM(input(2, 3, 4), () -> rmsNorm(4).optEpsilon(1e-5).build()),
    LAYER_NORM(
            input(2, 3, 4),
            () -> LayerNormBlock.builder().setEmbeddingSize(4).optEpsilon(1e-6).build()),

    POOLING(
            input(2, 3, 4),
            () -> PoolingBlock.builder().setPooling(Pooling.LAST).build());

    private final InputShapes inputs;
    private final Supplier<Block> block;

    BlockCase(InputShapes inputs, Supplier<Block> block) {
        this.inputs = inputs;
        this.block = block;
    }

    @Override
    public Shape input() {
        return inputs.shapes.get(0);
    }

    @Override
    public Shape[] shapes() {
        return inputs.shapes.toArray(Shape[]::new);
    }

    @Override
    public boolean hasSteps() {
        return inputs.areInSteps;
    }

    @Override
    public Block block() {
        return block.get();
    }

    private record InputShapes(List<Shape> shapes, boolean areInSteps) {

        /** These shapes, and that of one more input. */
        InputShapes and(long... shape) {
            return new InputShapes(
                    Stream.concat(shapes.stream(), Stream.of(new Shape(shape))).toList(), areInSteps);
        }
    }

    private static InputShapes input(long... shape) {
        return new InputShapes(List.of(new Shape(shape)), false);
    }

    /** A first input that gives the same results in steps along its second axis. */
    private static InputShapes inSteps(long... shape) {
        return new InputShapes(List.of(new Shape(shape)), true);
    }

    private static PositionalEncodingBlock.Builder positions(int embeddingSize) {
        return PositionalEncodingBlock.builder().setEmbeddingSize(embeddingSize);
    }

    private static LearnedPositionalEncodingBlock.Builder learned() {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4);
    }

    private static AxialPositionalEncodingBlock.Builder axial(int... axes) {
        return AxialPositionalEncodingBlock.builder().setEmbeddingSize(4).setAxes(axes);
    }

    private static SinusoidalEncoding timescales() {
        return SinusoidalEncoding.tensor2tensor(4, 1, 100);
    }

    private static SinusoidalEncoding concatenated() {
        return SinusoidalEncoding.xTransformers(4);
    }

    private static GridPositionalEncodingBlock.Builder grid(GridEncoding encoding) {
        return GridPositionalEncodingBlock.builder().setEncoding(encoding);
    }

    private static GridEncoding.Builder columnsAndRows() {
        return GridEncoding.builder().setAxes(2).add(1, concatenated()).add(0, concatenated());
    }

    private static RotaryEmbeddingBlock.Builder rotary(int headSize) {
        return RotaryEmbeddingBlock.builder().setHeadSize(headSize);
    }

    private static RmsNormBlock.Builder rmsNorm(int embeddingSize) {
        return RmsNormBlock.builder().setEmbeddingSize(embeddingSize);
    }

    private static MultiHeadAttentionBlock.Builder yarn() {
        return causal().optRelativeEncoding(
                        rotary(4).optScaling(RotaryScaling.yarn(2, 6)).build())
                .optScale(0.3)
                .optBias(false)
                .optDropoutRate(0.2f);
    }

    private static FeedForwardBlock.Builder feedForward(Nonlinearity nonlinearity) {
        return FeedForwardBlock.builder().setEmbeddingSize(8).setHiddenSize(12).optNonlinearity(nonlinearity);
    }

    private static FeedForwardBlock.Builder everyFeedForward() {
        return feedForward(Nonlinearity.CLAMPED_SWIGLU).optBias(false).optDropoutRate(0.1f);
    }

    private static TransformerStackBlock windowed(int size, int window) {
        return TransformerStackBlock.builder()
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(size)
                                        .setHeadCount(2)
                                        .optRelativeEncoding(WindowBiasBlock.builder()
                                                .setHeadCount(2)
                                                .setWindow(window, window)
                                                .build())
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(size)
                                        .setHiddenSize(8)
                                        .build()))
                .build();
    }

    private static TransformerLayerBlock.Builder layer(MultiHeadAttentionBlock.Builder attention) {
        return TransformerLayerBlock.builder()
                .setAttention(attention.build())
                .optFeedForward(feedForward(Nonlinearity.RELU).build());
    }

    private static TransformerLayerBlock.Builder layer() {
        return layer(attention());
    }

    private static TransformerLayerBlock.Builder decoderLayer() {
        return layer(causal()).optCrossAttention(attention().build());
    }

    private static TransformerLayerBlock.Builder gptLayer() {
        return decoderLayer()
                .optNormPlacement(BEFORE_PART)
                .optFeedForward(feedForward(Nonlinearity.GELU_TANH).build());
    }

    private static InputEmbeddingBlock.Builder paddedInput() {
        return SmallBlocks.embedding().setEmbeddingSize(8).optPaddingIndex(1);
    }
}
