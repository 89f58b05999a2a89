package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.concurrent.Callable;

/** A decoder's step: the attention of one token to a cache of (B, T, D). */
final class Generation {

    private static final int LLAMA_HEADS = 32;
    private static final int LLAMA_HEAD_SIZE = 128;
    private static final double LLAMA_BASE = 500_000;

    /** The cache is filled by steps of so many tokens, which need little memory. */
    private static final int FILLED_AT_ONCE = 64;

    static final Operation GENERATE = new Operation("GENERATE", "", setting -> step(setting, of(setting, true)));
    static final Operation GENERATE_NOT_FUSED =
            new Operation("GENERATE_NOT_FUSED", "not fused", setting -> step(setting, of(setting, false)));

    /** One layer of Llama 3 8B. */
    static final Operation GENERATE_LLAMA =
            new Operation("GENERATE_LLAMA", "", setting -> step(setting, llama(setting, 8)));

    static final Operation GENERATE_LLAMA_32_KEY_HEADS =
            new Operation("GENERATE_LLAMA_32_KEY_HEADS", "32 key heads", setting -> step(setting, llama(setting, 32)));

    static final Operation GENERATE_IN_ONE_CALL =
            new Operation("GENERATE_IN_ONE_CALL", "one call", Generation::stepInOneCall);

    private Generation() {}

    private static MultiHeadAttentionBlock of(Setting setting, boolean isFused) {
        return setting.of()
                .kind()
                .attention(setting.size(2), setting.size(1), true)
                .optFusedKernel(isFused)
                .build();
    }

    private static MultiHeadAttentionBlock llama(Setting setting, int keyHeads) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(setting.size(2))
                .setHeadCount(LLAMA_HEADS)
                .optKeyValueHeadCount(keyHeads)
                .optHeadSize(LLAMA_HEAD_SIZE)
                .optBias(false)
                .optCausal(true)
                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                        .setHeadSize(LLAMA_HEAD_SIZE)
                        .optBase(LLAMA_BASE)
                        .optLayout(PairLayout.CONCATENATED)
                        .build())
                .build();
    }

    /** Initializes an attention with the same numbers in every setting. */
    private static void initialize(Setting setting, MultiHeadAttentionBlock attention) {
        setting.manager().getEngine().setRandomSeed(1);
        setting.initialized(attention, setting.shape()).freezeParameters(true);
    }

    private static Callable<NDResource> stepInOneCall(Setting setting) throws Exception {
        MultiHeadAttentionBlock attention = of(setting, true);
        initialize(setting, attention);
        NDArray tokens = setting.numbers(Shape.update(setting.shape(), 1, Math.min(FILLED_AT_ONCE, setting.size(1))));
        return OneCall.step(setting, attention, tokens, setting.numbers(Shape.update(setting.shape(), 1, 1)));
    }

    private static Callable<NDResource> step(Setting setting, MultiHeadAttentionBlock attention) {
        Shape shape = setting.shape();
        int length = setting.size(1);
        initialize(setting, attention);
        KeyValueCache cache = setting.own(new KeyValueCache(setting.manager(), length + FILLED_AT_ONCE));
        while (cache.getLength() < length) {
            int count = Math.min(FILLED_AT_ONCE, length - cache.getLength());
            try (NDArray tokens = setting.numbers(Shape.update(shape, 1, count))) {
                attention
                        .forward(setting.store(), new NDList(tokens), false, cache.nextStep())
                        .close();
            }
        }
        NDList inputs = new NDList(setting.numbers(Shape.update(shape, 1, 1)));
        NDArray mask = Masks.of(setting, 1, length + 1);
        if (mask != null) {
            inputs.add(mask);
        }
        return () -> {
            NDList result = attention.forward(setting.store(), inputs, false, cache.nextStep());
            // the next step has the same length
            cache.rewind(length);
            return result;
        };
    }
}
