package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Glosses;
import io.github.djlpositional.examples.Program;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.TextInputFormat;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Judges every sentence of a corpus with a saved encoder, on one machine or on a cluster, and writes Parquet with the
 * columns {@code id}, {@code sentence}, {@code score} (the probability that the words are in order) and
 * {@code embedding}.
 *
 * <p>Without {@code spark-submit}, which sets a master, Spark runs within this JVM, on all cores.
 */
@Command(
        name = "judge-corpus",
        mixinStandardHelpOptions = true,
        versionProvider = Program.class,
        sortOptions = false,
        showDefaultValues = true,
        description = "Judge with a saved model whether the words of each sentence of a corpus are in order, "
                + "and write sentence, score and embedding as Parquet.")
public final class JudgeCorpus implements Callable<Integer> {

    private static final int PARTITIONS_PER_CORE = 4;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--model",
            description =
                    "The file of the saved model on the machine of the driver. That is the machine that submits the job, "
                            + "except with --deploy-mode cluster.")
    private Path model = Path.of("model.zip");

    @Option(
            names = "--input",
            paramLabel = "PATH",
            description =
                    "A text file or a folder of text files, one sentence per line; can be repeated. By default the "
                            + "definitions of WordNet. Lines without words are ignored.")
    private List<String> inputs = List.of();

    @Option(names = "--output", description = "The folder for the Parquet files; must not exist.")
    private String output = "judged";

    @Option(names = "--batch", description = "The maximum number of sentences in a batch.")
    private int batchSize = 64;

    @Option(
            names = "--partitions",
            description = "The minimum number of partitions of the corpus; by default four for each core.")
    private Integer partitions;

    private JudgeCorpus() {}

    /**
     * Runs the job.
     *
     * @param args the options; {@code --help} lists them
     */
    public static void main(String[] args) {
        int status = commandLine().execute(args);
        // not after success: in YARN's cluster mode, a driver that calls exit counts as failed, even with status 0
        if (status != 0) {
            System.exit(status);
        }
    }

    /**
     * Returns the program, which {@code execute} runs without ending the JVM.
     *
     * @return a new command line
     */
    public static CommandLine commandLine() {
        return Program.commandLine(new JudgeCorpus());
    }

    @Override
    public Integer call() throws IOException {
        Program.checkOptions(spec, () -> {
            Check.positive("--batch", batchSize);
            if (partitions != null) {
                Check.positive("--partitions", partitions);
            }
        });
        SparkConf conf = new SparkConf().setIfMissing("spark.app.name", "judge-corpus");
        if (!conf.contains("spark.master")) {
            // everything in this JVM, and no open ports
            conf.setMaster("local[*]")
                    .setIfMissing("spark.driver.host", "127.0.0.1")
                    .setIfMissing("spark.driver.bindAddress", "127.0.0.1")
                    .setIfMissing("spark.ui.enabled", "false");
        }
        try (SparkSession session = SparkSession.builder().config(conf).getOrCreate()) {
            judge(session);
        }
        return 0;
    }

    private void judge(SparkSession session) throws IOException {
        SparkContext spark = session.sparkContext();
        NewOutput target = new NewOutput(output, spark.hadoopConfiguration());
        inputs.forEach(input -> requireInput(input, spark.hadoopConfiguration()));
        EncoderFile.requireIntact(model);
        // Spark copies the file to each executor
        spark.addFile(model.toUri().toString());
        LongAccumulator loads = spark.longAccumulator("model loads");
        LongAccumulator loadMillis = spark.longAccumulator("model load time in ms");
        long start = System.nanoTime();
        try {
            session.createDataFrame(
                            sentences(JavaSparkContext.fromSparkContext(spark))
                                    .mapPartitions(new JudgePartition(
                                            batchSize, model.getFileName().toString(), loads, loadMillis)),
                            JudgePartition.SCHEMA)
                    .write()
                    .parquet(target.unfinished());
        } catch (Exception e) {
            RuntimeException reason = withoutWrappers(e);
            target.discard(reason);
            throw reason;
        }
        target.publish();
        Duration time = Duration.ofNanos(System.nanoTime() - start);
        print(session.read().parquet(output).count(), time, loads.value(), loadMillis.value());
    }

    private JavaRDD<JudgePartition.NumberedSentence> sentences(JavaSparkContext spark) throws IOException {
        int parts = partitions == null ? PARTITIONS_PER_CORE * spark.defaultParallelism() : partitions;
        JavaRDD<String> lines = inputs.isEmpty()
                ? spark.parallelize(
                        Glosses.read(Integer.MAX_VALUE).stream()
                                .map(words -> String.join(" ", words))
                                .toList(),
                        parts)
                : lines(spark, parts);
        // numbered before lines are ignored, so that the number is independent of the partitions
        return lines.zipWithIndex()
                .map(line -> new JudgePartition.NumberedSentence(line._2(), line._1()))
                .filter(line -> !Glosses.words(line.sentence()).isEmpty());
    }

    /** Returns the lines of all files; {@code textFile} would split a path at its commas. */
    private JavaRDD<String> lines(JavaSparkContext spark, int parts) {
        JobConf files = new JobConf(spark.hadoopConfiguration());
        FileInputFormat.setInputPaths(
                files, inputs.stream().map(org.apache.hadoop.fs.Path::new).toArray(org.apache.hadoop.fs.Path[]::new));
        return spark.hadoopRDD(files, TextInputFormat.class, LongWritable.class, Text.class, parts)
                // copied, because Hadoop reads every line into the same object
                .map(line -> line._2().toString());
    }

    private static void requireInput(String input, Configuration hadoop) {
        org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(input);
        try {
            FileStatus[] found = path.getFileSystem(hadoop).globStatus(path);
            if (found == null || found.length == 0) {
                throw new UserError("input '" + input + "' does not exist: name a text file, or a folder of text files,"
                        + " with --input");
            }
        } catch (IOException e) {
            throw new UserError("input '" + input + "' cannot be read (" + e + "): name another with --input", e);
        }
    }

    /**
     * Returns the user error of an executor without the exceptions that Spark wraps around it, or the failure itself.
     */
    private RuntimeException withoutWrappers(Exception failure) {
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof UserError) {
                return new UserError(
                        "the executors cannot use the model '" + model + "': " + each.getMessage(), failure);
            }
        }
        return failure instanceof RuntimeException unexpected
                ? unexpected
                : new IllegalStateException("the job failed", failure);
    }

    private void print(long written, Duration time, long loads, long loadMillis) {
        double seconds = time.toMillis() / 1000.0;
        PrintWriter out = spec.commandLine().getOut();
        out.printf(
                Locale.ROOT, "%,d sentences judged in %.1f s, %,.0f a second; ", written, seconds, written / seconds);
        out.printf(
                Locale.ROOT,
                "model loaded %s, in %.1f s on average (as reported by finished tasks)%nSaved to %s%n",
                loads == 1 ? "once" : loads + " times",
                loadMillis / 1000.0 / Math.max(1, loads),
                output);
        out.flush();
    }
}
