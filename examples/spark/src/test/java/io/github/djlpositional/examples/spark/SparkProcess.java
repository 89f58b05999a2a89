package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * A JVM that keeps its files in one folder, and ends with the processes that it has started, at the latest with the
 * tests.
 */
final class SparkProcess implements AutoCloseable {

    /** Long enough for slow machines; usually everything ends within a minute. */
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private static final Path HOME = Path.of("target", "spark").toAbsolutePath();

    private final Process process;
    private final Path log;

    /** Starts {@code java} with arguments. */
    SparkProcess(Path folder, List<String> arguments) throws IOException {
        log = Files.createDirectories(folder).resolve("log");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx1g", "-Djava.io.tmpdir=" + folder));
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("SPARK_"));
        builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
        // set by the scripts of a Spark download
        builder.environment().put("SPARK_HOME", HOME.toString());
        builder.environment().put("SPARK_SCALA_VERSION", "2.13");
        process = builder.start();
        Runtime.getRuntime().addShutdownHook(new Thread(this::kill));
    }

    /**
     * Starts a program of Spark with options that are separated by spaces, and further ones that may contain spaces.
     */
    static SparkProcess of(Path folder, String program, String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of(JavaModuleOptions.defaultModuleOptionArray()));
        command.addAll(List.of("-cp", HOME.resolve("jars") + "/*"));
        command.addAll(List.of(("org.apache.spark.deploy." + program).split(" ", -1)));
        command.addAll(List.of(more));
        return new SparkProcess(folder, command);
    }

    /** Waits for the end and returns the exit status. */
    int await() throws InterruptedException {
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as(this::output)
                .isTrue();
        return process.exitValue();
    }

    /** Waits until the output has a match, and returns it. */
    Matcher await(Pattern pattern) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            Matcher found = pattern.matcher(output());
            if (found.find()) {
                return found;
            }
            assertThat(process.isAlive() && System.nanoTime() < end)
                    .as(() -> pattern + " in the output: " + output())
                    .isTrue();
            LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
        }
    }

    /** Returns the output so far. */
    String output() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills the process and its descendants, and waits for their end. */
    void kill() {
        List<ProcessHandle> started = process.descendants().toList();
        process.destroyForcibly().onExit().join();
        started.forEach(ProcessHandle::destroyForcibly);
        started.forEach(each -> each.onExit().join());
    }

    @Override
    public void close() {
        kill();
    }
}
