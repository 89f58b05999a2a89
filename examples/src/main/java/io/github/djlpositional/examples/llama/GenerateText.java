package io.github.djlpositional.examples.llama;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EngineCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Continues a text with a model of the Llama family. */
@Command(
        name = "generate",
        description = "Continue a text with a model of the Llama family: Llama 2 and 3, Mistral, Qwen 2 and 3. "
                + "The text appears as it is generated.")
public final class GenerateText extends EngineCommand {

    @Option(
            names = "--model",
            required = true,
            paramLabel = "FOLDER",
            description = "The model as Hugging Face publishes it: a folder with config.json, tokenizer.json, and "
                    + "model.safetensors or the files that model.safetensors.index.json names.")
    private Path folder;

    @Option(names = "--tokens", description = "The greatest number of tokens to generate.")
    private int tokens = 100;

    @Option(
            names = "--temperature",
            description = "0 always chooses the best token. Above 0, tokens are chosen at random: below 1, good ones "
                    + "more often than the model says.")
    private double temperature;

    @Option(
            names = "--top-p",
            description = "With a temperature: choose only among the best tokens, as few as have together this "
                    + "probability.")
    private double topP = 1;

    @Option(names = "--seed", description = "The same seed gives the same text on the same machine.")
    private long seed = 1;

    @Parameters(paramLabel = "PROMPT", description = "The beginning of the text, in quotes.")
    private String prompt;

    @Override
    protected void checkOptions() {
        Check.positive("--tokens", tokens);
        Check.that(
                temperature > 0 || topP == 1,
                () -> "--top-p " + topP + " with --temperature " + temperature
                        + ": expected a temperature above 0; add for example --temperature 1");
        choice();
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        try (NDManager manager = engine.newBaseManager(deviceOf(engine))) {
            // a class of its own, so that the other programs run without the tokenizer's library
            new TextGeneration(folder, manager, out).run(prompt, tokens, choice());
        }
    }

    private ToIntFunction<float[]> choice() {
        return temperature == 0 ? Sampling.greedy() : Sampling.of(temperature, topP, seed);
    }
}
