package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * The encodings added on a GPU, beside a bare addition and a copy within the GPU's memory. A GPU works behind the
 * program, so that many calls are made, and then their results are waited for. Where there is no GPU it runs on the
 * CPU, which shows that it runs.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class GpuBenchmark {

    private static final int CALLS = 32;

    @Param("PyTorch")
    private String engine;

    /** The input's shape; behind a colon its data type. */
    @Param("32x128x512:FLOAT32")
    private String shape;

    private Setting setting;
    private ParameterStore store;
    private NDArray x;
    private NDArray slice;
    private NDArray positions;
    private Block block;

    /** Makes what is measured with. */
    @Setup
    public void setUp() {
        setting = new Setting(engine, Setting.gpuOrCpu(engine));
        store = setting.store();
        String[] parts = shape.split(":", -1);
        DataType type = DataType.valueOf(parts[1]);
        Shape sizes = Setting.shape(parts[0]);
        int length = Math.toIntExact(sizes.get(1));
        int size = Math.toIntExact(sizes.get(2));
        x = setting.manager().ones(sizes, type);
        slice = setting.manager().ones(new Shape(1, length, size), type);
        positions = setting.manager().arange(0, length, 1, DataType.INT64);
        block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(Math.max(5000, length))
                .build();
        block.initialize(setting.manager(), type, sizes);
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        block.clear();
        setting.close();
    }

    private void repeat(Supplier<NDArray> call) {
        for (int i = 1; i < CALLS; i++) {
            call.get().close();
        }
        try (NDArray last = call.get();
                NDArray first = last.get(NDIndex.sliceAxis(0, 0, 1));
                NDArray row = first.get(NDIndex.sliceAxis(1, 0, 1));
                NDArray read = row.toDevice(Device.cpu(), true)) {
            read.toByteBuffer();
        }
    }

    /** The limit: an addition with a slice made beforehand. */
    @Benchmark
    @OperationsPerInvocation(CALLS)
    public void bareAdd() {
        repeat(() -> x.add(slice));
    }

    /** The same bytes read and written within the device's memory, and nothing else. */
    @Benchmark
    @OperationsPerInvocation(CALLS)
    public void copy() {
        repeat(x::duplicate);
    }

    /** This library. */
    @Benchmark
    @OperationsPerInvocation(CALLS)
    public void block() {
        repeat(() -> block.forward(store, new NDList(x), false).head());
    }

    /** This library, with explicit positions. */
    @Benchmark
    @OperationsPerInvocation(CALLS)
    public void explicit() {
        repeat(() -> block.forward(store, new NDList(x, positions), false).head());
    }
}
