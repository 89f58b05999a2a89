package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/** The arrays that are open after one round of what a soak repeats. */
class SoakArraysTest {

    @EngineTest
    void aForwardLeavesOnlyItsAnswer(Engine engine) {
        try (SoakModels models = new SoakModels(engine)) {
            for (TestBlocks kind : TestBlocks.values()) {
                int before = models.openArrays();
                assertThat(models.answerOf(models.model(kind), kind)).isEqualTo(models.answer(kind));
                assertThat(models.openArrays()).as("%s", kind).isEqualTo(before);
            }
        }
    }

    @EngineTest
    void aPredictorLeavesOnlyItsAnswer(Engine engine) throws Exception {
        try (SoakTest.Activity predicting = SoakEachModel.predicting(engine)) {
            int before = predicting.openArrays();
            for (TestBlocks kind : TestBlocks.values()) {
                predicting.step(0, false);
                assertThat(predicting.openArrays()).as("%s", kind).isEqualTo(before);
            }
        }
    }

    /** The input of a decoder's step is a column of the ids, a view that is not contiguous. */
    @EngineTest
    void aForwardOfAColumnLeavesOnlyItsAnswer(NDManager manager) {
        InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        try (NDArray ids = manager.ones(new Shape(2, 3), DataType.INT64);
                NDArray reals = manager.ones(new Shape(2, 3), DataType.FLOAT64);
                NDArray column = ids.get(NDIndex.sliceAxis(1, 0, 1));
                NDArray real = reals.get(NDIndex.sliceAxis(1, 0, 1))) {
            Forward.infer(manager, block, column).close();
            int before = manager.getManagedArrays().size();
            Forward.infer(manager, block, column).close();
            Forward.infer(manager, block, column, column).close();
            Forward.infer(manager, block, column, real).close();
            assertThat(manager.getManagedArrays()).hasSize(before);
        }
    }

    /** Positions of other types are converted before their range is checked. */
    @EngineTest
    void aRangeCheckLeavesNothing(NDManager manager) {
        PositionalEncodingBlock block =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT8, DataType.FLOAT32, DataType.FLOAT16}) {
            try (NDArray few = manager.zeros(new Shape(3)).toType(type, true);
                    NDArray many = manager.zeros(new Shape(100)).toType(type, true)) {
                block.encode(few).close();
                int before = manager.getManagedArrays().size();
                block.encode(few).close();
                block.encode(many).close();
                assertThat(manager.getManagedArrays()).as("%s", type).hasSize(before);
            }
        }
    }
}
