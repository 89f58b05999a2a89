package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The job's jar on a cluster of a master and two workers. */
class ClusterIT {

    private static final int LINES = 20_000;

    @TempDir
    private static Path folder;

    private static Corpus corpus;
    private static StandaloneCluster cluster;
    private static Path jar;

    @BeforeAll
    static void start() throws Exception {
        corpus = Corpus.create(folder, LINES);
        // alone in a folder: Spark's jars must come from the cluster
        jar = Files.copy(Path.of("target", "judge-corpus.jar"), folder.resolve("judge-corpus.jar"));
        cluster = new StandaloneCluster(folder, 2);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void everySentenceComesOutOnceThoughAWorkerDies() throws Exception {
        Path output = folder.resolve("judged");
        try (JavaProcess job = cluster.submit(
                "job",
                jar,
                "--model",
                corpus.model().toString(),
                "--input",
                corpus.text().toString(),
                "--output",
                output.toString(),
                "--partitions",
                "24",
                // small, so that there is a middle to die in
                "--batch",
                "4")) {
            cluster.awaitUntil("the worker has judged a part", () -> {
                assertThat(job.isAlive()).as("the job runs: %s", job.output()).isTrue();
                String log = cluster.executorLog(1);
                int loaded = log.indexOf("Loaded the encoder");
                return loaded >= 0 && log.indexOf("Finished task", loaded) >= 0;
            });
            cluster.kill(1);
            assertThat(output.resolve("_SUCCESS")).as("the job is not done yet").doesNotExist();
            assertThat(job.await()).as(() -> job.output() + cluster.logs()).isZero();
            assertThat(job.output()).contains("Lost executor");
        }
        corpus.requireJudged(output);
        assertThat(cluster.executorLog(0).split("Loaded the encoder", -1))
                .as("the survivor loaded the model once for all of its tasks")
                .hasSize(2);
    }

    @Test
    void executorsSayWhatIsWrongWithTheModel() throws Exception {
        // a folder would be checked before it is sent
        Path damaged = folder.resolve("damaged.zip");
        try (OutputStream out = Files.newOutputStream(damaged);
                ZipOutputStream zip = new ZipOutputStream(out);
                Stream<Path> files = Files.list(corpus.model())) {
            for (Path file : files.toList()) {
                byte[] bytes = Files.readAllBytes(file);
                if (file.endsWith("encoder-0000.params")) {
                    bytes[bytes.length / 2]++;
                }
                zip.putNextEntry(new ZipEntry(file.getFileName().toString()));
                zip.write(bytes);
                zip.closeEntry();
            }
        }
        try (JavaProcess job = cluster.submit(
                "damaged",
                jar,
                "--model",
                damaged.toString(),
                "--input",
                corpus.text().toString(),
                "--output",
                folder.resolve("none").toString())) {
            assertThat(job.await()).as(() -> job.output() + cluster.logs()).isEqualTo(1);
            assertThat(job.output().lines().filter(line -> line.startsWith("error: ")))
                    .singleElement()
                    .asString()
                    .startsWith("error: the executors cannot use the model '" + damaged + "': ")
                    .contains("encoder-0000.params is damaged");
        }
    }
}
