package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;

/**
 * The keys and values that the queries of a forward attend to: projected from the inputs, cached from an earlier step
 * with the same inputs, or cached from earlier steps and followed by those of this step.
 *
 * @param queries the queries and their positions
 * @param tokens the keys and their positions
 * @param keys encoded, (B, K, F, H); in a step, the keys of its own tokens only, until {@link #all} writes them; null
 *     for a {@link Step}
 * @param values (B, K, F, H), like the keys
 * @param mask which of the keys are visible, (B, F), from a cache; null for all
 * @param cached in a step, the cached tokens, with room for the keys and values of the step; otherwise null
 * @param commit changes the cache once the attention has succeeded
 */
record KeysAndValues(
        Positions queries,
        Positions tokens,
        NDArray keys,
        NDArray values,
        NDArray mask,
        CachedTokens cached,
        Runnable commit) {

    /** Creates keys and values without a cache. */
    KeysAndValues(Positions queries, Positions tokens, NDArray keys, NDArray values) {
        this(queries, tokens, keys, values, null, null, () -> {});
    }

    /** The same with the keys and values of a step. */
    KeysAndValues with(NDArray newKeys, NDArray newValues) {
        return new KeysAndValues(queries, tokens, newKeys, newValues, mask, cached, commit);
    }

    /** Writes the keys and values of a step to the cache, and returns the keys and values of all tokens. */
    KeysAndValues all(Temporaries temporaries) {
        if (cached == null) {
            return this;
        }
        cached.write(keys, values);
        NDManager manager = keys.getManager();
        return new KeysAndValues(
                queries,
                tokens,
                temporaries.add(cached.keys(manager)),
                temporaries.add(cached.values(manager)),
                mask,
                null,
                commit);
    }
}
