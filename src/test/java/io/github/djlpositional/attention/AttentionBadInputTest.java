package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.refused;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Rejected arguments and inputs of the attention package. */
class AttentionBadInputTest {

    private static MultiHeadAttentionBlock initialized(NDManager manager, MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 8));
        return block;
    }

    private static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    private static PairList<String, Object> params(Object cache, Object startPosition) {
        PairList<String, Object> params = Forward.params(KeyValueCache.KEY, cache);
        params.add("startPosition", startPosition);
        return params;
    }

    @EngineTest
    void refusesStepsThatDoNotFitTheCacheAndLeavesItAsItWas(NDManager manager) {
        MultiHeadAttentionBlock block = initialized(manager, attention().optCausal(true));
        MultiHeadAttentionBlock another = initialized(manager, attention().optCausal(true));
        ParameterStore store = new ParameterStore(manager, false);
        NDList one = new NDList(manager.ones(new Shape(1, 1, 8)));
        NDArray x = manager.ones(new Shape(2, 1, 8));
        NDList step = new NDList(x);
        // a mask covers the step or all tokens
        NDList shortMask = new NDList(x, manager.ones(new Shape(2, 3)));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            Forward.infer(manager, block, cache.nextStep(), manager.ones(new Shape(2, 3, 8)));
            Map<String, ThrowingCallable> calls = Map.of(
                    "batch size 1, float32 on " + manager.getDevice() + ";the cache's 2, float32 on;clear()",
                    () -> block.forward(store, one, false, cache.nextStep()),
                    "mask of shape (2, 3);2 sequences;(2, 1);(2, 4)",
                    () -> block.forward(store, shortMask, false, cache.nextStep()),
                    "startPosition is 1;3 positions",
                    () -> block.forward(store, step, false, params(cache, 1)),
                    // an attention whose first step is refused is not added to the cache
                    "startPosition is 1;0 positions",
                    () -> another.forward(store, step, false, params(cache, 1)),
                    "startPosition;Double 3.7",
                    () -> block.forward(store, step, false, params(cache, 3.7)),
                    "training;inference",
                    () -> block.forward(store, step, true, cache.nextStep()),
                    KeyValueCache.KEY + ";String",
                    () -> block.forward(store, step, false, params("cache", 0)));
            calls.forEach((values, call) -> {
                refused(call, values.split(";", -1));
                assertThat(cache.getLength()).isEqualTo(3);
            });
            NDArray y = Forward.infer(manager, block, cache.nextStep(), x, manager.ones(new Shape(2, 4)));
            NDArray whole = Forward.infer(manager, block, manager.ones(new Shape(2, 4, 8)));
            assertThat(y.toFloatArray())
                    .usingComparatorWithPrecision(1e-6f)
                    .containsExactly(whole.get(":, 3:").toFloatArray());
        }
    }

    @EngineTest
    void aForwardThatFailedInTheSecondAttentionCanBeRepeated(NDManager manager) {
        List<Block> both = List.of(
                initialized(manager, attention().optCausal(true)),
                initialized(manager, attention().optCausal(true)));
        ParameterStore store = new ParameterStore(manager, false);
        NDList step = new NDList(manager.ones(new Shape(1, 1, 8)));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> first = cache.nextStep();
            both.forEach(block -> block.forward(store, step, false, first));
            assertThat(cache.getLength()).isEqualTo(1);
            // the second step reaches only the first attention
            both.get(0).forward(store, step, false, cache.nextStep());
            assertThat(cache.getLength()).isEqualTo(1);
            PairList<String, Object> again = cache.nextStep();
            both.forEach(block -> block.forward(store, step, false, again));
            assertThat(cache.getLength()).isEqualTo(2);
        }
    }
}
