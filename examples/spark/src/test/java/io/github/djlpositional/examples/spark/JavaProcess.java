package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A separate JVM for Spark. It prints to a file, keeps its temporary files next to that file, and ends at the latest
 * with the JVM of the test.
 */
final class JavaProcess implements AutoCloseable {

    /** Long enough for slow machines; usually everything ends within a minute. */
    static final Duration PATIENCE = Duration.ofMinutes(5);

    private final Process process;
    private final Path log;
    private final Thread hook = new Thread(this::end);

    private JavaProcess(Process process, Path log) {
        this.process = process;
        this.log = log;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Starts {@code java} with the given arguments. */
    static JavaProcess start(Path log, Map<String, String> environment, List<String> args) throws IOException {
        Path temporary = Files.createDirectories(log.resolveSibling("tmp"));
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-Djava.io.tmpdir=" + temporary);
        command.addAll(args);
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                // Spark creates its warehouse there
                .directory(log.getParent().toFile());
        Map<String, String> inherited = builder.environment();
        inherited.keySet().removeIf(JavaProcess::changesSparkOrJava);
        inherited.put("SPARK_LOCAL_IP", "127.0.0.1");
        // Spark may leave files there
        inherited.put("SPARK_LOCAL_DIRS", temporary.toString());
        inherited.putAll(environment);
        return new JavaProcess(builder.start(), log);
    }

    private static boolean changesSparkOrJava(String variable) {
        return Stream.of("SPARK_", "HADOOP_", "YARN_", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
                .anyMatch(variable::startsWith);
    }

    /** Waits for the end and returns the exit status. */
    int await() throws InterruptedException {
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as(() -> "ends in time; output: " + output())
                .isTrue();
        return process.exitValue();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Returns the output so far. */
    String output() {
        try {
            return Files.exists(log) ? Files.readString(log, Charset.defaultCharset()) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills the process and its descendants, and waits for their end. */
    private void end() {
        List<ProcessHandle> started = process.descendants().toList();
        process.destroyForcibly();
        started.forEach(ProcessHandle::destroyForcibly);
        process.onExit().join();
        started.forEach(each -> each.onExit().join());
    }

    @Override
    public void close() {
        end();
        Runtime.getRuntime().removeShutdownHook(hook);
    }
}
