package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.concurrent.Callable;

/** A training step of the examples' encoder for token ids (B, T): forward, loss, backward, Adam. */
final class Training {

    private static final int VOCABULARY = 2500;
    private static final int SIZE = 64;
    private static final int LAYERS = 3;

    static final Operation TRAIN =
            new Operation("TRAIN", "the step", setting -> step(setting, trainer(setting, encoding(setting))));
    static final Operation TRAIN_LIKE_BOOK = new Operation(
            "TRAIN_LIKE_BOOK",
            "book",
            setting -> step(setting, trainer(setting, new BookEncoding(setting.manager(), setting.size(1), SIZE))));

    /** Only the encoding, forward and backward. */
    static final Operation TRAIN_ENCODING = new Operation("TRAIN_ENCODING", "encoding", setting -> {
        Shape shape = setting.shape().add(SIZE);
        NDArray embedded = setting.numbers(shape);
        embedded.setRequiresGradient(true);
        Block encoding = setting.initialized(encoding(setting), shape);
        return () -> setting.backward(() ->
                encoding.forward(setting.store(), new NDList(embedded), true).singletonOrThrow());
    });

    /** Only the optimizer, with the gradients of a step. */
    static final Operation TRAIN_OPTIMIZER = new Operation("TRAIN_OPTIMIZER", "optimizer", setting -> {
        Trainer trainer = trainer(setting, encoding(setting));
        step(setting, trainer).call().close();
        return () -> {
            trainer.step();
            return new NDList();
        };
    });

    private Training() {}

    private static Block encoding(Setting setting) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(setting.size(1))
                .build();
    }

    /** The examples' encoder in its default sizes, without masks: token ids (B, T) to two scores (B, 2). */
    private static Block encoder(Block positions) {
        SequentialBlock encoder = new SequentialBlock()
                .add(InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY)
                        .setEmbeddingSize(SIZE)
                        .optPositionalEncoding(positions)
                        .build());
        for (int layer = 0; layer < LAYERS; layer++) {
            encoder.add(Layers.ofEncoder(SIZE));
        }
        return encoder.add(LambdaBlock.singleton(x -> x.mean(new int[] {1})))
                .add(Linear.builder().setUnits(2).build());
    }

    private static Trainer trainer(Setting setting, Block positions) {
        Model model = setting.own(
                Model.newInstance("encoder", Device.cpu(), setting.of().engine()));
        model.setBlock(encoder(positions));
        Trainer trainer = setting.own(model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(Optimizer.adam().build())));
        trainer.initialize(setting.shape());
        return trainer;
    }

    private static Callable<NDResource> step(Setting setting, Trainer trainer) {
        NDArray ids = setting.ids(setting.shape(), VOCABULARY);
        NDArray labels = setting.manager().zeros(new Shape(setting.size(0), 1));
        return () -> {
            try (NDManager step = trainer.getManager().newSubManager()) {
                NDArray batch = ids.duplicate();
                batch.attach(step);
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    NDList scores = trainer.forward(new NDList(batch));
                    collector.backward(trainer.getLoss().evaluate(new NDList(labels), scores));
                }
                trainer.step();
            }
            return new NDList();
        };
    }
}
