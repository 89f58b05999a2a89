package io.github.djlpositional.conformance;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.relative.EncodingType.ALIBI;
import static io.github.djlpositional.relative.EncodingType.FORGETTING;
import static io.github.djlpositional.relative.EncodingType.HEAD_SIZE;
import static io.github.djlpositional.relative.EncodingType.NONE;
import static io.github.djlpositional.relative.EncodingType.ROTARY;
import static io.github.djlpositional.relative.EncodingType.ROTARY_HALVES_PARTIAL;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock.OutputGate;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Steps;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * Steps with a cache have the outputs of a forward of the whole sequence: of every block, relative encoding and option
 * of an attention. {@code KeyValueCacheTest} has masks, explicit positions, and rewinds, selections and forks between
 * steps.
 */
class StepsTest extends OnEachEngine {

    static Stream<TestBlocks> blocks() {
        return Stream.of(TestBlocks.values()).filter(TestBlocks::hasSteps);
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void equalTheWholeWithEveryBlock(TestBlocks kind) {
        Block block = filled(manager, kind.block(), DataType.FLOAT64, kind.shapes());
        NDList inputs = kind.numbers(manager, DataType.FLOAT64);
        Steps.requireWhole(manager, block, (params, end) -> {}, inputs, 1, 1, 1);
    }

    private static MultiHeadAttentionBlock.Builder causal(EncodingType type) {
        return type.attention(HEADS).optCausal(true);
    }

    /** Frozen, as for inference, or with gradients, as after training. */
    private MultiHeadAttentionBlock attention(MultiHeadAttentionBlock.Builder builder, boolean isFrozen) {
        MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64);
        block.freezeParameters(isFrozen);
        return block;
    }

    /** The first arrays of a cache, and runs of rows of tables, have 64 tokens. */
    @CartesianTest
    void equalTheWholeWithEachEncoding(
            @CartesianTest.Enum EncodingType type, @Values(booleans = {true, false}) boolean isFrozen) {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 69, SIZE);
        Steps.requireWhole(manager, attention(causal(type), isFrozen), x, 3, 1, 60, 1, 1, 2, 1);
    }

    private void requireWholeOf(MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = attention(builder, true);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 9, SIZE);
        Steps.requireWhole(manager, block, x, 3, 1, 2, 1, 1, 1);
        block.freezeParameters(false);
        Steps.requireWhole(manager, block, x, 3, 1, 2, 1, 1, 1);
    }

    @ParameterizedTest
    @EnumSource
    void equalTheWholeWithEachLayoutOfRotations(PairLayout layout) {
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(HEAD_SIZE)
                .optLayout(layout)
                .build();
        requireWholeOf(causal(NONE).optRelativeEncoding(rotary));
    }

    private static RmsNormBlock rmsNorm(int size) {
        return RmsNormBlock.builder().setEmbeddingSize(size).build();
    }

    private static Stream<Arguments> options() {
        return Stream.of(
                argumentSet("grouped keys", causal(ROTARY).optKeyValueHeadCount(1)),
                argumentSet("heads of another size", causal(NONE).optHeadSize(3)),
                argumentSet(
                        "values of another size",
                        causal(ROTARY)
                                .optKeyValueHeadCount(1)
                                .optValueHeadSize(3)
                                .optValueScale(0.7)),
                argumentSet("larger values", causal(ALIBI).optValueHeadSize(2 * HEAD_SIZE)),
                argumentSet("no biases", causal(NONE).optBias(false)),
                argumentSet(
                        "norms of heads",
                        causal(ROTARY).optQueryNorm(rmsNorm(HEAD_SIZE)).optKeyNorm(rmsNorm(HEAD_SIZE))),
                argumentSet(
                        "a norm of the user's choice",
                        causal(ROTARY)
                                .optKeyNorm(LayerNormBlock.builder()
                                        .setEmbeddingSize(HEAD_SIZE)
                                        .build())),
                argumentSet(
                        "norms of all heads",
                        causal(ROTARY)
                                .optNormOfAllHeads(true)
                                .optQueryNorm(rmsNorm(SIZE))
                                .optKeyNorm(rmsNorm(SIZE))),
                argumentSet(
                        "several, as in Gemma 3",
                        causal(ROTARY_HALVES_PARTIAL)
                                .optKeyValueHeadCount(1)
                                .optWindow(3)
                                .optScale(0.3)
                                .optBias(false)
                                .optQueryNorm(rmsNorm(HEAD_SIZE))
                                .optKeyNorm(rmsNorm(HEAD_SIZE))),
                argumentSet("a scale", causal(ROTARY).optScale(0.3)),
                argumentSet("a cap of scores", causal(ALIBI).optScoreCap(2)),
                argumentSet("sinks", causal(ROTARY).optSinks(true)),
                argumentSet("an output gate", causal(ROTARY).optOutputGate(OutputGate.SIGMOID)),
                argumentSet(
                        "an output gate of each head",
                        causal(ALIBI).optOutputGate(OutputGate.SOFTPLUS).optOutputGateByHead(true)),
                argumentSet("cosines", causal(ALIBI).optCosine(true)),
                argumentSet("factors of queries by position", causal(ROTARY).optQueryScale(new QueryScale.LogN(3))),
                argumentSet(
                        "learned factors of queries", causal(ROTARY).optQueryScale(new QueryScale.LearnedLogN(0.4))),
                argumentSet("a window", causal(FORGETTING).optWindow(3)),
                argumentSet("chunks", causal(ROTARY).optChunkSize(3)),
                argumentSet("separate operations", causal(ALIBI).optFusedKernel(false)));
    }

    @ParameterizedTest
    @MethodSource("options")
    void equalTheWholeWithEachOption(MultiHeadAttentionBlock.Builder builder) {
        requireWholeOf(builder);
    }
}
