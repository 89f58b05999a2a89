package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.Kernel.Name.BY_DISTANCE;
import static io.github.djlpositional.attention.Kernel.Name.CAUSAL;
import static io.github.djlpositional.attention.Kernel.Name.MASKED;
import static io.github.djlpositional.attention.Kernel.Name.PLAIN;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.relative.EncodingType.ALIBI;
import static io.github.djlpositional.relative.EncodingType.FIRE;
import static io.github.djlpositional.relative.EncodingType.FORGETTING;
import static io.github.djlpositional.relative.EncodingType.KERPLE;
import static io.github.djlpositional.relative.EncodingType.LEARNED_ROTARY;
import static io.github.djlpositional.relative.EncodingType.NONE;
import static io.github.djlpositional.relative.EncodingType.ROTARY;
import static io.github.djlpositional.relative.EncodingType.SHAW;
import static io.github.djlpositional.relative.EncodingType.WINDOW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each forward is computed with the fastest kernel that supports it. On MXNet, there is only the plain one. */
class KernelTest extends OnEachEngine {

    /** What a forward of a prompt of 5 tokens, or of a step after it, is given. */
    private enum Input {
        PROMPT,
        PROMPT_WITH_PADDING,
        PROMPT_WITH_MASK_OF_HEADS,
        PROMPT_WITH_POSITIONS,
        TRAINING,
        STEP,
        STEP_WITH_PADDING,
        STEP_WITH_POSITIONS,
        STEP_OF_TWO
    }

    /** The kernel of PyTorch. */
    private record Case(String name, MultiHeadAttentionBlock.Builder attention, Input input, Kernel.Name kernel) {

        @Override
        public String toString() {
            return name + ", " + input + ": " + kernel;
        }
    }

    private static MultiHeadAttentionBlock.Builder causal(EncodingType type) {
        return type.attention(HEADS).optCausal(true);
    }

    private static MultiHeadAttentionBlock.Builder grouped(EncodingType type) {
        return causal(type).optKeyValueHeadCount(1);
    }

    private static MultiHeadAttentionBlock.Builder normOfAllHeads() {
        return causal(NONE)
                .optNormOfAllHeads(true)
                .optQueryNorm(RmsNormBlock.builder().setEmbeddingSize(SIZE).build());
    }

    private static MultiHeadAttentionBlock.Builder gated() {
        return causal(NONE).optOutputGate(MultiHeadAttentionBlock.OutputGate.SIGMOID);
    }

    private static MultiHeadAttentionBlock.Builder learnedQueryScale() {
        return causal(NONE).optQueryScale(new QueryScale.LearnedLogN(0.43));
    }

    static Stream<Case> attentionsWithoutEncoding() {
        return Stream.of(
                new Case("not causal", NONE.attention(HEADS), Input.PROMPT, MASKED),
                new Case("causal", causal(NONE), Input.PROMPT, CAUSAL),
                new Case("causal", causal(NONE), Input.PROMPT_WITH_PADDING, MASKED),
                new Case("causal", causal(NONE), Input.PROMPT_WITH_MASK_OF_HEADS, MASKED),
                new Case("causal", causal(NONE), Input.TRAINING, CAUSAL),
                new Case("causal", causal(NONE), Input.STEP, Kernel.Name.STEP),
                new Case("causal", causal(NONE), Input.STEP_WITH_PADDING, Kernel.Name.STEP),
                new Case("causal", causal(NONE), Input.STEP_OF_TWO, MASKED),
                new Case("window", causal(NONE).optWindow(2), Input.PROMPT, MASKED),
                new Case("window", causal(NONE).optWindow(2), Input.STEP, Kernel.Name.STEP),
                new Case("chunks", causal(NONE).optChunkSize(2), Input.STEP, Kernel.Name.STEP),
                new Case("chunks", causal(NONE).optChunkSize(2), Input.STEP_WITH_POSITIONS, PLAIN),
                new Case("grouped keys", grouped(NONE), Input.PROMPT, CAUSAL),
                new Case("grouped keys", grouped(NONE), Input.PROMPT_WITH_MASK_OF_HEADS, PLAIN),
                new Case("grouped keys", grouped(NONE), Input.STEP, Kernel.Name.STEP),
                new Case("values of another size", causal(NONE).optValueHeadSize(3), Input.PROMPT, CAUSAL),
                new Case("values of another size", causal(NONE).optValueHeadSize(3), Input.STEP, Kernel.Name.STEP),
                new Case("output gate", gated(), Input.PROMPT, CAUSAL),
                new Case("output gate", gated(), Input.STEP, Kernel.Name.STEP),
                new Case("kernels off", causal(NONE).optFusedKernel(false), Input.PROMPT, PLAIN),
                new Case("kernels off", causal(NONE).optFusedKernel(false), Input.STEP, PLAIN),
                new Case("score cap", causal(NONE).optScoreCap(5), Input.PROMPT, PLAIN),
                new Case("score cap", causal(NONE).optScoreCap(5), Input.STEP, PLAIN),
                new Case("sinks", causal(NONE).optSinks(true), Input.STEP, PLAIN),
                new Case("norm of all heads", normOfAllHeads(), Input.PROMPT, CAUSAL),
                new Case("norm of all heads", normOfAllHeads(), Input.STEP, Kernel.Name.STEP),
                new Case("cosine", causal(NONE).optCosine(true), Input.PROMPT, CAUSAL),
                new Case("cosine", causal(NONE).optCosine(true), Input.TRAINING, CAUSAL),
                new Case("cosine", causal(NONE).optCosine(true), Input.STEP, Kernel.Name.STEP),
                new Case("learned query scale", learnedQueryScale(), Input.PROMPT, CAUSAL),
                new Case("learned query scale", learnedQueryScale(), Input.STEP, Kernel.Name.STEP),
                new Case("dropout", causal(NONE).optDropoutRate(0.5f), Input.PROMPT, CAUSAL),
                new Case("dropout", causal(NONE).optDropoutRate(0.5f), Input.TRAINING, PLAIN));
    }

