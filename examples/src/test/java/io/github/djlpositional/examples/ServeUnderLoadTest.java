package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServeUnderLoadTest {

    @TempDir
    private Path folder;

    private Path file() {
        return folder.resolve("model.zip");
    }

    private ProgramRun serve(String options) {
        return ProgramRun.of("serve --sentences 300 --model " + file() + options);
    }

    @EngineTest
    void manyClientsGetTheAnswersOfOneThread(String engine) {
        SmallEncoder.saveTo(file(), engine);
        String out = serve(" --threads 3 --clients 12 --batch 5 --duration 1s --engine " + engine)
                .success();
        assertThat(out)
                .contains("3 threads with a predictor each, 12 clients in a closed loop, batches of up to 5; " + engine)
                .containsPattern(
                        "\n(99\\.\\d\\d|100\\.00) % of all pairs of sentences have answers that differ by more")
                .containsPattern("all +[\\d,]+ ")
                .contains("Wrong answers: 0; ")
                .contains("Resident memory over the second half: ");
        String all =
                out.lines().filter(line -> line.startsWith("all")).findFirst().orElseThrow();
        String[] columns = all.strip().split(" +", -1);
        assertThat(Integer.parseInt(columns[1].replace(",", ""))).isPositive();
        // requests of twelve clients wait for three threads
        assertThat(Double.parseDouble(columns[8])).isGreaterThan(1.5);
    }

    @Test
    void wrongAnswersEndWithAnError() {
        SmallEncoder.saveTo(file(), "PyTorch");
        // rounding makes some answers differ
        assertThat(serve(" --tolerance 0 --duration 1s").error(1))
                .matches("error: \\d+ answers differ from those of one thread, the first for '.+': .+ instead of .+;"
                        + " expected at most 0\\.0e\\+00 \\(probability\\) and 0\\.0e\\+00 \\(embedding\\)");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void moreGrowthThanTheLimitEndsWithAnError() {
        SmallEncoder.saveTo(file(), "PyTorch");
        // a limit that every run exceeds
        assertThat(serve(" --max-growth=-1000000 --duration 4s").error(1))
                .matches(
                        "error: resident memory over the second half: [+-].+ MB per minute; from first to last .+ MB;"
                                + " expected at most -1000000.0 MB per minute: find the objects that are not closed, or set a higher --max-growth");
    }

    /**
     * Runs in a separate JVM with a heap of fixed size, so that only native memory can grow. The limit is 175 bytes for
     * each of 10,000 answers per second. A longer run would grow less, because 30 seconds include the warm-up.
     */
    @Test
    @Tag("slow")
    @EnabledOnOs(OS.LINUX)
    void memoryIsFlat() throws Exception {
        SmallEncoder.saveTo(file(), "PyTorch");
        Path log = folder.resolve("serve.log");
        Process process = JavaProgram.with(
                        List.of("-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"),
                        TrainEncoder.class,
                        ("serve --duration 15s --max-growth 100 --model " + file()).split(" ", -1))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            assertThat(process.waitFor(5, TimeUnit.MINUTES)).as("ends in time").isTrue();
            assertThat(process.exitValue()).as(Files.readString(log)).isZero();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void damagedModelEndsWithOneLine() throws Exception {
        Files.writeString(file(), "not a zip");
        assertThat(serve("").error(1))
                .startsWith("error: model file '" + file() + "' cannot be read (")
                .contains("serving.properties");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--threads=0",
                "--clients=0",
                "--batch=0",
                "--sentences=1",
                "--duration=0s",
                "--duration=long",
                "--max-growth=much"
            })
    void badOptionsEndWithOneLine(String option) {
        assertThat(serve(" " + option).error(2)).endsWith("(--help shows all options)");
    }
}
