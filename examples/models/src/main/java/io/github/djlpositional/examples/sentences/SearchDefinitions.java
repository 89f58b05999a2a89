package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EngineCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
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
            description = "Embed only this number of definitions, spread over all. By default, all.")
    private Integer limit;

    @Option(names = "--count", description = "The number of definitions to find.")
    private int count = 10;

    @Parameters(paramLabel = "TEXT", arity = "1..*", description = "One or more texts, each in quotes.")
    private List<String> texts;

    @Override
    protected void checkOptions() {
        Check.positive("--count", count);
        if (limit != null) {
            Check.positive("--definitions", limit);
        }
        Check.that(
                texts.stream().noneMatch(String::isBlank),
                () -> "an empty text was given: expected one or more words; give a text in quotes");
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        Path file = folder.resolve("vectors.safetensors");
        AtomicFile.prepare(file);
        List<Definition> definitions = Definition.read(limit);
        DefinitionIndex index = new DefinitionIndex(
                file, definitions, SentenceEncoder.checksum() + "-" + Definition.checksum() + definitions.size());
        boolean isCurrent = index.isCurrent();
        try (SentenceEncoder encoder = SentenceEncoder.load(engine, device);
                NDManager manager = engine.newBaseManager(device)) {
            if (!isCurrent) {
                long start = System.nanoTime();
                index.write(encoder, manager);
                out.printf(
                        Locale.ROOT,
                        "%,d definitions embedded in %.0f s, saved to '%s'%n",
                        definitions.size(),
                        (System.nanoTime() - start) / 1e9,
                        folder);
            }
            List<List<DefinitionIndex.Hit>> found = index.nearest(encoder.encode(texts), count, manager);
            for (int i = 0; i < found.size(); i++) {
                print(out, texts.get(i), found.get(i));
            }
        }
    }

    private static void print(PrintWriter out, String text, List<DefinitionIndex.Hit> hits) {
        out.printf("%n%s%n%n%10s  %-9s  %-24s %s%n", text, "similarity", "", "word", "definition");
        for (DefinitionIndex.Hit hit : hits) {
            Definition found = hit.definition();
            out.printf(
                    Locale.ROOT,
                    "%10.3f  %-9s  %-24s %s%n",
                    hit.similarity(),
                    found.partOfSpeech(),
                    found.word(),
                    found.text().length() <= WIDTH ? found.text() : found.text().substring(0, WIDTH - 1) + "…");
        }
    }
}
