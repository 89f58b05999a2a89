package io.github.djlpositional.benchmarks;

import ai.djl.util.JsonUtils;
import com.google.gson.reflect.TypeToken;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.examples.sentences.TokenBatch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Vectors of sentences (B, T) by the published all-MiniLM-L6-v2: the mean over the tokens, normalized. The file
 * {@code vectors.json} in the folder of the property {@code models} has, by the shape, the first vector that
 * transformers computes.
 */
@Warmup(iterations = 3, time = 1) // the JVM compiles the code of all blocks
public class SentenceBenchmark extends EngineBenchmark {

    /** The error of a number below 1 after six layers of sums of at most 1536 products: 2⁻²⁴ · √(6 · 1536). */
    private static final float TOLERANCE = 6e-6f;

    /** The encoder and a batch. */
    public static class Library extends Setting {

        @Param({"1x16", "1x128", "32x64"})
        String shape;

        SentenceEncoder encoder;
        TokenBatch batch;
        float[][] vectors;

        @Override
        void prepare() throws IOException {
            encoder = own(SentenceEncoder.load(manager.getEngine(), manager.getDevice()));
            int count = (int) shape(shape).get(0);
            long length = shape(shape).get(1);
            long[][] ids = IntStream.range(0, count)
                    .mapToObj(text -> LongStream.range(0, length)
                            .map(i -> 1000 + (text * length + i) * 7919 % 20_000)
                            .toArray())
                    .toArray(long[][]::new);
            batch = new TokenBatch(IntStream.range(0, count).boxed().toList(), ids);
            vectors = new float[count][];
            encoder.encode(batch, vectors);
            requireExpected(vectors[0]);
        }

        private void requireExpected(float... vector) throws IOException {
            Path file = Path.of(System.getProperty("models"), "vectors.json");
            Map<String, float[]> all =
                    JsonUtils.GSON.fromJson(Files.readString(file), new TypeToken<Map<String, float[]>>() {});
            float[] expected = all.get(shape);
            for (int i = 0; i < vector.length; i++) {
                if (Math.abs(vector[i] - expected[i]) > TOLERANCE) {
                    throw new IllegalStateException("number " + i + " of the first vector of " + shape + " is "
                            + vector[i] + ", and of transformers " + expected[i]);
                }
            }
        }
    }

    @Benchmark
    public float[][] library(Library in) {
        in.encoder.encode(in.batch, in.vectors);
        return in.vectors;
    }
}
