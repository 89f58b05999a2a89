package io.github.djlpositional.benchmarks;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.transformer.ScaledDotProductAttentionBlock;
import ai.djl.training.ParameterStore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
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

/** A self-attention of this library, and DJL's. Only what the measured method needs is made. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public abstract class AttentionPeers {

    @Param("PyTorch")
    private String engine;

    @Param("8x256x512:none")
    private String shape;

    private final boolean training;
    private Setting setting;
    private ParameterStore store;
    private NDArray x;
    private Block attention;

    /** What is given beside x in each forward; null for nothing. */
    private Supplier<NDArray> mask;

    AttentionPeers(boolean training) {
        this.training = training;
    }

    /**
     * Makes what is measured with.
     *
     * @param benchmark the method
     */
    @Setup
    public void setUp(BenchmarkParams benchmark) {
        setting = new Setting(engine);
        store = setting.store();
        AttentionKind kind = AttentionKind.of(shape);
        Shape sizes = Setting.shape(shape);
        long length = sizes.get(1);
        int size = Math.toIntExact(sizes.get(2));
        x = setting.numbers(sizes);
        x.setRequiresGradient(training);
        mask = () -> null;
        String method = benchmark.getBenchmark();
        boolean isMask = method.endsWith(".djlMask");
        if (isMask || method.endsWith(".djl")) {
            attention = ScaledDotProductAttentionBlock.builder()
                    .setEmbeddingSize(size)
                    .setHeadCount(AttentionKind.HEADS)
                    .optAttentionProbsDropoutProb(0)
                    .build();
            if (isMask) {
                mask = new DjlMask(setting.manager(), length, training).of(kind);
            }
        } else {
            attention = kind.attention(size, length, false)
                    .optFusedKernel(!method.endsWith(".plain"))
                    .build();
            if (kind.equals(AttentionKind.PADDING)) {
                NDArray tokens = setting.tokens(sizes.slice(0, 2));
                mask = () -> tokens;
            }
        }
        attention.initialize(setting.manager(), DataType.FLOAT32, sizes);
        attention.freezeParameters(!training);
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        attention.clear();
        setting.close();
    }

    final Engine engine() {
        return setting.manager().getEngine();
    }

    final NDArray forward() {
        NDArray given = mask.get();
        return attention
                .forward(store, given == null ? new NDList(x) : new NDList(x, given), training)
                .singletonOrThrow();
    }

    /** Runs the attention once, and frees what that leaves. */
    abstract void run();

    /** This library. */
    @Benchmark
    public void block() {
        run();
    }

    /** This library without PyTorch's fused kernel. */
    @Benchmark
    public void plain() {
        run();
    }

    /** DJL's block, without positions and masks. */
    @Benchmark
    public void djl() {
        run();
    }

    /** DJL's block with the mask or bias as its mask. */
    @Benchmark
    public void djlMask() {
        run();
    }
}
