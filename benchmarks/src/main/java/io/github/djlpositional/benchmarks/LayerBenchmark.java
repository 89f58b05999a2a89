package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.util.function.Supplier;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** A transformer layer with an input (B, T, D), and its parts: a layer of all-MiniLM-L6-v2 in inference or training. */
public class LayerBenchmark extends EngineBenchmark {

    /** The layer. */
    public static class Library extends Setting {

        @Param({"false", "true"})
        boolean training;

        @Param("8x128x384")
        String shape;

        TransformerLayerBlock layer;
        private NDArray x;
        private NDArray hidden;

        @Override
        void prepare() {
            Shape all = shape(shape);
            int size = (int) all.get(2);
            layer = initialized(layer(size, 32, Nonlinearity.GELU), all);
            layer.freezeParameters(!training);
            x = numbers(all);
            hidden = numbers(Shape.update(all, 2, 4L * size));
            x.setRequiresGradient(training);
            hidden.setRequiresGradient(training);
        }

        /** Calls blocks with the same input. */
        final void call(Block... blocks) {
            for (Block block : blocks) {
                NDArray input = block == layer.getFeedForward().getOutputProjection() ? hidden : x;
                Supplier<NDArray> forward =
                        () -> block.forward(store, new NDList(input), training).singletonOrThrow();
                finish(training ? backward(forward) : forward.get());
            }
        }
    }

    static TransformerLayerBlock layer(int size, int headSize, Nonlinearity nonlinearity) {
        return TransformerLayerBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(size / headSize)
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(size)
                        .setHiddenSize(4 * size)
                        .optNonlinearity(nonlinearity)
                        .build())
                .build();
    }

    @Benchmark
    public void attention(Library in) {
        in.call(in.layer.getAttention());
    }

    @Benchmark
    public void attentionProjections(Library in) {
        in.call(
                in.layer.getAttention().getQueryProjection(),
                in.layer.getAttention().getKeyProjection(),
                in.layer.getAttention().getValueProjection(),
                in.layer.getAttention().getResultProjection());
    }

    @Benchmark
    public void feedForwardProjections(Library in) {
        in.call(
                in.layer.getFeedForward().getHiddenProjection(),
                in.layer.getFeedForward().getOutputProjection());
    }

    @Benchmark
    public void library(Library in) {
        in.call(in.layer);
    }
}
