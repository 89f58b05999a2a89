package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
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
import org.openjdk.jmh.infra.BenchmarkParams;

/** A decoder's step: the attention of one token to those before it, which a cache holds. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class GenerationBenchmark {

    /** One layer of Llama 3 with 8 billion parameters. */
    static final String LLAMA = "llama-3";

    private static final int LLAMA_HEADS = 32;
    private static final int LLAMA_KEY_HEADS = 8;
    private static final int LLAMA_HEAD_SIZE = 128;
    private static final double LLAMA_BASE = 500_000;

    /** The cache is filled by steps of so many tokens, so that they need little memory. */
    private static final int FILLED_AT_ONCE = 64;

    @Param("PyTorch")
    private String engine;

    /** The batch size, the length, and the embedding size. */
    @Param("1x1024x512:none")
    private String shape;

    private Setting setting;
    private ParameterStore store;
    private MultiHeadAttentionBlock attention;
    private KeyValueCache cache;
    private int length;
    private NDList inputs;

    /**
     * Makes what is measured with.
     *
     * @param benchmark the method
     */
    @Setup
    public void setUp(BenchmarkParams benchmark) {
        setting = new Setting(engine);
        store = setting.store();
        Shape sizes = Setting.shape(shape);
        length = Math.toIntExact(sizes.get(1));
        int size = Math.toIntExact(sizes.get(2));
        inputs = new NDList(setting.numbers(new Shape(sizes.get(0), 1, size)));
        String method = benchmark.getBenchmark();
        if (shape.endsWith(LLAMA)) {
            attention = llama(size, method.endsWith(".allKeyHeads") ? LLAMA_HEADS : LLAMA_KEY_HEADS);
        } else {
            AttentionKind kind = AttentionKind.of(shape);
            attention = kind.attention(size, length, true)
                    .optFusedKernel(!method.endsWith(".plain"))
                    .build();
            if (kind.equals(AttentionKind.PADDING)) {
                inputs.add(setting.tokens(new Shape(sizes.get(0), length + 1)));
            }
        }
        attention.initialize(setting.manager(), DataType.FLOAT32, sizes);
        attention.freezeParameters(true);
        cache = new KeyValueCache(setting.manager(), length + FILLED_AT_ONCE);
        while (cache.getLength() < length) {
            int count = Math.min(FILLED_AT_ONCE, length - cache.getLength());
            try (NDArray tokens = setting.numbers(new Shape(sizes.get(0), count, size))) {
                attention
                        .forward(store, new NDList(tokens), false, cache.nextStep())
                        .close();
            }
        }
    }

    private static MultiHeadAttentionBlock llama(int size, int keyHeads) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(LLAMA_HEADS)
                .optKeyValueHeadCount(keyHeads)
                .optHeadSize(LLAMA_HEAD_SIZE)
                .optBias(false)
                .optCausal(true)
                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                        .setHeadSize(LLAMA_HEAD_SIZE)
                        .optBase(LLAMA_BASE)
                        .optLayout(PairLayout.CONCATENATED)
                        .build())
                .build();
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        cache.close();
        attention.clear();
        setting.close();
    }

    private void run() {
        attention.forward(store, inputs, false, cache.nextStep()).close();
        cache.rewind(length);
    }

    /** A step of this library. */
    @Benchmark
    public void step() {
        run();
    }

    /** The same without PyTorch's fused kernel. */
    @Benchmark
    public void plain() {
        run();
    }

    /** Llama's layer with as many key heads as heads. */
    @Benchmark
    public void allKeyHeads() {
        run();
    }
}
