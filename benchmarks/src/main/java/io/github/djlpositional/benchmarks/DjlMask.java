package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.core.Embedding;
import io.github.djlpositional.math.AlibiSlopes;
import java.util.function.Supplier;

/**
 * What users of DJL's own attention block give as a mask of four axes, which it adds to the scores: a constant array,
 * or for a learned bias its array computed in each forward.
 */
final class DjlMask {

    private static final int BUCKETS = 32;

    /** DJL's number for what is hidden. */
    private static final float HIDDEN = -100000f;

    private final NDManager manager;
    private final boolean training;

    /** Key less query, (1, 1, T, F). */
    private final NDArray distances;

    DjlMask(NDManager manager, long length, boolean training) {
        this.manager = manager;
        this.training = training;
        NDArray indices = manager.arange(0f, (float) length, 1f, DataType.FLOAT32);
        distances = indices.reshape(1, 1, 1, length).sub(indices.reshape(1, 1, length, 1));
    }

    /** Returns what makes the mask of a forward. */
    Supplier<NDArray> of(AttentionKind kind) {
        long length = distances.getShape().get(3);
        return switch (kind.text()) {
            case "alibi" -> constant(distances.abs().mul(slopes()).neg());
            case "t5" -> buckets();
            case "kerple" -> logarithms();
            case "padding" ->
                constant(hidden(manager.arange(0f, (float) length, 1f, DataType.FLOAT32)
                        .gte(AttentionKind.tokensOf(length))
                        .reshape(1, 1, 1, length)));
            case "causal" -> constant(hidden(distances.gt(0)));
            case "window" ->
                constant(hidden(distances.gt(0).logicalOr(distances.lte(-AttentionKind.windowOf(length)))));
            default -> throw new IllegalArgumentException(kind.text() + " is no mask");
        };
    }

    private static Supplier<NDArray> constant(NDArray mask) {
        return () -> mask;
    }

    private static NDArray hidden(NDArray isHidden) {
        return isHidden.toType(DataType.FLOAT32, true).mul(HIDDEN);
    }

    private NDArray slopes() {
        float[] slopes = new float[AttentionKind.HEADS];
        for (int head = 0; head < slopes.length; head++) {
            slopes[head] = (float) AlibiSlopes.of(slopes.length).get(head);
        }
        return manager.create(slopes, new Shape(1, slopes.length, 1, 1));
    }

    private Supplier<NDArray> buckets() {
        NDArray ids = distances.squeeze(new int[] {0, 1}).add(BUCKETS / 2).clip(0, BUCKETS - 1);
        NDArray table = learned(manager.zeros(new Shape(BUCKETS, AttentionKind.HEADS)));
        return () -> Embedding.embedding(ids.toType(DataType.INT32, false), table, SparseFormat.DENSE)
                .singletonOrThrow()
                .transpose(2, 0, 1)
                .expandDims(0);
    }

    private Supplier<NDArray> logarithms() {
        NDArray a = learned(manager.ones(new Shape(1, AttentionKind.HEADS, 1, 1)));
        NDArray b = learned(manager.ones(new Shape(1, AttentionKind.HEADS, 1, 1)));
        NDArray lengths = distances.abs();
        return () -> NDArrays.mul(lengths.mul(a).add(1).log(), b).neg();
    }

    private NDArray learned(NDArray parameter) {
        parameter.setRequiresGradient(training);
        return parameter;
    }
}
