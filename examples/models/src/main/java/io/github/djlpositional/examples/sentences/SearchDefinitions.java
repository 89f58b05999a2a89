package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EngineCommand;
import io.github.djlpositional.examples.Progress;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Finds the definitions in WordNet whose meanings are nearest to a text. */
@Command(
        name = "search",
        description = "Find the definitions in WordNet that are nearest in meaning to a text, with the published"
                + " sentence encoder all-MiniLM-L6-v2. The first run embeds all definitions, in some minutes, and saves"
                + " them; later runs take a few seconds.")
public final class SearchDefinitions extends EngineCommand {

    private static final int WIDTH = 90;

    @Option(names = "--index", description = "The folder for the embedded definitions.")
    private Path folder = Path.of("definitions");

    @Option(
            names = "--definitions",
            paramLabel = "COUNT",
            description = "Embed only this number of definitions, spread over all.")
    private int definitions = Definition.COUNT;

    @Option(names = "--count", description = "The number of definitions to find.")
    private int count = 10;

    @Parameters(paramLabel = "TEXT", arity = "1..*", description = "One or more texts, each in quotes.")
    private List<String> texts;

    @Override
    protected void checkOptions() {
        Check.positive("--count", count);
        Check.between("--definitions", definitions, 1, Definition.COUNT);
        Check.that(
                texts.stream().noneMatch(String::isBlank),
                () -> "an empty text was given: expected one or more words; give a text in quotes");
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        VectorFile file = new VectorFile(
                folder.resolve("vectors.safetensors"),
                SentenceEncoder.checksum() + "-" + Definition.checksum() + definitions);
        AtomicFile.prepare(file.path());
        List<Definition> all = Definition.read(definitions);
        try (NDManager manager = engine.newBaseManager(device)) {
            NDArray vectors = file.read(manager);
            try (SentenceEncoder encoder = SentenceEncoder.load(engine, device)) {
                if (vectors == null) {
                    long start = System.nanoTime();
                    vectors = embed(encoder, all, manager);
                    file.write(vectors);
                    double seconds = (System.nanoTime() - start) / 1e9;
                    out.printf(
                            Locale.ROOT,
                            "%,d definitions embedded in %.0f s, saved to '%s'%n",
                            definitions,
                            seconds,
                            folder);
                }
                for (String text : texts) {
                    NDArray query = manager.create(encoder.encode(List.of(text))[0]);
                    out.printf("%n%s%n%n%10s  %-9s  %-24s %s%n", text, "similarity", "", "word", "definition");
                    // both have the length 1, so the products are cosines
                    print(out, all, vectors.matMul(query).toFloatArray());
                }
            }
        }
    }

    private static NDArray embed(SentenceEncoder encoder, List<Definition> definitions, NDManager manager) {
        List<String> texts = definitions.stream().map(Definition::text).toList();
        List<TokenBatch> batches = encoder.batches(texts, SentenceEncoder.TOKENS_PER_BATCH);
        Progress progress = new Progress(
                "Embedding", batches.stream().mapToLong(TokenBatch::tokens).sum());
        float[][] vectors = new float[texts.size()][];
        for (TokenBatch batch : batches) {
            encoder.encode(batch, vectors);
            progress.add(batch.tokens());
        }
        return manager.create(vectors);
    }

    /** Prints the definitions with the largest similarities. */
    private void print(PrintWriter out, List<Definition> all, float... similarities) {
        IntStream.range(0, similarities.length)
                .boxed()
                .sorted(Comparator.comparingDouble(i -> -similarities[i]))
                .limit(count)
                .forEach(i -> {
                    Definition found = all.get(i);
                    String text = found.text();
                    out.printf(
                            Locale.ROOT,
                            "%10.3f  %-9s  %-24s %s%n",
                            similarities[i],
                            found.partOfSpeech(),
                            found.word(),
                            text.length() <= WIDTH ? text : text.substring(0, WIDTH - 1) + "…");
                });
    }
}
