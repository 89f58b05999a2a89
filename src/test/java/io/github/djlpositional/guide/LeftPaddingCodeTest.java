package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import java.util.ArrayList;
import java.util.List;

/** The code of docs/using.md for left-padded prompts. */
class LeftPaddingCodeTest {

    private static final int STEPS = 6;

    // tag::block[]
    /** [ids (B, T), mask of all tokens so far (B, F)], or with [positions (B, T)] between, to scores (B, T, 50). */
    static final class PaddedLanguageModel extends AbstractBlock {
        private final InputEmbeddingBlock input;
        private final Block attention;

        PaddedLanguageModel(InputEmbeddingBlock input, MultiHeadAttentionBlock attention) {
            this.input = addChildBlock("input", input);
            this.attention = addChildBlock("attention", attention);
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            int last = inputs.size() - 1;
            NDArray mask = inputs.get(last);
            NDArray x = input.forward(store, inputs.subNDList(0, last), training, params)
                    .head();
            x = attention.forward(store, new NDList(x, mask), training, params).head();
            NDArray table = store.getValue(input.getTokenTable(), x.getDevice(), training);
            return new NDList(x.matMul(table.transpose()));
        }
        // end::block[]

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            input.initialize(manager, dataType, inputShapes[0]);
            attention.initialize(manager, dataType, inputShapes[0].add(16));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(50)};
        }
        // tag::block[]
    }
    // end::block[]

    private static PaddedLanguageModel model(NDManager manager, boolean isAbsolute) {
        InputEmbeddingBlock.Builder input = InputEmbeddingBlock.builder()
                .setVocabularySize(50)
                .setEmbeddingSize(16)
                .optScaleEmbedding(true)
                .optPaddingIndex(1);
        MultiHeadAttentionBlock.Builder attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(16)
                .setHeadCount(2)
                .optCausal(true);
        if (isAbsolute) {
            input.optPositionsFromPadding(2)
                    .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                            .setEmbeddingSize(16)
                            .optMaxSequenceLength(40)
                            .build());
        } else {
            input.optNoPositions();
            attention.optRelativeEncoding(
                    RotaryEmbeddingBlock.builder().setHeadSize(8).build());
        }
        PaddedLanguageModel model = new PaddedLanguageModel(input.build(), attention.build());
        model.initialize(manager, DataType.FLOAT32, new Shape(2, 8));
        return model;
    }

    /** AttentionMaskTest has the test of every relative encoding. */
    @EngineTest
    void eachPromptOfABatchIsContinuedAsIfItWereAlone(NDManager manager, boolean isAbsolute) {
        PaddedLanguageModel model = model(manager, isAbsolute);
        List<List<Long>> together =
                generated(manager, model, isAbsolute, new long[][] {{5, 17, 3, 9, 9, 4}, {1, 1, 1, 8, 30, 2}});
        List<List<Long>> first = generated(manager, model, isAbsolute, new long[][] {{5, 17, 3, 9, 9, 4}});
        List<List<Long>> second = generated(manager, model, isAbsolute, new long[][] {{8, 30, 2}});
        assertThat(together).containsExactly(first.get(0), second.get(0));
    }

    private static List<List<Long>> generated(
            NDManager manager, PaddedLanguageModel model, boolean isAbsolute, long[][] prompts) {
        List<List<Long>> generated = new ArrayList<>();
        ParameterStore store = new ParameterStore(manager, false);
        for (int i = 0; i < prompts.length; i++) {
            generated.add(new ArrayList<>());
        }
        // tag::generating[]
        int padding = 1;
        int first = 2; // the position of the first token: 2 in OPT, usually 0
        NDArray ids = manager.create(prompts); // (B, T), shorter prompts have padding on the left
        NDArray mask = ids.neq(padding).toType(DataType.INT64, false); // (B, F)
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < STEPS; step++) {
                NDList inputs = new NDList(ids, mask);
                if (isAbsolute) { // relative encodings need only the mask
                    NDArray counts = mask.cumSum(1).add(first - 1).mul(mask);
                    inputs.add(
                            1,
                            counts.get(
                                    ":, {}:",
                                    mask.getShape().get(1) - ids.getShape().get(1)));
                }
                NDArray scores =
                        model.forward(store, inputs, false, cache.nextStep()).head();
                NDArray best = scores.get(":, -1").argMax(1).toType(DataType.INT64, false); // (B)
                for (int row = 0; row < generated.size(); row++) {
                    generated.get(row).add(best.getLong(row));
                }
                ids = best.expandDims(1); // (B, 1)
                mask = NDArrays.concat(new NDList(mask, ids.onesLike()), 1);
            }
        }
        // end::generating[]
        return generated;
    }
}
