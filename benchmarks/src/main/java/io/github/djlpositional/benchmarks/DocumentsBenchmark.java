package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import java.util.Arrays;
import java.util.function.Supplier;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** A causal self-attention of 16 documents that are packed into a row, beside the same with a mask of all pairs. */
public class DocumentsBenchmark extends EngineBenchmark {

    private static final int DOCUMENTS = 16;

    /** An attention, and what it is given in each call. */
    public abstract static class Packed extends Setting {

        @Param({"ROTARY", "ALIBI"})
        AttentionKind positions;

        @Param({"1x8192x512", "1x16384x512"})
        String shape;

        /** Whether the call is a forward and a backward with gradients of the parameters and of x. */
        @Param({"false", "true"})
        boolean training;

        final PairList<String, Object> params = new PairList<>();
        NDList inputs;
        private MultiHeadAttentionBlock block;

        @Override
        final void prepare() {
            Shape sizes = shape(shape);
            int length = (int) sizes.get(1);
            block = positions.attention((int) sizes.get(2), length, true).build();
            inputs = new NDList(numbers(sizes));
            inputs.head().setRequiresGradient(training);
            int count = Math.min(length, DOCUMENTS);
            int[] lengths = new int[count];
            Arrays.fill(lengths, length / count);
            pack(Documents.ofLengths(lengths));
            initialized(block, sizes).freezeParameters(!training);
        }

        abstract void pack(Documents documents);

        final void call() {
            Supplier<NDArray> forward =
                    () -> block.forward(store, inputs, training, params).singletonOrThrow();
            finish(training ? backward(forward) : scoped(forward));
        }
    }

    /** Documents as a forward parameter. */
    public static class Library extends Packed {
        @Override
        void pack(Documents documents) {
            params.add(PositionalEncodingBlock.DOCUMENTS, documents);
        }
    }

    /** Positions that begin again, and a mask (B, T, T) that is there already. */
    public static class Masked extends Packed {
        @Override
        void pack(Documents documents) {
            NDArray ofDocuments = documents.positions(inputs.head(), 1).expandDims(0);
            params.add(PositionalEncodingBlock.POSITIONS, ofDocuments);
            inputs.add(MultiHeadAttentionBlock.packedMask(ofDocuments));
        }
    }

    @Benchmark
    public void library(Library attention) {
        attention.call();
    }

    @Benchmark
    public void mask(Masked attention) {
        attention.call();
    }
}
