package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
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

/** The encodings added to an input, by the block, by its peers, and by nothing but the engine's addition. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class AddBenchmark {

    @Param("PyTorch")
    private String engine;

    @Param({"1x1x512", "1x128x512", "32x128x512", "8x2048x1024"})
    private String shape;

    private Setting setting;
    private ParameterStore store;
    private NDArray x;
    private NDArray slice;
    private Block block;

    private Block book;

    /** Makes what is measured with. */
    @Setup
    public void setUp() {
        setting = new Setting(engine);
        store = setting.store();
        Shape sizes = Setting.shape(shape);
        int length = Math.toIntExact(sizes.get(1));
        int size = Math.toIntExact(sizes.get(2));
        x = setting.numbers(sizes);
        slice = setting.numbers(new Shape(1, length, size));
        block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(Math.max(5000, length))
                .build();
        block.initialize(setting.manager(), DataType.FLOAT32, sizes);
        book = new BookEncoding(setting.manager(), length, size);
    }

    /** Frees everything, the views too that the book's way leaves behind. */
    @TearDown
    public void tearDown() {
        block.clear();
        setting.close();
    }

    /** The limit: an addition with a slice made beforehand. */
    @Benchmark
    public void bareAdd() {
        x.add(slice).close();
    }

    /** The same bytes read and written, and nothing else. */
    @Benchmark
    public void copy() {
        x.duplicate().close();
    }

    /** As in the book. */
    @Benchmark
    public void book() {
        book.forward(store, new NDList(x), false).close();
    }

    /** This library. */
    @Benchmark
    public void block() {
        block.forward(store, new NDList(x), false).close();
    }
}
