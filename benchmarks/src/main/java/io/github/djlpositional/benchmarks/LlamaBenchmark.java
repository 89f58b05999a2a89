package io.github.djlpositional.benchmarks;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import com.google.gson.reflect.TypeToken;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.util.Map;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** Prompts, and the tokens that a small Llama generates after each, the best one each time. */
public class LlamaBenchmark extends ModelBenchmark {

    /** The model and prompts of the same length. */
    public static class Library extends Setting {

        @Param({"1", "4"})
        int batch;

        @Param("512")
        int prompt;

        @Param({"1", "64"})
        int tokens;

        private TransformerStackBlock decoder;
        private TokenGenerator generator;
        private NDArray ids;

        @Override
        void prepare() throws IOException, MalformedModelException {
            decoder = HuggingFaceModel.load(path("llama"), prompt + tokens, manager);
            generator = TokenGenerator.builder().setDecoder(decoder).build();
            int vocabulary = (int) decoder.getInput().getTokenTable().getShape().get(0);
            ids = ids(new Shape(batch, prompt), vocabulary);
            Map<Integer, long[][]> expected = expected(path("llama", "tokens.json"), new TypeToken<>() {});
            requireTokens(expected.get(batch), generate());
        }

        /** The generator of tokens takes one prompt. */
        long[][] generate() {
            return batch == 1
                    ? new long[][] {
                        generator.generate(ids.toType(DataType.INT64, false).toLongArray(), tokens)
                    }
                    : GreedyLoop.generate(decoder, ids, tokens);
        }
    }

    @Benchmark
    public long[][] library(Library in) {
        return in.generate();
    }
}
