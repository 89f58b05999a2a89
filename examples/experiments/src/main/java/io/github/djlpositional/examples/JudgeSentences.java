package io.github.djlpositional.examples;

import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Judges sentences with a saved model. */
@Command(name = "judge", description = "Judge with a saved model whether the words of sentences are in order.")
final class JudgeSentences extends EngineCommand {

    @Option(names = "--model", description = "The file of the saved model.")
    private Path file = Path.of("model.zip");

    @Parameters(
            paramLabel = "SENTENCE",
            arity = "0..*",
            description = "One or more sentences, each in quotes. Without any, the program reads one sentence per line "
                    + "from standard input, and ignores lines that have no words.")
    private List<String> sentences;

    @Override
    protected void run(PrintWriter out) {
        Engine engine = startEngine();
        try (ZooModel<String, Judgement> model = EncoderFile.load(file, engine, deviceOf(engine));
                Predictor<String, Judgement> predictor = model.newPredictor()) {
            Stream<List<String>> batches = sentences != null
                    ? Stream.of(sentences)
                    : new BufferedReader(new InputStreamReader(System.in, Charset.defaultCharset()))
                            .lines()
                            .filter(line -> !Glosses.words(line).isEmpty())
                            .map(List::of);
            batches.forEach(batch -> print(out, batch, judge(predictor, batch)));
        }
    }

    static List<Judgement> judge(Predictor<String, Judgement> predictor, List<String> sentences) {
        try {
            return predictor.batchPredict(sentences);
        } catch (TranslateException e) {
            if (e.getCause() instanceof UserError error) {
                throw error;
            }
            throw new IllegalStateException("the sentences could not be judged", e);
        }
    }

    /** Prints one line for each sentence: the judgement, its probability, and the sentence. */
    static void print(PrintWriter out, List<String> sentences, List<Judgement> judgements) {
        for (int i = 0; i < sentences.size(); i++) {
            double inOrder = judgements.get(i).inOrder();
            out.printf(
                    Locale.ROOT,
                    "%-9s %5.1f %%  %s%n",
                    inOrder >= 0.5 ? "in order" : "shuffled",
                    100 * Math.max(inOrder, 1 - inOrder),
                    sentences.get(i));
        }
    }
}
