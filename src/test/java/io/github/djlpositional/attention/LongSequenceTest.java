package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.Spread;
import io.github.djlpositional.support.Steps;
import io.github.djlpositional.support.TestEngine;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Attentions with windows and chunks over more tokens than are computed at a time, with each relative encoding. */
@Sampled(oneIn = 3)
class LongSequenceTest extends OnEachEngine {

    /** Slices are of 16 queries, or as many as the window has keys: six slices, or three. */
    private static final int LENGTH = 90;

    /** What a query sees. */
    enum View {
        WINDOW_OF_5,
        WINDOW_OF_40,
        CHUNKS_OF_7;

        private MultiHeadAttentionBlock.Builder setOn(MultiHeadAttentionBlock.Builder builder) {
            return switch (this) {
                case WINDOW_OF_5 -> builder.optWindow(5);
                case WINDOW_OF_40 -> builder.optWindow(40);
                case CHUNKS_OF_7 -> builder.optChunkSize(7);
            };
        }
    }

    /** One view of each encoding on an engine, and another on the other: views depend little on encodings. */
    private View view(EncodingType type) {
        return View.values()[Spread.number(type, engine) % View.values().length];
    }

    private MultiHeadAttentionBlock attention(EncodingType type, View view, boolean causal, DataType dataType) {
        return filled(
                manager, view.setOn(type.attention(HEADS).optCausal(causal)).build(), dataType);
    }

    @ParameterizedTest
    @EnumSource
    void givesTheNumbersOfThePaperAndMasksHideTokensBesideTheWindow(EncodingType type) {
        boolean causal = Spread.number(type) / View.values().length % 2 == 0;
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, LENGTH, SIZE);
        MultiHeadAttentionBlock block = attention(type, view(type), causal, DataType.FLOAT64);
        NaiveAttention naive = new NaiveAttention(type, block);
        double[] expected = naive.forward(0, x, x, x);
        requireClose(Forward.infer(manager, block, x), expected, 1e-12);
        NDArray probabilities = block.probabilities(new ParameterStore(manager, false), new NDList(x));
        requireClose(probabilities, naive.probabilities(x, x), 1e-12);
        // parts of parameters that require no gradient are written into one array
        block.freezeParameters(true);
        requireClose(Forward.infer(manager, block, x), expected, 1e-12);
        boolean[] tokens = new boolean[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            // 20 tokens in a row are hidden, so that some windows and chunks have no key
            tokens[i] = i % 3 != 1 && (i < 40 || i >= 60);
        }
        double[] masked = naive.with((head, i, j) -> tokens[j] ? 0 : Double.NEGATIVE_INFINITY)
                .forward(0, x, x, x);
        NDArray mask = manager.create(tokens).reshape(1, 1, 1, LENGTH);
        requireClose(Forward.infer(manager, block, x, mask), masked, 1e-12);
        NDArray ofQueries = mask.reshape(1, 1, LENGTH).broadcast(new Shape(1, LENGTH, LENGTH));
        requireClose(Forward.infer(manager, block, x, ofQueries), masked, 1e-12);
    }

    /** MXNet cannot create the parameters in FLOAT16. */
    @ParameterizedTest
    @EnumSource
    void computesFloat16InParts(EncodingType type) {
        assumeEngine(TestEngine.PYTORCH);
        MultiHeadAttentionBlock block = attention(type, View.WINDOW_OF_40, false, DataType.FLOAT16);
        MultiHeadAttentionBlock floats = type.attention(HEADS).optWindow(40).build();
        floats.initialize(manager, DataType.FLOAT32, new Shape(1, LENGTH, SIZE));
        copyWeights(block, floats);
        NDArray x = numbers(manager, 7, DataType.FLOAT16, 1, LENGTH, SIZE);
        NDArray expected = Forward.infer(manager, floats, x.toType(DataType.FLOAT32, true));
        NDArray difference =
                Forward.infer(manager, block, x).toType(DataType.FLOAT32, true).sub(expected);
        // values of up to about 8 with 11 bits, rounded several times
        assertThat(difference.abs().max().getFloat()).isLessThan(0.03f);
    }

    @ParameterizedTest
    @EnumSource
    void decodesAPromptAndItsContinuation(EncodingType type) {
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, LENGTH, SIZE);
        MultiHeadAttentionBlock block = attention(type, view(type), true, DataType.FLOAT64);
        Steps.requireWhole(manager, block, x, 36, 1, 24, 1, 1, 1, 3, 23);
    }
}
