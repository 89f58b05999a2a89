package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;

class TransformerEncoderTest {

    private static TransformerEncoder encoder(NDManager manager, Encoding encoding) {
        TransformerEncoder encoder = new TransformerEncoder(new EncoderSpec(encoding, 20, 8, 16, 2, 4, 32, 0), false);
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

    @EngineTest
    void scoresBothClassesOfEverySentence(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TransformerEncoder encoder = encoder(manager, Encoding.SINUSOIDAL);
            assertThat(scores(manager, encoder, new int[] {2, 3, 4}, new int[] {5, 6, 0}))
                    .hasSize(4);
            assertThat(encoder.getOutputShapes(new Shape[] {new Shape(2, 3)})).containsExactly(new Shape(2, 2));
        }
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
                training.train(sizes, dataset, model);
                double accuracy = Evaluation.of(model, dataset).accuracy();
                if (encoding == Encoding.NONE) {
                    assertThat(accuracy).isEqualTo(0.5);
                } else {
                    assertThat(accuracy).as("%s", encoding).isGreaterThan(0.9);
                }
            }
        }
    }

    @EngineTest
    void permutingALayersInputPermutesItsOutputAndNothingElse(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            Block layer = TransformerEncoder.layer(new EncoderSpec(Encoding.NONE, 20, 8, 16, 1, 4, 32, 0))
                    .build();
            layer.initialize(manager, DataType.FLOAT32, new Shape(1, 5, 16));
            NDArray x = manager.randomNormal(new Shape(1, 5, 16));
            NDArray noMask = manager.ones(new Shape(1, 5));
            int[] order = {3, 0, 4, 1, 2};
            ParameterStore store = new ParameterStore(manager, false);
            NDList rows = new NDList();
            for (int from : order) {
                rows.add(x.get(":, {}:{}", from, from + 1));
            }
            NDArray y = layer.forward(store, new NDList(x, noMask), false).singletonOrThrow();
            NDArray permuted = layer.forward(store, new NDList(NDArrays.concat(rows, 1), noMask), false)
                    .singletonOrThrow();
            for (int to = 0; to < 5; to++) {
                float[] expected = y.get("0, {}", order[to]).toFloatArray();
                float[] actual = permuted.get("0, {}", to).toFloatArray();
                for (int d = 0; d < 16; d++) {
                    assertThat(actual[d]).isCloseTo(expected[d], within(1e-5f));
                }
            }
        }
    }
}
