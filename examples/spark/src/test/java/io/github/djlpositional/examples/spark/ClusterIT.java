package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.SmallEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The job's jar on a cluster of a master and two workers. */
@Tag("slow")
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
        // in a separate folder: Spark's jars must come from the cluster
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
    void everySentenceHasOneRowAlthoughAWorkerDies() throws Exception {
        Path output = folder.resolve("judged");
        // a small batch, so that the worker dies before the job ends
        try (JavaProcess job = cluster.submit(
                "job",
                jar,
                Corpus.options(corpus.model(), corpus.text(), output, "--partitions", "24", "--batch", "4"))) {
            cluster.awaitUntil("the worker has judged a partition", () -> {
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
        corpus.assertJudged(output);
        assertThat(cluster.executorLog(0).split("Loaded the encoder", -1))
                .as("the other executor loaded the model once for all of its tasks")
                .hasSize(2);
    }

    @Test
    void executorsReportWhatIsWrongWithTheModel() throws Exception {
        // passes the checks of the driver, which has no engine
        Path invalid = SmallEncoder.changed(
                corpus.model(),
                folder.resolve("invalid.zip"),
                "encoder-0000.params",
                content -> Arrays.copyOf(content, content.length / 2));
        Path output = folder.resolve("none");
        try (JavaProcess job = cluster.submit("invalid", jar, Corpus.options(invalid, corpus.text(), output))) {
            assertThat(job.await()).as(() -> job.output() + cluster.logs()).isEqualTo(1);
            assertThat(job.output().lines().filter(line -> line.startsWith("error: ")))
                    .singleElement()
                    .asString()
                    .startsWith("error: the executors cannot use the model '" + invalid + "': ");
        }
    }
}
