package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;

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
                .head()
                .toFloatArray();
    }

    @EngineTest
    void seesNoOrderWithoutPositions(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.NONE);
            float[] scores = scores(manager, encoder, new int[] {2, 3, 4, 5}, new int[] {5, 3, 2, 4});
            assertThat(scores[2]).isCloseTo(scores[0], within(1e-5f));
            assertThat(scores[3]).isCloseTo(scores[1], within(1e-5f));
        }
    }

    @EngineTest
    void seesOrderWithPositions(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.SINUSOIDAL);
            float[] scores = scores(manager, encoder, new int[] {2, 3, 4, 5}, new int[] {5, 3, 2, 4});
            assertThat(Math.abs(scores[2] - scores[0])).isGreaterThan(1e-3f);
        }
    }

    @EngineTest
    void paddingChangesNothing(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.SINUSOIDAL);
            float[] unpadded = scores(manager, encoder, new int[] {2, 3, 4});
            float[] padded = scores(manager, encoder, new int[] {2, 3, 4, 0, 0, 0});
            assertThat(padded[0]).isCloseTo(unpadded[0], within(1e-5f));
            assertThat(padded[1]).isCloseTo(unpadded[1], within(1e-5f));
        }
    }

    @EngineTest
    @Tag("slow")
    void learnsTheOrderOfAFewSentencesByHeart(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        Random random = new Random(1);
        List<int[]> sentences = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            sentences.add(random.ints(6, 2, 20).toArray());
        }
        Engine started = Engine.getEngine(engine);
        EncoderTraining training = new EncoderTraining(started, Device.cpu(), 1, 40, 0.005f);
        for (Encoding encoding : Task.SENTENCES.encodings()) {
            // eight heads: of two, ALiBi's slopes would be 1/16 and 1/256, which hardly tell near from far
            EncoderSpec sizes = new EncoderSpec(encoding, 20, 8, 32, 1, 8, 64, 0);
            try (Model model = EncoderFile.newModel(started, Device.cpu())) {
                WordOrderDataset dataset = new WordOrderDataset(sentences, 20, 1, false, false);
                training.train(new TransformerEncoder(sizes), new Shape(1, 8), dataset, model);
                double accuracy = Evaluation.of(model, dataset).accuracy();
                if (encoding == Encoding.NONE) {
                    assertThat(accuracy).isEqualTo(0.5);
                } else {
                    assertThat(accuracy).as("%s", encoding).isGreaterThan(0.9);
                }
            }
        }
    }
}
