package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import io.github.djlpositional.examples.EncoderTraining;
import io.github.djlpositional.examples.Progress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Trains a classifier of texts, and measures it on other texts while it learns.
 *
 * @param training the texts to learn from, in random order
 * @param heldOut other texts
 * @param epochs the number of passes over the texts
 * @param seed determines the order of the texts
 */
record ClassifierTraining(
        List<ClassifierTraining.Text> training, List<ClassifierTraining.Text> heldOut, int epochs, int seed) {

    private static final int TOKENS_PER_BATCH = 512;

    /** The number of measurements in a training. */
    private static final int POINTS = 5;

    /** A text and its class. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Text(long[] ids, int label) {}

    /** The accuracies on the held-out texts after some numbers of texts. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Curve(double[] textsSeen, double[] accuracies) {

        double lastAccuracy() {
            return accuracies[accuracies.length - 1];
        }
    }

    /**
     * Trains the block of a model, which maps token ids, and a mask if there is padding, to scores.
     *
     * @param task the name of the progress bar
     * @param learningRate the highest learning rate
     * @return the learning curve; its last accuracy is the trained block's
     */
    Curve train(String task, Model model, Device device, float learningRate) {
        List<TokenBatch> steps = new ArrayList<>();
        Random random = new Random(seed);
        for (int epoch = 0; epoch < epochs; epoch++) {
            List<TokenBatch> batches = batches(training);
            Collections.shuffle(batches, random);
            steps.addAll(batches);
        }
        Progress progress =
                new Progress(task, steps.stream().mapToLong(TokenBatch::tokens).sum());
        Curve curve = new Curve(new double[POINTS], new double[POINTS]);
        try (Trainer trainer = model.newTrainer(EncoderTraining.adam(device, steps.size(), learningRate))) {
            trainer.initialize(new Shape(1, 1));
            int texts = 0;
            int measured = 0;
            for (int i = 0; i < steps.size(); i++) {
                step(trainer, steps.get(i));
                texts += steps.get(i).texts().size();
                int due = (i + 1) * POINTS / steps.size();
                if (due > measured) {
                    Arrays.fill(curve.textsSeen, measured, due, texts);
                    Arrays.fill(curve.accuracies, measured, due, accuracy(model));
                    measured = due;
                }
                progress.add(steps.get(i).tokens());
            }
        }
        return curve;
    }

    private static List<TokenBatch> batches(List<Text> texts) {
        return TokenBatch.sortedByLength(texts.stream().map(Text::ids).toList(), TOKENS_PER_BATCH);
    }

    private static int[] labels(List<Text> texts, TokenBatch batch) {
        return batch.texts().stream().mapToInt(i -> texts.get(i).label).toArray();
    }

    private void step(Trainer trainer, TokenBatch batch) {
        try (NDManager manager = trainer.getManager().newSubManager()) {
            NDList inputs = batch.inputs(manager);
            NDList labels = new NDList(manager.create(labels(training, batch)));
            try (GradientCollector gradients = trainer.newGradientCollector()) {
                NDList scores = trainer.forward(inputs);
                gradients.backward(trainer.getLoss().evaluate(labels, scores));
            }
            trainer.step();
        }
    }

    /** Returns the fraction of the held-out texts that a model classifies correctly. */
    private double accuracy(Model model) {
        int right = 0;
        for (TokenBatch batch : batches(heldOut)) {
            int[] labels = labels(heldOut, batch);
            try (NDManager manager = model.getNDManager().newSubManager()) {
                NDArray scores = model.getBlock()
                        .forward(new ParameterStore(manager, false), batch.inputs(manager), false)
                        .singletonOrThrow();
                long[] answers = scores.argMax(1).toType(DataType.INT64, false).toLongArray();
                for (int i = 0; i < answers.length; i++) {
                    right += answers[i] == labels[i] ? 1 : 0;
                }
            }
        }
        return (double) right / heldOut.size();
    }
}
