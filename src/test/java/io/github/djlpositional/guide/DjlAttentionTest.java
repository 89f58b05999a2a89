package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.transformer.ScaledDotProductAttentionBlock;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import org.junit.jupiter.api.Test;

/** The code of docs/djl-attention.md. */
class DjlAttentionTest extends OnEachEngine {

    // tag::block[]
    /** DJL's attention with T5's bias: x (B, T, 64) and a mask (B, T), 1 for a token, to (B, T, 64). */
    static final class BiasedAttention extends AbstractBlock {

        private final Block bias = addChildBlock(
                "bias", RelativePositionBiasBlock.builder().setHeadCount(8).build());
        private final Block attention = addChildBlock(
                "attention",
                ScaledDotProductAttentionBlock.builder()
                        .setEmbeddingSize(64)
                        .setHeadCount(8)
                        .build());

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray x = inputs.get(0);
            NDArray term = bias.forward(store, new NDList(x), training).head(); // (1, 8, T, T)
            NDArray isPadding = inputs.get(1).eq(0).toType(x.getDataType(), false);
            NDArray hidden = isPadding.mul(-1e5f).expandDims(1).expandDims(1); // (B, 1, 1, T)
            return attention.forward(store, new NDList(x, term.add(hidden)), training);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            bias.initialize(manager, dataType, inputShapes[0]);
            attention.initialize(manager, dataType, inputShapes[0]);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0]};
        }
    }
    // end::block[]

    @Test
    void equalsTheAttentionOfThisLibrary() {
        BiasedAttention block = new BiasedAttention();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 5, 64), new Shape(2, 5));
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(8)
                .optRelativeEncoding(
                        RelativePositionBiasBlock.builder().setHeadCount(8).build())
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(2, 5, 64));
        copyWeights(attention, block.attention);
        copyWeights(attention.getRelativeEncodings().get(0), block.bias);
        NDArray x = manager.randomNormal(new Shape(2, 5, 64));
        NDArray mask = manager.create(new int[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
        requireClose(Forward.infer(manager, attention, x, mask), doubles(Forward.infer(manager, block, x, mask)), 1e-5);
    }
}
