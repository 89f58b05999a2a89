package io.github.djlpositional.attention;

import static io.github.djlpositional.Forward.infer;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.LambdaBlock;
import ai.djl.util.PairList;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.relative.EncodingType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** The scenarios of {@code scenarios/cache.txt}, and what a line does not express. */
class KeyValueCacheTest {

    private static final CaseFile SCENARIOS = CaseFile.read("scenarios/cache.txt");

    static List<String> names() {
        List<String> names = new ArrayList<>();
        int rowsOfTypes = 0;
        for (String row : SCENARIOS.rows()) {
            if (row.contains("TYPE{")) {
                // other rows than EVERY_TYPE have every second; at night all
                boolean isOfAll = EngineTestExtension.IS_NIGHTLY || row.startsWith("EVERY_TYPE{");
                for (EncodingType type : EncodingType.values()) {
                    if (isOfAll || (type.ordinal() + rowsOfTypes) % 2 == 0) {
                        names.add(row.replaceFirst("(EVERY_)?TYPE", type.name()));
                    }
                }
                rowsOfTypes++;
            } else {
                names.add(row);
            }
        }
        return names;
    }

    @EngineTest
    void givesTheResultsOfTheWholeSequence(NDManager manager, String scenario) {
        String[] columns = scenario.split(" +[|] ", -1);
        new CacheScenario(manager, SCENARIOS.expanded(columns[0])).run(Arrays.copyOfRange(columns, 1, columns.length));
    }

    private static MultiHeadAttentionBlock attention(NDManager manager, DataType type) {
        return filled(
                manager, EncodingType.ROTARY.attention(HEADS).optCausal(true).build(), type);
    }

