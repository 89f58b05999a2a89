package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;

/** Spark's own cluster manager as processes of this machine: a master and workers of one core each, which talk on loopback. */
final class StandaloneCluster implements AutoCloseable {

    private static final Pattern MASTER = Pattern.compile("Starting Spark master at (spark://\\S+)");
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path folder;
    private final Path sparkHome;
    private final JavaProcess master;
    private final String url;
    private final List<JavaProcess> workers = new ArrayList<>();

    /**
     * Starts a cluster.
     *
     * @param folder for its logs and work
     * @param workerCount how many workers
     */
    StandaloneCluster(Path folder, int workerCount) throws IOException {
        this.folder = folder;
        sparkHome = Path.of("target", "spark").toAbsolutePath();
        master = start(
                "master",
                "org.apache.spark.deploy.master.Master",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--webui-port",
                "0");
        awaitUntil(
                "the master has started", () -> MASTER.matcher(master.output()).find());
        Matcher started = MASTER.matcher(master.output());
        assertThat(started.find()).isTrue();
        url = started.group(1);
        for (int i = 0; i < workerCount; i++) {
            workers.add(start(
                    "worker-" + i,
                    "org.apache.spark.deploy.worker.Worker",
                    "--host",
                    "127.0.0.1",
                    "--webui-port",
                    "0",
                    "--cores",
                    "1",
                    "--memory",
                    "1g",
                    "--work-dir",
                    workOf(i).toString(),
                    url));
        }
        for (JavaProcess worker : workers) {
            awaitUntil(
                    "the worker is registered", () -> worker.output().contains("Successfully registered with master"));
        }
    }

    private JavaProcess start(String name, String... args) throws IOException {
        List<String> command = new ArrayList<>(List.of(JavaModuleOptions.defaultModuleOptionArray()));
        command.addAll(List.of("-Xmx512m", "-cp", sparkHome.resolve("jars") + "/*"));
        command.addAll(Arrays.asList(args));
        return JavaProcess.start(
                folder.resolve(name + ".log"),
                Map.of(
                        "SPARK_HOME",
                        sparkHome.toString(),
                        // what the scripts of a download set
                        "SPARK_SCALA_VERSION",
                        "2.13",
                        // where web pages are served
                        "SPARK_LOCAL_IP",
                        "127.0.0.1"),
                command);
    }

    /** Submits a job, as {@code spark-submit} does. */
    JavaProcess submit(String name, Path jar, String... args) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "org.apache.spark.deploy.SparkSubmit",
                "--master",
                url,
                "--conf",
                "spark.driver.host=127.0.0.1",
                "--conf",
                "spark.ui.enabled=false",
                "--conf",
                "spark.executor.memory=512m",
                jar.toString()));
        command.addAll(Arrays.asList(args));
        return start(name, command.toArray(String[]::new));
    }

    private Path workOf(int worker) {
        return folder.resolve("work-" + worker);
    }

    /** What the executors on a worker have printed until now. */
    String executorLog(int worker) {
        if (!Files.isDirectory(workOf(worker))) {
            return "";
        }
        try (Stream<Path> files = Files.walk(workOf(worker))) {
            StringBuilder log = new StringBuilder();
            for (Path file :
                    files.filter(each -> each.endsWith("stderr")).sorted().toList()) {
                log.append(Files.readString(file));
            }
            return log.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends a worker and its executors, without a word to anyone. */
    void kill(int worker) throws InterruptedException {
        workers.get(worker).kill();
    }

    /** Looks again and again until something is so; fails if it is not in time. */
    static void awaitUntil(String what, BooleanSupplier isSo) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!isSo.getAsBoolean()) {
            assertThat(System.nanoTime()).as("in time: %s", what).isLessThan(end);
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
    }

    @Override
    public void close() {
        workers.forEach(JavaProcess::close);
        master.close();
    }
}
