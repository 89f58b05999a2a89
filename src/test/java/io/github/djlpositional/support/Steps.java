package io.github.djlpositional.support;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.internal.ForwardParameters;
import java.util.function.ObjIntConsumer;

/** Calls a block for a few tokens at a time, as a decoder does. */
public final class Steps {

    /** FLOAT64: 2^-53 of sums of at most 100 products of numbers below 100. */
    private static final double TOLERANCE = 1e-12;

    private Steps() {}

    /** Expects steps of these numbers of tokens to have the outputs of a forward of the whole input in FLOAT64. */
    public static void requireWhole(NDManager manager, Block block, NDArray x, int... counts) {
        requireWhole(manager, block, (params, end) -> {}, new NDList(x), counts);
    }

    /**
     * The same with more inputs and forward parameters. A step leaves no array open but its output.
     *
     * @param addUpTo adds forward parameters of the tokens before an end
     * @param inputs the first is divided along its second axis, the others are whole in each step
     */
    public static void requireWhole(
            NDManager manager,
            Block block,
            ObjIntConsumer<PairList<String, Object>> addUpTo,
            NDList inputs,
            int... counts) {
        PairList<String, Object> paramsOfAll = new PairList<>();
        NDArray x = inputs.head();
        addUpTo.accept(paramsOfAll, (int) x.size(1));
        NDArray whole = Forward.infer(manager, block, paramsOfAll, inputs.toArray(NDArray[]::new));
        int end = 0;
        try (NDManager own = manager.newSubManager();
                KeyValueCache cache = new KeyValueCache(manager)) {
            for (int count : counts) {
                int start = end;
                end += count;
                // a scope of the user: what the cache holds outlives it
                try (NDScope scope = new NDScope()) {
                    scope.suppressNotUsedWarning();
                    NDList step = new NDList(inputs);
                    step.set(0, x.get(":, {}:{}", start, end));
                    step.attach(own);
                    PairList<String, Object> params = Forward.params(PositionalEncodingBlock.START_POSITION, start);
                    params.add(ForwardParameters.CACHE, cache);
                    addUpTo.accept(params, end);
                    int before = own.getManagedArrays().size();
                    NDArray y = block.forward(new ParameterStore(own, false), step, false, params)
                            .singletonOrThrow();
                    assertThat(own.getManagedArrays()).hasSize(before + 1);
                    requireClose(y, doubles(whole.get(":, {}:{}", start, end)), TOLERANCE);
                }
            }
        }
        assertThat(end).as("tokens in steps").isEqualTo((int) x.size(1));
    }
}
