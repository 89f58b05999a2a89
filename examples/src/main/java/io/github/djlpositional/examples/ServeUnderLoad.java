package io.github.djlpositional.examples;

import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/**
 * Serves many clients at once with one model, and measures it: how many answers a second, how long each took, whether
 * every one is right, and whether memory grows.
 */
@Command(
        name = "serve",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Serve a saved model to many clients at once, and measure throughput, latency and memory;",
            "every answer, probability and embedding, is compared with that of one thread and one sentence",
            "at a time. Each client waits for its answer before it asks again (a closed loop): the latencies",
            "are those at full load, and while the server stands still nobody new comes to wait."
        })
final class ServeUnderLoad implements Callable<Integer> {

    /** Enough for every length to come in every company. */
    private static final int SENTENCES = 2000;

    private static final Duration SAMPLE_EVERY = Duration.ofSeconds(1);
    private static final Duration REPORT_EVERY = Duration.ofSeconds(5);
    private static final double NANOS_PER_SECOND = 1e9;

    @Spec
    private CommandSpec spec;

    @Mixin
    private EngineOptions engineOptions;

    @Option(
            names = "--model",
            paramLabel = "FOLDER",
            defaultValue = "model",
            description = "Where the model was saved (default: ${DEFAULT-VALUE}).")
    private Path folder;

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = "How many threads predict (default: one for each core).")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(
            names = "--clients",
            paramLabel = "N",
            defaultValue = "64",
            description = "How many clients ask, each one sentence after the other (default: ${DEFAULT-VALUE}).")
    private int clients;

    @Option(
            names = "--batch",
            paramLabel = "N",
            defaultValue = "32",
            description = "The greatest number of sentences that are predicted together (default: ${DEFAULT-VALUE}).")
    private int largestBatch;

    @Option(
            names = "--duration",
            paramLabel = "TIME",
            defaultValue = "2m",
            converter = TimeConverter.class,
            description = "For how long, such as 30s or 2m (default: ${DEFAULT-VALUE}).")
    private Duration duration;

    @Option(
            names = "--tolerance",
            paramLabel = "P",
            description = {
                "How far a probability may be from that of one thread and one sentence at a time",
                "(default: what rounding can do in a model of these sizes). Embeddings may be twice as far."
            })
    private Double tolerance;

    @Option(
            names = "--max-growth",
            paramLabel = "MB",
            description = {
                "End with an error if resident memory grows by more MB per minute over the second half",
                "(default: no limit; a run needs minutes and a heap of fixed size for it to mean much)."
            })
    private Double maxGrowth;

    /** Reads 30s, 2m and 1h30m. */
    static final class TimeConverter implements ITypeConverter<Duration> {
        @Override
        public Duration convert(String value) {
            try {
                Duration time = Duration.parse("PT" + value);
                if (!time.isNegative() && !time.isZero()) {
                    return time;
                }
                throw new TypeConversionException(refusal(value));
            } catch (DateTimeParseException e) {
                throw (TypeConversionException) new TypeConversionException(refusal(value)).initCause(e);
            }
        }

        private static String refusal(String value) {
            return "'" + value
                    + "' is no time above zero: allowed are hours, minutes and seconds; write it as 30s or 2m";
        }
    }

    @Override
    public Integer call() throws IOException, TranslateException, InterruptedException {
        OptionChecks.requireAtLeast(spec, "--threads", threads, 1);
        OptionChecks.requireAtLeast(spec, "--clients", clients, 1);
        OptionChecks.requireAtLeast(spec, "--batch", largestBatch, 1);
        EncoderLoader.useOneThreadForEachForward();
        Engine engine = engineOptions.startEngine();
        PrintWriter out = spec.commandLine().getOut();
        try (ZooModel<String, Judgement> model =
                EncoderLoader.load(folder, engine, engineOptions.deviceOf(engine), Judgement.class)) {
            EncoderSpec sizes = ((TransformerEncoder) model.getBlock()).spec();
            JudgementDifference allowed =
                    tolerance == null ? JudgementDifference.ofRounding(sizes) : JudgementDifference.upTo(tolerance);
            List<LoadClients.Known> known = answeredOneByOne(model, sizes.maxWords());
            out.printf(
                    Locale.ROOT,
                    "%d threads with a predictor each, %d clients in a closed loop, batches of up to %d; %s %s%n"
                            + "%.2f %% of all pairs of sentences have answers that cannot stand for one another%n%n",
                    threads,
                    clients,
                    largestBatch,
                    engine.getEngineName(),
                    engine.getVersion(),
                    100 * toldApart(known, allowed));
            return serve(model, known, allowed, out);
        }
    }

    /** The share of pairs of sentences of which one got the other's answer would be found out. */
    private static double toldApart(List<LoadClients.Known> known, JudgementDifference allowed) {
        long apart = 0;
        for (int i = 0; i < known.size(); i++) {
            Judgement one = known.get(i).judgement();
            apart += known.subList(0, i).stream()
                    .filter(other ->
                            !JudgementDifference.between(one, other.judgement()).isWithin(allowed))
                    .count();
        }
        return apart / (known.size() * (known.size() - 1) / 2.0);
    }

    /** What must be answered: what one thread answers to one sentence at a time. */
    private static List<LoadClients.Known> answeredOneByOne(ZooModel<String, Judgement> model, int maxWords)
            throws IOException, TranslateException {
        List<LoadClients.Known> known = new ArrayList<>();
        try (Predictor<String, Judgement> predictor = model.newPredictor()) {
            for (String sentence : MixedSentences.of(SENTENCES, maxWords, 1)) {
                known.add(new LoadClients.Known(sentence, predictor.predict(sentence)));
            }
        }
        return known;
    }

    private int serve(
            ZooModel<String, Judgement> model,
            List<LoadClients.Known> known,
            JudgementDifference allowed,
            PrintWriter out)
            throws IOException, InterruptedException {
        LoadReport report = new LoadReport(out);
        ResidentMemory memory = new ResidentMemory();
        LoadClients asking;
        try (DynamicBatcher<String, Judgement> batcher = new DynamicBatcher<>(model, threads, largestBatch);
                LoadClients started = new LoadClients(clients, known, allowed, batcher::ask)) {
            asking = started;
            long start = System.nanoTime();
            long elapsed = 0;
            long reported = 0;
            while (elapsed < duration.toNanos()) {
                long left = Duration.ofNanos(duration.toNanos() - elapsed).toMillis();
                Thread.sleep(Math.min(SAMPLE_EVERY.toMillis(), 1 + left));
                elapsed = System.nanoTime() - start;
                memory.sample(elapsed);
                if (elapsed - reported >= REPORT_EVERY.toNanos() || elapsed >= duration.toNanos()) {
                    report.addInterval(
                            Duration.ofNanos(elapsed),
                            (elapsed - reported) / NANOS_PER_SECOND,
                            started.newLatencies(),
                            batcher.count(),
                            memory);
                    reported = elapsed;
                }
            }
            report.printAll(elapsed / NANOS_PER_SECOND, memory);
        }
        out.printf(
                Locale.ROOT,
                "%nWrong answers: %d; the greatest differences are %s, allowed are %s.%n",
                asking.wrong(),
                asking.greatestDifference(),
                allowed);
        out.printf("Resident memory over the second half: %s.%n", memory.growth());
        out.flush();
        if (asking.wrong() > 0) {
            return fails(asking.wrong() + " answers are not those of one thread, the first to " + asking.firstWrong());
        }
        // not "growth > maxGrowth": what is unknown is not known to be less
        if (maxGrowth != null && !(memory.growthPerMinute() <= maxGrowth)) {
            return fails("resident memory over the second half: " + memory.growth() + "; allowed are " + maxGrowth
                    + " MB per minute: close what is left open, or allow more with --max-growth");
        }
        return CommandLine.ExitCode.OK;
    }

    private int fails(String why) {
        spec.commandLine().getErr().println("error: " + why);
        return CommandLine.ExitCode.SOFTWARE;
    }
}
