package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.jni.JniUtils;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.listener.TrainingListener.BatchData;
import ai.djl.util.JsonUtils;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The calls of PyTorch in a training step of the main job, as PyTorch's profiler counts them. With
 * {@code -Dprofile.steps=500} it prints them by kind, and the median times of as many steps.
 */
class StepProfileTest {

    private static final int WARM_UP = 20;
    private static final int STEPS = Integer.getInteger("profile.steps", 0);

    private enum Stage {
        FORWARD,
        BACKWARD,
        MEASUREMENTS,
        OPTIMIZER
    }

    /** An event of the profiler, with times in microseconds. */
    private record Event(String name, double ts, double dur) {}

    private final Map<Stage, Map<String, Integer>> calls = new EnumMap<>(Stage.class);
    private final Map<Stage, List<Long>> nanos = new EnumMap<>(Stage.class);

    @TempDir
    private Path folder;

    private void run(Stage stage, boolean isCounted, Runnable work) throws IOException {
        Path file = folder.resolve("profile.json");
        if (isCounted) {
            JniUtils.startProfile(false, false, false);
        }
        long start = System.nanoTime();
        work.run();
        nanos.computeIfAbsent(stage, key -> new ArrayList<>()).add(System.nanoTime() - start);
        if (isCounted) {
            JniUtils.stopProfile(file.toString());
            calls.put(stage, callsIn(Files.readString(file)));
        }
    }

    /** The operations that are not part of another one, by name. */
    private static Map<String, Integer> callsIn(String profile) {
        List<Event> events = JsonUtils.GSON.fromJson(profile, new TypeToken<List<Event>>() {}.getType());
        events.sort(Comparator.comparingDouble(Event::ts).thenComparing(event -> -event.dur));
        Map<String, Integer> calls = new TreeMap<>();
        double end = 0;
        for (Event event : events) {
            if (event.ts >= end) {
                end = event.ts + event.dur;
                calls.merge(event.name.replaceAll("^(aten::|.*: )", ""), 1, Integer::sum);
            }
        }
        return calls;
    }

    private void step(Trainer trainer, Batch batch, boolean isCounted) throws IOException {
        NDList[] scores = new NDList[1];
        BatchData data = new BatchData(batch, new ConcurrentHashMap<>(), new ConcurrentHashMap<>());
        try (batch) {
            try (GradientCollector gradients = trainer.newGradientCollector()) {
                run(Stage.FORWARD, isCounted, () -> scores[0] = trainer.forward(batch.getData(), batch.getLabels()));
                run(
                        Stage.BACKWARD,
                        isCounted,
                        () -> gradients.backward(trainer.getLoss().evaluate(batch.getLabels(), scores[0])));
            }
            data.getLabels().put(Device.cpu(), batch.getLabels());
            data.getPredictions().put(Device.cpu(), scores[0]);
            run(
                    Stage.MEASUREMENTS,
                    isCounted,
                    () -> trainer.notifyListeners(listener -> listener.onTrainingBatch(trainer, data)));
            run(Stage.OPTIMIZER, isCounted, trainer::step);
        }
    }

    @Test
    void aStepTakesFewCalls() throws Exception {
        Engine engine = Engine.getEngine("PyTorch");
        List<List<String>> sentences = Glosses.read(LengthClass.TRAINED_WORDS);
        Collections.shuffle(sentences, new Random(1));
        TrainingOptions options = new TrainingOptions();
        options.chooseFor(Device.cpu());
        Vocabulary vocabulary = Vocabulary.mostFrequent(sentences, options.vocabularySize());
        try (Model model = EncoderFile.newModel(engine, Device.cpu())) {
            engine.setRandomSeed(1);
            model.setBlock(new TransformerEncoder(
                    options.spec(Encoding.SINUSOIDAL, vocabulary.size(), LengthClass.TRAINED_WORDS), false));
            try (Trainer trainer = model.newTrainer(EncoderTraining.adam(Device.cpu(), 1000, 0.002f)
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(TrainingListener.Defaults.basic()))) {
                trainer.initialize(new Shape(1, LengthClass.TRAINED_WORDS));
                Iterator<Batch> batches = trainer.iterateDataset(options.dataset(vocabulary, sentences, 1, true))
                        .iterator();
                for (int i = 0; i <= WARM_UP + STEPS; i++) {
                    step(trainer, batches.next(), i == WARM_UP + STEPS);
                }
            }
        }
        if (STEPS > 0) {
            print();
        }
        assertThat(count(Stage.FORWARD)).isLessThanOrEqualTo(125);
        assertThat(count(Stage.BACKWARD)).isLessThanOrEqualTo(207);
        assertThat(count(Stage.MEASUREMENTS)).isLessThanOrEqualTo(14);
    }

    private int count(Stage stage) {
        return calls.get(stage).values().stream().mapToInt(Integer::intValue).sum();
    }

    private void print() {
        for (Stage stage : Stage.values()) {
            List<Long> times = nanos.get(stage).subList(WARM_UP, WARM_UP + STEPS);
            long median = times.stream().sorted().toList().get(STEPS / 2);
            System.out.printf(
                    Locale.ROOT,
                    "%-12s %4d calls, %5.2f ms: %s%n",
                    stage,
                    count(stage),
                    median / 1e6,
                    calls.get(stage));
        }
    }
}
