package io.github.djlpositional.benchmarks;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import com.google.gson.reflect.TypeToken;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** The vectors of token ids (B, T) by a small ModernBERT, whose layers attend to a window, but for each third. */
public class ModernBertBenchmark extends ModelBenchmark {

    /** The error of a number below 4 after six layers of sums of at most 576 products: 4 · 2⁻²⁴ · √(6 · 576). */
    private static final float TOLERANCE = 1.4e-5f;

    /** Transformers computed the vectors of each 64th token. */
    private static final int STEP = 64;

    /** The model and a batch. */
    public static class Library extends Setting {

        @Param("1x512")
        String shape;

        private TransformerStackBlock encoder;
        private NDArray ids;

        @Override
        void prepare() throws IOException, MalformedModelException {
            encoder = HuggingFaceModel.load(path("modernbert"), manager);
            int vocabulary = (int) encoder.getInput().getTokenTable().getShape().get(0);
            ids = ids(shape(shape), vocabulary);
            float[][] expected = expected(path("modernbert", "vectors.json"), new TypeToken<>() {});
            try (NDArray vectors = encode()) {
                float[] all = vectors.toFloatArray();
                int size = (int) vectors.getShape().get(2);
                float[][] some = new float[expected.length][];
                Arrays.setAll(some, i -> Arrays.copyOfRange(all, i * STEP * size, (i * STEP + 1) * size));
                requireVectors(TOLERANCE, expected, some);
            }
        }

        NDArray encode() {
            return forward(encoder, ids).head();
        }
    }

    @Benchmark
    public void library(Library in) {
        in.finish(in.encode());
    }
}
