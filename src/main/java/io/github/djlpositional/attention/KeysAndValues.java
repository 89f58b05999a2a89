package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;

/**
 * What the queries of a forward attend to: keys and values that were projected, those that a cache holds of the same
 * arrays, or those of the steps before and of this one.
 *
 * @param queries the queries and their positions
 * @param tokens the keys and their positions
 * @param keys encoded, (B, K, F, H); of a step, those of its own tokens only, until {@link #all} writes them
 * @param values (B, K, F, H), like the keys
 * @param mask which of the keys are visible, (B, F), as a cache holds it; null for all
 * @param steps the tokens that a cache holds, for which there is room but keys and values are not written; otherwise
 *     null
 * @param commit changes the cache once the attention has succeeded
 */
record KeysAndValues(
        Positions queries,
        Positions tokens,
        NDArray keys,
        NDArray values,
        NDArray mask,
        CachedTokens steps,
        Runnable commit) {

    /** Without a cache. */
    KeysAndValues(Positions queries, Positions tokens, NDArray keys, NDArray values) {
        this(queries, tokens, keys, values, null, null, () -> {});
    }

    /** The keys and values of all tokens; those of a step are written to the cache first. */
    KeysAndValues all(Temporaries temporaries) {
        if (steps == null) {
            return this;
        }
        steps.write(keys, values);
        NDManager manager = keys.getManager();
        return new KeysAndValues(
                queries,
                tokens,
                temporaries.add(steps.keys(manager)),
                temporaries.add(steps.values(manager)),
                mask,
                null,
                commit);
    }
}
