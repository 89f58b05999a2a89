package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.Engines;
import io.github.djlpositional.JavaProgram;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A program is killed while it replaces a saved model: one of the two models loads, complete. The system property
 * {@code fault.kills} sets the number of kills (default: {@value #KILLS}).
 */
class FaultKilledSavingTest {

    private static final int KILLS = 2;

    /** A save takes some milliseconds, so kills within this time hit every part of it. */
    private static final int WITHIN_MILLIS = 200;

    private static final List<String> SENTENCES = List.of("a person who writes books", "books who a writes person");

    @TempDir
    private Path folder;

    private static List<Double> answers(Path file) {
        try (ZooModel<String, Classifications> model =
                        EncoderFile.load(file, Engine.getEngine("PyTorch"), Device.cpu(), Classifications.class);
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            return JudgeSentences.inOrder(predictor, SENTENCES);
        }
    }

    private static void killWhileSaving(Path file, int afterMillis) throws Exception {
        Process process = JavaProgram.of(List.of(), SavingForever.class, file.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader out = process.inputReader()) {
            assertThat(out.readLine()).isEqualTo(SavingForever.READY);
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
        Map<List<Double>, Integer> whole = new HashMap<>();
        for (int width : new int[] {8, 16}) {
            SavingForever.save(file, width);
            whole.put(answers(file), 0);
        }
        assertThat(whole).hasSize(2);
        Random random = new Random(8);
        int kills = Integer.getInteger("fault.kills", KILLS);
        int found = 0;
        for (int kill = 0; kill < kills; kill++) {
            killWhileSaving(file, random.nextInt(WITHIN_MILLIS));
            found += leftovers() > 0 ? 1 : 0;
            List<Double> loaded = answers(file);
            assertThat(whole).as("after %s kills", kill + 1).containsKey(loaded);
            whole.merge(loaded, 1, Integer::sum);
        }
        System.out.printf(
                "%d programs killed while saving; %d left unfinished files; loaded models: %s%n",
                kills, found, whole.values());
        SavingForever.save(file, 8);
        assertThat(leftovers()).isZero();
    }

    /** Returns the number of files next to the model. */
    private long leftovers() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.count() - 1;
        }
    }
}
