package io.github.djlpositional.examples.sentences;

import ai.djl.engine.Engine;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.examples.EngineCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
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

    @Override
    protected void checkOptions() {
        Check.positive("--threads", threads);
        Check.positive("--definitions", count);
        Check.positive("--rounds", rounds);
        sizes.forEach(size -> Check.positive("--batch", size));
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
            out.printf("%16s%22s%22s%n", "tokens in a batch", onnxName, djlName);
            double bestDjl = Double.MAX_VALUE;
            double bestOnnx = Double.MAX_VALUE;
            for (int size : sizes) {
                List<TokenBatch> batches = encoder.batches(texts, size);
                List<Double> djl = new ArrayList<>();
                List<Double> onnx = new ArrayList<>();
                for (int round = 0; round <= rounds; round++) {
                    djl.add(seconds(batches, encoder::encode));
                    onnx.add(
                            seconds(batches, batch -> onnxRuntime.forward(batch).close()));
                }
                bestDjl = Math.min(bestDjl, median(djl));
                bestOnnx = Math.min(bestOnnx, median(onnx));
                out.printf(
                        Locale.ROOT,
                        "%,16d%22.1f%22.1f%n",
                        size,
                        texts.size() / median(onnx),
                        texts.size() / median(djl));
            }
            out.printf(
                    Locale.ROOT,
                    "%n%s takes %.3f of the time of %s, each with its best size.%n",
                    djlName,
                    bestDjl / bestOnnx,
                    onnxName);
        }
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
