package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.Positions;

/** The calls of an attention without one. */
public final class TestCalls {

    private TestCalls() {}

    /** A causal self-attention of tokens. */
    public static AttentionCall of(NDManager manager, Positions tokens) {
        return new AttentionCall(new ParameterStore(manager, false), false, null, tokens, tokens, true, 1);
    }

    /** Rotates queries or keys as an attention does. */
    public static NDArray rotated(RelativeEncoding encoding, AttentionCall call, NDArray x, boolean areKeys) {
        return encoding.rotation().of(encoding, call, x, areKeys);
    }
}
