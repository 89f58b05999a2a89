package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.Engines;
import io.github.djlpositional.JavaProgram;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A program is killed while it replaces a saved model: one of the two models loads, complete. The system property
 * {@code fault.kills} sets the number of kills (default: {@value #KILLS}).
 */
class FaultKilledSavingTest {

    private static final int KILLS = 1;

    /** A save takes some milliseconds, so kills within this time hit every part of it. */
    private static final int WITHIN_MILLIS = 200;

    private static final List<String> SENTENCES = List.of("a person who writes books", "books who a writes person");
    private static final Vocabulary WORDS = Vocabulary.of(List.of("a", "person", "who", "writes", "books"));
    private static final String READY = "saved";

    @TempDir
    private Path folder;

    /** Saves a model whose parameters depend only on its width. */
    private static void save(Path file, int width) throws IOException {
        Engine engine = Engine.getEngine("PyTorch");
        engine.setRandomSeed(1);
        EncoderSpec spec = new EncoderSpec(Encoding.SINUSOIDAL, WORDS.size(), 8, width, 1, 2, width, 0);
        try (Model model = EncoderFile.newModel(engine, Device.cpu())) {
            model.setBlock(new TransformerEncoder(spec));
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 8));
            EncoderFile.save(file, model, spec, WORDS, new TrainingLog(List.of()));
        }
    }

    /** The program: replaces a model forever. */
    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[0]);
        save(file, 8);
        System.out.println(READY);
        System.out.flush();
        while (true) {
            save(file, 16);
            save(file, 8);
        }
    }

    private static List<Judgement> answers(Path file) {
        try (ZooModel<String, Judgement> model = EncoderFile.load(file, Engine.getEngine("PyTorch"), Device.cpu());
                Predictor<String, Judgement> predictor = model.newPredictor()) {
            return JudgeSentences.judge(predictor, SENTENCES);
        }
    }

    private static void killWhileSaving(Path file, int afterMillis) throws Exception {
        Process process = JavaProgram.of(ProgramRun.SHORT_LIVED, FaultKilledSavingTest.class, file.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader out = process.inputReader()) {
            assertThat(out.readLine()).isEqualTo(READY);
            Thread.sleep(afterMillis);
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void oldModelOrNewModelLoads() throws Exception {
        Engines.assumeAvailable("PyTorch");
        Path file = folder.resolve("model.zip");
        Map<List<Judgement>, Integer> whole = new HashMap<>();
        for (int width : new int[] {8, 16}) {
            save(file, width);
            whole.put(answers(file), 0);
        }
        assertThat(whole).hasSize(2);
        Random random = new Random(8);
        int kills = Integer.getInteger("fault.kills", KILLS);
        for (int kill = 0; kill < kills; kill++) {
            killWhileSaving(file, random.nextInt(WITHIN_MILLIS));
            List<Judgement> loaded = answers(file);
            assertThat(whole).as("after %s kills", kill + 1).containsKey(loaded);
            whole.merge(loaded, 1, Integer::sum);
        }
        System.out.printf("%d programs killed while saving; loaded models: %s%n", kills, whole.values());
        save(file, 8);
        assertThat(folder.toFile().list()).as("no unfinished files").hasSize(1);
    }
}
