package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
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

/** The table, made. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class TableBenchmark {

    @Param("PyTorch")
    private String engine;

    @Param({"5000x512", "1000000x64"})
    private String shape;

    private Setting setting;

    /** Makes what is measured with. */
    @Setup
    public void setUp() {
        setting = new Setting(engine);
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        setting.close();
    }

    /** As a user's loop makes it, in float. */
    @Benchmark
    public void book() {
        Shape sizes = Setting.shape(shape);
        try (var manager = setting.manager().newSubManager()) {
            new BookEncoding(manager, Math.toIntExact(sizes.get(0)), Math.toIntExact(sizes.get(1)));
        }
    }

    /** This library: every value the nearest float. */
    @Benchmark
    public void block() {
        Shape sizes = Setting.shape(shape);
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(Math.toIntExact(sizes.get(1)))
                .optMaxSequenceLength(Math.toIntExact(sizes.get(0)))
                .build();
        block.initialize(setting.manager(), DataType.FLOAT32, new Shape(1, 1, sizes.get(1)));
        block.clear();
    }
}
