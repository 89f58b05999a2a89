package io.github.djlpositional.examples.spark;

import ai.djl.MalformedModelException;
import io.github.djlpositional.examples.encoder.EncoderExample;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Judges every sentence of a corpus with the encoder that {@link EncoderExample} has saved, on one machine or on a
 * cluster, and writes Parquet with the columns {@code id}, {@code sentence} and {@code score}, the probability that the
 * words are in order.
 *
 * <p>Without {@code spark-submit}, which sets a master, Spark runs within this JVM, on all cores.
 */
@Command(
        name = "judge-corpus",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        showDefaultValues = true,
        description = "Judge with a saved model whether the words of each sentence of a corpus are in order, "
                + "and write sentence and score as Parquet.")
public final class JudgeCorpus implements Callable<Integer> {

    private static final int PARTITIONS_PER_CORE = 4;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--model",
            description =
                    "The folder of the saved model on the machine of the driver. That is the machine that submits the "
                            + "job, except with --deploy-mode cluster.")
    private Path model = Path.of("word-order");

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
        return new CommandLine(new JudgeCorpus());
    }

    @Override
    public Integer call() throws Exception {
        // errors before Spark starts
        if (batchSize < 1) {
            throw new ParameterException(
                    spec.commandLine(), "--batch " + batchSize + ": expected 1 or more; set another --batch");
        }
        for (String file : JudgePartition.FILES) {
            if (!Files.exists(model.resolve(file))) {
                return failed("model '" + model + "' has no file " + file
                        + ": expected a folder that the encoder example has saved; run it, or name another with"
                        + " --model");
            }
        }
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
            String reason = reason(e);
            if (reason == null) {
                throw e;
            }
            return failed(reason);
        }
        return 0;
    }

    private int failed(String reason) {
        spec.commandLine().getErr().println("error: " + reason);
        return CommandLine.ExitCode.SOFTWARE;
    }

    private void judge(SparkSession session) throws IOException {
        JavaSparkContext spark = JavaSparkContext.fromSparkContext(session.sparkContext());
        // Spark copies them to each executor
        for (String file : JudgePartition.FILES) {
            spark.addFile(model.resolve(file).toUri().toString());
        }
        long start = System.nanoTime();
        session.createDataFrame(sentences(spark).mapPartitions(new JudgePartition(batchSize)), JudgePartition.SCHEMA)
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
        JavaRDD<String> lines =
                input == null ? spark.parallelize(definitions(), partitions) : spark.textFile(input, partitions);
        // numbered before lines are ignored, so that the number is independent of the partitions
        return lines.zipWithIndex()
                .filter(line -> !EncoderExample.words(line._1()).isEmpty());
    }

    /** Returns the definitions of WordNet, which are after the bar in a line of its data files. */
    static List<String> definitions() throws IOException {
        List<String> definitions = new ArrayList<>();
        for (String partOfSpeech : List.of("noun", "verb", "adj", "adv")) {
            try (InputStream in =
                    JudgeCorpus.class.getResourceAsStream("/net/sf/extjwnl/data/wordnet/wn31/data." + partOfSpeech)) {
                new String(in.readAllBytes(), StandardCharsets.UTF_8)
                        .lines()
                        // the license at the top of the file is indented
                        .filter(line -> !line.startsWith(" "))
                        .map(line -> line.substring(line.indexOf("| ") + 2)
                                .split(";", 2)[0]
                                .strip())
                        .forEach(definitions::add);
            }
        }
        return definitions;
    }

    /** Returns what the user can correct, from whatever Spark has wrapped around it, or null. */
    private String reason(Exception failure) {
        if (failure instanceof SparkThrowable thrown && "PATH_ALREADY_EXISTS".equals(thrown.getCondition())) {
            return "output '" + output + "' already exists: expected a new folder; remove it, or name another with"
                    + " --output";
        }
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof MalformedModelException) {
                return "the executors cannot read the model '" + model + "' (" + each.getMessage()
                        + "): train it again, or name another with --model";
            }
            if (each instanceof InvalidInputException) {
                return "input '" + input + "' does not exist: expected text files, or folders of them, with commas in"
                        + " between; name them with --input";
            }
        }
        return null;
    }
}
