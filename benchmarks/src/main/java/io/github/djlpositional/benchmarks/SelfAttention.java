package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.transformer.ScaledDotProductAttentionBlock;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.function.Supplier;

/** A self-attention of this library or of DJL, with an input x (B, T, D). */
abstract class SelfAttention extends Setting {

    private final PairList<String, Object> params = new PairList<>();
    private Block block;
    private NDList inputs;
    private boolean isTraining;

    /** Prepares this library's attention. */
    final void prepareLibrary(AttentionKind kind, String text, boolean training) {
        Shape shape = shape(text);
        int length = (int) shape.get(1);
        block = kind.attention((int) shape.get(2), length, false).build();
        initialize(shape, kind.mask(manager, shape.get(0), length), training);
    }

    /** Prepares DJL's attention with a mask that is there already. */
    final void prepareDjl(AttentionKind kind, String text, boolean training) {
        Shape shape = shape(text);
        block = ScaledDotProductAttentionBlock.builder()
                .setEmbeddingSize((int) shape.get(2))
                .setHeadCount(AttentionKind.HEADS)
                .optAttentionProbsDropoutProb(0)
                .build();
        initialize(shape, kind.maskOfDjl(manager, shape.get(1)), training);
    }

    private void initialize(Shape shape, NDArray mask, boolean training) {
        isTraining = training;
        NDArray x = numbers(shape);
        x.setRequiresGradient(training);
        inputs = mask == null ? new NDList(x) : new NDList(x, mask);
        initialized(block, shape).freezeParameters(!training);
    }

    /** Passes 0, 1, … plus random numbers up to a limit as the real positions of each sequence. */
    final void passRealPositions(double limit) {
        Shape shape = inputs.head().getShape().slice(0, 2);
        NDArray indices = manager.arange((float) shape.get(1)).expandDims(0);
        params.add(
                PositionalEncodingBlock.POSITIONS,
                indices.add(manager.randomUniform(0, 1, shape).mul(limit)));
    }

    /** A forward in inference, or a forward and a backward with gradients of the parameters and of x. */
    final void call() {
        Supplier<NDArray> forward =
                () -> block.forward(store, inputs, isTraining, params).singletonOrThrow();
        // DJL's block leaves temporary arrays
        finish(isTraining ? backward(forward) : scoped(forward));
    }
}
