package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.examples.EncoderTraining;
import io.github.djlpositional.examples.Evaluation;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Saving, and what training changes. */
class TextClassifierTest {

    private static final BertEncoder.Sizes SMALL = new BertEncoder.Sizes(50, 16, 24, 3, 40, 3);
    private static final int CLASSES = 4;

    @TempDir
    private Path folder;

    private static TextClassifier classifier(NDManager manager, int trainedLayers) {
        TextClassifier classifier = TextClassifier.of(new BertEncoder(SMALL), CLASSES, trainedLayers);
        classifier.block().initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        return classifier;
    }

    /** Returns the scores of texts in one batch with padding. */
    private static float[] scores(NDManager manager, TextClassifier classifier) {
        List<long[]> texts = List.of(new long[] {3, 1, 4, 1, 5, 9, 2, 6}, new long[] {7, 8, 9}, new long[] {49});
        TokenBatch batch = TokenBatch.sortedByLength(texts, 100).get(0);
        return classifier
                .block()
                .forward(new ParameterStore(manager, false), batch.inputs(manager), false)
                .singletonOrThrow()
                .toFloatArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void theLibraryReadsSavedWeights(String engine) throws Exception {
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            TextClassifier saved = classifier(manager, 0);
            // biases that are not zero, too
            saved.encoder()
                    .getParameters()
                    .values()
                    .forEach(parameter -> parameter.getArray().addi(0.1f));
            Path file = folder.resolve("saved.safetensors");
            saved.save(file);
            TextClassifier loaded = classifier(manager, 0);
            // tag::load[]
            WeightLoader loader = WeightLoader.of(WeightFile.open(file));
            loaded.encoder().parametersByName().forEach(loader::table);
            loader.module("classifier.", loaded.head()).load(loaded.encoder(), loaded.head());
            // end::load[]
            assertThat(scores(manager, loaded)).containsExactly(scores(manager, saved));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void learnsWithItsLastLayerOnly(String engine) {
        TestEngine.of(engine).assumeAvailable();
        try (Model model = Model.newInstance("classifier", Device.cpu(), engine)) {
            TextClassifier classifier = classifier(model.getNDManager(), 1);
            Map<String, float[]> before = values(classifier.encoder());
            // texts whose class is that of their first token: a bag of words cannot know it
            Random random = new Random(1);
            List<LabelledTexts.Text> texts = new ArrayList<>();
            for (int i = 0; i < 120; i++) {
                long[] ids = random.longs(3 + i % 4, 1, 1 + CLASSES).toArray();
                texts.add(new LabelledTexts.Text(ids, (int) ids[0] - 1));
            }
            LabelledTexts examples = new LabelledTexts(texts, 1);
            new EncoderTraining(Engine.getEngine(engine), Device.cpu(), 1, 40, 0.01f)
                    .train(classifier.block(), new Shape(1, 1), examples, model, batch -> {});
            assertThat(Evaluation.accuracy(model, examples)).isGreaterThan(0.9);
            assertThat(values(classifier.encoder()).entrySet().stream()
                            .filter(after -> !Arrays.equals(before.get(after.getKey()), after.getValue()))
                            .map(Map.Entry::getKey))
                    .contains("encoder.layer.2.attention.self.query.weight")
                    .allMatch(name -> name.startsWith("encoder.layer.2."));
        }
    }

    private static Map<String, float[]> values(BertEncoder encoder) {
        return encoder.parametersByName().entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, named -> named.getValue().getArray().toFloatArray()));
    }
}
