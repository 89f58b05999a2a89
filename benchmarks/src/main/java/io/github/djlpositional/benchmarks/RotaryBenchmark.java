package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.math.PairLayout;
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

/** Queries and keys turned. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class RotaryBenchmark {

    @Param("PyTorch")
    private String engine;

    @Param("8x16x1024x64")
    private String shape;

    private Setting setting;
    private ParameterStore store;
    private NDArray queries;
    private NDArray keys;
    private NDArray cosines;
    private NDArray sines;
    private RotaryEmbeddingBlock halves;
    private RotaryEmbeddingBlock interleaved;

    /** Makes what is measured with. */
    @Setup
    public void setUp() {
        setting = new Setting(engine);
        store = setting.store();
        Shape sizes = Setting.shape(shape);
        queries = setting.numbers(sizes);
        keys = setting.numbers(sizes);
        cosines = setting.numbers(sizes.slice(2));
        sines = setting.numbers(sizes.slice(2));
        halves = block(sizes, PairLayout.CONCATENATED);
        interleaved = block(sizes, PairLayout.INTERLEAVED);
    }

    private RotaryEmbeddingBlock block(Shape sizes, PairLayout layout) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(Math.toIntExact(sizes.get(3)))
                .optLayout(layout)
                .build();
        block.initialize(setting.manager(), DataType.FLOAT32, sizes);
        return block;
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        halves.clear();
        interleaved.clear();
        setting.close();
    }

    /** The usual formulation, x · cos + rotate_half(x) · sin, in DJL's operations. */
    @Benchmark
    public void usual() {
        usual(queries);
        usual(keys);
    }

    private void usual(NDArray x) {
        try (NDManager calls = x.getManager().newSubManager()) {
            NDArray input = x;
            long half = x.getShape().get(3) / 2;
            NDArray first = input.get(calls, NDIndex.sliceAxis(3, 0, half));
            NDArray second = input.get(calls, NDIndex.sliceAxis(3, half, 2 * half));
            NDArray turned = NDArrays.concat(new NDList(second.neg(), first), 3);
            NDArray along = input.mul(cosines);
            NDArray across = turned.mul(sines);
            NDArray sum = along.add(across);
            along.close();
            across.close();
            turned.close();
            sum.close();
        }
    }

    /** This library, halves side by side as in Llama. */
    @Benchmark
    public void halves() {
        halves.forward(store, new NDList(queries, keys), false).close();
    }

    /** This library, pairs side by side as in RoFormer. */
    @Benchmark
    public void interleaved() {
        interleaved.forward(store, new NDList(queries, keys), false).close();
    }
}
