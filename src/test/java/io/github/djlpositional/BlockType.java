package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.learned;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.function.Supplier;

/**
 * Small blocks with and without settings that differ from the defaults: every block but the relative encodings, and
 * those of their settings that {@link EncodingType} does not have.
 */
@SuppressWarnings("ImmutableEnumChecker") // shapes and suppliers do not change
public enum BlockType implements TestBlocks {
    POSITIONS(new Shape(2, 3, 4), PositionalEncodingBlock.builder().setEmbeddingSize(4)::build),
    POSITIONS_OF_EVERY_SETTING(
            new Shape(3, 2, 5),
            () -> PositionalEncodingBlock.builder()
                    .setEmbeddingSize(5)
                    .optMaxSequenceLength(9)
                    .optEncoding(SinusoidalEncoding.builder()
                            .setEmbeddingSize(5)
                            .optFrequencies(Frequencies.timescales(2, 1, 20).scaledBy(0.5))
                            .optLayout(PairLayout.CONCATENATED)
                            .optCosineFirst(true)
                            .optOddSize(OddSize.ZERO_PADDED)
                            .build())
                    .optAddToInput(false)
                    .optSequenceAxis(0)
                    .optLearnedScale(0.25f)
                    .optAutoExtend(1 << 20)
                    .optDropoutRate(0.1f)
                    .build()),
    LEARNED(
            new Shape(2, 3, 4),
            learned().optMaxSequenceLength(6).optEncoding(SinusoidalEncoding.tensor2tensor(4, 1, 100))::build),
    LEARNED_GRID(
            new Shape(2, 7, 4),
            LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(4)
                    .optGrid(1, 2, 3)
                    .optPrefixEncoded(false)
                    .optResampling(GridResampling.BILINEAR_ALIGNED)::build),
    GRID(
            new Shape(2, 8, 3, 2),
            () -> GridPositionalEncodingBlock.builder()
                    .setEncoding(GridEncoding.tensor2tensor(2, 8, 1, 100))
                    .optChannelsFirst(true)
                    .build()),
    GRID_OF_A_VISION_TRANSFORMER(
            new Shape(2, 3, 2, 8),
            GridPositionalEncodingBlock.builder().setEncoding(GridEncoding.visionTransformer(8))::build),
    GRID_OF_TOKENS(
            new Shape(2, 7, 8),
            () -> GridPositionalEncodingBlock.builder()
                    .setEncoding(GridEncoding.builder()
                            .setAxes(2)
                            .add(1, SinusoidalEncoding.vaswani(4))
                            .add(0, SinusoidalEncoding.xTransformers(4), 1, 3)
                            .optChannels(8)
                            .optScale(4)
                            .optOffset(0.5)
                            .optNormalized(1e-6)
                            .optCenterCrop(9)
                            .build())
                    .optGrid(1, 2, 3)
                    .optDropoutRate(0.1f)
                    .build()),
    FOURIER(
            new Shape(2, 3, 2),
            FourierFeaturesBlock.builder().setFeatures(FourierFeatures.powersOfTwo(2, 3, true, true))::build),
    FOURIER_LEARNED(
            new Shape(4, 3, 1),
            FourierFeaturesBlock.builder()
                    .setFeatures(FourierFeatures.time2Vec(4, 7))
                    .optLearned(true)::build),
    EMBEDDING(new Shape(2, 3), embedding().optMaxSequenceLength(10)::build),
    EMBEDDING_OF_EVERY_SETTING(
            new Shape(2, 3),
            () -> embedding()
                    .optPositionalEncoding(learned().optMaxSequenceLength(6).build())
                    .optScaleEmbedding(true)
                    .optPaddingIndex(1)
                    .optPositionsFromPadding(2)
                    .optDropoutRate(0.5f)
                    .build()),
    EMBEDDING_WITHOUT_POSITIONS(
            new Shape(2, 3), () -> embedding().optNoPositions().build()),
    ROTARY_OF_EVERY_SETTING(
            new Shape(1, 2, 3, 8),
            () -> RotaryEmbeddingBlock.builder()
                    .setHeadSize(8)
                    .optRotarySize(4)
                    .optBase(500_000.5)
                    .optLayout(PairLayout.CONCATENATED)
                    .optScaling(RotaryScaling.longRope(new double[] {1, 1.1}, new double[] {2, 4}, 4, 16, 16))
                    .optMaxSequenceLength(12)
                    .optAutoExtend(1 << 20)
                    .build()),
    ROTARY_ON_AXES(
            new Shape(1, 3, 2, 8),
            () -> RotaryEmbeddingBlock.builder()
                    .setHeadSize(8)
                    .optRotaryStart(2)
                    .optFrequencies(Frequencies.joined(
                            Frequencies.proportional(4, 0.5, 100, 2), Frequencies.geometric(1, 10, 1)))
                    .optAxes(RotaryAxes.of(1, 0, 1))
                    .optSequenceAxis(1)
                    .build()),
    ALIBI_OF_GIVEN_SLOPES(
            new Shape(2, 3, 4),
            AlibiBiasBlock.builder().setHeadCount(3).optSlopes(AlibiSlopes.given(0.5, 0, 0.25))::build),
    T5_OF_A_DECODER(
            new Shape(2, 3, 4),
            RelativePositionBiasBlock.builder().setHeadCount(3).optBidirectional(false)::build),
    SHAW_WITHOUT_VALUES(
            new Shape(1, 2, 3, 4),
            ShawRelativePositionBlock.builder().setHeadSize(4).optValues(false)::build),
    TRANSFORMER_XL_OF_OTHER_SINUSOIDS(
            new Shape(1, 2, 3, 4),
            () -> TransformerXlPositionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optEncoding(SinusoidalEncoding.vaswani(6))
                    .build()),
    ATTENTION(
            new Shape(2, 3, 8),
            MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2)::build),
    ATTENTION_OF_EVERY_SETTING(
            new Shape(2, 3, 8),
            () -> MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                            .setHeadSize(4)
                            .optScaling(RotaryScaling.yarn(2, 6))
                            .build())
                    .optCausal(true)
                    .optScale(0.3)
                    .optBias(false)
                    .optDropoutRate(0.2f)
                    .build()),
    ATTENTION_WITH_XPOS(
            new Shape(2, 3, 8),
            () -> MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                            .setHeadSize(4)
                            .optScaling(RotaryScaling.ntkAware(2))
                            .optXpos(1024)
                            .build())
                    .build()),
    ATTENTION_OF_GROUPED_HEADS(
            new Shape(2, 3, 8),
            () -> MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(4)
                    .optKeyValueHeadCount(2)
                    .optHeadSize(6)
                    .optQueryNorm(RmsNormBlock.builder().setEmbeddingSize(6).build())
                    .optKeyNorm(RmsNormBlock.builder()
                            .setEmbeddingSize(6)
                            .optEpsilon(1e-5)
                            .build())
                    .optRelativeEncoding(RelativePositionBiasBlock.builder()
                            .setHeadCount(4)
                            .optBuckets(8)
                            .optMaxDistance(20)
                            .build())
                    .optCausal(true)
                    .optWindow(2)
                    .optQueryScale(new QueryScale.LogN(2))
                    .optScoreCap(30.5)
                    .optSinks(true)
                    .optBias(false)
                    .optResultBias(true)
                    .build()),
    ATTENTION_IN_CHUNKS(
            new Shape(2, 3, 8),
            () -> MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optKeyValueHeadCount(1)
                    .optChunkSize(2)
                    .optQueryScale(new QueryScale.FloorLogarithm(0.25, 2))
                    .build()),
    LAYER(
            new Shape(2, 3, 8),
            () -> TransformerLayerBlock.builder()
                    .setAttention((MultiHeadAttentionBlock) ATTENTION.block())
                    .setHiddenSize(12)
                    .build()),
    LAYER_OF_EVERY_SETTING(
            new Shape(2, 3, 8),
            () -> TransformerLayerBlock.builder()
                    .setAttention((MultiHeadAttentionBlock) ATTENTION_OF_EVERY_SETTING.block())
                    .setHiddenSize(12)
                    .optNonlinearity(TransformerLayerBlock.Nonlinearity.SWIGLU)
                    .optNorm(TransformerLayerBlock.Norm.RMS)
                    .optEpsilon(1e-6)
                    .optPreNorm(true)
                    .optBias(false)
                    .optDropoutRate(0.1f)
                    .build()),
    STACK(
            new Shape(2, 3, 8),
            () -> TransformerStackBlock.builder()
                    .setLayers(
                            2,
                            () -> TransformerLayerBlock.builder()
                                    .setAttention((MultiHeadAttentionBlock) ATTENTION.block())
                                    .setHiddenSize(12))
                    .build()),
    STACK_OF_EVERY_SETTING(
            new Shape(2, 3),
            () -> TransformerStackBlock.builder()
                    .optInput(InputEmbeddingBlock.builder()
                            .setVocabularySize(7)
                            .setEmbeddingSize(8)
                            .optPaddingIndex(1)
                            .optNoPositions()
                            .build())
                    .setLayers(
                            3,
                            () -> TransformerLayerBlock.builder()
                                    .setAttention(MultiHeadAttentionBlock.builder()
                                            .setEmbeddingSize(8)
                                            .setHeadCount(2)
                                            .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                                    .setHeadSize(4)
                                                    .build())
                                            .build())
                                    .setHiddenSize(12)
                                    .optNorm(TransformerLayerBlock.Norm.RMS)
                                    .optEpsilon(1e-5))
                    .optFinalNorm(true)
                    .build()),
    RMS_NORM(
            new Shape(2, 3, 4),
            () -> RmsNormBlock.builder().setEmbeddingSize(4).optEpsilon(1e-5).build()),
    LAYER_NORM(
            new Shape(2, 3, 4),
            () -> LayerNormBlock.builder().setEmbeddingSize(4).optEpsilon(1e-6).build());

    private final Shape input;
    private final Supplier<Block> maker;

    BlockType(Shape input, Supplier<Block> maker) {
        this.input = input;
        this.maker = maker;
    }

    @Override
    public Shape input() {
        return input;
    }

    @Override
    public Block block() {
        return maker.get();
    }
}
