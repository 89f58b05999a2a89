package io.github.djlpositional.benchmarks;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** The same forward and backward, with gradients of the parameters and of the input. */
public class AttentionTrainingBenchmark extends EngineBenchmark {

    /** DJL's attention. */
    public static class Djl extends SelfAttention {

        @Param({"NONE", "ALIBI"})
        AttentionKind positions;

        @Param("1x1024x512")
        String shape;

        @Override
        void prepare() {
            prepareDjl(positions, shape, true);
        }
    }

    /** The attention of this library. */
    public static class Library extends SelfAttention {

        // without masks, which training treats as inference does
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
            "DISENTANGLED",
            "SWIN",
            "SWIN_V2",
            "MVITV2"
        })
        AttentionKind positions;

        @Param("1x1024x512")
        String shape;

        @Override
        void prepare() {
            prepareLibrary(positions, shape, true);
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
