package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.examples.EngineTest;
import io.github.djlpositional.examples.Engines;
import java.util.Map;

class BertEncoderTest {

    private static final String POSITIONS = "embeddings.position_embeddings.weight";

    private static BertEncoder encoder(NDManager manager) {
        BertEncoder encoder = new BertEncoder(new BertEncoder.Sizes(30, 4, 12, 3, 20, 2));
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        return encoder;
    }

    /** Row i of 7 lies at 3 i / 6 of 4: every other one is the mean of two. */
    @EngineTest
    void stretchingInterpolatesThePositionTableAndKeepsTheOtherWeights(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            BertEncoder encoder = encoder(manager);
            Map<String, Parameter> stretched = encoder.stretched(7, manager).parametersByName();
            encoder.parametersByName().forEach((name, parameter) -> {
                NDArray before = parameter.getArray();
                NDArray after = stretched.get(name).getArray();
                if (name.equals(POSITIONS)) {
                    for (int row = 0; row < 7; row++) {
                        NDArray mean = before.get(row / 2)
                                .add(before.get((row + 1) / 2))
                                .div(2);
                        assertThat(after.get(row).toFloatArray()).containsExactly(mean.toFloatArray(), within(1e-7f));
                    }
                } else {
                    assertThat(after.toFloatArray()).as(name).containsExactly(before.toFloatArray());
                }
            });
        }
    }

    @EngineTest
    void paddingDoesNotChangeTheMean(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            BertEncoder encoder = encoder(manager);
            NDArray ids = manager.create(new long[][] {{5, 6, 0, 0}});
            NDArray mask = manager.create(new long[][] {{1, 1, 0, 0}});
            assertThat(mean(encoder, new NDList(ids, mask)))
                    .containsExactly(mean(encoder, new NDList(ids.get(":, :2"))), within(1e-6f));
        }
    }

    private static float[] mean(BertEncoder encoder, NDList inputs) {
        NDManager manager = inputs.getManager();
        NDArray vectors = encoder.forward(new ParameterStore(manager, false), inputs, false)
                .singletonOrThrow();
        return BertEncoder.mean(vectors, inputs).toFloatArray();
    }
}
