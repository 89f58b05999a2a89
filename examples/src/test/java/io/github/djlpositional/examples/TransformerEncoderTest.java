package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TransformerEncoderTest {

    private static TransformerEncoder encoder(NDManager manager, Encoding encoding) {
        TransformerEncoder encoder = new TransformerEncoder(new EncoderSpec(encoding, 20, 8, 16, 2, 4, 32, 0));
        Engine.getEngine(manager.getEngine().getEngineName()).setRandomSeed(3);
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        return encoder;
    }

    private static float[] scores(NDManager manager, TransformerEncoder encoder, int[]... sentences) {
        NDArray ids = manager.create(sentences);
        return encoder.forward(new ParameterStore(manager, false), new NDList(ids), false)
                .singletonOrThrow()
                .toFloatArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void scoresBothClassesOfEverySentence(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.SINUSOIDAL);
            assertThat(scores(manager, encoder, new int[] {2, 3, 4}, new int[] {5, 6, 0}))
                    .hasSize(4);
            assertThat(encoder.getOutputShapes(new Shape[] {new Shape(2, 3)})).containsExactly(new Shape(2, 2));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void seesNoOrderWithoutPositions(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.NONE);
            float[] scores = scores(manager, encoder, new int[] {2, 3, 4, 5}, new int[] {5, 3, 2, 4});
            assertThat(scores[2]).isCloseTo(scores[0], within(1e-5f));
            assertThat(scores[3]).isCloseTo(scores[1], within(1e-5f));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void seesOrderWithPositions(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.SINUSOIDAL);
            float[] scores = scores(manager, encoder, new int[] {2, 3, 4, 5}, new int[] {5, 3, 2, 4});
            assertThat(Math.abs(scores[2] - scores[0])).isGreaterThan(1e-3f);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void paddingChangesNothing(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.SINUSOIDAL);
            float[] alone = scores(manager, encoder, new int[] {2, 3, 4});
            float[] padded = scores(manager, encoder, new int[] {2, 3, 4, 0, 0, 0});
            assertThat(padded[0]).isCloseTo(alone[0], within(1e-5f));
            assertThat(padded[1]).isCloseTo(alone[1], within(1e-5f));
        }
    }
}
