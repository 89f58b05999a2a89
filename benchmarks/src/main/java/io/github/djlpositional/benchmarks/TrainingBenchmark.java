package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A step of training, of the examples' encoder: forward, loss, backward, Adam. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class TrainingBenchmark {

    @Param("PyTorch")
    private String engine;

    @Param("128x16")
    private String shape;

    private Setting setting;
    private NDArray ids;
    private NDArray labels;
    private Model own;
    private Model book;
    private Trainer ownTrainer;
    private Trainer bookTrainer;
    private Block encoding;
    private NDArray embedded;
    private ParameterStore store;

    /** Makes what is measured with. */
    @Setup
    public void setUp() {
        setting = new Setting(engine);
        Shape sizes = Setting.shape(shape);
        int count = Math.toIntExact(sizes.size());
        int[] some = new int[count];
        for (int i = 0; i < count; i++) {
            some[i] = i * 7919 % Encoder.VOCABULARY;
        }
        ids = setting.manager().create(some, sizes);
        labels = setting.manager().zeros(new Shape(sizes.get(0), 1));
        int length = Math.toIntExact(sizes.get(1));
        own = model(encoding(length));
        encoding = encoding(length);
        embedded = setting.numbers(sizes.add(Encoder.SIZE));
        encoding.initialize(setting.manager(), DataType.FLOAT32, embedded.getShape());
        store = setting.store();
        book = model(new BookEncoding(setting.manager(), length, Encoder.SIZE));
        ownTrainer = trainer(own, sizes);
        bookTrainer = trainer(book, sizes);
        step(ownTrainer);
    }

    private static Block encoding(int length) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(Encoder.SIZE)
                .optMaxSequenceLength(length)
                .build();
    }

    private Model model(Block positions) {
        Model model = Model.newInstance("encoder", Device.cpu(), engine);
        model.setBlock(new Encoder(positions));
        return model;
    }

    private static Trainer trainer(Model model, Shape sizes) {
        Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(Optimizer.adam().build()));
        trainer.initialize(sizes);
        return trainer;
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        encoding.clear();
        ownTrainer.close();
        bookTrainer.close();
        own.close();
        book.close();
        setting.close();
    }

    private void step(Trainer trainer) {
        try (NDManager step = trainer.getManager().newSubManager()) {
            NDArray given = ids.duplicate();
            given.attach(step);
            try (GradientCollector collector = trainer.newGradientCollector()) {
                NDList scores = trainer.forward(new NDList(given));
                NDArray loss = trainer.getLoss().evaluate(new NDList(labels), scores);
                collector.backward(loss);
            }
            trainer.step();
        }
    }

    /** The encoding alone, forward and backward, of what the encoder's token embedding gives it. */
    @Benchmark
    public void encoding() {
        try (NDManager step = setting.manager().newSubManager()) {
            NDArray x = embedded.duplicate();
            x.attach(step);
            x.setRequiresGradient(true);
            try (GradientCollector collector = ownTrainer.newGradientCollector()) {
                NDArray encoded = encoding.forward(store, new NDList(x), true).singletonOrThrow();
                collector.backward(encoded.sum());
            }
        }
    }

    /** The optimizer alone, with the gradients of a step. */
    @Benchmark
    public void optimizer() {
        ownTrainer.step();
    }

    /** With the book's encoding. */
    @Benchmark
    public void book() {
        step(bookTrainer);
    }

    /** With this library's. */
    @Benchmark
    public void block() {
        step(ownTrainer);
    }
}
