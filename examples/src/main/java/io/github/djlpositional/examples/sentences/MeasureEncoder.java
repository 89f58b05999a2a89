package io.github.djlpositional.examples.sentences;

import ai.djl.engine.Engine;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EngineCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures how many sentences the encoder embeds in a second, beside ONNX Runtime with the same batches. */
@Command(
        name = "sentence-speed",
        description = "Embed definitions from WordNet with the published sentence encoder, in turns with DJL and with"
                + " ONNX Runtime, and print the sentences per second. Both get the same batches, of similar lengths."
                + " DJL's time includes the mean over the tokens and the normalization, that of ONNX Runtime does not."
                + " With MXNet, set the number of threads with OMP_NUM_THREADS.")
public final class MeasureEncoder extends EngineCommand {

    private static final Pattern SHAPE = Pattern.compile("[1-9]\\d{0,2}x([1-9]\\d?|[1-4]\\d\\d|50\\d|51[0-2])");

    /** The number of batches of one shape in each round. */
    private static final int BATCHES_OF_SHAPE = 20;

    @Option(names = "--threads", description = "The number of threads.")
    private int threads = 2;

    @Option(names = "--definitions", description = "The number of definitions in each round.")
    private int count = 1000;

    @Option(names = "--rounds", description = "The number of rounds after the first, which is not measured.")
    private int rounds = 3;

    @Option(
            names = "--batch",
            split = ",",
            description = "One or more maximum numbers of tokens in a batch, separated by commas.")
    private List<Integer> sizes = List.of(1024, SentenceEncoder.TOKENS_PER_BATCH);

    @Option(
            names = "--shapes",
            split = ",",
            description = "Batches without padding to measure too, as sentences x tokens.")
    private List<String> shapes = List.of("5x128", "32x64");

    @Override
    protected void checkOptions() {
        Check.positive("--threads", threads);
        Check.positive("--definitions", count);
        Check.positive("--rounds", rounds);
        sizes.forEach(size -> Check.positive("--batch", size));
        shapes.forEach(shape -> Check.that(
                SHAPE.matcher(shape).matches(),
                () -> "--shapes " + shape
                        + ": expected up to 999 sentences of up to 512 tokens, such as 5x128; correct it"));
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        System.setProperty("ai.djl.pytorch.num_threads", Integer.toString(threads));
        Engine engine = startEngine();
        List<String> texts =
                Definition.read(count).stream().map(Definition::text).toList();
        try (SentenceEncoder encoder = SentenceEncoder.load(engine, deviceOf(engine));
                OnnxRuntime onnxRuntime = new OnnxRuntime(threads)) {
            out.printf(
                    Locale.ROOT,
                    "%,d definitions, threads: %d, the medians of %d rounds; sentences per second%n%n",
                    texts.size(),
                    threads,
                    rounds);
            String djlName = engine.getEngineName() + " " + engine.getVersion();
            String onnxName = "ONNX Runtime " + onnxRuntime.version();
            out.printf("%20s%22s%22s%10s%n", "batches", onnxName, djlName, "time");
            Map<String, List<TokenBatch>> measured = new LinkedHashMap<>();
            for (int size : sizes) {
                measured.put(String.format(Locale.ROOT, "up to %,d tokens", size), encoder.batches(texts, size));
            }
            shapes.forEach(shape -> measured.put(shape, Collections.nCopies(BATCHES_OF_SHAPE, batch(shape))));
            measured.forEach((name, batches) -> {
                double sentences = batches.stream().mapToInt(TokenBatch::size).sum();
                List<Double> djl = new ArrayList<>();
                List<Double> onnx = new ArrayList<>();
                for (int round = 0; round <= rounds; round++) {
                    djl.add(seconds(batches, encoder::encode));
                    onnx.add(
                            seconds(batches, batch -> onnxRuntime.forward(batch).close()));
                }
                double djlSpeed = sentences / median(djl);
                double onnxSpeed = sentences / median(onnx);
                out.printf(Locale.ROOT, "%20s%22.1f%22.1f%10.3f%n", name, onnxSpeed, djlSpeed, onnxSpeed / djlSpeed);
            });
            out.printf("%nThe time is that of %s, relative to %s.%n", djlName, onnxName);
        }
    }

    /** A batch of a shape such as 5x128, with any ids. */
    private static TokenBatch batch(String shape) {
        String[] sizes = shape.split("x", -1);
        long[] ids = LongStream.range(1000, 1000 + Long.parseLong(sizes[1])).toArray();
        int count = Integer.parseInt(sizes[0]);
        return new TokenBatch(IntStream.range(0, count).boxed().toList(), Collections.nCopies(count, ids));
    }

    private static double seconds(List<TokenBatch> batches, Consumer<TokenBatch> embedding) {
        long start = System.nanoTime();
        for (TokenBatch batch : batches) {
            embedding.accept(batch);
        }
        return (System.nanoTime() - start) / 1e9;
    }

    /** Returns the median of all numbers but the first. */
    private static double median(List<Double> numbers) {
        List<Double> sorted =
                numbers.subList(1, numbers.size()).stream().sorted().toList();
        return sorted.get(Math.floorDiv(sorted.size(), 2));
    }
}
