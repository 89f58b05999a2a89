package io.github.djlpositional.benchmarks;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * Self-attention in inference with real positions of each sequence, such as times: beside {@link AttentionBenchmark}.
 */
public class RealPositionsBenchmark extends EngineBenchmark {

    /** The attention of this library. */
    public static class Library extends SelfAttention {

        @Param({"ROTARY", "ALIBI", "T5", "KERPLE", "SANDWICH", "GAUSSIAN", "DISTANCE_NETWORK", "FIRE"})
        AttentionKind positions;

        @Param("1x1024x512")
        String shape;

        /** Of the random part of a position; with 0, distances repeat. */
        double limit = 1;

        @Override
        void prepare() {
            prepareLibrary(positions, shape, false);
            passRealPositions(limit);
        }
    }

    @Benchmark
    public void library(Library attention) {
        attention.call();
    }
}
