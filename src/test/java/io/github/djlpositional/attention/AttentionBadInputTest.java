package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.math.RotaryScaling;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** What the attention's blocks refuse: each message says what was given, what is allowed, and what to do. */
class AttentionBadInputTest {

    private static void refused(ThrowingCallable call, String message) {
        assertThatIllegalArgumentException().isThrownBy(call).withMessage(message);
    }

    private static MultiHeadAttentionBlock initialized(NDManager manager, MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 8));
        return block;
    }

    private static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    @Test
    void rotarySizes() {
        refused(
                () -> RotaryEmbeddingBlock.builder().setHeadSize(7).build(),
                "rotary size 7 of head size 7: expected an even number from 2 to the head size; set it with"
                        + " optRotarySize(int), or give another head size");
        refused(
                () -> RotaryEmbeddingBlock.builder()
                        .setHeadSize(8)
                        .optRotarySize(10)
                        .build(),
                "rotary size 10 of head size 8: expected an even number from 2 to the head size; set it with"
                        + " optRotarySize(int), or give another head size");
        refused(
                () -> RotaryEmbeddingBlock.builder().build(),
                "head size 0 is not positive: expected 1 or more; set it with setHeadSize(int)");
        refused(
                () -> RotaryEmbeddingBlock.builder().setHeadSize(8).optBase(0.5).build(),
                "base 0.5 is outside its range: expected a finite number above 1; RoFormer's is 10000");
        refused(
                () -> RotaryEmbeddingBlock.builder()
                        .setHeadSize(8)
                        .optScaling(RotaryScaling.longRope(new double[] {1, 1}, new double[] {2, 2}, 100, 200))
                        .build(),
                "2 LongRoPE factors for rotary size 8, which has 4 pairs: give one short and one long factor for each pair");
    }

    @Test
    void headsThatDoNotFit() {
        refused(
                () -> MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(8)
                        .setHeadCount(3)
                        .build(),
                "embedding size 8 is not divisible by head count 3: expected numbers of heads that divide it; give"
                        + " another of either");
        refused(
                () -> MultiHeadAttentionBlock.builder().setEmbeddingSize(8).build(),
                "head count 0 is not positive: expected 1 or more; set it with setHeadCount(int)");
        refused(
                () -> attention().optScale(0).build(),
                "scale 0.0 is outside its range: expected a positive finite number; give it with optScale(double)");
        refused(
                () -> attention()
                        .optRelativeEncoding(
                                AlibiBiasBlock.builder().setHeadCount(4).build())
                        .build(),
                "AlibiBiasBlock(headCount=4, causal=false) has another number of heads than the attention's 2: give both the"
                        + " same, setHeadCount(2)");
        refused(
                () -> attention()
                        .optRelativeEncoding(ShawRelativePositionBlock.builder()
                                .setHeadSize(8)
                                .build())
                        .build(),
                "ShawRelativePositionBlock(headSize=8, maxDistance=16, values=true) has another head size than the"
                        + " attention's 4, its embedding size by its head count: give both the same, setHeadSize(4)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> attention()
                        .optRelativeEncoding(TransformerXlPositionBlock.builder()
                                .setEmbeddingSize(16)
                                .setHeadCount(2)
                                .build())
                        .build())
                .withMessageEndingWith(
                        " has another head size than the attention's 4, its embedding size by its head count: give both the"
                                + " same, setEmbeddingSize(8)");
        refused(
                () -> RelativePositionBiasBlock.builder()
                        .setHeadCount(2)
                        .optBuckets(31)
                        .build(),
                "31 buckets for two directions: expected an even number from 4 to 4096; give another number, T5 has 32");
    }

    @EngineTest
    void kerplesArguments(NDManager manager) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> KerpleBiasBlock.builder().build())
                .withMessageContaining("headCount");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> KerpleBiasBlock.builder().setHeadCount(-1).build())
                .withMessageContaining("headCount -1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> KerpleBiasBlock.fromArguments(Map.of("headCount", 2, "causal", true)))
                .withMessageContaining("causal");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> attention()
                        .optRelativeEncoding(
                                KerpleBiasBlock.builder().setHeadCount(4).build())
                        .build())
                .withMessageContaining("KerpleBiasBlock(headCount=4)")
                .withMessageContaining("setHeadCount(2)");
        KerpleBiasBlock block = KerpleBiasBlock.builder().setHeadCount(2).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, manager.zeros(new Shape(3))))
                .withMessageContaining("(3)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, manager.zeros(new Shape(1, 3, 4), DataType.FLOAT64)))
                .withMessageContainingAll("(1, 3, 4)", "float64", "float32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.inferFrom(manager, -1, block, manager.zeros(new Shape(1, 3, 4))))
                .withMessageContaining("-1");
    }

    @EngineTest
    void positionsBeyondTheTable(NDManager manager) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optMaxSequenceLength(10)
                .build();
        NDArray x = manager.zeros(new Shape(1, 2, 3, 4));
        refused(
                () -> Forward.inferFrom(manager, 8, block, x),
                "sequence length 3 at start position 8 exceeds the maximum 10: build the block with"
                        + " optMaxSequenceLength(11) or more");
        refused(
                () -> Forward.infer(manager, block, x, manager.create(new int[] {0, 10, 1})),
                "position 10 at index 1 of (3) is outside 0 to 9: count positions from 0, or build the block with a greater"
                        + " optMaxSequenceLength(int)");
        refused(
                () -> Forward.infer(manager, block, x, manager.create(new float[] {0, -0.5f, 1})),
                "position -0.5 at index 1 of (3) is outside 0 to 10 (exclusive): count positions from 0");
        refused(
                () -> Forward.infer(manager, block, x, manager.create(new int[] {0, 1})),
                "positions of shape (2) do not fit input (1, 2, 3, 4): expected (3) or (1, 3); give one position for each"
                        + " step of the sequence");
        MultiHeadAttentionBlock attention = initialized(manager, attention().optRelativeEncoding(block));
        refused(
                () -> Forward.infer(manager, attention, manager.zeros(new Shape(1, 11, 8))),
                "sequence length 11 at start position 0 exceeds the maximum 10: build the block with"
                        + " optMaxSequenceLength(11) or more");
    }

    @EngineTest
    void shapesThatAreNoHeads(NDManager manager) {
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(4).build();
        refused(
                () -> Forward.infer(manager, rotary, manager.zeros(new Shape(2, 3, 4))),
                "input of shape (2, 3, 4): expected (B, N, T, 4); split the embeddings into heads first, as"
                        + " MultiHeadAttentionBlock does");
        refused(
                () -> Forward.infer(manager, rotary, manager.zeros(new Shape(1, 2, 3, 6))),
                "input of shape (1, 2, 3, 6): expected (B, N, T, 4); split the embeddings into heads first, as"
                        + " MultiHeadAttentionBlock does");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(
                        manager, rotary, manager.zeros(new Shape(1, 2, 3, 4)), manager.zeros(new Shape(1, 2, 5, 4))))
                .withMessageStartingWith(
                        "queries (1, 2, 3, 4) float32 on cpu() and keys (1, 2, 5, 4) float32 on cpu(): expected the"
                                + " same");
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(2).build();
        refused(
                () -> Forward.infer(manager, alibi, manager.zeros(new Shape(3))),
                "queries of shape (3): expected (…, T, D), rank 2 or more; give the array whose sequence is to be"
                        + " attended");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, alibi, manager.zeros(new Shape(2, 3), DataType.INT32)))
                .withMessageStartingWith("queries (2, 3) has data type int32: expected float16, float32 and float64");
        refused(
                () -> Forward.infer(manager, alibi, manager.create(new Shape(1, 0, 4))),
                "0 queries and 0 keys: expected 1 or more of both; there are no scores without them");
    }

    @EngineTest
    void inputsThatAreNoneOfAnAttention(NDManager manager) {
        MultiHeadAttentionBlock block = initialized(manager, attention());
        NDArray x = manager.zeros(new Shape(2, 3, 8));
        refused(
                () -> Forward.infer(manager, block, manager.zeros(new Shape(2, 3, 6))),
                "input of shape (2, 3, 6): expected (B, T, 8); give embeddings of this size, or build the block with"
                        + " another setEmbeddingSize(int)");
        refused(
                () -> Forward.infer(manager, block, manager.zeros(new Shape(3, 8))),
                "input of shape (3, 8): expected (B, T, 8); give embeddings of this size, or build the block with another"
                        + " setEmbeddingSize(int)");
        refused(
                () -> Forward.infer(manager, block, x, x, manager.zeros(new Shape(2, 3, 6))),
                "values of shape (2, 3, 6): expected (B, F, 8); give embeddings of this size, or build the block with"
                        + " another setEmbeddingSize(int)");
        refused(
                () -> Forward.infer(manager, block, x, x, x.toType(DataType.FLOAT64, false)),
                "queries are float32 and values float64: expected one data type for all; convert them with toType");
        refused(
                () -> Forward.infer(manager, block, x.toType(DataType.FLOAT64, false), x, x),
                "queries are float32 and keys float64: expected one data type for all; convert them with toType");
        refused(
                () -> Forward.infer(manager, block, x.toType(DataType.INT32, false)),
                "input (2, 3, 8) has data type int32: expected float16, float32 and float64; convert it with toType, or"
                        + " set the model's data type");
        refused(
                () -> Forward.infer(manager, block, x, x.toType(DataType.INT32, false), x),
                "queries (2, 3, 8) has data type int32: expected float16, float32 and float64; convert it with toType, or"
                        + " set the model's data type");
        refused(
                () -> Forward.infer(manager, block, x, x, manager.zeros(new Shape(2, 4, 8))),
                "keys (2, 3, 8), queries (2, 3, 8) and values (2, 4, 8): expected one batch size for all and one length"
                        + " for keys and values; give (B, F, D), (B, T, D) and (B, F, D)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.forward(new ParameterStore(manager, false), new NDList(), false))
                .withMessageStartingWith("0 inputs were given: expected [x], [x, mask], [keys, queries, values] or");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, x.toType(DataType.FLOAT64, false)))
                .withMessageStartingWith(
                        "input (2, 3, 8) has data type float64: expected float32, that of the projections;");
        NDArray noKeys = manager.create(new Shape(2, 0, 8));
        refused(
                () -> Forward.infer(manager, block, noKeys, x, noKeys),
                "keys of shape (2, 0, 8) are empty: expected a length of 1 or more; skip the call where there is nothing"
                        + " to attend to");
    }

    @EngineTest
    void masksThatDoNotFit(NDManager manager) {
        MultiHeadAttentionBlock block = initialized(manager, attention());
        NDArray x = manager.zeros(new Shape(2, 3, 8));
        for (Shape shape : new Shape[] {
            new Shape(3),
            new Shape(2, 4),
            new Shape(1, 3),
            new Shape(2, 3, 4),
            new Shape(2, 3, 3, 3),
            new Shape(1, 1, 1, 1, 1)
        }) {
            refused(
                    () -> Forward.infer(manager, block, x, manager.ones(shape)),
                    "mask of shape " + shape + " does not fit 2 sequences of 3 queries and 3 keys, those of the cache"
                            + " included: expected (2, 3) and (2, 3, 3) with 1 for what is seen, and (2, 2, 3, 3), any"
                            + " size of which may be 1, for what is added to the scores; give one of these");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, x, manager.ones(new Shape(1, 1, 3, 3), DataType.INT32)))
                .withMessage(
                        "mask (1, 1, 3, 3) has data type int32: allowed for a mask of four axes is float32, the data"
                                + " type of the queries; convert it with toType");
    }

    @EngineTest
    void cachesThatDoNotFit(NDManager manager) {
        MultiHeadAttentionBlock block = initialized(manager, attention().optCausal(true));
        ParameterStore store = new ParameterStore(manager, false);
        NDArray two = manager.ones(new Shape(2, 3, 8));
        NDArray one = manager.ones(new Shape(1, 1, 8));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            block.forward(store, new NDList(two), false, cache.nextStep());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> block.forward(store, new NDList(one), false, cache.nextStep()))
                    .withMessageStartingWith(
                            "a step with batch size 1, float32 on cpu() does not fit the cache's 2, float32")
                    .withMessageEndingWith("expected the same throughout a sequence; begin another one with clear()");
            assertThat(cache.getLength()).isEqualTo(3);
            // a mask has to cover the steps before
            NDArray step = manager.ones(new Shape(2, 1, 8));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> block.forward(
                            store, new NDList(step, manager.ones(new Shape(2, 1))), false, cache.nextStep()))
                    .withMessageStartingWith("mask of shape (2, 1) does not fit 2 sequences of 1 queries and 4 keys");
            assertThat(cache.getLength()).isEqualTo(3);
            PairList<String, Object> wrong = new PairList<>();
            wrong.add(KeyValueCache.KEY, cache);
            wrong.add("startPosition", 1);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> block.forward(store, new NDList(step), false, wrong))
                    .withMessageStartingWith("startPosition is 1, but the cache holds 3 positions of");
            // nor has an attention that was refused at its first step any
            MultiHeadAttentionBlock another = initialized(manager, attention().optCausal(true));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> another.forward(store, new NDList(step), false, wrong))
                    .withMessageStartingWith("startPosition is 1, but the cache holds 0 positions of");
            assertThat(cache.getLength()).isEqualTo(3);
            PairList<String, Object> between = new PairList<>();
            between.add(KeyValueCache.KEY, cache);
            between.add("startPosition", 3.7);
            refused(
                    () -> block.forward(store, new NDList(step), false, between),
                    "startPosition is the Double 3.7: expected an Integer or a Long; give the number of the first"
                            + " position");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> block.forward(store, new NDList(step), true, cache.nextStep()))
                    .withMessage("a KeyValueCache was given in training: expected inference alone; train on whole"
                            + " sequences");
            // none of this has harmed it
            NDArray y = block.forward(store, new NDList(step, manager.ones(new Shape(2, 4))), false, cache.nextStep())
                    .singletonOrThrow();
            NDArray whole = Forward.infer(manager, block, manager.ones(new Shape(2, 4, 8)));
            assertThat(y.toFloatArray())
                    .usingComparatorWithPrecision(1e-6f)
                    .containsExactly(whole.get(":, 3:").toFloatArray());
        }
        PairList<String, Object> none = new PairList<>();
        none.add(KeyValueCache.KEY, "cache");
        refused(
                () -> block.forward(store, new NDList(two), false, none),
                "keyValueCache is a String: expected a KeyValueCache; pass the forward its nextStep()");
    }

    @EngineTest
    void aForwardThatFailsInASecondAttentionLeavesTheFirst(NDManager manager) {
        MultiHeadAttentionBlock first = initialized(manager, attention().optCausal(true));
        MultiHeadAttentionBlock second = initialized(manager, attention().optCausal(true));
        ParameterStore store = new ParameterStore(manager, false);
        NDArray step = manager.ones(new Shape(1, 1, 8));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> begin = cache.nextStep();
            for (Block block : new Block[] {first, second}) {
                block.forward(store, new NDList(step), false, begin);
            }
            assertThat(cache.getLength()).isEqualTo(1);
            // only the first is done with the second step
            first.forward(store, new NDList(step), false, cache.nextStep());
            assertThat(cache.getLength()).isEqualTo(1);
            PairList<String, Object> again = cache.nextStep();
            NDArray y = null;
            for (Block block : new Block[] {first, second}) {
                y = block.forward(store, new NDList(step), false, again).singletonOrThrow();
            }
            assertThat(cache.getLength()).isEqualTo(2);
            assertThat(y).isNotNull();
        }
    }

    @EngineTest
    void filesOfOtherSettingsOrDamaged(Engine engine, NDManager manager) throws Exception {
        for (EncodingType kind : EncodingType.values()) {
            MultiHeadAttentionBlock block = initialized(manager, kind.attention(2));
            byte[] bytes = BlockBytes.saved(block);
            // a block of other settings
            MultiHeadAttentionBlock causal = kind.attention(2).optCausal(true).build();
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> BlockBytes.load(manager, causal, bytes))
                    .withMessageContaining("build the block with the saved settings");
            assertThat(causal.isInitialized()).isFalse();
            // a file that ends too soon
            for (int length = 1; length < bytes.length; length += 97) {
                byte[] cut = Arrays.copyOf(bytes, length);
                MultiHeadAttentionBlock fresh = kind.attention(2).build();
                assertThatExceptionOfType(Exception.class)
                        .as("%s %s cut to %d of %d", engine.getEngineName(), kind, length, bytes.length)
                        .isThrownBy(() -> BlockBytes.load(manager, fresh, cut))
                        .matches(e -> e instanceof MalformedModelException || e instanceof IOException);
                assertThat(fresh.isInitialized()).isFalse();
            }
        }
    }
}
