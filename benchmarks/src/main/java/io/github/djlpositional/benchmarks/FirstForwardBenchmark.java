package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.PositionalEncodingBlock;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
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

/** A block with a table of 5000 positions, loaded and used for the first time: whatever is put off falls due here. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class FirstForwardBenchmark {

    private static final int POSITIONS = 5000;
    private static final int SIZE = 512;

    @Param("PyTorch")
    private String engine;

    private Setting setting;
    private NDArray x;
    private byte[] saved;

    /** Makes what is measured with. */
    @Setup
    public void setUp() throws IOException {
        setting = new Setting(engine);
        x = setting.numbers(new Shape(1, 128, SIZE));
        Block block = newBlock();
        block.initialize(setting.manager(), DataType.FLOAT32, x.getShape());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        block.saveParameters(new DataOutputStream(bytes));
        saved = bytes.toByteArray();
        block.clear();
    }

    private static Block newBlock() {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(POSITIONS)
                .build();
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        setting.close();
    }

    /** The book's way, which has nothing to load. */
    @Benchmark
    public void book() {
        try (NDManager manager = setting.manager().newSubManager()) {
            Block block = new BookEncoding(manager, POSITIONS, SIZE);
            block.forward(setting.store(), new NDList(x), false).close();
        }
    }

    /** This library. */
    @Benchmark
    public void block() throws Exception {
        Block block = newBlock();
        block.loadParameters(setting.manager(), new DataInputStream(new ByteArrayInputStream(saved)));
        block.forward(setting.store(), new NDList(x), false).close();
        block.clear();
    }
}
