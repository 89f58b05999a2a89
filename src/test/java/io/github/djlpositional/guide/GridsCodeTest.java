package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.LearnedPositionalEncodingBlock;

/** The code about grids of docs/choosing.md. */
class GridsCodeTest {

    @EngineTest
    void aLearnedGridIsResampledToOtherPictures(NDManager manager) {
        NDArray weights = manager.ones(new Shape(1, 197, 64));
        NDArray tokens = manager.zeros(new Shape(2, 513, 64));
        ParameterStore parameterStore = new ParameterStore(manager, false);
        // tag::learned[]
        LearnedPositionalEncodingBlock patches = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optGrid(1, 24, 24) // a class token, then 24 x 24 patches
                .optInitialEncodings(weights, 14, 14) // (1, 197, 64), from a model of 14 x 14 patches
                .build();
        patches.initialize(manager, DataType.FLOAT32, new Shape(-1, 577, 64));

        PairList<String, Object> params = new PairList<>();
        params.add(LearnedPositionalEncodingBlock.GRID_SIZES, new Shape(16, 32)); // this image has 16 x 32 patches
        NDList encoded = patches.forward(parameterStore, new NDList(tokens), false, params); // (2, 513, 64)
        // end::learned[]
        assertThat(encoded.singletonOrThrow().getShape()).isEqualTo(tokens.getShape());
        assertThat(encoded.singletonOrThrow().min().getFloat()).isGreaterThan(0.999f);
    }
}
