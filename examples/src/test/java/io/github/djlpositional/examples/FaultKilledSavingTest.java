package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.engine.Engine;
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
 * A program is killed while it saves a model over another: one of the two loads, whole. How often is
 * {@code fault.kills}, {@value #KILLS} without it.
 */
class FaultKilledSavingTest {

    private static final int KILLS = 20;

    /** A save takes some milliseconds: over this time a kill meets every part of it. */
    private static final int WITHIN_MILLIS = 200;

    private static final List<String> SENTENCES = List.of("a person who writes books", "books who a writes person");

    @TempDir
    private Path folder;

    private static List<Double> answers(Path folder) {
        try (SavedEncoder loaded = SavedEncoder.load(folder, Engine.getEngine("PyTorch"), Device.cpu())) {
            return loaded.judge(SENTENCES);
        }
    }

    private static void killWhileSaving(Path folder, int afterMillis) throws Exception {
        Process process = JavaProgram.with(List.of("-DOPT_OUT_TRACKING=true"), SavingForever.class, folder.toString())
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
    void theOldModelOrTheNewOneLoads() throws Exception {
        Engines.assumeAvailable("PyTorch");
        Map<List<Double>, Integer> whole = new HashMap<>();
        for (int width : new int[] {8, 16}) {
            SavingForever.save(folder, width);
            whole.put(answers(folder), 0);
        }
        assertThat(whole).hasSize(2);
        Random random = new Random(8);
        int kills = Integer.getInteger("fault.kills", KILLS);
        int found = 0;
        for (int kill = 0; kill < kills; kill++) {
            killWhileSaving(folder, random.nextInt(WITHIN_MILLIS));
            found += leftovers() > 0 ? 1 : 0;
            List<Double> loaded = answers(folder);
            assertThat(whole).as("after %s kills", kill + 1).containsKey(loaded);
            whole.merge(loaded, 1, Integer::sum);
        }
        System.out.printf(
                "%d programs killed while they saved; %d left something unfinished; loaded models: %s%n",
                kills, found, whole.values());
        SavingForever.save(folder, 8);
        assertThat(leftovers()).isZero();
    }

    /** The number of folders within the folder. */
    private long leftovers() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(Files::isDirectory).count();
        }
    }
}
