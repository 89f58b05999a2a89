package io.github.djlpositional.examples.sentences;

import ai.djl.engine.Engine;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.EngineOptions;
import io.github.djlpositional.examples.Program;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Finds the definitions in WordNet whose meanings are nearest to a text. */
@Command(
        name = "search",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        showDefaultValues = true,
        description = "Find the definitions in WordNet that are nearest in meaning to a text, with the published"
                + " sentence encoder all-MiniLM-L6-v2. The first run embeds all definitions, in some minutes, and saves"
                + " them; later runs take a few seconds.")
public final class SearchDefinitions implements Callable<Integer> {

    private static final int WIDTH = 90;

    @Spec
    private CommandSpec spec;

    @Mixin
    private EngineOptions engineOptions;

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
    public Integer call() throws IOException {
        Program.checkOptions(spec, () -> {
            Check.positive("--count", count);
            if (limit != null) {
                Check.positive("--definitions", limit);
            }
            Check.that(
                    texts.stream().noneMatch(String::isBlank),
                    () -> "an empty text was given: expected one or more words; give a text in quotes");
        });
        Engine engine = engineOptions.startEngine();
        AtomicFile.prepare(folder.resolve("index"));
        PrintWriter out = spec.commandLine().getOut();
        String checksum = SentenceEncoder.checksum() + "-" + Definition.checksum() + limit;
        try (SentenceEncoder encoder = SentenceEncoder.load(engine, engineOptions.deviceOf(engine))) {
            if (!DefinitionIndex.isCurrent(folder, checksum)) {
                long start = System.nanoTime();
                List<Definition> definitions = Definition.read(limit);
                DefinitionIndex.write(folder, checksum, definitions, encoder);
                out.printf(
                        Locale.ROOT,
                        "%,d definitions embedded in %.0f s, saved to '%s'%n",
                        definitions.size(),
                        (System.nanoTime() - start) / 1e9,
                        folder);
            }
            float[][] vectors = encoder.encode(texts);
            try (DefinitionIndex index = DefinitionIndex.open(folder)) {
                for (int i = 0; i < vectors.length; i++) {
                    print(out, texts.get(i), index.nearest(vectors[i], count));
                }
            }
        }
        return 0;
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
        out.flush();
    }
}
