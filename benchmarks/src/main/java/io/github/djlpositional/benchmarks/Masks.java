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

/** The masks of an attention of T tokens to each other. */
final class Masks {

    private static final int BUCKETS = 32;

    /** DJL's number for what is hidden. */
    private static final float HIDDEN = -100000f;

    private Masks() {}

    /** The mask that this library gets for B sequences, T queries and F keys; null for none. */
    static NDArray of(Setting setting, long queries, long keys) {
        NDArray positions = setting.manager().arange((float) keys);
        long batch = setting.size(0);
        if (AttentionKind.PADDING.equals(setting.of().kind())) {
            return isToken(positions)
                    .toType(DataType.FLOAT32, true)
                    .reshape(1, keys)
                    .broadcast(batch, keys);
        }
        if (AttentionKind.MASK.equals(setting.of().kind())) {
            NDArray sequences = sequences(positions).reshape(1, 1, keys);
            NDArray own = sequences.get(":, :, {}:", keys - queries).reshape(1, queries, 1);
            return sequences.eq(own).broadcast(batch, queries, keys);
        }
        return null;
    }

    private static NDArray isToken(NDArray positions) {
        long length = positions.size();
        return positions.lt(length - length / 4);
    }

    private static NDArray sequences(NDArray positions) {
        return positions.div(AttentionKind.quarter(positions.size())).floor();
    }

    /**
     * What users of DJL's own attention block give as a mask (1, N, T, T), which it adds to the scores: a constant
     * array, or for a learned bias its array computed in each forward.
     */
    static Supplier<NDArray> ofDjl(Setting setting, boolean isTraining) {
        NDManager manager = setting.manager();
        long length = setting.size(1);
        NDArray positions = manager.arange((float) length);
        NDArray distances = positions.reshape(1, 1, 1, length).sub(positions.reshape(1, 1, length, 1));
        String kind = setting.of().kind().text();
        return switch (kind) {
            case "alibi" -> constant(distances.abs().mul(slopes(manager)).neg());
            case "t5" ->
                buckets(distances, learned(manager.zeros(new Shape(BUCKETS, AttentionKind.HEADS)), isTraining));
            case "kerple" -> {
                Shape shape = new Shape(1, AttentionKind.HEADS, 1, 1);
                NDArray a = learned(manager.ones(shape), isTraining);
                NDArray b = learned(manager.ones(shape), isTraining);
                NDArray lengths = distances.abs();
                yield () -> NDArrays.mul(lengths.mul(a).add(1).log(), b).neg();
            }
            case "padding" -> constant(hiding(isToken(positions).logicalNot().reshape(1, 1, 1, length)));
            case "mask" -> {
                NDArray sequences = sequences(positions);
                yield constant(hiding(sequences.reshape(1, 1, 1, length).neq(sequences.reshape(1, 1, length, 1))));
            }
            case "causal" -> constant(hiding(distances.gt(0)));
            case "window" -> constant(hiding(distances.gt(0).logicalOr(distances.lte(-AttentionKind.quarter(length)))));
            default -> throw new IllegalArgumentException(kind + " is no mask");
        };
    }

    private static Supplier<NDArray> constant(NDArray mask) {
        return () -> mask;
    }

    private static NDArray hiding(NDArray isHidden) {
        return isHidden.toType(DataType.FLOAT32, true).mul(HIDDEN);
    }

    private static NDArray slopes(NDManager manager) {
        float[] slopes = new float[AttentionKind.HEADS];
        for (int head = 0; head < slopes.length; head++) {
            slopes[head] = (float) AlibiSlopes.of(slopes.length).get(head);
        }
        return manager.create(slopes, new Shape(1, slopes.length, 1, 1));
    }

    private static Supplier<NDArray> buckets(NDArray distances, NDArray table) {
        NDArray ids = distances.squeeze(new int[] {0, 1}).add(BUCKETS / 2).clip(0, BUCKETS - 1);
        return () -> Embedding.embedding(ids.toType(DataType.INT32, false), table, SparseFormat.DENSE)
                .singletonOrThrow()
                .transpose(2, 0, 1)
                .expandDims(0);
    }

    private static NDArray learned(NDArray parameter, boolean isTraining) {
        parameter.setRequiresGradient(isTraining);
        return parameter;
    }
}
