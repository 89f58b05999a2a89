package io.github.djlpositional.benchmarks;

import com.google.gson.reflect.TypeToken;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.examples.sentences.TokenBatch;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * Vectors of sentences (B, T) by the published all-MiniLM-L6-v2: the mean over the tokens, normalized. The sentences
 * have the same length, or lengths from one to another: 32x8-128 are 32 sentences of 8 to 128 tokens, padded.
 */
public class SentenceBenchmark extends ModelBenchmark {

    /** The error of a number below 1 after six layers of sums of at most 1536 products: 2⁻²⁴ · √(6 · 1536). */
    private static final float TOLERANCE = 6e-6f;

    /** The encoder and a batch. */
    public static class Library extends Setting {

        @Param({"1x16", "1x128", "32x64", "32x8-128"})
        String shape;

        private SentenceEncoder encoder;
        private TokenBatch batch;

        @Override
        void prepare() throws IOException {
            encoder = own(SentenceEncoder.load(manager.getEngine(), manager.getDevice()));
            int[] sizes = Arrays.stream(shape.split("[x-]"))
                    .mapToInt(Integer::parseInt)
                    .toArray();
            batch = batch(sizes[0], sizes[1], sizes[sizes.length - 1]);
            Map<String, float[][]> expected = expected(path("vectors.json"), new TypeToken<>() {});
            requireVectors(TOLERANCE, expected.get(shape), encode());
        }

        private static TokenBatch batch(int count, int fewest, int most) {
            long[][] ids = IntStream.range(0, count)
                    .mapToObj(text -> LongStream.range(0, most)
                            .map(i -> i < most - text * (most - fewest) / Math.max(1, count - 1)
                                    ? 1000 + (text * (long) most + i) * 7919 % 20_000
                                    : 0)
                            .toArray())
                    .toArray(long[][]::new);
            return new TokenBatch(IntStream.range(0, count).boxed().toList(), ids);
        }

        float[][] encode() {
            float[][] vectors = new float[batch.ids().length][];
            encoder.encode(batch, vectors);
            return vectors;
        }
    }

    @Benchmark
    public float[][] library(Library in) {
        return in.encode();
    }
}
