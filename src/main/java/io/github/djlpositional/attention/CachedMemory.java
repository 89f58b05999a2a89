package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.TokenColumn;
import java.util.HashMap;
import java.util.Map;

/**
 * The memory of one cross-attention in a {@link KeyValueCache}: its projected keys and values, and what was given with
 * them. After {@link #select}, only its positions are left.
 *
 * @param inputs what the keys and values were computed from
 * @param positions the positions of the keys; their array belongs to this object
 * @param keys encoded, (B, K, F, H); null for positions only
 * @param values (B, K, F, V)
 * @param features the features of the keys that terms computed, (B, F, W)
 * @param hidden which of the keys are hidden, (B, F); null for none
 */
record CachedMemory(
        Inputs inputs, Positions positions, NDArray keys, NDArray values, Map<Term, NDArray> features, NDArray hidden)
        implements AutoCloseable {

    /**
     * Arrays of a caller, which may be closed: only their identities count.
     *
     * @param positions the explicit positions of the keys; null for none
     */
    record Inputs(NDArray keys, NDArray values, NDArray positions) {

        /** Whether keys and values that were computed from these are those of others, which may leave positions out. */
        boolean areThoseOf(Inputs others) {
            return keys == others.keys
                    && values == others.values
                    && (others.positions == null || others.positions == positions);
        }
    }

    /** A copy without gradients, which belongs to a manager. */
    CachedMemory copy(NDManager manager) {
        Map<Term, NDArray> copies = new HashMap<>(features);
        copies.replaceAll((term, array) -> detached(manager, array));
        return new CachedMemory(
                inputs,
                positions.with(copied(manager, positions.array()), positions.end()),
                detached(manager, keys),
                detached(manager, values),
                copies,
                copied(manager, hidden));
    }

    /** An array without its gradient, which no scope closes. */
    private static NDArray detached(NDManager manager, NDArray array) {
        return array == null ? null : TokenColumn.owned(manager, array.stopGradient());
    }

    private static NDArray copied(NDManager manager, NDArray array) {
        return array == null ? null : TokenColumn.owned(manager, array.duplicate());
    }

    boolean hasKeys() {
        return keys != null;
    }

    boolean hasPositions() {
        return positions.array() != null;
    }

    /** Checks the indices of rows of the batch. */
    void requireRows(NDArray rows) {
        if (CachedTokens.areByRow(positions)) {
            int batch = CachedTokens.batchOf(positions.array());
            Indices.requireBelow(rows, batch, "row", "pass indices within the batch");
        }
    }

    /** The positions of rows of the batch, in the order of the indices: a new object. */
    CachedMemory select(NDManager manager, NDArray rows) {
        return new CachedMemory(inputs, CachedTokens.selected(manager, positions, rows), null, null, Map.of(), null);
    }

    private void closeKeys() {
        if (hasKeys()) {
            keys.close();
            values.close();
        }
        features.values().forEach(NDArray::close);
        if (hidden != null) {
            hidden.close();
        }
    }

    @Override
    public void close() {
        closeKeys();
        if (hasPositions()) {
            positions.array().close();
        }
    }
}
