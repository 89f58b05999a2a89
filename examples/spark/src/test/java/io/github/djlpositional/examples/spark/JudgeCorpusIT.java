package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import io.github.djlpositional.examples.encoder.EncoderExample;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged jar, in one JVM and on a cluster of processes. */
class JudgeCorpusIT {

    private static final Path JAR = Path.of("target", "judge-corpus.jar").toAbsolutePath();
    private static final int LINES = 20_000;

    @TempDir
    private static Path folder;

    private static Path model;
    private static Path text;
    private static final Map<Long, String> SENTENCES = new TreeMap<>();

    /** Trains a small encoder and writes a text, with some sentences twice, and with lines without words. */
    @BeforeAll
    static void createCorpus() throws Exception {
        model = folder.resolve("a model");
        System.setProperty("sentences", "640");
        EncoderExample.main(new String[] {model.toString()});
        List<String> definitions = JudgeCorpus.definitions();
        List<String> lines = new ArrayList<>();
        for (int line = 0; line < LINES; line++) {
            if (line % 50 == 20) {
                lines.add(line % 100 == 20 ? "" : " ... ");
            } else {
                // every fifth sentence repeats the one two lines before
                lines.add(definitions.get(line % 5 == 4 ? line - 2 : line));
                SENTENCES.put((long) line, lines.get(line));
            }
        }
        text = Files.write(folder.resolve("corpus.txt"), lines);
    }

    private static SparkProcess java(String name, Path model, Path input, Path output) throws IOException {
        return new SparkProcess(
                folder.resolve(name),
                List.of("-jar", JAR.toString(), "--model=" + model, "--input=" + input, "--output=" + output));
    }

    @Test
    void judgesEverySentenceInOneJvm() throws Exception {
        Path output = folder.resolve("judged");
        try (SparkProcess job = java("local", model, text, output)) {
            assertThat(job.await()).as(job::output).isZero();
            assertThat(job.output())
                    .startsWith(String.format(Locale.ROOT, "%,d sentences judged in ", SENTENCES.size()))
                    .endsWith(" a second\nSaved to " + output + "\n");
        }
        assertJudged(output);
    }

    @Test
    @Tag("slow")
    void userErrorsEndWithOneLine() throws Exception {
        Path existing = Files.createDirectory(folder.resolve("existing"));
        assertThat(errorOf("of-output", model, text, existing))
                .startsWith("output '" + existing + "' already exists: ");
        assertThat(existing).isEmptyDirectory();
        Path none = folder.resolve("none");
        assertThat(errorOf("of-input", model, none, none)).startsWith("input '" + none + "' does not exist: ");
        // passes the checks of the driver, which has no engine
        Path damaged = Files.createDirectory(folder.resolve("damaged"));
        for (String file : JudgePartition.FILES) {
            Files.copy(model.resolve(file), damaged.resolve(file));
        }
        Files.write(damaged.resolve("encoder-0000.params"), new byte[3]);
        assertThat(errorOf("of-model", damaged, text, none))
                .startsWith("the executors cannot read the model '" + damaged + "' (");
        assertThat(none.resolve("_SUCCESS")).doesNotExist();
    }

    private static String errorOf(String name, Path model, Path input, Path output) throws Exception {
        try (SparkProcess job = java(name, model, input, output)) {
            assertThat(job.await()).as(job::output).isEqualTo(1);
            assertThat(job.output().lines()).singleElement().asString().startsWith("error: ");
            return job.output().substring("error: ".length());
        }
    }

    @Test
    @Tag("slow")
    void judgesEverySentenceAlthoughAWorkerDies() throws Exception {
        Path output = folder.resolve("judged-by-cluster");
        // away from target/spark: Spark comes from the cluster
        Path jar = Files.copy(JAR, folder.resolve("judge-corpus.jar"));
        try (SparkProcess master =
                SparkProcess.of(folder.resolve("master"), "master.Master --host 127.0.0.1 --port 0 --webui-port 0")) {
            String url = master.await(Pattern.compile("Starting Spark master at (\\S+)"))
                    .group(1);
            try (SparkProcess survivor = worker("survivor", url);
                    SparkProcess victim = worker("victim", url);
                    // small batches, so that the worker dies before the job ends
                    SparkProcess job = SparkProcess.of(
                            folder.resolve("job"),
                            "SparkSubmit --conf=spark.driver.host=127.0.0.1 --conf=spark.ui.enabled=false"
                                    // 24 partitions
                                    + " --conf=spark.executor.memory=512m --conf=spark.default.parallelism=6",
                            "--master=" + url,
                            jar.toString(),
                            "--model=" + model,
                            "--input=" + text,
                            "--output=" + output,
                            "--batch=4")) {
                // stage 0 numbers the lines
                for (int executor = 0; executor < 2; executor++) {
                    job.await(Pattern.compile("Finished task \\S+ in stage 1\\.0 .*\\(executor " + executor + "\\)"));
                }
                victim.kill();
                assertThat(output.resolve("_SUCCESS")).as("the job is not done").doesNotExist();
                assertThat(job.await())
                        .as(() -> job.output() + survivor.output())
                        .isZero();
                assertThat(job.output()).contains("Lost executor");
            }
        }
        assertJudged(output);
    }

    private static SparkProcess worker(String name, String master) throws IOException {
        SparkProcess worker = SparkProcess.of(
                folder.resolve(name),
                "worker.Worker --host 127.0.0.1 --webui-port 0 --cores 1 --memory 1g",
                "--work-dir",
                folder.resolve(name).toString(),
                master);
        worker.await(Pattern.compile("Successfully registered with master"));
        return worker;
    }

    /** Checks that every line with words has one row, with the answer of the encoder in this JVM. */
    private static void assertJudged(Path output) throws Exception {
        assertThat(output.resolve("_SUCCESS")).exists();
        Map<Long, Group> rows = rows(output);
        assertThat(rows.keySet()).isEqualTo(SENTENCES.keySet());
        try (Predictor<String, Classifications> predictor = JudgePartition.newPredictor(model)) {
            for (Map.Entry<Long, String> line : SENTENCES.entrySet()) {
                Group row = rows.get(line.getKey());
                assertThat(row.getString("sentence", 0)).isEqualTo(line.getValue());
                // the sentences were in batches, so sums were rounded differently
                double expected = predictor
                        .predict(JudgePartition.beginning(line.getValue()))
                        .get("in order")
                        .getProbability();
                assertThat(row.getDouble("score", 0)).isCloseTo(expected, within(1.5e-4));
            }
        }
    }

    /** Returns all rows by id, and checks that ids are unique. */
    private static Map<Long, Group> rows(Path output) throws IOException {
        Map<Long, Group> rows = new TreeMap<>();
        try (Stream<Path> files = Files.list(output)) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".parquet")).toList()) {
                try (ParquetReader<Group> reader = ParquetReader.builder(
                                new GroupReadSupport(), new org.apache.hadoop.fs.Path(file.toUri()))
                        .build()) {
                    for (Group row = reader.read(); row != null; row = reader.read()) {
                        assertThat(rows.put(row.getLong("id", 0), row)).isNull();
                    }
                }
            }
        }
        return rows;
    }
}
