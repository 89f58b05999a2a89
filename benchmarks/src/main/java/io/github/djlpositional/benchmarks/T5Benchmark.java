package io.github.djlpositional.benchmarks;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import com.google.gson.reflect.TypeToken;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.huggingface.HuggingFaceModel.EncoderDecoder;
import java.io.IOException;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** A text that a small T5 encodes, and the tokens that its decoder generates from it, the best one each time. */
public class T5Benchmark extends ModelBenchmark {

    /** The model and a text. */
    public static class Library extends Setting {

        @Param("128")
        int source;

        @Param("32")
        int tokens;

        private EncoderDecoder model;
        private NDArray ids;
        private NDArray start;

        @Override
        void prepare() throws IOException, MalformedModelException {
            model = HuggingFaceModel.loadEncoderDecoder(path("t5"), manager);
            int vocabulary =
                    (int) model.encoder().getInput().getTokenTable().getShape().get(0);
            ids = ids(new Shape(1, source), vocabulary);
            start = ids(new Shape(1, 1), vocabulary);
            long[][] expected = expected(path("t5", "tokens.json"), new TypeToken<>() {});
            requireTokens(expected, generate());
        }

        long[][] generate() {
            try (NDArray memory = forward(model.encoder(), ids).head()) {
                return GreedyLoop.generate(model.decoder(), start, tokens, memory);
            }
        }
    }

    @Benchmark
    public long[][] library(Library in) {
        return in.generate();
    }
}
