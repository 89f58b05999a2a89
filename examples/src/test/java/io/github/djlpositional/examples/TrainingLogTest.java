package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainingLogTest {

    @TempDir
    private Path folder;

    private static void write(Path to, String line) throws IOException {
        Files.writeString(to.resolve("training.csv"), "positions,step,loss,accuracy\n" + line + "\n");
    }

    @Test
    void ofASaveThatWasKilledIsThatOfTheModelThatLoads() throws IOException {
        write(folder, "none,1,0.69315,0.50000");
        write(Files.createDirectory(folder.resolve(".saved")), "sinusoidal,2,0.25000,0.87500");
        assertThat(TrainingLog.read(folder).lines())
                .containsExactly(new TrainingLog.Line(Encoding.SINUSOIDAL, 2, 0.25, 0.875));
    }
}
