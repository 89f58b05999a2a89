package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.LambdaBlock;
import io.github.djlpositional.attention.AlibiBiasBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.ShawRelativePositionBlock;
import io.github.djlpositional.attention.TransformerXlPositionBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Builders reject settings that are out of range, missing, or contradict each other. The message names setting and
 * value.
 */
class BuilderRefusalsTest {

    private static GridPositionalEncodingBlock.Builder grid() {
        return GridPositionalEncodingBlock.builder().setEncoding(GridEncoding.visionTransformer(4));
    }

    private static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    private static RotaryEmbeddingBlock.Builder rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(4);
    }

    private static ShawRelativePositionBlock.Builder shaw() {
        return ShawRelativePositionBlock.builder().setHeadSize(4);
    }

    private static TransformerXlPositionBlock.Builder transformerXl() {
        return TransformerXlPositionBlock.builder().setHeadCount(3);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
    void refusesSizesThatAreNotPositive(int size) {
        refused(positions().setEmbeddingSize(size)::build, "embeddingSize " + size);
        refused(positions().optMaxSequenceLength(size)::build, "maxSequenceLength " + size);
        refused(learned().setEmbeddingSize(size)::build, "embeddingSize " + size);
        refused(learned().optMaxSequenceLength(size)::build, "maxSequenceLength " + size);
        refused(embedding().setEmbeddingSize(size)::build, "embeddingSize " + size);
        refused(embedding().setVocabularySize(size)::build, "vocabularySize " + size);
        refused(rotary().optMaxSequenceLength(size)::build, "maxSequenceLength " + size);
        refused(shaw().optMaxDistance(size)::build, "maxDistance " + size);
    }

    @ParameterizedTest
    @ValueSource(floats = {-0.1f, 1, 2, Float.NaN, Float.NEGATIVE_INFINITY})
    void refusesDropoutRatesOutsideZeroToOne(float rate) {
        refused(positions().optDropoutRate(rate)::build, "dropoutRate " + rate);
        refused(learned().optDropoutRate(rate)::build, "dropoutRate " + rate);
        refused(embedding().optDropoutRate(rate)::build, "dropoutRate " + rate);
        refused(grid().optDropoutRate(rate)::build, "dropoutRate " + rate);
        refused(attention().optDropoutRate(rate)::build, "dropoutRate " + rate);
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY})
    void refusesLearnedScalesThatAreNotFinite(float scale) {
        refused(positions().optLearnedScale(scale)::build, "learnedScale " + scale);
    }

    @ParameterizedTest
    @ValueSource(ints = {9, (1 << 29) + 1})
    void refusesLimitsBelowTheMaximumLengthOrAboveTheGreatest(int limit) {
        refused(positions().optAutoExtend(limit)::build, "autoExtend " + limit, 10, 1 << 29);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 7})
    void refusesPaddingIndicesOutsideTheVocabulary(int index) {
        refused(embedding().optPaddingIndex(index)::build, "paddingIndex " + index, "0 to 6");
    }

    @Test
    void refusesTheAxisOfTheEmbeddingAsSequenceAxis() {
        refused(positions().optSequenceAxis(-1)::build, "sequenceAxis -1");
        refused(learned().optSequenceAxis(-1)::build, "sequenceAxis -1");
    }

    @Test
    void refusesMissingSettings() {
        refused(PositionalEncodingBlock.builder()::build, "setEmbeddingSize");
        refused(InputEmbeddingBlock.builder().setEmbeddingSize(4)::build, "setVocabularySize");
        refused(InputEmbeddingBlock.builder().setVocabularySize(7)::build, "setEmbeddingSize");
        refused(GridPositionalEncodingBlock.builder()::build, "encoding");
        refused(MultiHeadAttentionBlock.builder().setHeadCount(2)::build, "setEmbeddingSize");
        refused(ShawRelativePositionBlock.builder()::build, "setHeadSize");
        refused(RotaryEmbeddingBlock.builder()::build, "setHeadSize");
        refused(AlibiBiasBlock.builder()::build, "setHeadCount");
        refused(RelativePositionBiasBlock.builder()::build, "setHeadCount");
        refused(transformerXl()::build, "setEmbeddingSize");
    }

    @Test
    void refusesSizesThatDoNotFitEachOther() {
        SinusoidalEncoding six = SinusoidalEncoding.vaswani(6);
        refused(positions().optEncoding(six)::build, "size 6", "embeddingSize 4");
        refused(learned().optEncoding(six)::build, "size 6", "embeddingSize 4");
        refused(
                embedding()
                        .setEmbeddingSize(6)
                        .optPositionalEncoding(positions().build())::build,
                "size 4",
                "embeddingSize 6");
        refused(transformerXl().setEmbeddingSize(8)::build, "embeddingSize 8", "headCount 3");
    }

    @Test
    void refusesSettingsOfAnInputEmbeddingThatContradictEachOther() {
        PositionalEncodingBlock unadded = positions().optAddToInput(false).build();
        refused(embedding().optPositionalEncoding(unadded)::build, "addToInput=false", "optAddToInput(true)");
        refused(embedding().optPositionalEncoding(grid().build())::build, "GridPositionalEncodingBlock");
        refused(
                embedding().optPositionalEncoding(positions().build()).optMaxSequenceLength(20)::build,
                "positional encoding",
                "maxSequenceLength 20");
        LambdaBlock tokens = LambdaBlock.singleton(x -> x);
        refused(
                embedding().optTokenEmbedding(tokens).optSparseGradients(true)::build,
                "token embedding",
                "sparse gradients");
        refused(embedding().optPositionsFromPadding(1)::build, "positionsFromPadding 1", "paddingIndex null");
        refused(embedding().optPaddingIndex(0).optPositionsFromPadding(-1)::build, "positionsFromPadding -1");
    }

    @EngineTest
    void refusesInitialEncodingsThatAreNotValid(NDManager manager) {
        for (NDArray given : new NDArray[] {
            manager.zeros(new Shape(4)),
            manager.zeros(new Shape(2, 3, 4)),
            manager.create(new Shape(0, 4)),
            manager.zeros(new Shape(3, 4), DataType.INT32)
        }) {
            refused(() -> learned().optInitialEncodings(given), given.getShape(), given.getDataType());
        }
        refused(learned().optInitialEncodings(manager.zeros(new Shape(3, 6)))::build, "size 6", "embeddingSize 4");
        LearnedPositionalEncodingBlock.Builder both = learned().optEncoding(SinusoidalEncoding.vaswani(4));
        refused(both.optInitialEncodings(manager.zeros(new Shape(3, 4)))::build, "both", "initial encodings");
    }

    /** The least and the greatest values that are accepted. */
    @Test
    void acceptsSettingsAtTheEndsOfTheirRanges() {
        float greatestRate = Math.nextDown(1f);
        assertThat(learned().optDropoutRate(0).optSequenceAxis(0).build().getArguments())
                .containsEntry("dropoutRate", 0f)
                .containsEntry("sequenceAxis", 0);
        assertThat(learned().optDropoutRate(greatestRate).build().getArguments())
                .containsEntry("dropoutRate", greatestRate);
        assertThat(positions().optAutoExtend(10).build().getArguments()).containsEntry("autoExtend", 10);
        assertThat(positions().optAutoExtend(1 << 29).build().getArguments()).containsEntry("autoExtend", 1 << 29);
        assertThat(shaw().optMaxDistance(1 << 29).build().getArguments()).containsEntry("maxDistance", 1 << 29);
    }
}
