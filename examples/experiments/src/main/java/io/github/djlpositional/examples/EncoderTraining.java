package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.training.tracker.WarmUpTracker;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Trains a classifier, such as an encoder that distinguishes things in order from shuffled ones.
 *
 * @param seed determines the initial weights
 * @param epochs the number of passes over the examples
 * @param learningRate the highest learning rate
 */
public record EncoderTraining(Engine engine, Device device, int seed, int epochs, float learningRate) {

    private static final int MOST_WARM_UP_STEPS = 200;

    /**
     * The mean loss of a batch, and the fraction of it that was classified correctly. They are computed once for each
     * step; DJL's {@code EvaluatorTrainingListener} takes a quarter of the time of a step to compute them several
     * times.
     */
    public record Step(double loss, double accuracy) {}

    /**
     * Configures the training of a classifier with Adam and the cross entropy of the classes. The learning rate rises
     * over the first tenth of the steps, at most 200, and then decreases to almost zero along a cosine.
     */
    private static DefaultTrainingConfig adam(Device device, int steps, float learningRate) {
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

    /** Trains a new block, which becomes the block of the model, and passes each batch after its step. */
    public List<Step> train(Block block, Shape input, Minibatches training, Model trained, Consumer<Batch> afterStep) {
        engine.setRandomSeed(seed);
        trained.setBlock(block);
        List<Step> steps = new ArrayList<>();
        int batches = training.batches();
        long start = System.nanoTime();
        try (Trainer trainer = trained.newTrainer(adam(device, epochs * batches, learningRate))) {
            trainer.initialize(input);
            for (int epoch = 1; epoch <= epochs; epoch++) {
                Progress progress = new Progress("Epoch " + epoch + "/" + epochs, batches);
                for (Batch batch : training.getData(trainer.getManager())) {
                    try (batch) {
                        steps.add(step(trainer, batch));
                        afterStep.accept(batch);
                    }
                    Step last = steps.get(steps.size() - 1);
                    progress.add(
                            1,
                            () -> String.format(Locale.ROOT, "accuracy %.3f, loss %.3f, ", last.accuracy, last.loss)
                                    + Progress.timeLeft(start, steps.size(), (long) epochs * batches));
                }
            }
        }
        return steps;
    }

    private static Step step(Trainer trainer, Batch batch) {
        NDList labels = batch.getLabels();
        NDList scores;
        NDArray loss;
        try (GradientCollector collector = trainer.newGradientCollector()) {
            // only the scores
            scores = trainer.forward(batch.getData()).subNDList(0, 1);
            loss = trainer.getLoss().evaluate(labels, scores);
            collector.backward(loss);
        }
        trainer.step();
        Step step = new Step(
                loss.getFloat(),
                (double) Evaluation.right(scores.head(), labels.head())
                        / labels.head().size());
        if (Double.isNaN(step.loss)) {
            throw new UserError("the loss is not a number: use a lower --learning-rate");
        }
        return step;
    }
}
