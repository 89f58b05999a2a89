package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.Supplier;

/** A transformer layer with an input (B, T, D), or one of its parts. */
final class Layers {

    /** What is measured: a layer, or the blocks of one of its parts. */
    private enum Part {
        WHOLE("the layer", List::of),
        ATTENTION("attention", layer -> List.of(layer.getAttention())),
        ATTENTION_PROJECTIONS(
                "attention projections",
                layer -> List.of(
                        layer.getAttention().getQueryProjection(),
                        layer.getAttention().getKeyProjection(),
                        layer.getAttention().getValueProjection(),
                        layer.getAttention().getResultProjection())),
        FEED_FORWARD_PROJECTIONS(
                "feed forward projections",
                layer -> List.of(
                        layer.getFeedForward().getHiddenProjection(),
                        layer.getFeedForward().getOutputProjection())),
        NORMS("norms", layer -> List.of(layer.getAttentionNorm(), layer.getFeedForwardNorm()));

        private final String text;

        @SuppressWarnings("ImmutableEnumChecker") // a function without state
        private final Function<TransformerLayerBlock, List<Block>> blocks;

        Part(String text, Function<TransformerLayerBlock, List<Block>> blocks) {
            this.text = text;
            this.blocks = blocks;
        }
    }

    /** A forward of a layer of all-MiniLM-L6-v2, and of its parts, with frozen parameters. */
    static final List<Operation> INFERENCE = Arrays.stream(Part.values())
            .map(part -> new Operation(
                    "LAYER_" + part,
                    part.text,
                    setting ->
                            calls(setting, layer(setting.size(2), 32, Nonlinearity.GELU), part, false, Supplier::get)))
            .toList();

    /** A forward and a backward of a layer of the examples' encoder, with gradients of parameters and inputs. */
    static final List<Operation> TRAINING = Arrays.stream(Part.values())
            .map(part -> new Operation(
                    "TRAIN_LAYER_" + part,
                    part.text,
                    setting -> calls(setting, ofEncoder(setting.size(2)), part, true, setting::backward)))
            .toList();

    private Layers() {}

    /** A layer of the examples' encoder. */
    static TransformerLayerBlock ofEncoder(int size) {
        return layer(size, 16, Nonlinearity.RELU);
    }

    private static TransformerLayerBlock layer(int size, int headSize, Nonlinearity nonlinearity) {
        return TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(size)
                        .setHeadCount(size / headSize)
                        .build())
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(size)
                        .setHiddenSize(4 * size)
                        .optNonlinearity(nonlinearity)
                        .build())
                .build();
    }

    private static Callable<NDResource> calls(
            Setting setting,
            TransformerLayerBlock layer,
            Part part,
            boolean isTraining,
            Function<Supplier<NDArray>, NDArray> call) {
        setting.initialized(layer, setting.shape()).freezeParameters(!isTraining);
        NDArray x = setting.x();
        NDArray hidden = setting.numbers(Shape.update(setting.shape(), 2, 4L * setting.size(2)));
        x.setRequiresGradient(isTraining);
        hidden.setRequiresGradient(isTraining);
        List<Block> blocks = part.blocks.apply(layer);
        return () -> {
            NDList results = new NDList();
            for (Block block : blocks) {
                NDArray input = block.equals(layer.getFeedForward().getOutputProjection()) ? hidden : x;
                results.add(call.apply(() -> block.forward(setting.store(), new NDList(input), isTraining)
                        .singletonOrThrow()));
            }
            return results;
        };
    }
}
