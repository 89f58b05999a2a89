package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.util.List;
import java.util.function.Supplier;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * A transformer layer of the size of all-MiniLM-L6-v2 with an input (B, T, D), in inference or training, or its parts.
 */
public class LayerBenchmark extends EngineBenchmark {

    /** The layer, or the blocks of a part. */
    public enum Part {
        LAYER,
        ATTENTION,
        ATTENTION_PROJECTIONS,
        FEED_FORWARD_PROJECTIONS;

        private List<Block> blocks(TransformerLayerBlock layer) {
            MultiHeadAttentionBlock attention = layer.getAttention();
            FeedForwardBlock feedForward = layer.getFeedForward();
            return switch (this) {
                case LAYER -> List.of(layer);
                case ATTENTION -> List.of(attention);
                case ATTENTION_PROJECTIONS ->
                    List.of(
                            attention.getQueryProjection(),
                            attention.getKeyProjection(),
                            attention.getValueProjection(),
                            attention.getResultProjection());
                case FEED_FORWARD_PROJECTIONS ->
                    List.of(feedForward.getHiddenProjection(), feedForward.getOutputProjection());
            };
        }
    }

    /** A layer. */
    public static class Library extends Setting {

        @Param
        Part part;

        @Param({"false", "true"})
        boolean training;

        @Param({"8x128x384", "32x128x256"})
        String shape;

        List<Block> blocks;
        private Block last;
        private NDArray x;
        private NDArray hidden;

        @Override
        void prepare() {
            Shape all = shape(shape);
            int size = (int) all.get(2);
            TransformerLayerBlock layer = initialized(layer(size, 32, Nonlinearity.GELU), all);
            layer.freezeParameters(!training);
            blocks = part.blocks(layer);
            last = layer.getFeedForward().getOutputProjection();
            x = numbers(all);
            hidden = numbers(Shape.update(all, 2, 4L * size));
            x.setRequiresGradient(training);
            hidden.setRequiresGradient(training);
        }

        private NDArray call(Block block) {
            NDArray input = block.equals(last) ? hidden : x;
            Supplier<NDArray> forward =
                    () -> block.forward(store, new NDList(input), training).singletonOrThrow();
            return training ? backward(forward) : forward.get();
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
    public void library(Library in) {
        for (Block block : in.blocks) {
            in.finish(in.call(block));
        }
    }
}
