package io.github.djlpositional.examples;

import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Serves many clients at once with one model, and measures the throughput, the latencies, the correctness of every
 * answer, and the growth of memory.
 */
@Command(
        name = "serve",
        description = "Serve a saved model to many clients at once, and measure throughput, latency and memory. "
                + "Every answer, probability and embedding, is compared with the answer of one thread to one "
                + "sentence at a time. Each client waits for its answer before it asks again (a closed loop), so "
                + "the latencies are those at full load, and no new requests arrive during a pause of the server.")
final class ServeUnderLoad extends EngineCommand {

    /** Enough for sentences of every length to be batched with every other length. */
    private static final long SAMPLE_MILLIS = 1000;

    private static final Duration REPORT_EVERY = Duration.ofSeconds(5);

    @Option(names = "--model", description = "The file of the saved model.")
    private Path file = Path.of("model.zip");

    @Option(names = "--threads", description = "The number of predicting threads; by default one for each core.")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(names = "--clients", description = "The number of clients.")
    private int clients = 64;

    @Option(names = "--sentences", description = "The number of different sentences that the clients send.")
    private int sentences = 2000;

    @Option(names = "--batch", description = "The maximum number of sentences in a batch.")
    private int largestBatch = 32;

    @Option(
            names = "--duration",
            paramLabel = "TIME",
            defaultValue = "2m",
            description = "The duration of the run, for example 30s or 2m.")
    private Duration duration;

    @Option(
            names = "--tolerance",
            description =
                    "The greatest difference expected between a probability and that of one thread and one sentence at "
                            + "a time; twice as much for embeddings. By default, what rounding can cause in a model of this size.")
    private Double tolerance;

    @Option(
            names = "--max-growth",
            description =
                    "End with an error if resident memory grows by more MB per minute over the second half. By default "
                            + "there is no limit. The result is meaningful after some minutes with a heap of fixed size.")
    private Double maxGrowth;

    @Override
    protected void checkOptions() {
        Check.positive("--threads", threads);
        Check.positive("--clients", clients);
        Check.positive("--batch", largestBatch);
        Check.between("--sentences", sentences, 2, Integer.MAX_VALUE);
        Check.that(
                duration.compareTo(Duration.ZERO) > 0,
                () -> "--duration " + duration + ": expected more than zero; use for example 30s or 2m");
    }

    @Override
    protected void run(PrintWriter out) throws IOException, TranslateException, InterruptedException {
        EncoderFile.useOneThreadPerForward();
        Engine engine = startEngine();
        try (ZooModel<String, Judgement> model = EncoderFile.load(file, engine, deviceOf(engine), Judgement.class)) {
            EncoderSpec sizes = ((TransformerEncoder) model.getBlock()).spec();
            Judgement.Difference limit =
                    tolerance == null ? Judgement.Difference.ofRounding(sizes) : Judgement.Difference.upTo(tolerance);
            List<LoadClients.Known> known = answeredOneByOne(model, sizes.maxWords());
            out.printf(
                    Locale.ROOT,
                    "%d threads with a predictor each, %d clients in a closed loop, batches of up to %d; %s %s%n"
                            + "%.2f %% of all pairs of sentences have answers that differ by more than the tolerance%n%n",
                    threads,
                    clients,
                    largestBatch,
                    engine.getEngineName(),
                    engine.getVersion(),
                    100 * distinguishable(known, limit));
            serve(model, known, limit, out);
        }
    }

    /** Returns the fraction of pairs of sentences for which swapped answers would be detected. */
    private static double distinguishable(List<LoadClients.Known> known, Judgement.Difference limit) {
        long distinguishable = 0;
        for (int i = 0; i < known.size(); i++) {
            Judgement one = known.get(i).judgement();
            distinguishable += known.subList(0, i).stream()
                    .filter(other -> !one.differenceTo(other.judgement()).isWithin(limit))
                    .count();
        }
        return distinguishable / (known.size() * (known.size() - 1) / 2.0);
    }

    /** Returns sentences with the answers of one thread to one sentence at a time. */
    private List<LoadClients.Known> answeredOneByOne(ZooModel<String, Judgement> model, int maxWords)
            throws IOException, TranslateException {
        List<LoadClients.Known> known = new ArrayList<>();
        try (Predictor<String, Judgement> predictor = model.newPredictor()) {
            for (String sentence : Glosses.mixed(sentences, maxWords, 1)) {
                known.add(new LoadClients.Known(sentence, predictor.predict(sentence)));
            }
        }
        return known;
    }

    private void serve(
            ZooModel<String, Judgement> model,
            List<LoadClients.Known> known,
            Judgement.Difference limit,
            PrintWriter out)
            throws IOException, InterruptedException {
        LoadReport report = new LoadReport(out);
        ResidentMemory memory = new ResidentMemory();
        LoadClients running;
        try (DynamicBatcher<String, Judgement> batcher =
                        new DynamicBatcher<>(model, threads, largestBatch, Thread::new);
                LoadClients started = new LoadClients(clients, known, limit, batcher::ask, Thread::new)) {
            running = started;
            long start = System.nanoTime();
            long elapsed = 0;
            long reported = 0;
            while (elapsed < duration.toNanos()) {
                long left = Duration.ofNanos(duration.toNanos() - elapsed).toMillis();
                Thread.sleep(Math.min(SAMPLE_MILLIS, 1 + left));
                elapsed = System.nanoTime() - start;
                memory.sample(elapsed);
                if (elapsed - reported >= REPORT_EVERY.toNanos() || elapsed >= duration.toNanos()) {
                    report.addInterval(
                            Duration.ofNanos(elapsed),
                            (elapsed - reported) / 1e9,
                            started.newLatencies(),
                            batcher.newBatchSizes(),
                            memory);
                    reported = elapsed;
                }
            }
            report.printAll(elapsed / 1e9, memory);
        }
        out.printf(
                Locale.ROOT,
                "%nWrong answers: %d; the greatest differences are %s, expected at most %s.%n",
                running.wrong(),
                running.greatestDifference(),
                limit);
        out.printf("Resident memory over the second half: %s.%n", memory.growth());
        if (running.wrong() > 0) {
            throw new UserError(running.wrong() + " answers differ from those of one thread, the first for "
                    + running.firstWrong());
        }
        // unknown growth (NaN) is an error too
        if (maxGrowth != null && !(memory.growthPerMinute() <= maxGrowth)) {
            throw new UserError("resident memory over the second half: " + memory.growth() + "; expected at most "
                    + maxGrowth + " MB per minute: find the objects that are not closed, or set a higher --max-growth");
        }
    }
}
