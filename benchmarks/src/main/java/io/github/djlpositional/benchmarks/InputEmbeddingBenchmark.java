package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Block;
import ai.djl.nn.core.Embedding;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.InputEmbeddingBlock;
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

/** Token ids to vectors with positions. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class InputEmbeddingBenchmark {

    private static final int VOCABULARY = 32_000;

    @Param("PyTorch")
    private String engine;

    @Param("8x2048x1024")
    private String shape;

    private Setting setting;
    private ParameterStore store;
    private NDArray ids;
    private Block plain;
    private Block scaled;
    private NDArray table;
    private double scale;
    private Block book;

    /** Makes what is measured with. */
    @Setup
    public void setUp() {
        setting = new Setting(engine);
        store = setting.store();
        Shape sizes = Setting.shape(shape);
        int size = Math.toIntExact(sizes.get(2));
        scale = Math.sqrt(size);
        int[] some = new int[Math.toIntExact(sizes.get(0) * sizes.get(1))];
        for (int i = 0; i < some.length; i++) {
            some[i] = (int) (i * 7919L % VOCABULARY);
        }
        ids = setting.manager().create(some, sizes.slice(0, 2));
        plain = block(size, false);
        scaled = block(size, true);
        plain.initialize(setting.manager(), DataType.FLOAT32, ids.getShape());
        scaled.initialize(setting.manager(), DataType.FLOAT32, ids.getShape());
        table = setting.numbers(new Shape(VOCABULARY, size));
        book = new BookEncoding(setting.manager(), Math.toIntExact(sizes.get(1)), size);
    }

    private static Block block(int size, boolean scale) {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(VOCABULARY)
                .setEmbeddingSize(size)
                .optScaleEmbedding(scale)
                .build();
    }

    /** Frees everything, the views too that the book's way leaves behind. */
    @TearDown
    public void tearDown() {
        plain.clear();
        scaled.clear();
        setting.close();
    }

    /** The limit: the look-up alone. */
    @Benchmark
    public void bareLookUp() {
        Embedding.embedding(ids, table, SparseFormat.DENSE).close();
    }

    /** The book's way: a look-up, and its encoding. */
    @Benchmark
    public void book() {
        try (NDList tokens = Embedding.embedding(ids, table, SparseFormat.DENSE)) {
            book.forward(store, tokens, false).close();
        }
    }

    /** The book's way: a look-up, the factor √d, and its encoding. */
    @Benchmark
    public void bookScaled() {
        try (NDList tokens = Embedding.embedding(ids, table, SparseFormat.DENSE);
                NDArray larger = tokens.head().mul(scale)) {
            book.forward(store, new NDList(larger), false).close();
        }
    }

    /** This library. */
    @Benchmark
    public void block() {
        plain.forward(store, new NDList(ids), false).close();
    }

    /** This library, with the factor √d. */
    @Benchmark
    public void blockScaled() {
        scaled.forward(store, new NDList(ids), false).close();
    }
}
