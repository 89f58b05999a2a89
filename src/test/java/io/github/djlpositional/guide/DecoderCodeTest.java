package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.EngineException;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.NoopTranslator;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.nio.file.Path;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The code of docs/using.md about layers and training, and of docs/serving.md about replacing a model;
 * {@link LanguageModel} is theirs.
 */
class DecoderCodeTest extends OnEachEngine {

    @TempDir
    private Path folder;

    /** A model that can be replaced while threads use it. */
    static final class Service implements AutoCloseable {

        private final ReadWriteLock lock = new ReentrantReadWriteLock();
        private Model model;

        Service(Model model) {
            this.model = model;
        }

        // tag::replacing[]
        long[] answer(long[] prompt, int most) {
            lock.readLock().lock(); // any number of threads
            try {
                return TokenGenerator.builder()
                        .setDecoder(model.getBlock())
                        .build()
                        .generate(prompt, most);
            } finally {
                lock.readLock().unlock();
            }
        }

        void replace(Model loaded) {
            lock.writeLock().lock(); // after the last answer of the old model
            try {
                model.close();
                model = loaded;
            } finally {
                lock.writeLock().unlock();
            }
        }
        // end::replacing[]

        @Override
        public void close() {
            model.close();
        }
    }

    /** The decoder learns to count to 9 and to start again. */
    @Test
    void decoderIsTrainedSavedLoadedAndServed() throws Exception {
        this.engine.get().setRandomSeed(1);
        String engine = this.engine.engineName();
        // tag::training[]
        try (Model model = Model.newInstance("decoder", Device.cpu(), engine)) {
            model.setBlock(LanguageModel.llama());
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optDevices(new Device[] {Device.cpu()})
                    .optOptimizer(Optimizer.adam()
                            .optLearningRateTracker(Tracker.fixed(0.003f))
                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 20));
                for (int count = 0; count < 60; count++) {
                    try (NDManager step = trainer.getManager().newSubManager()) {
                        NDArray ids = batch(step); // (B, 21)
                        try (GradientCollector collector = trainer.newGradientCollector()) {
                            NDList scores = trainer.forward(new NDList(ids.get(":, :20")));
                            NDList next = new NDList(ids.get(":, 1:").expandDims(2));
                            collector.backward(trainer.getLoss().evaluate(next, scores));
                        }
                        trainer.step();
                    }
                }
            }
            model.save(folder, "decoder");
        }
        // end::training[]
        long[] ids = {3, 4, 5, 6, 7};
        // tag::loading[]
        try (Model model = Model.newInstance("decoder", Device.cpu(), engine)) {
            model.setBlock(LanguageModel.llama()); // the same settings as the saved one
            model.load(folder, "decoder");
            try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator());
                    NDManager request = model.getNDManager().newSubManager()) {
                NDArray batch = request.create(ids).expandDims(0);
                NDArray scores = predictor.predict(new NDList(batch)).head(); // (1, T, 100)
                // end::loading[]
                assertThat(scores.argMax(2).toType(DataType.INT64, false).toLongArray())
                        .endsWith(6, 7, 8);
                // tag::loading[]
            }
            // end::loading[]
            // tag::saving-again[]
            // DJL forgets the input names of a loaded model; initializing it again keeps the parameters
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 20));
            model.save(folder, "decoder");
            // end::saving-again[]
            // tag::loading[]
        }
        // end::loading[]
        try (Service service = new Service(load(engine))) {
            assertThat(service.answer(new long[] {3, 4, 5}, 3)).containsExactly(6, 7, 8);
            service.replace(load(engine));
            assertThat(service.answer(new long[] {3, 4, 5}, 12)).containsExactly(6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7);
        }
    }

    private Model load(String engine) throws Exception {
        Model model = Model.newInstance("decoder", Device.cpu(), engine);
        model.setBlock(LanguageModel.llama());
        model.load(folder, "decoder");
        return model;
    }

    private static NDArray batch(NDManager manager) {
        NDArray counts = manager.arange(21).expandDims(0).add(manager.arange(10).expandDims(1));
        return counts.toType(DataType.INT64, false).mod(10);
    }

    /** The mean of -log softmax at the label, computed in double. */
    @Test
    void labelsOfTokensHaveAnAxisOfTheClasses() {
        NDArray scores = numbers(manager, 1, DataType.FLOAT32, 2, 3, 4);
        long[] labels = {0, 1, 2, 3, 0, 1};
        double expected = 0;
        double[] all = doubles(scores);
        for (int i = 0; i < labels.length; i++) {
            double sum = IntStream.range(4 * i, 4 * i + 4)
                    .mapToDouble(j -> Math.exp(all[j]))
                    .sum();
            expected += (Math.log(sum) - all[4 * i + (int) labels[i]]) / labels.length;
        }
        Loss loss = Loss.softmaxCrossEntropyLoss();
        NDArray ofTokens = manager.create(labels, new Shape(2, 3));
        NDArray found = loss.evaluate(new NDList(ofTokens.expandDims(2)), new NDList(scores));
        requireClose(found, new double[] {expected}, 1e-5);
        NDArray best = scores.argMax(2).expandDims(2); // (2, 3, 1)
        Accuracy accuracy = new Accuracy("Accuracy", 2);
        accuracy.addAccumulator("");
        accuracy.updateAccumulator("", new NDList(best), new NDList(scores));
        assertThat(accuracy.getAccumulator("")).isEqualTo(1);
        assumeEngine(TestEngine.PYTORCH);
        assertThatThrownBy(() -> loss.evaluate(new NDList(ofTokens), new NDList(scores)))
                .isInstanceOf(EngineException.class)
                .hasMessageContaining("is invalid for input of size 6");
    }

    @Test
    void anEncoderWithOneBiasForAllLayers() {
        // tag::stack[]
        RelativePositionBiasBlock bias =
                RelativePositionBiasBlock.builder().setHeadCount(4).build(); // one for all layers
        TransformerStackBlock encoder = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(100)
                        .setEmbeddingSize(64)
                        .optPaddingIndex(0)
                        .optNoPositions() // the attentions encode them
                        .build())
                .setLayers(
                        6,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(64)
                                        .setHeadCount(4)
                                        .optScale(1) // T5 does not scale
                                        .optRelativeEncoding(bias)
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(64)
                                        .setHiddenSize(256)
                                        .build())
                                .optNormPlacement(NormPlacement.BEFORE_PART))
                .build();
        NDArray ids = manager.create(new int[][] {{5, 17, 3, 9}, {8, 2, 0, 0}}); // 0 is padding
        encoder.initialize(manager, DataType.FLOAT32, ids.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        NDArray y = encoder.forward(store, new NDList(ids), false).singletonOrThrow(); // (2, 4, 64)
        // end::stack[]
        NDArray alone = Forward.infer(manager, encoder, ids.get("1:, :2"));
        requireClose(y.get("1:, :2"), doubles(alone), 1e-5);
    }
}
