package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.TestEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TransformerEncoderTest {

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    @Tag("slow")
    void learnsTheOrderOfAFewSentencesByHeart(String engine) throws Exception {
        TestEngine.of(engine).assumeAvailable();
        Random random = new Random(1);
        List<int[]> sentences = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            sentences.add(random.ints(6, 2, 20).toArray());
        }
        Engine started = Engine.getEngine(engine);
        EncoderTraining training = new EncoderTraining(started, Device.cpu(), 1, 40, 0.005f);
        for (Encoding encoding : Task.SENTENCES.encodings()) {
            // eight heads: of two, ALiBi's slopes would be 1/16 and 1/256, which hardly tell near from far
            EncoderSpec sizes = new EncoderSpec(encoding, 20, 8, 32, 1, 8, 64);
            try (Model model = EncoderFile.newModel(started, Device.cpu())) {
                WordOrderDataset dataset = new WordOrderDataset(sentences, 20, 1, false, false);
                training.train(new TransformerEncoder(sizes), new Shape(1, 8), dataset, model, batch -> {});
                double accuracy = Evaluation.accuracy(model, dataset);
                if (encoding == Encoding.NONE) {
                    assertThat(accuracy).isEqualTo(0.5);
                } else {
                    assertThat(accuracy).as("%s", encoding).isGreaterThan(0.9);
                }
            }
        }
    }
}
