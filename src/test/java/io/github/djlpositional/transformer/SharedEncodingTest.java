package io.github.djlpositional.transformer;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.PairList;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
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

    /** The layer of a decoder, whose two attentions have these encodings. */
    private static TransformerLayerBlock decoder(RelativeEncoding ofAttention, RelativeEncoding ofCrossAttention) {
        return TransformerLayerBlock.builder()
                .setAttention(Layers.attention(ofAttention))
                .optCrossAttention(Layers.attention(ofCrossAttention))
                .setHiddenSize(16)
                .build();
    }

    private static TransformerLayerBlock sharingDecoder(RelativeEncoding encoding) {
        return decoder(encoding, encoding);
    }

    private static byte[] saved(NDManager manager, Block block, Shape... shapes) throws IOException {
        block.initialize(manager, DataType.FLOAT32, shapes);
        return BlockBytes.saved(block);
    }

    @EngineTest
    void isSavedAndLoadedWithinABlockOfTheLibrary(NDManager manager) throws Exception {
        for (Supplier<RelativeEncoding> encoding :
                List.<Supplier<RelativeEncoding>>of(SharedEncodingTest::bias, SharedEncodingTest::rotary)) {
            TransformerLayerBlock layer = sharingDecoder(encoding.get());
            byte[] bytes = saved(manager, layer, SHAPE, SHAPE);
            TransformerLayerBlock loaded = sharingDecoder(encoding.get());
            BlockBytes.load(manager, loaded, bytes);
            NDArray x = manager.randomNormal(SHAPE);
            // a loaded block asks for no gradients, with which results are rounded otherwise
            layer.freezeParameters(true);
            assertThat(Forward.infer(manager, loaded, x, x).toFloatArray())
                    .isEqualTo(Forward.infer(manager, layer, x, x).toFloatArray());
        }
    }

    @EngineTest
    void isSavedAndLoadedWithEachLayerOfAUsersModel(NDManager manager) throws Exception {
        Layers layers = Layers.sharing(bias());
        byte[] bytes = saved(manager, layers, SHAPE);
        Layers loaded = Layers.sharing(bias());
        BlockBytes.load(manager, loaded, bytes);
        NDArray x = manager.randomNormal(SHAPE);
        layers.freezeParameters(true);
        assertThat(Forward.infer(manager, loaded, x).toFloatArray())
                .isEqualTo(Forward.infer(manager, layers, x).toFloatArray());
    }

    @EngineTest
    void isTrainedOnceWithTheGradientOfAllLayers(NDManager given) throws Exception {
        float rate = 0.5f;
        Device device = given.getDevice();
        try (Model model = Model.newInstance("shared", device, given.getEngine().getEngineName())) {
            Layers layers = Layers.sharing(bias());
            model.setBlock(layers);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss())
                    .optDevices(new Device[] {device})
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(rate))
                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(SHAPE);
                RelativePositionBiasBlock shared = (RelativePositionBiasBlock)
                        layers.first.getRelativeEncodings().get(0);
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