    @EngineTest
    void stepsAreAllOfTheKeysOrOfOtherArrays(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray first = x.get(":, :2");
        NDArray last = x.get(":, 2:");
        NDArray queries = last.duplicate();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), first, first.duplicate(), first);
            refused(() -> infer(manager, block, cache.nextStep(), last), "[x]", "position 2", "cross-attention");
            refused(
                    () -> infer(manager, block, cache.nextStep(), last, queries, last),
                    "step of 2 tokens at position 2",
                    "causal",
                    "2 keys",
                    "expected [x]",
                    "as many keys as tokens, 4");
            assertThat(cache.getLength()).isEqualTo(2);
            // all keys so far, in a new array, are projected again
            NDArray y = infer(manager, block, cache.nextStep(), x, queries, x);
            requireClose(y, doubles(infer(manager, block, x).get(":, 2:")), 1e-12);
            cache.clear();
            PairList<String, Object> params = cache.nextStep();
            infer(manager, block, params, first);
            // such as the parameters of a decoder's step that are also those of the encoder
            MultiHeadAttentionBlock other = attention(manager, DataType.FLOAT64);
            refused(() -> infer(manager, other, params, x.get(":, :1")), "1 tokens", "2");
            refused(
                    () -> infer(manager, block, cache.nextStep(), last, queries, last),
                    "2 tokens at position 2",
                    "expected [x]");
            assertThat(cache.getLength()).isEqualTo(2);
        }
    }

    /** An attention without an encoding accepts positions on several axes. */
    @EngineTest
    void selectsRowsOfPositionsOnSeveralAxesAndOfOneForAll(NDManager manager) {
        MultiHeadAttentionBlock block = filled(
                manager, EncodingType.NONE.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 4, SIZE);
        NDArray rows = manager.create(new long[] {1, 1, 0});
        NDArray selected = x.get(rows);
        NDArray whole = infer(manager, block, selected);
        NDArray last = manager.arange(9).reshape(3, 3, 1);
        for (NDArray[] positions : new NDArray[][] {
            {manager.arange(24).reshape(3, 2, 4), last},
            {manager.arange(12).reshape(3, 1, 4), last},
            {manager.arange(4), manager.arange(1)}
        }) {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                PairList<String, Object> params = cache.nextStep();
                params.add(PositionalEncodingBlock.POSITIONS, positions[0].get("..., :3"));
                infer(manager, block, params, x.get(":, :3"));
                cache.select(rows);
                PairList<String, Object> next = cache.nextStep();
                next.add(PositionalEncodingBlock.POSITIONS, positions[1]);
                NDArray y = infer(manager, block, next, selected.get(":, 3:"));
                requireClose(y, doubles(whole.get(":, 3:")), 1e-12);
            }
        }
    }

    @EngineTest
    void keysOfAnEncoderAreThoseOfTheSameArrayObject(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT32);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, SIZE);
        NDArray first = numbers(manager, 2, DataType.FLOAT32, 1, 6, SIZE);
        NDArray other = numbers(manager, 3, DataType.FLOAT32, 1, 6, SIZE);
        double[] ofFirst = doubles(infer(manager, block, first, x, first));
        double[] ofOther = doubles(infer(manager, block, other, x, other));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            UnaryOperator<NDArray> firstStep = memory -> {
                cache.rewind(0);
                return infer(manager, block, cache.nextStep(), memory, x, memory);
            };
            NDArray memory = first.duplicate();
            requireClose(firstStep.apply(memory), ofFirst, 1e-6);
            other.copyTo(memory);
            requireClose(firstStep.apply(memory), ofFirst, 1e-6);
            cache.clear();
            requireClose(firstStep.apply(memory), ofOther, 1e-6);
            memory.close();
            requireClose(firstStep.apply(memory), ofOther, 1e-6);
            // the engine may give it the memory of the closed array
            requireClose(firstStep.apply(first.duplicate()), ofFirst, 1e-6);
        }
    }

    @EngineTest
    void refusesAnotherThreadDuringAForward(NDManager manager) {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 2, 4, SIZE);
        NDArray rows = manager.create(new int[] {0});
        Runnable[] meanwhile = {() -> {}};
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.NONE
                        .attention(HEADS)
                        .optCausal(true)
                        .optKeyNorm(new LambdaBlock(keys -> {
                            meanwhile[0].run();
                            return keys;
                        }))
                        .build(),
                DataType.FLOAT32);
        NDArray whole = infer(manager, block, x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :2"));
            PairList<String, Object> params = cache.nextStep();
            NDArray next = x.get(":, 2:");
            List<ThrowingCallable> calls = List.of(
                    () -> infer(manager, block, params, next),
                    cache::nextStep,
                    () -> cache.rewind(1),
                    () -> cache.select(rows),
                    cache::fork,
                    cache::clear,
                    cache::close);
            meanwhile[0] = () -> calls.forEach(call -> assertThat(inAnotherThread(call))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("another thread"));
            requireClose(infer(manager, block, params, next), doubles(whole.get(":, 2:")), 1e-6);
            assertThat(cache.getLength()).isEqualTo(4);
            // each may use it after the other, also after a forward that failed
            assertThat(inAnotherThread(() -> cache.rewind(3))).isNull();
            assertThat(cache.getLength()).isEqualTo(3);
            refused(
                    () -> infer(manager, block, cache.nextStep(), next.get(":, 1:"), manager.ones(new Shape(2, 2))),
                    "mask");
            assertThat(inAnotherThread(cache::clear)).isNull();
        }
    }

    /** What a call in another thread throws; null for nothing. */
    private static Throwable inAnotherThread(ThrowingCallable call) {
        return CompletableFuture.supplyAsync(() -> catchThrowable(call)).join();
    }

    /** A cache that held the graph of its keys would grow with each step. */
    @EngineTest(engine = "PyTorch")
    void keysInACacheHaveNoGradient(NDManager manager, boolean isFused) {
        MultiHeadAttentionBlock.Builder builder =
                EncodingType.NONE.attention(HEADS).optFusedKernel(isFused);
        MultiHeadAttentionBlock block = filled(manager, builder.optCausal(true).build(), DataType.FLOAT64);
        block.freezeParameters(true);
        block.getKeyProjection().freezeParameters(false);
        block.getKeyProjection().getParameters().get("weight").getArray().setRequiresGradient(true);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < 3; i++) {
                NDArray token = x.get(":, " + i + ":" + (i + 1));
                assertThat(infer(manager, block, cache.nextStep(), token).hasGradient())
                        .isFalse();
            }
        }
    }
}
