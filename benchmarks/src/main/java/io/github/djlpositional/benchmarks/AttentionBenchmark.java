package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDScope;

/** An attention in inference, with frozen parameters. */
public class AttentionBenchmark extends AttentionPeers {

    /** Creates the benchmark. */
    public AttentionBenchmark() {
        super(false);
    }

    @Override
    void run() {
        // DJL's block leaves its temporary arrays
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            forward();
        }
    }
}
