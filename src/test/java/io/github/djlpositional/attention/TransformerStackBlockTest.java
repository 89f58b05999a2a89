package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.List;

/** D = 8, two heads, three layers. */
class TransformerStackBlockTest {

    private static final int LAYERS = 3;

    private static MultiHeadAttentionBlock attention(boolean causal, RelativeEncoding encoding) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(causal);
        return (encoding == null ? builder : builder.optRelativeEncoding(encoding)).build();
    }

    private static TransformerLayerBlock.Builder layer(boolean causal) {
        return TransformerLayerBlock.builder()
                .setAttention(attention(causal, null))
                .setHiddenSize(16);
    }

    private static TransformerLayerBlock.Builder decoderLayer() {
        return layer(true).optCrossAttention(attention(false, null)).optPreNorm(true);
    }

    private static RotaryEmbeddingBlock rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(4).build();
    }

    private static TransformerLayerBlock.Builder rotaryLayer() {
        return TransformerLayerBlock.builder()
                .setAttention(attention(true, rotary()))
                .setHiddenSize(16)
                .optPreNorm(true);
    }

    private static TransformerStackBlock.Builder encoder() {
        return TransformerStackBlock.builder().setLayers(LAYERS, () -> layer(false));
    }

    private static TransformerStackBlock.Builder decoder() {
        return TransformerStackBlock.builder().setLayers(LAYERS, TransformerStackBlockTest::decoderLayer);
    }

    private static InputEmbeddingBlock.Builder input() {
        return InputEmbeddingBlock.builder().setVocabularySize(10).setEmbeddingSize(8);
    }

    private static TransformerStackBlock initialized(
            NDManager manager, TransformerStackBlock.Builder builder, Shape... shapes) {
        TransformerStackBlock stack = builder.build();
        // large enough for attention that is far from uniform
        stack.setInitializer(new ai.djl.training.initializer.NormalInitializer(0.5f), ai.djl.nn.Parameter.Type.WEIGHT);
        stack.initialize(manager, DataType.FLOAT64, shapes);
        return stack;
    }

    private static NDArray numbers(NDManager manager, long... shape) {
        return manager.randomNormal(new Shape(shape)).toType(DataType.FLOAT64, false);
    }

    /** The layers one after the other, each with the inputs but the first, then the final norm. */
    private static NDArray chained(NDManager manager, TransformerStackBlock stack, NDArray... inputs) {
        NDArray[] given = inputs.clone();
        for (Block layer : stack.getLayers()) {
            given[0] = Forward.infer(manager, layer, given);
        }
        return stack.getFinalNorm() == null ? given[0] : Forward.infer(manager, stack.getFinalNorm(), given[0]);
    }

    @EngineTest
    void masksReachEveryLayer(NDManager manager) {
        TransformerStackBlock stack = initialized(manager, encoder(), new Shape(2, 5, 8));
        NDArray x = numbers(manager, 2, 5, 8);
        NDArray mask = manager.create(new int[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
        NDArray y = Forward.infer(manager, stack, x, mask);
        requireSame(y, chained(manager, stack, x, mask));
        // what is hidden changes nothing that is visible
        NDArray other = x.duplicate();
        other.set(new ai.djl.ndarray.index.NDIndex("1, 3:"), numbers(manager, 2, 8));
        NDArray ofOther = Forward.infer(manager, stack, other, mask);
        requireClose(ofOther.get("1, :3"), y.get("1, :3").toDoubleArray(), 1e-12);
        // in DJL's container the mask reaches only the first layer
        SequentialBlock container = new SequentialBlock();
        stack.getLayers().forEach(container::add);
        NDArray contained = Forward.infer(manager, container, x, mask);
        assertThat(contained.sub(y).abs().max().getDouble()).isGreaterThan(0.01);
    }

    @EngineTest
    void memoryAndItsMaskReachEveryLayer(NDManager manager) {
        TransformerStackBlock stack = initialized(manager, decoder(), new Shape(2, 5, 8), new Shape(2, 4, 8));
        NDArray x = numbers(manager, 2, 5, 8);
        NDArray memory = numbers(manager, 2, 4, 8);
        NDArray isMemory = manager.create(new int[][] {{1, 1, 1, 1}, {1, 1, 0, 0}});
        NDArray isToken = manager.create(new int[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
        assertThat(stack.getFinalNorm()).isNotNull();
        for (NDArray[] inputs : List.of(new NDArray[] {x, memory}, new NDArray[] {x, memory, isMemory}, new NDArray[] {
            x, memory, isMemory, isToken
        })) {
            requireSame(Forward.infer(manager, stack, inputs), chained(manager, stack, inputs));
        }
    }

    @EngineTest
    void forwardParametersReachEveryLayer(NDManager manager) {
        TransformerStackBlock stack = initialized(
                manager,
                TransformerStackBlock.builder().setLayers(LAYERS, TransformerStackBlockTest::rotaryLayer),
                new Shape(2, 5, 8));
        NDArray x = numbers(manager, 2, 5, 8);
        NDArray positions = manager.create(new int[][] {{0, 1, 5, 6, 40}, {3, 4, 5, 6, 7}});
        NDArray y = Forward.infer(manager, stack, Forward.params(PositionalEncodingBlock.POSITIONS, positions), x);
        NDArray expected = x;
        for (Block layer : stack.getLayers()) {
            expected = Forward.infer(
                    manager, layer, Forward.params(PositionalEncodingBlock.POSITIONS, positions), expected);
        }
        requireSame(y, Forward.infer(manager, stack.getFinalNorm(), expected));
    }

    @EngineTest
    void paddingIsHiddenInEveryLayer(NDManager manager, boolean hasMemory) {
        TransformerStackBlock.Builder builder = hasMemory ? decoder() : encoder();
        Shape[] shapes = {new Shape(2, 5), new Shape(2, 4, 8)};
        TransformerStackBlock stack = initialized(
                manager,
                builder.optInput(input().optPaddingIndex(0).build()),
                hasMemory ? shapes : new Shape[] {shapes[0]});
        NDArray ids = manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
        NDArray isToken = ids.neq(0);
        NDArray memory = numbers(manager, 2, 4, 8);
        NDArray isMemory = manager.ones(new Shape(2, 4));
        NDArray x = Forward.infer(manager, stack.getInput(), ids);
        if (hasMemory) {
            NDArray expected = chained(manager, stack, x, memory, isMemory, isToken);
            requireSame(Forward.infer(manager, stack, ids, memory), expected);
            requireSame(Forward.infer(manager, stack, ids, memory, isMemory), expected);
            requireSame(Forward.infer(manager, stack, ids, memory, isMemory, isToken), expected);
        } else {
            requireSame(Forward.infer(manager, stack, ids), chained(manager, stack, x, isToken));
            NDArray given = manager.create(new int[][] {{1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}});
            requireSame(Forward.infer(manager, stack, ids, given), chained(manager, stack, x, given));
        }
    }
}
