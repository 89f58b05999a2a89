package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.support.JavaProgram;
import io.github.djlpositional.support.TestEngine;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A program is killed while it replaces a saved file: the file is one of two models, complete. The system property
 * {@code fault.kills} sets the number of kills (default: 1).
 */
class FaultKilledSavingTest {

    /** Kills within this time hit every part of a save, which takes some milliseconds. */
    private static final int WITHIN_MILLIS = 200;

    private static final String READY = "saved";

    @TempDir
    private Path folder;

    /** The program: replaces a model by each of two others forever. */
    public static void main(String[] args) throws IOException {
        for (int i = 1; true; i = 3 - i) {
            Path next = Path.of(args[i]);
            AtomicFile.write(Path.of(args[0]), out -> Files.copy(next, out));
            System.out.println(READY);
            System.out.flush();
        }
    }

    @Test
    void oldModelOrNewModelRemains() throws Exception {
        TestEngine.PYTORCH.assumeAvailable();
        Path file = folder.resolve("model.zip");
        Path first = folder.resolve("first.zip");
        SmallEncoder.saveTo(first, "PyTorch");
        Path second = SmallEncoder.changed(
                first, folder.resolve("second.zip"), "vocabulary.txt", content -> new byte[99_999]);
        Random random = new Random(8);
        for (int kill = 0; kill < Integer.getInteger("fault.kills", 1); kill++) {
            Process process = JavaProgram.of(
                            ProgramRun.SHORT_LIVED,
                            FaultKilledSavingTest.class,
                            file.toString(),
                            first.toString(),
                            second.toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            try (BufferedReader out = process.inputReader()) {
                assertThat(out.readLine()).isEqualTo(READY);
                Thread.sleep(random.nextInt(WITHIN_MILLIS));
            } finally {
                process.destroyForcibly();
            }
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(Files.readAllBytes(file)).isIn(Files.readAllBytes(first), Files.readAllBytes(second));
        }
        AtomicFile.write(file, out -> out.write(1));
        assertThat(folder.toFile().list()).as("no unfinished files").hasSize(3);
    }
}
