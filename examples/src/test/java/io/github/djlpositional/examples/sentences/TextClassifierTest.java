package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.examples.EngineTest;
import io.github.djlpositional.examples.Engines;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;

/** Saved weights read by another program and by this one, and what training changes. */
class TextClassifierTest {

    private static final BertEncoder.Sizes SMALL = new BertEncoder.Sizes(50, 16, 24, 3, 40, 3);
    private static final int CLASSES = 4;

    /**
     * Three layers of 24 in floats beside float64: each of about 20 operations, on numbers up to 5, rounds to 2^-24 of
     * their size, and the norms divide by deviations of about 1.
     */
    private static final float TOLERANCE = 5e-5f;

    private static final List<long[]> TEXTS =
            List.of(new long[] {3, 1, 4, 1, 5, 9, 2, 6}, new long[] {7, 8, 9}, new long[] {49});

    @TempDir
    private Path folder;

    private static TextClassifier classifier(NDManager manager) {
        TextClassifier classifier = new TextClassifier(new BertEncoder(SMALL), CLASSES);
        // biases and offsets that are not zero, too
        classifier.setInitializer(new NormalInitializer(0.3f), parameter -> true);
        classifier.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        return classifier;
    }

    /** Returns the scores of {@link #TEXTS}, in one batch with padding. */
    private static float[] scores(NDManager manager, TextClassifier classifier) {
        TokenBatch batch = TokenBatch.sortedByLength(TEXTS, 100).get(0);
        return classifier
                .forward(new ParameterStore(manager, false), batch.inputs(manager), false)
                .singletonOrThrow()
                .toFloatArray();
    }

    @EngineTest
    void aPythonProgramReadsSavedWeightsToTheSameScores(String engine) throws Exception {
        try (NDManager manager = Engines.newManager(engine)) {
            TextClassifier classifier = classifier(manager);
            Path file = folder.resolve("saved.safetensors");
            Safetensors.write(file, classifier.parametersByName());
            assertThat(scores(manager, classifier)).containsExactly(python(file), within(TOLERANCE));
        }
    }

    private float[] python(Path file) throws IOException, InterruptedException {
        String python = null;
        for (String each : List.of("python3", "/usr/bin/python3")) {
            if (python == null && hasNumPy(each)) {
                python = each;
            }
        }
        assumeTrue(
                python != null, "no python3 with NumPy is installed: the scores of the saved weights are not compared");
        int status = run(python, "src/test/python/bert_classifier.py", file.toString(), String.valueOf(SMALL.heads()));
        assertThat(status).as(Files.readString(folder.resolve("err"))).isZero();
        float[] scores = new float[TEXTS.size() * CLASSES];
        int i = 0;
        for (String line : Files.readAllLines(folder.resolve("out"))) {
            for (float score : JsonUtils.GSON.fromJson(line, float[].class)) {
                scores[i++] = score;
            }
        }
        assertThat(i).isEqualTo(scores.length);
        return scores;
    }

    private boolean hasNumPy(String python) throws InterruptedException {
        try {
            return run(python, "-c", "import numpy") == 0;
        } catch (IOException e) {
            // there is no such program
            return false;
        }
    }

    /** Runs a program with the texts as its input, and returns its exit status. */
    private int run(String... command) throws IOException, InterruptedException {
        String texts = TEXTS.stream().map(Arrays::toString).collect(Collectors.joining("\n"));
        Process process = new ProcessBuilder(command)
                .redirectInput(Files.writeString(folder.resolve("in"), texts).toFile())
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return process.exitValue();
    }

    @EngineTest
    void theLibraryReadsSavedWeights(String engine) throws Exception {
        try (NDManager manager = Engines.newManager(engine)) {
            TextClassifier saved = classifier(manager);
            Path file = folder.resolve("saved.safetensors");
            Safetensors.write(file, saved.parametersByName());
            TextClassifier loaded = classifier(manager);
            // tag::load[]
            WeightLoader loader = WeightLoader.of(WeightFile.open(file));
            loaded.parametersByName().forEach(loader::table);
            loader.load(loaded);
            // end::load[]
            assertThat(scores(manager, loaded)).containsExactly(scores(manager, saved));
        }
    }

    @EngineTest
    void onlyTheLastLayersAndTheHeadAreTrained(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        try (Model model = Model.newInstance("classifier", Device.cpu(), engine)) {
            TextClassifier classifier = classifier(model.getNDManager());
            classifier.trainOnlyLastLayers(1);
            Map<String, float[]> before = values(classifier);
            model.setBlock(classifier);
            training(20).train("Test", model, Device.cpu(), 0.01f);
            List<String> changed = new ArrayList<>();
            values(classifier).forEach((name, after) -> {
                if (!Arrays.equals(before.get(name), after)) {
                    changed.add(name);
                }
            });
            assertThat(changed)
                    .contains("classifier.weight", "encoder.layer.2.attention.self.query.weight")
                    .allMatch(name -> name.startsWith("classifier.") || name.startsWith("encoder.layer.2."));
        }
    }

    private static Map<String, float[]> values(TextClassifier classifier) {
        return classifier.parametersByName().entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, named -> named.getValue().getArray().toFloatArray()));
    }

    /** Texts whose class is that of their first token: a bag of words cannot know it. */
    private static ClassifierTraining training(int epochs) {
        Random random = new Random(1);
        List<long[]> ids = new ArrayList<>();
        for (int i = 0; i < 120; i++) {
            ids.add(random.longs(3 + i % 4, 1, 1 + CLASSES).toArray());
        }
        ClassifierTraining.Texts texts = new ClassifierTraining.Texts(
                ids, ids.stream().map(text -> (int) text[0] - 1).toList());
        return new ClassifierTraining(texts, texts, epochs, 1);
    }

    @EngineTest
    void learnsWhatABagOfWordsCannot(String engine) {
        Engines.assumeAvailable(engine);
        try (Model model = Model.newInstance("classifier", Device.cpu(), engine);
                Model bag = Model.newInstance("bag", Device.cpu(), engine)) {
            model.setBlock(new TextClassifier(new BertEncoder(SMALL), CLASSES));
            bag.setBlock(TuneEncoder.bagOfWords(SMALL.vocabulary(), CLASSES));
            assertThat(last(training(40).train("Encoder", model, Device.cpu(), 0.01f)))
                    .isGreaterThan(0.9);
            assertThat(last(training(40).train("Bag", bag, Device.cpu(), 0.05f)))
                    .isBetween(0.3, 0.8);
        }
    }

    private static double last(List<ClassifierTraining.Point> curve) {
        return curve.get(curve.size() - 1).accuracy();
    }
}
