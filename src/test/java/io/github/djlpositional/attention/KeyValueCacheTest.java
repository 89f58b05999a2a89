package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;

/** How a cache keeps count of the steps. */
class KeyValueCacheTest {

    private static MultiHeadAttentionBlock attention(NDManager manager) {
        return filled(
                manager, EncodingType.ROTARY.attention(HEADS).optCausal(true).build(), DataType.FLOAT32);
    }

    private static NDArray step(NDManager manager, Block block, PairList<String, Object> params, NDArray... inputs) {
        return block.forward(new ParameterStore(manager, false), new NDList(inputs), false, params)
                .singletonOrThrow();
    }

    @EngineTest
    void rewindsAStepThatFailedBehindTheAttention(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 5, SIZE);
        NDArray whole = Forward.infer(manager, block, x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            step(manager, block, cache.nextStep(), x.get(":, :3"));
            step(manager, block, cache.nextStep(), x.get(":, 3:4"));
            assertThat(cache.getLength()).isEqualTo(4);
            cache.rewind(3);
            assertThat(cache.getLength()).isEqualTo(3);
            NDArray again = step(manager, block, cache.nextStep(), x.get(":, 3:4"));
            requireClose(again, doubles(whole.get(":, 3:4")), 1e-6);
            NDArray last = step(manager, block, cache.nextStep(), x.get(":, 4:"));
            requireClose(last, doubles(whole.get(":, 4:")), 1e-6);
            refused(() -> cache.rewind(6), "length 6", "0 to 5");
            refused(() -> cache.rewind(-1), "length -1", "0 to 5");
        }
    }

    private static double[] doubles(NDArray array) {
        return array.toType(DataType.FLOAT64, true).toDoubleArray();
    }

    @EngineTest
    void refusesTheNextStepIfThePreviousOneDidNotReachAnAttention(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager);
        Block model = new SequentialBlock().add(block);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            step(manager, model, cache.nextStep(), x);
            assertThatIllegalStateException()
                    .isThrownBy(cache::nextStep)
                    .withMessageContainingAll("position 0", "SequentialBlock", "rewind(0)");
            cache.rewind(cache.getLength());
            step(manager, block, cache.nextStep(), x);
            cache.nextStep();
            assertThatIllegalStateException().isThrownBy(cache::nextStep).withMessageContaining("rewind(3)");
            cache.clear();
            assertThat(cache.nextStep().get(KeyValueCache.KEY)).isSameAs(cache);
        }
    }

    @EngineTest
    void countsThePositionsOfAnAttentionOverAnEncoder(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager);
        NDArray encoded = numbers(manager, 1, DataType.FLOAT32, 1, 9, SIZE);
        NDArray x = numbers(manager, 2, DataType.FLOAT32, 1, 5, SIZE);
        NDArray whole = Forward.infer(manager, block, encoded, x, encoded);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            step(manager, block, cache.nextStep(), encoded, x.get(":, :3"), encoded);
            assertThat(cache.getLength()).isEqualTo(3);
            step(manager, block, cache.nextStep(), encoded, x.get(":, 3:4"), encoded);
            NDArray last = step(manager, block, cache.nextStep(), encoded, x.get(":, 4:"), encoded);
            requireClose(last, doubles(whole.get(":, 4:")), 1e-6);
        }
    }

    @EngineTest
    void refusesAStepThatRepeatsTheTokensOfTheCache(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 2, 7, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            step(manager, block, cache.nextStep(), x.get(":, :3"));
            refused(
                    () -> step(manager, block, cache.nextStep(), x.get(":, :4")),
                    "step of 4 tokens",
                    "the 3 that the cache holds");
            assertThat(cache.getLength()).isEqualTo(3);
            step(manager, block, cache.nextStep(), x.get(":, 3:"));
            assertThat(cache.getLength()).isEqualTo(7);
        }
    }

    @EngineTest
    void refusesForwardParametersThatAreMisspeltOrIncomplete(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> alone = new PairList<>();
            alone.add(KeyValueCache.KEY, cache);
            refused(() -> step(manager, block, alone, x), "startPosition", "nextStep()");
            for (String name : new String[] {"startposition", "start_position", "keyvaluecache", "key-value-cache"}) {
                PairList<String, Object> params = cache.nextStep();
                params.add(name, 3);
                refused(() -> step(manager, block, params, x), "'" + name + "'", "correct the name");
            }
        }
    }
}
