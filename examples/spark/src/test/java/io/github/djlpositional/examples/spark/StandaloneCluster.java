package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * Spark's standalone cluster as local processes: a master, and workers with one core each, on the loopback interface.
 */
final class StandaloneCluster implements AutoCloseable {

    private static final Pattern MASTER = Pattern.compile("Starting Spark master at (spark://\\S+)");

    private final Path folder;
    private final Path sparkHome;
    private final int workerCount;
    private final List<JavaProcess> processes = new ArrayList<>();
    private final String url;

    /**
     * Starts a cluster.
     *
     * @param folder receives logs and working files
     * @param workerCount the number of workers
     */
    StandaloneCluster(Path folder, int workerCount) throws IOException {
        this.folder = folder;
        this.workerCount = workerCount;
        sparkHome = Path.of("target", "spark").toAbsolutePath();
        try {
            url = startMaster();
            for (int i = 0; i < workerCount; i++) {
                startWorker(i);
            }
            awaitUntil(
                    "the workers are registered",
                    () -> processes.stream()
                            .skip(1)
                            .allMatch(worker -> worker.output().contains("Successfully registered with master")));
        } catch (IOException | RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private String startMaster() throws IOException {
        JavaProcess master =
                start("master", "org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0");
        processes.add(master);
        awaitUntil(
                "the master has started", () -> MASTER.matcher(master.output()).find());
        Matcher started = MASTER.matcher(master.output());
        assertThat(started.find()).isTrue();
        return started.group(1);
    }

    private void startWorker(int number) throws IOException {
        processes.add(start(
                "worker-" + number,
                "org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --webui-port 0 --cores 1 --memory 1g --work-dir "
                        + workOf(number) + " " + url));
    }

    private JavaProcess start(String name, String options, String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of(JavaModuleOptions.defaultModuleOptionArray()));
        command.addAll(List.of("-Xmx512m", "-cp", sparkHome.resolve("jars") + "/*"));
        command.addAll(List.of(options.split(" ", -1)));
        command.addAll(List.of(more));
        return JavaProcess.start(
                folder.resolve(name + ".log"),
                // set by the scripts of a Spark download
                Map.of("SPARK_HOME", sparkHome.toString(), "SPARK_SCALA_VERSION", "2.13"),
                command);
    }

    /** Submits a job like {@code spark-submit}. */
    JavaProcess submit(String name, Path jar, String... args) throws IOException {
        return start(
                name,
                "org.apache.spark.deploy.SparkSubmit --conf spark.driver.host=127.0.0.1 --conf spark.ui.enabled=false"
                        + " --conf spark.executor.memory=512m --conf spark.executor.extraJavaOptions=-Djava.io.tmpdir="
                        + folder.resolve("tmp") + " --master " + url + " " + jar,
                args);
    }

    private Path workOf(int worker) {
        return folder.resolve("work-" + worker);
    }

    /** Returns the output of a worker's executors so far. */
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

    /** Returns the output of the master, the workers and their executors so far. */
    String logs() {
        StringBuilder logs = new StringBuilder();
        processes.forEach(each -> logs.append(each.output()).append('\n'));
        for (int i = 0; i < workerCount; i++) {
            logs.append(executorLog(i)).append('\n');
        }
        return logs.toString();
    }

    /** Kills a worker and its executors. */
    void kill(int worker) {
        processes.get(1 + worker).close();
    }

    /** Waits for a condition, and fails if it does not hold in time. */
    void awaitUntil(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + JavaProcess.PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime())
                    .as(() -> "in time: " + what + "; output of the cluster: " + logs())
                    .isLessThan(end);
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
    }

    @Override
    public void close() {
        // the master last, because workers without a master try to reconnect
        for (int i = processes.size() - 1; i >= 0; i--) {
            processes.get(i).close();
        }
    }
}
