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
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Trains a classifier of texts, and measures it on other texts while it learns.
 *
 * @param training the texts to learn from
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

    /** A point of a learning curve. */
    record Point(int textsSeen, double accuracy) {}

    private record Batch(TokenBatch tokens, List<Text> texts) {

        static List<Batch> of(List<Text> texts) {
            List<Batch> batches = new ArrayList<>();
            for (TokenBatch batch :
                    TokenBatch.sortedByLength(texts.stream().map(Text::ids).toList(), TOKENS_PER_BATCH)) {
                batches.add(
                        new Batch(batch, batch.texts().stream().map(texts::get).toList()));
            }
            return batches;
        }
    }

    /**
     * Trains the block of a model.
     *
     * @param task the text of the progress bar
     * @param model has a block that maps token ids, and a mask if there is padding, to scores
     * @param learningRate the highest learning rate
     * @return the learning curve; its last point is the trained block's
     */
    List<Point> train(String task, Model model, Device device, float learningRate) {
        List<Batch> steps = new ArrayList<>();
        Random random = new Random(seed);
        for (int epoch = 0; epoch < epochs; epoch++) {
            List<Text> shuffled = new ArrayList<>(training);
            Collections.shuffle(shuffled, random);
            List<Batch> batches = Batch.of(shuffled);
            Collections.shuffle(batches, random);
            steps.addAll(batches);
        }
        Progress progress = new Progress(
                task, steps.stream().mapToLong(step -> step.tokens.tokens()).sum());
        List<Point> curve = new ArrayList<>();
        int seen = 0;
        try (Trainer trainer = model.newTrainer(EncoderTraining.adam(device, steps.size(), learningRate))) {
            trainer.initialize(new Shape(1, 1));
            for (int i = 0; i < steps.size(); i++) {
                step(trainer, steps.get(i));
                seen += steps.get(i).texts.size();
                if ((i + 1) * POINTS / steps.size() > i * POINTS / steps.size()) {
                    curve.add(new Point(seen, accuracy(model)));
                }
                progress.add(steps.get(i).tokens.tokens());
            }
        }
        return curve;
    }

    private static void step(Trainer trainer, Batch batch) {
        try (NDManager manager = trainer.getManager().newSubManager()) {
            NDList inputs = batch.tokens.inputs(manager);
            NDList labels = new NDList(
                    manager.create(batch.texts.stream().mapToInt(Text::label).toArray()));
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
        for (Batch batch : Batch.of(heldOut)) {
            try (NDManager manager = model.getNDManager().newSubManager()) {
                NDArray scores = model.getBlock()
                        .forward(new ParameterStore(manager, false), batch.tokens.inputs(manager), false)
                        .singletonOrThrow();
                long[] answers = scores.argMax(1).toType(DataType.INT64, false).toLongArray();
                for (int i = 0; i < answers.length; i++) {
                    right += answers[i] == batch.texts.get(i).label ? 1 : 0;
                }
            }
        }
        return (double) right / heldOut.size();
    }
}
