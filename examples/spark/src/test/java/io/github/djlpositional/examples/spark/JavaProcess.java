package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Another JVM, which prints into a file, and ends with the test at the latest. */
final class JavaProcess implements AutoCloseable {

    private static final long PATIENCE_SECONDS = 120;

    private final Process process;
    private final Path log;

    private JavaProcess(Process process, Path log) {
        this.process = process;
        this.log = log;
    }

    /** Starts {@code java} with the given arguments. */
    static JavaProcess start(Path log, Map<String, String> environment, List<String> args) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(args);
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                // where Spark would put its warehouse
                .directory(log.getParent().toFile());
        builder.environment().putAll(environment);
        return new JavaProcess(builder.start(), log);
    }

    /** Waits for its end and returns its status. */
    int await() throws InterruptedException {
        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .as("ends in time; it has printed: %s", output())
                .isTrue();
        return process.exitValue();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** All that it has printed until now. */
    String output() {
        try {
            return Files.exists(log) ? Files.readString(log, Charset.defaultCharset()) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends it and all that it has started, at once, as a machine does that loses its power. */
    void kill() throws InterruptedException {
        List<ProcessHandle> started = process.descendants().toList();
        process.destroyForcibly();
        started.forEach(ProcessHandle::destroyForcibly);
        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Override
    public void close() {
        List<ProcessHandle> started = process.descendants().toList();
        process.destroyForcibly();
        started.forEach(ProcessHandle::destroyForcibly);
    }
}
