package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.relative.WindowVectorsBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Messages begin with the cause and end with the settings of the block. */
class MessagesTest {

    private static void assertEndsWith(Object settings, String cause, ThrowingCallable call) {
        assertThatThrownBy(call)
                .hasMessageStartingWith(cause)
                .hasMessageContaining(": expected ")
                .hasMessageEndingWith(": " + settings);
    }

    private static TransformerLayerBlock layer(int size, RelativeEncoding encoding) {
        MultiHeadAttentionBlock.Builder attention =
                MultiHeadAttentionBlock.builder().setEmbeddingSize(size).setHeadCount(2);
        return TransformerLayerBlock.builder()
                .setAttention((encoding == null ? attention : attention.optRelativeEncoding(encoding)).build())
                .setHiddenSize(8)
                .build();
    }

    private static AlibiBiasBlock alibi() {
        return AlibiBiasBlock.builder().setHeadCount(2).build();
    }

    @EngineTest
    void ofABlockThatIsNotReady(NDManager manager) {
        Block block = learned().build();
        assertEndsWith(block, "there are no input shapes", () -> BlockBytes.saved(block));
        assertEndsWith(
                block,
                "there is no value for the parameter ",
                () -> Forward.infer(manager, block, manager.zeros(new Shape(1, 3, 4))));
        initialized(manager, block, 1, 3, 4);
        assertEndsWith(block, "the parameter ", () -> block.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 4)));
    }

    @Test
    void ofAnEncodingThatDoesNotFitItsAttention() {
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(8).build();
        assertEndsWith(rotary, "headSize 8 ", () -> rotary.requireFits(2, 4));
        RelativeEncoding xl = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .build();
        assertEndsWith(xl, "the attention has heads 3 of size 4", () -> xl.requireFits(3, 4));
    }

    @Test
    void ofARotaryEmbeddingWithFrequenciesAndAScaling() {
        RotaryScaling scaling = RotaryScaling.linear(2);
        RotaryEmbeddingBlock.Builder builder =
                RotaryEmbeddingBlock.builder().setHeadSize(4).optFrequencies(Frequencies.of(1, 0.1));
        assertEndsWith(scaling, "frequencies were given together with a scaling", builder.optScaling(scaling)::build);
    }

    @EngineTest
    void ofARotaryEmbeddingThatNeedsOtherInputs(NDManager manager) {
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(4).optXpos(512).build();
        assertEndsWith(
                rotary,
                "one array to rotate ",
                () -> Forward.infer(manager, rotary, manager.zeros(new Shape(1, 2, 3, 4))));
    }

    @Test
    void ofWindowsThatCannotBeResampled() {
        WindowBiasBlock bias =
                WindowBiasBlock.builder().setHeadCount(2).setWindow(2, 2).build();
        WindowBiasBlock wider =
                WindowBiasBlock.builder().setHeadCount(3).setWindow(2, 2).build();
        assertEndsWith(wider + ", " + bias, "trained biases with headCount 3 ", () -> bias.resample(wider));
        WindowVectorsBlock vectors =
                WindowVectorsBlock.builder().setHeadSize(4).setWindow(2, 2).build();
        WindowVectorsBlock longer =
                WindowVectorsBlock.builder().setHeadSize(6).setWindow(2, 2).build();
        assertEndsWith(longer + ", " + vectors, "trained vectors with headSize 6", () -> vectors.resample(longer));
    }

    @Test
    void ofEncodingsOfAnotherSize() {
        SinusoidalEncoding six = SinusoidalEncoding.vaswani(6);
        assertEndsWith(six, "the encoding has size 6", positions().optEncoding(six)::build);
        GridEncoding grid = GridEncoding.visionTransformer(4);
        assertEndsWith(
                grid,
                "grid [2, 2, 2] ",
                GridPositionalEncodingBlock.builder().setEncoding(grid).optGrid(0, 2, 2, 2)::build);
    }

    @Test
    void ofLayersThatDoNotFitEachOther() {
        TransformerLayerBlock wide = layer(8, null);
        assertEndsWith(
                wide,
                "layer 1 has embeddingSize 8 and no cross-attention",
                TransformerStackBlock.builder().setLayers(List.of(layer(4, null), wide))::build);
        AlibiBiasBlock alibi = alibi();
        assertEndsWith(
                alibi,
                "layer 0 has a relative encoding",
                TransformerStackBlock.builder().optInput(embedding().build()).setLayers(List.of(layer(4, alibi)))
                        ::build);
        TransformerStackBlock shared = TransformerStackBlock.builder()
                .setLayers(List.of(layer(4, alibi), layer(4, alibi)))
                .build();
        assertEndsWith(alibi, "several attentions share ", shared::getArguments);
    }
}
