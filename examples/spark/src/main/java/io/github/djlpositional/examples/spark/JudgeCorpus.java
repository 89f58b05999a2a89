package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Glosses;
import io.github.djlpositional.examples.Program;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.apache.hadoop.mapred.InvalidInputException;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkThrowable;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
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
            paramLabel = "PATH[,PATH]",
            description =
                    "Text files or folders of them, with commas in between, one sentence per line. By default the "
                            + "definitions of WordNet. Lines without words are ignored.")
    private String input;

    @Option(names = "--output", description = "The folder for the Parquet files; must not exist.")
    private String output = "judged";

    @Option(names = "--batch", description = "The maximum number of sentences in a batch.")
    private int batchSize = 64;

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

    /** Returns the program, which {@code execute} runs without ending the JVM. */
    static CommandLine commandLine() {
        return Program.commandLine(new JudgeCorpus());
    }

    @Override
    public Integer call() throws Exception {
        Program.checkOptions(spec, () -> Check.positive("--batch", batchSize));
        // not a saved encoder: an error before Spark starts
        EncoderFile.check(model);
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
        } catch (Exception e) {
            throw explained(e);
        }
        return 0;
    }

    private void judge(SparkSession session) throws IOException {
        JavaSparkContext spark = JavaSparkContext.fromSparkContext(session.sparkContext());
        // Spark copies the file to each executor
        spark.addFile(model.toUri().toString());
        long start = System.nanoTime();
        session.createDataFrame(
                        sentences(spark)
                                .mapPartitions(new JudgePartition(
                                        batchSize, model.getFileName().toString())),
                        JudgePartition.SCHEMA)
                .write()
                .mode(SaveMode.ErrorIfExists)
                .parquet(output);
        double seconds = (System.nanoTime() - start) / 1e9;
        long written = session.read().parquet(output).count();
        PrintWriter out = spec.commandLine().getOut();
        out.printf(
                Locale.ROOT,
                "%,d sentences judged in %.1f s, %,.0f a second%nSaved to %s%n",
                written,
                seconds,
                written / seconds,
                output);
        out.flush();
    }

    /** Returns the lines that have words, with their numbers. */
    private JavaPairRDD<String, Long> sentences(JavaSparkContext spark) throws IOException {
        int partitions = PARTITIONS_PER_CORE * spark.defaultParallelism();
        JavaRDD<String> lines = input == null
                ? spark.parallelize(
                        Glosses.read(Integer.MAX_VALUE).stream()
                                .map(words -> String.join(" ", words))
                                .toList(),
                        partitions)
                : spark.textFile(input, partitions);
        // numbered before lines are ignored, so that the number is independent of the partitions
        return lines.zipWithIndex().filter(line -> !Glosses.words(line._1()).isEmpty());
    }

    /**
     * Returns what the user can correct as one line, from whatever Spark has wrapped around it, or the failure itself.
     */
    private Exception explained(Exception failure) {
        if (failure instanceof SparkThrowable thrown && "PATH_ALREADY_EXISTS".equals(thrown.getCondition())) {
            return new UserError(
                    "output '" + output + "' already exists: expected a new folder; remove it, or name another with"
                            + " --output",
                    failure);
        }
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof UserError) {
                return new UserError(
                        "the executors cannot use the model '" + model + "': " + each.getMessage(), failure);
            }
            if (each instanceof InvalidInputException) {
                return new UserError(
                        "input '" + input + "' does not exist: expected text files, or folders of them, with commas in"
                                + " between; name them with --input",
                        failure);
            }
        }
        return failure;
    }
}
