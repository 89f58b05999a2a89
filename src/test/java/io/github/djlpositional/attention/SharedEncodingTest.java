package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;
import org.assertj.core.data.Offset;

/** A relative encoding that all layers of a model share, as T5's bias. */
class SharedEncodingTest {

    private static final Shape SHAPE = new Shape(2, 5, 8);

    /** Two attentions, one after the other. */
    private static final class Layers extends AbstractBlock {

        private final MultiHeadAttentionBlock first;
        private final MultiHeadAttentionBlock second;

        Layers(RelativeEncoding ofFirst, RelativeEncoding ofSecond) {
            first = addChildBlock("first", attention(ofFirst));
            second = addChildBlock("second", attention(ofSecond));
        }

        static Layers sharing(RelativeEncoding encoding) {
            return new Layers(encoding, encoding);
        }

        private static MultiHeadAttentionBlock attention(RelativeEncoding encoding) {
            return MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optRelativeEncoding(encoding)
                    .build();
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            return second.forward(store, first.forward(store, inputs, training, params), training, params);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            first.initialize(manager, dataType, inputShapes);
            second.initialize(manager, dataType, inputShapes);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    private static RelativePositionBiasBlock bias() {
        return RelativePositionBiasBlock.builder().setHeadCount(2).build();
    }

    private static RotaryEmbeddingBlock rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(4).build();
    }

    private static byte[] saved(Layers layers) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        layers.saveParameters(new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    private static void load(NDManager manager, Layers layers, byte[] saved)
            throws IOException, MalformedModelException {
        layers.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(saved)));
    }

    @EngineTest
    void isSavedAndLoadedOnce(NDManager manager) throws Exception {
        for (Supplier<RelativeEncoding> encoding :
                List.<Supplier<RelativeEncoding>>of(SharedEncodingTest::bias, SharedEncodingTest::rotary)) {
            Layers layers = Layers.sharing(encoding.get());
            layers.initialize(manager, DataType.FLOAT32, SHAPE);
            Layers apart = new Layers(encoding.get(), encoding.get());
            apart.initialize(manager, DataType.FLOAT32, SHAPE);
            long once = 32L * 2 * Float.BYTES;
            byte[] bytes = saved(layers);
            if (encoding.get() instanceof RelativePositionBiasBlock) {
                assertThat((long) bytes.length).isLessThanOrEqualTo(saved(apart).length - once);
            }
            assertThat(bytes.length).isLessThan(saved(apart).length);

            Layers loaded = Layers.sharing(encoding.get());
            load(manager, loaded, bytes);
            NDArray x = manager.randomNormal(SHAPE);
            // a loaded block asks for no gradients, with which results are rounded otherwise
            layers.freezeParameters(true);
            assertThat(Forward.infer(manager, loaded, x).toFloatArray())
                    .isEqualTo(Forward.infer(manager, layers, x).toFloatArray());
        }
    }

    @EngineTest
    void isRefusedByAModelThatDoesNotShareIt(NDManager manager) throws Exception {
        Layers shared = Layers.sharing(bias());
        Layers apart = new Layers(bias(), bias());
        shared.initialize(manager, DataType.FLOAT32, SHAPE);
        apart.initialize(manager, DataType.FLOAT32, SHAPE);
        byte[] ofShared = saved(shared);
        byte[] ofApart = saved(apart);

        assertThatThrownBy(() -> load(manager, new Layers(bias(), bias()), ofShared))
                .isInstanceOf(MalformedModelException.class)
                .hasMessageContaining("share");
        assertThatThrownBy(() -> load(manager, Layers.sharing(bias()), ofApart))
                .isInstanceOf(MalformedModelException.class)
                .hasMessageContaining("share");
    }

    @EngineTest
    void isTrainedOnceWithTheGradientOfAllLayers(Engine engine) throws Exception {
        float rate = 0.5f;
        try (Model model = Model.newInstance("shared", engine.getEngineName())) {
            Layers layers = Layers.sharing(bias());
            model.setBlock(layers);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss())
                    .optDevices(new Device[] {Device.cpu()})
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(rate))
                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(SHAPE);
                RelativePositionBiasBlock shared = (RelativePositionBiasBlock) layers.first.getRelativeEncoding();
                NDArray biases = shared.getBiases().getArray();
                float[] before = biases.toFloatArray();
                NDManager manager = trainer.getManager();
                NDArray x = manager.randomNormal(SHAPE);
                float[] gradient;
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    collector.backward(trainer.forward(new NDList(x)).head().sum());
                    gradient = biases.getGradient().toFloatArray();
                }
                trainer.step();
                float[] after = shared.getBiases().getArray().toFloatArray();
                float greatest = 0;
                for (int i = 0; i < before.length; i++) {
                    greatest = Math.max(greatest, Math.abs(gradient[i]));
                    // one rounding of the product and one of the difference
                    assertThat(after[i])
                            .isCloseTo(before[i] - rate * gradient[i], offset(before[i], rate * gradient[i]));
                }
                assertThat(greatest).isPositive();
            }
        }
    }

    private static Offset<Float> offset(float a, float b) {
        return Offset.offset(0x1p-22f * (Math.abs(a) + Math.abs(b)) + Float.MIN_NORMAL);
    }
}
