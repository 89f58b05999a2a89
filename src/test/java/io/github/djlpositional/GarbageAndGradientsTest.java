package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.EncodingType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Garbage is collected between a forward and its gradients: Java must not free memory that the engine still reads. */
class GarbageAndGradientsTest {

    /** Collects garbage, and overwrites the memory that was freed. */
    private static List<ByteBuffer> collectAndOverwrite() throws InterruptedException {
        System.gc();
        Thread.sleep(100);
        List<ByteBuffer> others = new ArrayList<>();
        for (int bytes : new int[] {4, 8, 16, 32}) {
            for (int i = 0; i < 2000; i++) {
                ByteBuffer other = ByteBuffer.allocateDirect(bytes);
                while (other.hasRemaining()) {
                    other.put((byte) 0x41);
                }
                others.add(other);
            }
        }
        return others;
    }

    private static Map<String, float[]> gradients(Engine engine, Block block, NDArray x, boolean withGarbage)
            throws InterruptedException {
        Map<String, float[]> gradients = new LinkedHashMap<>();
        try (NDManager manager = engine.newBaseManager();
                GradientCollector collector = engine.newGradientCollector()) {
            NDList inputs = new NDList(x);
            NDArray y = block.forward(new ParameterStore(manager, false), inputs, true)
                    .singletonOrThrow();
            NDArray loss = y.mul(y).sum();
            List<ByteBuffer> others = withGarbage ? collectAndOverwrite() : List.of();
            collector.backward(loss);
            assertThat(others).hasSize(withGarbage ? 8000 : 0);
            block.getParameters()
                    .forEach(pair -> gradients.put(
                            pair.getKey(),
                            pair.getValue().getArray().getGradient().toFloatArray()));
        }
        block.getParameters().forEach(pair -> {
            NDArray gradient = pair.getValue().getArray().getGradient();
            gradient.subi(gradient);
        });
        return gradients;
    }

    private static void requireSame(Engine engine, NDManager manager, Block block, NDArray x)
            throws InterruptedException {
        block.setInitializer(DataParallelTraining.weights(), parameter -> true);
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        block.getParameters().forEach(pair -> pair.getValue().getArray().setRequiresGradient(true));
        Map<String, float[]> expected = gradients(engine, block, x, false);
        Map<String, float[]> found = gradients(engine, block, x, true);
        expected.forEach((name, values) ->
                assertThat(found.get(name)).as("%s of %s", name, block).isEqualTo(values));
    }

    @EngineTest
    void gradientsOfAttentionsDoNotChange(Engine engine, NDManager manager, EncodingType type)
            throws InterruptedException {
        NDArray x = manager.arange(2 * 3 * 8f).reshape(2, 3, 8).sin();
        requireSame(engine, manager, type.attention(2).build(), x);
    }

    @EngineTest
    void gradientsOfEmbeddingsDoNotChange(Engine engine, NDManager manager) throws InterruptedException {
        Block embedding = embedding().optScaleEmbedding(true).optPaddingIndex(0).build();
        requireSame(engine, manager, embedding, SmallBlocks.ids(manager));
        Block scaled = positions().optLearnedScale(0.5f).build();
        requireSame(engine, manager, scaled, manager.ones(new Shape(2, 3, 4)));
    }
}
