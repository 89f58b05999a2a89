package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.ExamplesVersion;
import io.github.djlpositional.examples.Glosses;
import io.github.djlpositional.examples.OptionChecks;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.examples.Words;
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
 * columns {@code id}, {@code sentence}, {@code score} (the probability that its words are in order) and
 * {@code embedding}.
 *
 * <p>Without a master, which {@code spark-submit} gives, Spark runs within this JVM, on all of its cores.
 */
@Command(
        name = "judge-corpus",
        mixinStandardHelpOptions = true,
        versionProvider = ExamplesVersion.class,
        sortOptions = false,
        description = {
            "Judge with a saved model whether the words of each sentence of a corpus are in order,",
            "and write sentence, score and embedding as Parquet."
        })
public final class JudgeCorpus implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--model",
            paramLabel = "FOLDER",
            defaultValue = "model",
            description = {
                "Where the model was saved, or a zip of it, on the machine of the driver: that which submits the job,",
                "but with --deploy-mode cluster (default: ${DEFAULT-VALUE})."
            })
    private Path model;

    @Option(
            names = "--input",
            paramLabel = "PATH",
            description = {
                "A text file, or a folder of such, one sentence a line; may be given more than once",
                "(default: the definitions of WordNet). Lines without a word are left out."
            })
    private List<String> inputs = List.of();

    @Option(
            names = "--output",
            paramLabel = "FOLDER",
            defaultValue = "judged",
            description = "Where the Parquet files go; must not be there yet (default: ${DEFAULT-VALUE}).")
    private String output;

    @Option(
            names = "--batch",
            paramLabel = "N",
            defaultValue = "64",
            description = "The number of sentences that go through the model together (default: ${DEFAULT-VALUE}).")
    private int batchSize;

    @Option(
            names = "--partitions",
            paramLabel = "N",
            description = "Into how many parts the corpus is split, at least (default: four for each core).")
    private Integer partitions;

    /** The corpus does not say by itself how many parts are good. */
    private static final int PARTITIONS_PER_CORE = 4;

    /** For picocli, which fills in the options. */
    private JudgeCorpus() {}

    /**
     * Runs the job.
     *
     * @param args its options; {@code --help} lists them
     */
    public static void main(String[] args) {
        int status = commandLine().execute(args);
        // not after success: in YARN's cluster mode, a driver that exits by itself has failed, whatever its status
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
        return UserError.inOneLine(new CommandLine(new JudgeCorpus()));
    }

    @Override
    public Integer call() throws IOException {
        OptionChecks.requireAtLeast(spec, "--batch", batchSize, 1);
        if (partitions != null) {
            OptionChecks.requireAtLeast(spec, "--partitions", partitions, 1);
        }
        try (SparkSession session =
                SparkSession.builder().config(configuration()).getOrCreate()) {
            judge(session);
        }
        return 0;
    }

    private static SparkConf configuration() {
        SparkConf conf = new SparkConf().setIfMissing("spark.app.name", "judge-corpus");
        if (!conf.contains("spark.master")) {
            // all in this JVM, and nothing for others to connect to
            conf.setMaster("local[*]")
                    .setIfMissing("spark.driver.host", "127.0.0.1")
                    .setIfMissing("spark.driver.bindAddress", "127.0.0.1")
                    .setIfMissing("spark.ui.enabled", "false");
        }
        return conf;
    }

    private void judge(SparkSession session) throws IOException {
        SparkContext spark = session.sparkContext();
        NewOutput target = NewOutput.at(output, spark.hadoopConfiguration());
        inputs.forEach(input -> requireThere(input, spark.hadoopConfiguration()));
        ModelArchive.send(model, spark);
        LongAccumulator loads = spark.longAccumulator("model loads");
        LongAccumulator loadMillis = spark.longAccumulator("model load time in ms");
        long start = System.nanoTime();
        try {
            JavaRDD<NumberedSentence> sentences = sentences(JavaSparkContext.fromSparkContext(spark));
            session.createDataFrame(
                            sentences.mapPartitions(
                                    new JudgePartition(batchSize, ModelArchive.NAME, loads, loadMillis)),
                            JudgedRows.SCHEMA)
                    .write()
                    .parquet(target.begun());
        } catch (Exception e) {
            RuntimeException told = told(e);
            target.discard(told);
            throw told;
        }
        target.publish();
        Duration time = Duration.ofNanos(System.nanoTime() - start);
        long written = session.read().parquet(output).count();
        print(written, time, loads.value(), loadMillis.value());
    }

    private JavaRDD<NumberedSentence> sentences(JavaSparkContext spark) throws IOException {
        int parts = partitions == null ? PARTITIONS_PER_CORE * spark.defaultParallelism() : partitions;
        JavaRDD<String> lines = inputs.isEmpty()
                ? spark.parallelize(
                        Glosses.read(Integer.MAX_VALUE).stream()
                                .map(words -> String.join(" ", words))
                                .toList(),
                        parts)
                : lines(spark, parts);
        // numbered before anything is left out: the number is the line's, whatever the parts are
        return lines.zipWithIndex()
                .map(line -> new NumberedSentence(line._2(), line._1()))
                .filter(line -> !Words.of(line.sentence()).isEmpty());
    }

    /** The lines of all files. Not with {@code textFile}, which would split a path at its commas. */
    private JavaRDD<String> lines(JavaSparkContext spark, int parts) {
        JobConf files = new JobConf(spark.hadoopConfiguration());
        FileInputFormat.setInputPaths(
                files, inputs.stream().map(org.apache.hadoop.fs.Path::new).toArray(org.apache.hadoop.fs.Path[]::new));
        return spark.hadoopRDD(files, TextInputFormat.class, LongWritable.class, Text.class, parts)
                // copied: Hadoop reads every line into the same object
                .map(line -> line._2().toString());
    }

    private static void requireThere(String input, Configuration hadoop) {
        org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(input);
        try {
            FileStatus[] found = path.getFileSystem(hadoop).globStatus(path);
            if (found == null || found.length == 0) {
                throw new UserError("input '" + input
                        + "' is not there: name a text file, or a folder of such, one sentence a line, with --input");
            }
        } catch (IOException e) {
            throw new UserError("input '" + input + "' cannot be read (" + e + "): name another with --input", e);
        }
    }

    /** What an executor told of the model, without what Spark has wrapped around it; anything else as it is. */
    private RuntimeException told(Exception e) {
        for (Throwable each = e; each != null; each = each.getCause()) {
            if (each instanceof UserError) {
                return new UserError("the executors cannot use the model '" + model + "': " + each.getMessage(), e);
            }
        }
        return e instanceof RuntimeException unexpected ? unexpected : new IllegalStateException("the job failed", e);
    }

    private void print(long written, Duration time, long loads, long loadMillis) {
        PrintWriter out = spec.commandLine().getOut();
        double seconds = time.toMillis() / 1000.0;
        out.printf(
                Locale.ROOT,
                "%,d sentences judged in %.1f s, %,.0f a second; model loaded %s, in %.1f s on average"
                        + " (as told by tasks that finished)%nSaved to %s%n",
                written,
                seconds,
                written / seconds,
                loads == 1 ? "once" : loads + " times",
                loadMillis / 1000.0 / Math.max(1, loads),
                output);
        out.flush();
    }
}
