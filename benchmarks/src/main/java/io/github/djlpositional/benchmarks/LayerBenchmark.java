package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.TransformerLayerBlock;
import io.github.djlpositional.attention.TransformerLayerBlock.Nonlinearity;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
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

/** A transformer layer, or one of its parts: of all-MiniLM-L6-v2 (D = 384) or of the examples' encoder (D = 64). */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class LayerBenchmark {

    /** What is measured. */
    enum Part {
        LAYER,
        ATTENTION,
        ATTENTION_PROJECTIONS,
        FEED_FORWARD_PROJECTIONS,
        NORMS;

        /** The names of all parts but the whole layer. */
        static Stream<String> ofLayer() {
            return Stream.of(values())
                    .skip(1)
                    .map(part -> part.name().toLowerCase(Locale.ROOT).replace('_', ' '));
        }

        static Part of(String shape) {
            return valueOf(shape.split(":", 2)[1].toUpperCase(Locale.ROOT).replace(' ', '_'));
        }
    }

    /** A block and its input. */
    private record Call(Block block, NDArray input) {}

    @Param("PyTorch")
    private String engine;

    @Param("5x128x384:layer")
    private String shape;

    private Setting setting;
    private ParameterStore store;
    private TransformerLayerBlock layer;
    private boolean isTraining;
    private final List<Call> calls = new ArrayList<>();

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
        int size = Math.toIntExact(sizes.get(2));
        boolean isExample = size == Encoder.SIZE;
        layer = TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(size)
                        .setHeadCount(isExample ? Encoder.HEADS : 12)
                        .build())
                .setHiddenSize(4 * size)
                .optNonlinearity(isExample ? Nonlinearity.RELU : Nonlinearity.GELU)
                .build();
        layer.initialize(setting.manager(), DataType.FLOAT32, sizes);
        isTraining = benchmark.getBenchmark().endsWith(".training");
        layer.freezeParameters(!isTraining);
        NDArray x = setting.numbers(sizes);
        MultiHeadAttentionBlock attention = layer.getAttention();
        switch (Part.of(shape)) {
            case LAYER -> add(x, layer);
            case ATTENTION -> add(x, attention);
            case ATTENTION_PROJECTIONS ->
                add(
                        x,
                        attention.getQueryProjection(),
                        attention.getKeyProjection(),
                        attention.getValueProjection(),
                        attention.getResultProjection());
            case FEED_FORWARD_PROJECTIONS -> {
                add(x, layer.getHiddenProjection());
                add(setting.numbers(Shape.update(sizes, 2, 4L * size)), layer.getOutputProjection());
            }
            case NORMS -> add(x, layer.getAttentionNorm(), layer.getFeedForwardNorm());
        }
    }

    private void add(NDArray input, Block... blocks) {
        input.setRequiresGradient(isTraining);
        for (Block block : blocks) {
            calls.add(new Call(block, input));
        }
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        layer.clear();
        setting.close();
    }

    /** A forward with frozen parameters. */
    @Benchmark
    public void inference() {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            for (Call call : calls) {
                call.block.forward(store, new NDList(call.input), false);
            }
        }
    }

    /** A forward and a backward, with gradients of the parameters and the input. */
    @Benchmark
    public void training() {
        try (NDScope scope = new NDScope();
                GradientCollector collector = setting.manager().getEngine().newGradientCollector()) {
            scope.suppressNotUsedWarning();
            for (Call call : calls) {
                NDArray y =
                        call.block.forward(store, new NDList(call.input), true).singletonOrThrow();
                collector.backward(y.sum());
            }
        }
    }
}
