package io.github.djlpositional.examples;

import ai.djl.engine.Engine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.Charset;
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

/** Judges sentences with a saved model. */
@Command(
        name = "judge",
        mixinStandardHelpOptions = true,
        description = "Judge with a saved model whether the words of sentences are in order.")
final class JudgeSentences implements Callable<Integer> {

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

    @Parameters(
            paramLabel = "SENTENCE",
            arity = "0..*",
            description =
                    "Each in quotes; without any, one a line is read from standard input, where lines without a word"
                            + " are left out.")
    private List<String> sentences;

    @Override
    public Integer call() throws IOException {
        Engine engine = engineOptions.startEngine();
        PrintWriter out = spec.commandLine().getOut();
        try (SavedEncoder encoder = SavedEncoder.load(folder, engine, engineOptions.deviceOf(engine))) {
            if (sentences != null) {
                print(out, sentences, encoder.judge(sentences));
                return 0;
            }
            Charset charset = Charset.defaultCharset();
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, charset));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!Words.of(line).isEmpty()) {
                    print(out, List.of(line), encoder.judge(List.of(line)));
                }
            }
            return 0;
        }
    }

    /** Prints one line a sentence: the judgement, how sure it is, and the sentence. */
    static void print(PrintWriter out, List<String> sentences, List<Double> inOrder) {
        for (int i = 0; i < sentences.size(); i++) {
            boolean ordered = inOrder.get(i) >= 0.5;
            double sure = ordered ? inOrder.get(i) : 1 - inOrder.get(i);
            out.printf(
                    Locale.ROOT,
                    "%-9s %5.1f %%  %s%n",
                    ordered ? "in order" : "shuffled",
                    100 * sure,
                    sentences.get(i));
        }
        out.flush();
    }
}
