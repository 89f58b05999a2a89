package io.github.djlpositional.benchmarks;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * Self-attention of 8 heads in inference, with positions or a mask. DJL's attention gets a bias or a mask as an array
 * that is there already: any bias of distances costs what ALiBi's does.
 */
public class AttentionBenchmark extends EngineBenchmark {

    /** DJL's attention. */
    public static class Djl extends SelfAttention {

        @Param({"NONE", "ALIBI", "PADDING", "CAUSAL"})
        AttentionKind positions;

        @Param("1x1024x512")
        String shape;

        @Override
        void prepare() {
            prepareDjl(positions, shape, false);
        }
    }

    /** The attention of this library. */
    public static class Library extends SelfAttention {

        @Param
        AttentionKind positions;

        @Param("1x1024x512")
        String shape;

        @Override
        void prepare() {
            prepareLibrary(positions, shape, false);
        }
    }

    @Benchmark
    public void djl(Djl attention) {
        attention.call();
    }

    @Benchmark
    public void library(Library attention) {
        attention.call();
    }
}
