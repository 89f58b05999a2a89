package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.support.JavaProgram;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A program is killed while it replaces a saved file: the file is one of two, complete. The system property
 * {@code fault.kills} sets the number of kills (default: 1).
 */
class FaultKilledSavingTest {

    /** Kills within this time hit every part of a save, which takes some milliseconds. */
    private static final int WITHIN_MILLIS = 200;

    private static final String READY = "saved";

    @TempDir
    private Path folder;

    /** The program: replaces a file by each of two others forever. */
    public static void main(String[] args) throws IOException {
        for (int i = 1; true; i = 3 - i) {
            Path next = Path.of(args[i]);
            AtomicFile.write(Path.of(args[0]), out -> Files.copy(next, out));
            System.out.println(READY);
            System.out.flush();
        }
    }

    @Test
    void oldFileOrNewFileRemains() throws Exception {
        Path file = folder.resolve("model");
        Path first = Files.write(folder.resolve("first"), new byte[2_000_000]);
        byte[] ones = new byte[1_000_000];
        Arrays.fill(ones, (byte) 1);
        Path second = Files.write(folder.resolve("second"), ones);
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
