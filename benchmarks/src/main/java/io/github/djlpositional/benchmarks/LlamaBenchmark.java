package io.github.djlpositional.benchmarks;

import ai.djl.MalformedModelException;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A prompt and the tokens that a small Llama generates after it, the best one each time. The folder {@code llama} in
 * the folder of the property {@code models} has the model and, in {@code tokens.json}, what transformers generates.
 */
@Warmup(iterations = 3, time = 1) // the JVM compiles the code of all blocks
public class LlamaBenchmark extends EngineBenchmark {

    /** The model and a prompt. */
    public static class Library extends Setting {

        @Param("512")
        int prompt;

        @Param({"1", "64"})
        int tokens;

        TokenGenerator generator;
        long[] ids;

        @Override
        void prepare() throws IOException, MalformedModelException {
            Path folder = Path.of(System.getProperty("models"), "llama");
            TransformerStackBlock decoder = HuggingFaceModel.load(folder, prompt + tokens, manager);
            generator = TokenGenerator.builder().setDecoder(decoder).build();
            long vocabulary = decoder.getInput().getTokenTable().getShape().get(0);
            ids = LongStream.range(0, prompt).map(i -> i * 7919 % vocabulary).toArray();
            long[] expected = Arrays.copyOf(
                    JsonUtils.GSON.fromJson(Files.readString(folder.resolve("tokens.json")), long[].class), tokens);
            long[] generated = generator.generate(ids, tokens);
            if (!Arrays.equals(generated, expected)) {
                throw new IllegalStateException("the library generates " + Arrays.toString(generated)
                        + " and transformers " + Arrays.toString(expected));
            }
        }
    }

    @Benchmark
    public long[] library(Library in) {
        return in.generator.generate(in.ids, in.tokens);
    }
}
