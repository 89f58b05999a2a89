package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metrics;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.training.tracker.WarmUpTracker;
import ai.djl.translate.TranslateException;
import java.io.IOException;

/**
 * Trains an encoder to tell sentences in order from shuffled ones: Adam, the learning rate rising over the first steps
 * and then falling to zero along a cosine.
 *
 * @param engine what computes
 * @param device where
 * @param seed decides the weights at the start
 * @param epochs how often every sentence is seen
 * @param learningRate the highest one
 */
record EncoderTraining(Engine engine, Device device, int seed, int epochs, float learningRate) {

    private static final int WARM_UP_STEPS = 200;

    /**
     * Trains a new encoder.
     *
     * @param spec its sizes
     * @param training what it learns from
     * @param trained receives the model; closed by the caller
     * @return what each step measured
     * @throws IOException if the data cannot be read
     */
    TrainingLog train(EncoderSpec spec, WordOrderDataset training, Model trained) throws IOException {
        engine.setRandomSeed(seed);
        trained.setBlock(new TransformerEncoder(spec));
        int steps = epochs * training.batches();
        Tracker rate = WarmUpTracker.builder()
                .optWarmUpSteps(Math.min(WARM_UP_STEPS, Math.max(1, steps / 10)))
                .setMainTracker(Tracker.cosine()
                        .setBaseValue(learningRate)
                        .optFinalValue(learningRate / 1000)
                        .setMaxUpdates(steps)
                        .build())
                .build();
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {device})
                .optOptimizer(Optimizer.adam().optLearningRateTracker(rate).build())
                .addEvaluator(new Accuracy())
                .addTrainingListeners(TrainingListener.Defaults.basic())
                .addTrainingListeners(new TrainingProgress(epochs, training.batches()));
        try (Trainer trainer = trained.newTrainer(config)) {
            trainer.setMetrics(new Metrics());
            trainer.initialize(new Shape(1, spec.maxWords()));
            EasyTrain.fit(trainer, epochs, training, null);
            return TrainingLog.of(spec.encoding(), trainer);
        } catch (TranslateException e) {
            throw new IllegalStateException("the dataset translates nothing", e);
        }
    }
}
