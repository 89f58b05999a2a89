package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDScope;
import ai.djl.training.GradientCollector;

/** An attention forward and backward, with gradients of its parameters and of its input. */
public class AttentionTrainingBenchmark extends AttentionPeers {

    /** Creates the benchmark. */
    public AttentionTrainingBenchmark() {
        super(true);
    }

    @Override
    void run() {
        try (NDScope scope = new NDScope();
                GradientCollector collector = engine().newGradientCollector()) {
            scope.suppressNotUsedWarning();
            collector.backward(forward().sum());
        }
    }
}
