package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.support.JavaProgram;
import io.github.djlpositional.support.TestEngine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The exit status and the output of an example, which runs in a folder and a process of its own. */
record Run(int status, String out, String err) {

    /** Runs a program on an engine, with options of the JVM. */
    static Run of(String engine, Path folder, List<String> options, Class<?> program, String... arguments)
            throws IOException, InterruptedException {
        TestEngine.of(engine).assumeAvailable();
        List<String> all = new ArrayList<>(options);
        all.addAll(List.of(
                "-Dai.djl.default_engine=" + engine,
                "-Duser.language=en",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC"));
        Path err = Files.createTempFile("errors", ".txt");
        try {
            Process process = JavaProgram.of(all, program, arguments)
                    .directory(folder.toFile())
                    .redirectError(err.toFile())
                    .start();
            String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
            return new Run(process.exitValue(), out, Files.readString(err));
        } finally {
            Files.delete(err);
        }
    }

    /** Checks that the run succeeded, and returns the output. */
    String success() {
        assertThat(status).as(out + err).isZero();
        return out;
    }

    /** Checks that the run failed with a message of one line, and returns it. */
    String error() {
        assertThat(status).as(err).isEqualTo(1);
        assertThat(err.lines().filter(line -> line.startsWith("error: ")))
                .as(err)
                .hasSize(1);
        assertThat(err).doesNotContain("\tat ");
        return err;
    }
}
