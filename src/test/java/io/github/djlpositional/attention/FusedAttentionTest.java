package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.Forward;
import io.github.djlpositional.relative.EncodingType;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** Attention by PyTorch's fused kernel, with the kinds of position and of mask that it serves. */
class FusedAttentionTest {

    private enum Mask {
        NONE,
        PADDING,
        ADDED,
        ADDED_WITH_HIDDEN_KEYS,
        OF_QUERIES;

        boolean isPadding(int key) {
            return (this == PADDING || this == ADDED_WITH_HIDDEN_KEYS) && key == 1;
        }

        double added(int head, int query, int key) {
            return this == ADDED || this == ADDED_WITH_HIDDEN_KEYS
                    ? 0.25 * head - 0.5 * query + 0.125 * key * query
                    : 0;
        }

        /** Null for none; otherwise (1, F), (1, 1, T, 1), or (1, N, T, F). */
        NDArray array(NDManager manager, int queries, int keys) {
            if (this == NONE) {
                return null;
            }
            if (this == OF_QUERIES) { // the same for all keys, which changes nothing
                return numbers(manager, 9, DataType.FLOAT64, 1, 1, queries, 1);
            }
            if (this == PADDING) {
                NDArray tokens = manager.ones(new Shape(1, keys));
                tokens.set(new NDIndex(0, 1), 0f);
                return tokens;
            }
            float[] numbers = new float[HEADS * queries * keys];
            for (int i = 0; i < numbers.length; i++) {
                int key = i % keys;
                numbers[i] = isPadding(key)
                        ? Float.NEGATIVE_INFINITY
                        : (float) added(i / keys / queries, i / keys % queries, key);
            }
            return manager.create(numbers, new Shape(1, HEADS, queries, keys)).toType(DataType.FLOAT64, false);
        }
    }

    private static MultiHeadAttentionBlock frozen(
            NDManager manager, EncodingType type, boolean causal, boolean isFused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                type.attention(HEADS).optCausal(causal).optFusedKernel(isFused).build(),
                DataType.FLOAT64);
        block.freezeParameters(true);
        return block;
    }

    private static NDList inputs(NDManager manager, Mask mask, NDArray x, int keys) {
        NDArray array = mask.array(manager, (int) x.getShape().get(1), keys);
        return array == null ? new NDList(x) : new NDList(x, array);
    }

    /** PyTorch computes 13 keys with three hidden ones more. */
    @EngineTest(Selection.PAIRS)
    void wholeSequencesHaveTheNumbersOfTheFormulas(
            NDManager manager, EncodingType type, Mask mask, boolean causal, boolean isFused) {
        MultiHeadAttentionBlock block = frozen(manager, type, causal, isFused);
        for (int length : new int[] {7, 13, 16}) {
            NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, length, SIZE);
            NDArray y = Forward.infer(
                    manager, block, inputs(manager, mask, x, length).toArray(new NDArray[0]));
            double[] expected = new NaiveAttention(type, block)
                    .with(mask::added)
                    .forward(0, x, x, x, (query, key) -> (!causal || key <= query) && !mask.isPadding(key));
            requireClose(y, expected, 1e-12);
        }
    }

    @EngineTest(Selection.EACH)
    void gradientsAreThoseOfTheFormulasWithAndWithoutTheTrainingFlag(
            Engine engine, NDManager manager, EncodingType type, Mask mask, boolean causal, boolean training) {
        ParameterStore store = new ParameterStore(manager, false);
        for (int length : new int[] {7, 13}) {
            List<double[]> gradients = new ArrayList<>();
            for (boolean isFused : new boolean[] {true, false}) {
                MultiHeadAttentionBlock block = frozen(manager, type, causal, isFused);
                NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, length, SIZE);
                x.setRequiresGradient(true);
                try (GradientCollector collector = engine.newGradientCollector()) {
                    NDList inputs = inputs(manager, mask, x, length);
                    NDArray y =
                            block.forward(store, inputs, training || !isFused).head();
                    // a residual connection, whose gradient is 1
                    collector.backward(y.mul(y).add(x).sum());
                }
                gradients.add(doubles(x.getGradient()));
            }
            assertThat(DoubleStream.of(gradients.get(1)))
                    .as("the attention's part")
                    .anyMatch(gradient -> Math.abs(gradient - 1) > 0.1);
            requireClose(manager.create(gradients.get(0)), gradients.get(1), 1e-12);
        }
    }

    /** ALiBi and no encoding have different methods of the kernel. */
    @EngineTest(engine = "PyTorch")
    void isTheSameFromManyThreads(NDManager manager, Mask mask, boolean causal, boolean biased) {
        EncodingType type = biased ? EncodingType.ALIBI : EncodingType.NONE;
        MultiHeadAttentionBlock block = frozen(manager, type, causal, true);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 7, SIZE);
        NDArray[] inputs = inputs(manager, mask, x, 7).toArray(new NDArray[0]);
        double[] expected = doubles(Forward.infer(manager, block, inputs));
        IntStream.range(0, 64).parallel().forEach(i -> {
            try (NDManager own = manager.newSubManager()) {
                assertThat(doubles(Forward.infer(own, block, inputs))).isEqualTo(expected);
            }
        });
    }
}
