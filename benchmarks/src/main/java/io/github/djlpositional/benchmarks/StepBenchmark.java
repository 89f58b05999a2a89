package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** A decoder's step: the attention of one token to a cache of (B, T, D). */
public class StepBenchmark extends EngineBenchmark {

    /** The cache is filled by steps of so many tokens, which need little memory. */
    private static final int FILLED_AT_ONCE = 64;

    /** The attention of this library, and its cache. */
    public static class Library extends Setting {

        @Param({
            "NONE",
            "ROTARY",
            "ALIBI",
            "T5",
            "KERPLE",
            "SANDWICH",
            "GAUSSIAN",
            "DISTANCE_NETWORK",
            "FIRE",
            "SHAW",
            "TRANSFORMER_XL",
            "DISENTANGLED"
        })
        AttentionKind positions;

        @Param("1x4096x512")
        String shape;

        MultiHeadAttentionBlock attention;
        KeyValueCache cache;
        int length;
        NDArray token;

        @Override
        void prepare() {
            Shape all = shape(shape);
            length = (int) all.get(1);
            attention = positions.attention((int) all.get(2), length, true).build();
            initialized(attention, all).freezeParameters(true);
            cache = own(new KeyValueCache(manager, length + FILLED_AT_ONCE));
            while (cache.getLength() < length) {
                int count = Math.min(FILLED_AT_ONCE, length - cache.getLength());
                try (NDArray tokens = numbers(Shape.update(all, 1, count))) {
                    attention
                            .forward(store, new NDList(tokens), false, cache.nextStep())
                            .close();
                }
            }
            token = numbers(Shape.update(all, 1, 1));
        }
    }

    @Benchmark
    public void library(Library in) {
        in.finish(in.attention.forward(in.store, new NDList(in.token), false, in.cache.nextStep()));
        in.cache.rewind(in.length); // the next step has the same length
    }
}
