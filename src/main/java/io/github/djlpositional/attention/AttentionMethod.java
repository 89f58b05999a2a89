package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.RelativeEncoding.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import java.util.Set;

/** A way to compute the heads' results of a forward, for some of its queries at a time. */
abstract class AttentionMethod {

    /**
     * An array of about so many numbers for queries and keys is made at a time. On a CPU this is 16 MB of floats: a
     * block that the allocator keeps for the next part, where a larger one comes with new pages each time.
     */
    private static final long PART_ON_CPU = 1 << 22;

    private static final long PART_ON_GPU = 1 << 26;

    private static final int FEWEST = 16;

    /**
     * What an attention is computed from, all of it the forward's to close.
     *
     * @param attention the block
     * @param call the queries and keys
     * @param queries before the relative encoding, (B, N, T, H)
     * @param encoded encoded queries times their factors by position, (B, N, T, H)
     * @param keys encoded keys, (B, K, F, H), where K is the number of key heads
     * @param values (B, K, F, H)
     * @param mask what hides keys from queries, in the data type of the scores
     * @param distanceBiases the biases that a cache keeps for this step of one token; null for none
     */
    record Operands(
            MultiHeadAttentionBlock attention,
            AttentionCall call,
            NDArray queries,
            NDArray encoded,
            NDArray keys,
            NDArray values,
            AttentionMask mask,
            NDArray distanceBiases) {}

    final Operands operands;
    final MultiHeadAttentionBlock.Options options;
    final Visibility visibility;

    /** Null for none. */
    final RelativeEncoding relative;

    final Set<Term> terms;

    AttentionMethod(Operands operands) {
        this.operands = operands;
        options = operands.attention().options();
        visibility = operands.attention().visibility();
        relative = operands.attention().getRelativeEncoding();
        terms = operands.attention().terms();
    }

    /**
     * What the encoding adds to the scores of some queries, (B or 1, N or 1, T, F), in their data type; null for
     * nothing.
     */
    final NDArray term(Temporaries own, AttentionCall call, NDArray queries, NDArray keys) {
        NDArray term = terms.contains(Term.DISTANCE_BIAS)
                ? DistanceBias.term(relative, call, queries, operands.distanceBiases())
                : null;
        if (term != null) {
            own.add(term);
        }
        NDArray other = terms.contains(Term.SCORE) ? relative.scoreTerm(call, queries, keys) : null;
        if (other == null) {
            return term;
        }
        own.addUnless(queries, other);
        return term == null ? other : own.add(term.add(other));
    }

    /** How many numbers the method makes for each query and key. */
    abstract long sizePerQueryAndKey();

    /** The results of some queries, (B, N, rows, H), of which the first is query {@code from}: a new array. */
    abstract NDArray attend(Temporaries own, AttentionCall call, int from);

    /** The results of all queries, (B, N, T, H): a new array. */
    final NDArray attend(Temporaries temporaries) {
        AttentionCall call = operands.call();
        int length = call.queries().length();
        int most = queriesAtATime();
        if (most >= length) {
            return attend(call, 0, length);
        }
        NDArray given = operands.queries();
        NDArray queries = temporaries.addUnless(given, Arithmetic.toType(given, PlainAttention.scoreType(given)));
        NDArray shared = relative == null ? null : relative.sharedTerm(call, queries, operands.keys());
        AttentionCall whole = shared == null ? call : call.with(temporaries.addUnless(queries, shared));
        NDList parts = new NDList();
        NDArray together = null;
        for (int from = 0; from < length; from += most) {
            int count = Math.min(most, length - from);
            NDArray part = temporaries.add(attend(whole, from, count));
            if (whole.training() || !Arithmetic.isInPlaceSafe(part)) {
                parts.add(part);
                continue;
            }
            // kept parts would lie between the large arrays of the scores, and fragment the memory
            if (together == null) {
                Shape shape = Shape.update(part.getShape(), 2, length);
                together = temporaries.add(part.getManager().create(shape, part.getDataType(), part.getDevice()));
            }
            together.set(NDIndex.sliceAxis(2, from, (long) from + count), part);
            part.close();
        }
        return together == null ? NDArrays.concat(parts, 2) : temporaries.keep(together);
    }

    /** As many queries as have numbers for the caches; with a window, as many as it has keys. */
    private int queriesAtATime() {
        int keys = operands.call().keys().length();
        int queries = operands.call().queries().length();
        if (visibility.reach() != null) {
            int reach = Math.max(visibility.reach(), FEWEST);
            if (keys > 2L * reach) {
                queries = Math.min(queries, reach);
                keys = 2 * reach;
            }
        }
        long numbers = HostData.isHost(operands.queries().getDevice()) ? PART_ON_CPU : PART_ON_GPU;
        long ofTerm = relative == null ? 0 : relative.sizePerQueryAndKey(operands.call());
        long perQuery = Math.max(sizePerQueryAndKey(), ofTerm) * keys;
        return perQuery == 0 ? queries : (int) Math.max(FEWEST, Math.min(queries, numbers / perQuery));
    }

    private NDArray attend(AttentionCall whole, int from, int count) {
        try (Temporaries own = new Temporaries()) {
            int[] range = visibility.range(whole, from, count);
            Positions keys = whole.keys().part(own, range[0] - whole.keys().first(), range[1] - range[0]);
            AttentionCall call = whole.part(whole.queries().part(own, from, count), keys);
            return own.keep(attend(own, call, from));
        }
    }

    /**
     * The part of an array of all queries, (B, N, T, …), that belongs to a call; a new array unless it is the whole.
     */
    static NDArray ofQueries(NDArray array, AttentionCall call, int from) {
        return part(array, 2, from, call.queries().length());
    }

    /** The part of an array of all keys that belongs to a call; a new array unless it is the whole. */
    final NDArray ofKeys(NDArray array, int axis, AttentionCall call) {
        int from = call.keys().first() - operands.call().keys().first();
        return part(array, axis, from, call.keys().length());
    }

    private static NDArray part(NDArray array, int axis, int from, int count) {
        return array.getShape().get(axis) == count
                ? array
                : array.get(NDIndex.sliceAxis(axis, from, (long) from + count));
    }
}