    static Stream<Case> attentionsWithEncodings() {
        return Stream.of(
                new Case("rotary", causal(ROTARY), Input.PROMPT_WITH_POSITIONS, CAUSAL),
                new Case("rotary", causal(ROTARY), Input.STEP_WITH_POSITIONS, Kernel.Name.STEP),
                new Case("learned rotary", causal(LEARNED_ROTARY), Input.PROMPT_WITH_POSITIONS, CAUSAL),
                new Case("learned rotary", causal(LEARNED_ROTARY), Input.TRAINING, CAUSAL),
                new Case("learned rotary", causal(LEARNED_ROTARY), Input.STEP_WITH_POSITIONS, Kernel.Name.STEP),
                new Case("ALiBi, not causal", ALIBI.attention(HEADS), Input.PROMPT, BY_DISTANCE),
                new Case("ALiBi", causal(ALIBI), Input.PROMPT, BY_DISTANCE),
                new Case("ALiBi, window", causal(ALIBI).optWindow(2), Input.PROMPT, BY_DISTANCE),
                new Case("ALiBi, chunks", causal(ALIBI).optChunkSize(2), Input.PROMPT, MASKED),
                new Case("ALiBi, grouped keys", grouped(ALIBI), Input.PROMPT, PLAIN),
                new Case("ALiBi", causal(ALIBI), Input.PROMPT_WITH_PADDING, MASKED),
                new Case("ALiBi", causal(ALIBI), Input.PROMPT_WITH_POSITIONS, MASKED),
                new Case("ALiBi", causal(ALIBI), Input.TRAINING, BY_DISTANCE),
                new Case("ALiBi", causal(ALIBI), Input.STEP, Kernel.Name.STEP),
                new Case("ALiBi", causal(ALIBI), Input.STEP_WITH_POSITIONS, PLAIN),
                new Case("KERPLE", causal(KERPLE), Input.PROMPT, BY_DISTANCE),
                new Case("KERPLE", causal(KERPLE), Input.TRAINING, PLAIN),
                new Case("FIRE", causal(FIRE), Input.PROMPT, MASKED),
                new Case("FIRE", causal(FIRE), Input.STEP, PLAIN),
                new Case("FoX", causal(FORGETTING), Input.PROMPT, MASKED),
                new Case("FoX", causal(FORGETTING), Input.STEP, PLAIN),
                new Case("FoX", causal(FORGETTING), Input.TRAINING, PLAIN),
                new Case("Shaw", causal(SHAW), Input.PROMPT, PLAIN),
                new Case("Swin", WINDOW.attention(HEADS), Input.PROMPT, MASKED),
                new Case("Swin, cosine", WINDOW.attention(HEADS).optCosine(true), Input.PROMPT, MASKED));
    }

    @ParameterizedTest
    @MethodSource({"attentionsWithoutEncoding", "attentionsWithEncodings"})
    void isTheFastestForItsForward(Case each) {
        assumeTrue(engine == TestEngine.PYTORCH || each.input != Input.TRAINING);
        MultiHeadAttentionBlock block = filled(manager, each.attention.build(), DataType.FLOAT32);
        block.freezeParameters(true);
        assertThat(kernel(block, each.input)).isEqualTo(engine == TestEngine.PYTORCH ? each.kernel : PLAIN);
    }

    private Kernel.Name kernel(MultiHeadAttentionBlock block, Input input) {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 5, SIZE);
        boolean isStep = input.name().startsWith("STEP");
        PairList<String, Object> params = new PairList<>();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            if (isStep) {
                Forward.infer(manager, block, withPositions(cache.nextStep(), input, x, 0), x);
                params = cache.nextStep();
                x = x.get(input == Input.STEP_OF_TWO ? ":, :2" : ":, :1");
            }
            NDList inputs = new NDList(x);
            switch (input) {
                case PROMPT_WITH_PADDING, STEP_WITH_PADDING -> inputs.add(manager.ones(new Shape(1, x.size(1))));
                case PROMPT_WITH_MASK_OF_HEADS -> inputs.add(manager.zeros(new Shape(1, HEADS, 5, 5)));
                default -> {}
            }
            try (AttentionForward forward = new AttentionForward(
                    block,
                    AttentionInputs.of(inputs, SIZE, null),
                    new ParameterStore(manager, false),
                    input == Input.TRAINING,
                    withPositions(params, input, x, isStep ? 5 : 0))) {
                forward.result(isStep ? cache : null);
                return forward.kernel();
            }
        }
    }

    private static PairList<String, Object> withPositions(
            PairList<String, Object> params, Input input, NDArray x, int first) {
        if (input == Input.PROMPT_WITH_POSITIONS || input == Input.STEP_WITH_POSITIONS) {
            NDArray positions = x.getManager().arange(first, (float) first + x.size(1), 1, DataType.INT32);
            params.add(PositionalEncodingBlock.POSITIONS, positions);
        }
        return params;
    }
}
