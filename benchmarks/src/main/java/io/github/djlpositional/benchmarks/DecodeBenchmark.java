package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Block;
import ai.djl.nn.core.Embedding;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
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

/** Positions that are not 0, 1, 2, …: a decoder's step, one position after another, and explicit positions. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class DecodeBenchmark {

    private static final int STEPS = 4096;
    private static final int SOME_STEPS = 64;

    @Param("PyTorch")
    private String engine;

    private Setting setting;
    private ParameterStore store;
    private PositionalEncodingBlock block;
    private NDArray token;
    private NDArray row;
    private NDArray[] rows;
    private int step;
    private NDArray batch;
    private NDArray positions;
    private NDArray table;

    /** Makes what is measured with. */
    @Setup
    public void setUp() {
        setting = new Setting(engine);
        store = setting.store();
        block = PositionalEncodingBlock.builder().setEmbeddingSize(512).build();
        block.initialize(setting.manager(), DataType.FLOAT32, new Shape(1, 1, 512));
        token = setting.numbers(new Shape(1, 1, 512));
        row = setting.numbers(new Shape(1, 1, 512));
        batch = setting.numbers(new Shape(32, 128, 512));
        table = setting.numbers(new Shape(5000, 512));
        rows = table.get(new NDIndex("0:{}", STEPS)).split(STEPS, 0).toArray(new NDArray[0]);
        int[] some = new int[32 * 128];
        for (int i = 0; i < some.length; i++) {
            some[i] = i * 7919 % 5000;
        }
        positions = setting.manager().create(some, new Shape(32, 128));
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        block.clear();
        setting.close();
    }

    /** The limit of a step: one addition. */
    @Benchmark
    public void bareAdd() {
        token.add(row).close();
    }

    /** The limit of steps at 4096 positions: an addition of the next of as many rows, all made beforehand. */
    @Benchmark
    public void bareAddOfRows() {
        step = (step + 1) % STEPS;
        token.add(rows[step]).close();
    }

    /** The same of 64 rows, 128 KB, which fit a processor's second-level cache. */
    @Benchmark
    public void bareAddOfSomeRows() {
        step = (step + 1) % SOME_STEPS;
        token.add(rows[step]).close();
    }

    /** A step at the next of 4096 positions. */
    @Benchmark
    public void step() {
        PairList<String, Object> params = new PairList<>(1);
        params.add(PositionalEncodingBlock.START_POSITION, step);
        step = (step + 1) % STEPS;
        block.forward(store, new NDList(token), false, params).close();
    }

    /** The limit of explicit positions: a look-up, and an addition. */
    @Benchmark
    public void bareLookUpAndAdd() {
        try (NDList rows = Embedding.embedding(positions, table, SparseFormat.DENSE)) {
            batch.add(rows.head()).close();
        }
    }

    /** Explicit positions, (32, 128). */
    @Benchmark
    public void explicit() {
        Block positional = block;
        positional.forward(store, new NDList(batch, positions), false).close();
    }
}
