package io.github.djlpositional.examples.llama;

import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EngineCommand;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.transformer.Sampling;
import io.github.djlpositional.transformer.TextGenerator;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Continues a text with a published decoder. */
@Command(
        name = "generate",
        description = "Continue a text with a published decoder: Llama, Mistral, Qwen, Gemma, Phi, OLMo and others. "
                + "The text appears as it is generated.")
public final class GenerateText extends EngineCommand {

    @Option(
            names = "--model",
            required = true,
            paramLabel = "FOLDER",
            description = "The model as Hugging Face publishes it: a folder with config.json, tokenizer.json, and "
                    + "model.safetensors or the files that model.safetensors.index.json names.")
    private Path folder;

    @Option(names = "--tokens", description = "The maximum number of tokens to generate.")
    private int tokens = 100;

    @Option(
            names = "--temperature",
            description = "0 always chooses the best token. Above 0, tokens are chosen at random: below 1, good ones "
                    + "more often than the model says.")
    private double temperature;

    @Option(
            names = "--top-k",
            paramLabel = "COUNT",
            description = "With a temperature: choose only among the best tokens.")
    private Integer topK;

    @Option(
            names = "--top-p",
            description = "With a temperature: choose only among the best tokens, as few as have together this "
                    + "probability.")
    private double topP = 1;

    @Option(
            names = "--repetition-penalty",
            description = "Above 1, tokens that the text already has are chosen less often; 1.1 to 1.3 are usual.")
    private double repetitionPenalty = 1;

    @Option(names = "--seed", description = "The same seed gives the same text on the same machine.")
    private long seed = 1;

    @Parameters(paramLabel = "PROMPT", description = "The beginning of the text, in quotes.")
    private String prompt;

    @Override
    protected void checkOptions() {
        Check.positive("--tokens", tokens);
        Check.that(
                temperature > 0 || (topP == 1 && topK == null),
                () -> (topK == null ? "--top-p " + topP : "--top-k " + topK) + " with --temperature " + temperature
                        + ": expected a temperature above 0; add for example --temperature 1");
        sampling();
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        try (NDManager manager = engine.newBaseManager(deviceOf(engine));
                HuggingFaceTokenizer tokenizer = tokenizer()) {
            long[] ids = tokenizer.encode(prompt).getIds();
            HuggingFaceConfig config = config();
            requireFits(config.getMaxSequenceLength(), ids);
            TransformerStackBlock decoder = decoder(ids.length + tokens, manager);
            requireTokens(decoder.getInput().getTokenTable().getShape().get(0), ids);
            out.print(prompt);
            out.flush();
            TokenGenerator generator = TokenGenerator.builder()
                    .setDecoder(decoder)
                    .optSampling(sampling())
                    .optEndTokens(config.getEndTokens())
                    .build();
            List<Double> seconds = new ArrayList<>(); // until each token
            long start = System.nanoTime();
            TextGenerator.of(generator, text -> tokenizer.encode(text).getIds(), all -> tokenizer.decode(all, true))
                    .generate(prompt, tokens, piece -> {
                        seconds.add((System.nanoTime() - start) / 1e9);
                        out.print(piece);
                        out.flush();
                    });
            out.printf("%n%n%s%n", speed(seconds));
        }
    }

    private static String speed(List<Double> seconds) {
        if (seconds.isEmpty()) {
            return "The model ends the text here.";
        }
        double total = seconds.get(seconds.size() - 1);
        return String.format(
                Locale.ROOT,
                "%d tokens in %.2f s, %.1f tokens per second; the first after %.2f s",
                seconds.size(),
                total,
                seconds.size() / total,
                seconds.get(0));
    }

    private Sampling sampling() {
        Sampling.Builder sampling = Sampling.builder()
                .optTemperature(temperature)
                .optTopP(topP)
                .optRepetitionPenalty(repetitionPenalty)
                .optSeed(seed);
        return topK == null ? sampling.build() : sampling.optTopK(topK).build();
    }

    private HuggingFaceTokenizer tokenizer() throws IOException {
        Path file = folder.resolve("tokenizer.json");
        if (!Files.isRegularFile(file)) {
            throw new UserError("model folder '" + folder + "' has no file tokenizer.json: expected config.json,"
                    + " tokenizer.json and the weights; download what is missing, or give another folder");
        }
        try {
            return HuggingFaceTokenizer.builder()
                    .optTokenizerPath(file)
                    .optTruncation(false) // by default, texts are cut to 512 tokens
                    .optPadding(false)
                    .build();
        } catch (RuntimeException e) { // of the native library
            throw new UserError(
                    "file '" + file + "' cannot be read (" + e.getMessage()
                            + "): expected a tokenizer of Hugging Face; download it again",
                    e);
        }
    }

    private HuggingFaceConfig config() throws IOException {
        try {
            return HuggingFaceConfig.read(folder);
        } catch (IllegalArgumentException | MalformedModelException e) {
            throw notAModel(e);
        }
    }

    /** The model in the folder, for texts of a number of tokens. */
    private TransformerStackBlock decoder(int length, NDManager manager) throws IOException {
        try {
            return HuggingFaceModel.load(folder, length, manager);
        } catch (IllegalArgumentException | MalformedModelException e) {
            throw notAModel(e);
        }
    }

    private UserError notAModel(Exception e) {
        return new UserError("model folder '" + folder + "': " + e.getMessage(), e);
    }

    private void requireFits(int most, long... ids) {
        if (ids.length == 0) {
            throw new UserError("the prompt has no tokens: expected at least one; enter a longer prompt");
        }
        if ((long) ids.length + tokens > most) {
            throw new UserError("a prompt of " + ids.length + " tokens with --tokens " + tokens
                    + ": expected at most " + most
                    + " in total, the limit of the model; use fewer with --tokens, or a shorter prompt");
        }
    }

    private static void requireTokens(long vocabularySize, long... ids) {
        long largest = Arrays.stream(ids).max().orElseThrow();
        if (largest >= vocabularySize) {
            throw new UserError("token " + largest + " of tokenizer.json: expected ids below the vocab_size of"
                    + " config.json, " + vocabularySize + "; download both files of one model");
        }
    }
}
