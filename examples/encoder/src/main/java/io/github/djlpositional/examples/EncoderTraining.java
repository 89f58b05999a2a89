package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metrics;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Dataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.training.tracker.WarmUpTracker;
import ai.djl.translate.TranslateException;
import java.io.IOException;

/**
 * Trains a classifier, such as an encoder that distinguishes things in order from shuffled ones.
 *
 * @param engine the engine
 * @param device the device
 * @param seed determines the initial weights
 * @param epochs the number of passes over the examples
 * @param learningRate the highest learning rate
 */
public record EncoderTraining(Engine engine, Device device, int seed, int epochs, float learningRate) {

    private static final int MOST_WARM_UP_STEPS = 200;

    /**
     * Configures the training of a classifier with Adam. The learning rate rises over the first tenth of the steps, at
     * most 200, and then decreases to almost zero along a cosine.
     *
     * @param device the device
     * @param steps the number of steps of the training
     * @param learningRate the highest learning rate
     * @return a configuration whose loss is the cross entropy of the classes
     */
    public static DefaultTrainingConfig adam(Device device, int steps, float learningRate) {
        Tracker rate = WarmUpTracker.builder()
                .optWarmUpSteps(Math.min(MOST_WARM_UP_STEPS, Math.max(1, steps / 10)))
                .setMainTracker(Tracker.cosine()
                        .setBaseValue(learningRate)
                        .optFinalValue(learningRate / 1000)
                        .setMaxUpdates(steps)
                        .build())
                .build();
        return new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {device})
                .optOptimizer(Optimizer.adam().optLearningRateTracker(rate).build());
    }

    /**
     * Trains a new block, which becomes the block of the model.
     *
     * @param block a classifier, not initialized
     * @param input a shape of its input
     * @param training the examples
     * @param batches the number of batches in an epoch
     * @param trained the model
     * @return the loss and the accuracy of each step
     * @throws IOException if the dataset cannot be read
     */
    public Metrics train(Block block, Shape input, Dataset training, int batches, Model trained) throws IOException {
        engine.setRandomSeed(seed);
        trained.setBlock(block);
        DefaultTrainingConfig config = adam(device, epochs * batches, learningRate)
                .addEvaluator(new Accuracy())
                .addTrainingListeners(TrainingListener.Defaults.basic())
                .addTrainingListeners(new TrainingProgress(epochs, batches));
        try (Trainer trainer = trained.newTrainer(config)) {
            Metrics metrics = new Metrics();
            trainer.setMetrics(metrics);
            trainer.initialize(input);
            EasyTrain.fit(trainer, epochs, training, null);
            return metrics;
        } catch (TranslateException e) {
            throw new IllegalStateException("the dataset has no translator that could fail", e);
        }
    }

    /** Trains a new encoder, which becomes the block of the model, and returns the measurements of each step. */
    TrainingLog train(EncoderSpec spec, WordOrderDataset training, Model trained) throws IOException {
        Block encoder = new TransformerEncoder(spec, false);
        Metrics metrics = train(encoder, new Shape(1, spec.maxWords()), training, training.batches(), trained);
        return TrainingLog.of(spec.encoding(), metrics);
    }
}
