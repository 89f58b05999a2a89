package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.Batchifier;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import java.util.Map;
import java.util.TreeMap;

/** A few steps of DJL's own data-parallel training of a small model with absolute and relative positions. */
final class DataParallelTraining {

    /** The shape of the table of absolute positions; no other array of the model has it. */
    static final Shape TABLE = new Shape(37, 8);

    /** The shape of the rotary table: cosines and sines of the four dimensions of a head. */
    static final Shape ROTARY_TABLE = new Shape(41, 8);

    /** For five steps of sums in another order, of numbers about 1: some 100 roundings of 2^-24. */
    static final float TOLERANCE = 1e-5f;

    private static final int STEPS = 5;
    private static final int BATCH = 4;
    private static final int LENGTH = 6;
    private static final int VOCABULARY = 11;

    private DataParallelTraining() {}

    /** The parameters by name, before and after. */
    record Result(Map<String, float[]> start, Map<String, float[]> parameters) {}

    static Result run(Engine engine, Device... devices) {
        return run(engine, () -> {}, devices);
    }

    /** Trains; runs an action before the trainer is closed. */
    static Result run(Engine engine, Runnable whileTrained, Device... devices) {
        try (Model model = engine.newModel("model", devices[0])) {
            Block block = block();
            model.setBlock(block);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optDevices(devices)
                    .optInitializer(weights(), parameter -> true)
                    // DJL adds up the devices' gradients, each of which is of the mean over its part of the batch.
                    // Adam and momentum would differ: DJL 0.35.1 counts each device's update as a step
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(0.5f))
                            .setRescaleGrad(1f / devices.length)
                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(BATCH, LENGTH));
                Map<String, float[]> start = values(block);
                for (int step = 0; step < STEPS; step++) {
                    try (Batch batch = batch(trainer.getManager().newSubManager(), step)) {
                        EasyTrain.trainBatch(trainer, batch);
                        trainer.step();
                    }
                }
                whileTrained.run();
                return new Result(start, values(block));
            }
        }
    }

    private static Block block() {
        return new SequentialBlock()
                .add(InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY)
                        .setEmbeddingSize(8)
                        .optMaxSequenceLength((int) TABLE.get(0))
                        .build())
                .add(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(8)
                        .setHeadCount(2)
                        .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                .setHeadSize(4)
                                .optMaxSequenceLength((int) ROTARY_TABLE.get(0))
                                .build())
                        .build())
                .add(Linear.builder().setUnits(VOCABULARY).build());
    }

    /** The output of a block on a device, with the same parameters on every device. */
    static float[] forward(Engine engine, Device device, TestBlocks kind) {
        try (NDManager manager = engine.newBaseManager(device)) {
            Block block = kind.block();
            block.setInitializer(weights(), parameter -> true);
            block.initialize(manager, DataType.FLOAT32, kind.input());
            return kind.values(manager, block);
        }
    }

    /** The same values on every engine and device, all different within a parameter. */
    static Initializer weights() {
        return (manager, shape, type) -> {
            float[] values = new float[Math.toIntExact(shape.size())];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) Math.sin(i + 1) / 2;
            }
            return manager.create(values, shape);
        };
    }

    /** Ids, with the next ids as labels. */
    private static Batch batch(NDManager manager, int step) {
        NDArray ids = manager.arange(step, step + BATCH * LENGTH, 1, DataType.INT64)
                .mod(VOCABULARY)
                .reshape(BATCH, LENGTH);
        NDArray next = ids.add(1).mod(VOCABULARY).expandDims(2);
        return new Batch(
                manager, new NDList(ids), new NDList(next), BATCH, Batchifier.STACK, Batchifier.STACK, step, STEPS);
    }

    private static Map<String, float[]> values(Block block) {
        Map<String, float[]> values = new TreeMap<>();
        block.getParameters()
                .forEach(pair ->
                        values.put(pair.getKey(), pair.getValue().getArray().toFloatArray()));
        return values;
    }
}
