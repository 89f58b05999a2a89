package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
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
import io.github.djlpositional.transformer.Nonlinearity;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Warmup;

/** A training step of a small encoder for token ids (B, T): forward, loss, backward, Adam. */
@Warmup(iterations = 3, time = 1) // the JVM compiles the code of all blocks
public class TrainingBenchmark extends EngineBenchmark {

    private static final int VOCABULARY = 2500;
    private static final int SIZE = 64;
    private static final int LAYERS = 3;

    /** The encoder with the encoding of this library. */
    public static class Library extends Setting {

        @Param("128x16")
        String shape;

        Trainer trainer;
        private NDArray ids;
        private NDArray labels;

        @Override
        void prepare() {
            Shape all = shape(shape);
            ids = ids(all, VOCABULARY);
            labels = manager.zeros(new Shape(all.get(0), 1));
            Model model = own(Model.newInstance("encoder", manager.getDevice(), engine));
            model.setBlock(encoder(positions((int) all.get(1))));
            trainer = own(model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optDevices(new Device[] {manager.getDevice()})
                    .optOptimizer(Optimizer.adam().build())));
            manager.getEngine().setRandomSeed(2);
            trainer.initialize(all);
        }

        Block positions(int length) {
            return AdditionBenchmark.block(SIZE, length);
        }

        /** A step; without the optimizer, the parameters stay. */
        final void step() {
            try (NDManager step = trainer.getManager().newSubManager()) {
                NDArray batch = ids.duplicate();
                batch.attach(step);
                NDArray loss;
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    NDList scores = trainer.forward(new NDList(batch));
                    loss = trainer.getLoss().evaluate(new NDList(labels), scores);
                    collector.backward(loss);
                }
                trainer.step();
                finish(loss);
            }
        }
    }

    /** The same with the encoding of the book. */
    public static class D2l extends Library {

        @Override
        Block positions(int length) {
            return new D2lEncoding(manager, length, SIZE);
        }
    }

    /** Token ids (B, T) to two scores (B, 2). */
    private static Block encoder(Block positions) {
        SequentialBlock encoder = new SequentialBlock()
                .add(InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY)
                        .setEmbeddingSize(SIZE)
                        .optPositionalEncoding(positions)
                        .build());
        for (int layer = 0; layer < LAYERS; layer++) {
            encoder.add(LayerBenchmark.layer(SIZE, 16, Nonlinearity.RELU));
        }
        return encoder.add(LambdaBlock.singleton(x -> x.mean(new int[] {1})))
                .add(Linear.builder().setUnits(2).build());
    }

    @Benchmark
    public void d2l(D2l encoder) {
        encoder.step();
    }

    @Benchmark
    public void library(Library encoder) {
        encoder.step();
    }
}
