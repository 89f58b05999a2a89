package io.github.djlpositional.weights;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.SmallLayers.causal;
import static io.github.djlpositional.support.SmallLayers.feedForward;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;

/**
 * Files with the names of published models, which {@code make_stacks.py} wrote, load completely in one call, and the
 * outputs equal the formulas of their classes. D = 8, two heads, hidden size 16, 11 tokens, two layers.
 */
class TensorNamesTest extends OnEachEngine {

    /** The models of the files. */
    @SuppressWarnings("ImmutableEnumChecker") // suppliers have no state
    enum Model {
        BERT(TensorNames.of("BERT"), "bert.", () -> encoder(input().optTokenTypes(2))),
        ROBERTA(TensorNames.of("ROBERTA"), "", () -> encoder(input().optTokenTypes(2))),
        DISTILBERT(TensorNames.of("DISTILBERT"), "", () -> encoder(input())),
        GPT2(TensorNames.of("GPT2"), "", TensorNamesTest::gpt2),
        LLAMA(TensorNames.of("LLAMA"), "model.", () -> llama(TensorNamesTest::llamaAttention)),
        QWEN2(
                TensorNames.of("LLAMA"),
                "",
                () -> llama(() -> llamaAttention().optBias(true).optResultBias(false))),
        QWEN3(
                TensorNames.of("LLAMA"),
                "",
                () -> llama(() -> llamaAttention().optQueryNorm(headNorm()).optKeyNorm(headNorm()))),
        PHI3(TensorNames.of("PHI3"), "model.", () -> llama(TensorNamesTest::llamaAttention));

        private final TensorNames names;
        private final String prefix;
        private final Supplier<TransformerStackBlock> stack;

        Model(TensorNames names, String prefix, Supplier<TransformerStackBlock> stack) {
            this.names = names;
            this.prefix = prefix;
            this.stack = stack;
        }

        private WeightFile open() throws Exception {
            return Weights.layers("stack_" + label());
        }

        private String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static LearnedPositionalEncodingBlock positions() {
        return LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(8)
                .optMaxSequenceLength(8)
                .build();
    }

    private static InputEmbeddingBlock.Builder input() {
        return InputEmbeddingBlock.builder().setVocabularySize(11).setEmbeddingSize(8);
    }

    private static TransformerStackBlock stack(
            InputEmbeddingBlock.Builder input, Supplier<TransformerLayerBlock.Builder> layer) {
        return TransformerStackBlock.builder()
                .optInput(input.build())
                .setLayers(2, layer)
                .build();
    }

    private static TransformerStackBlock encoder(InputEmbeddingBlock.Builder input) {
        LayerNormBlock norm =
                LayerNormBlock.builder().setEmbeddingSize(8).optEpsilon(1e-12).build();
        return stack(
                input.optPositionalEncoding(positions()).optNorm(norm),
                () -> layer().optFeedForward(feedForward(Nonlinearity.GELU).build())
                        .optEpsilon(1e-12));
    }

    private static TransformerStackBlock gpt2() {
        return stack(
                input().optPositionalEncoding(positions()),
                () -> layer(causal())
                        .optFeedForward(feedForward(Nonlinearity.GELU_TANH).build())
                        .optNormPlacement(NormPlacement.BEFORE_PART));
    }

    /** One key head for both heads, without biases. */
    private static MultiHeadAttentionBlock.Builder llamaAttention() {
        return causal().optKeyValueHeadCount(1)
                .optBias(false)
                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                        .setHeadSize(4)
                        .optLayout(PairLayout.CONCATENATED)
                        .build());
    }

    private static RmsNormBlock headNorm() {
        return RmsNormBlock.builder().setEmbeddingSize(4).build();
    }

    private static TransformerStackBlock llama(Supplier<MultiHeadAttentionBlock.Builder> attention) {
        return stack(
                input().optNoPositions(),
                () -> layer(attention.get())
                        .optFeedForward(
                                feedForward(Nonlinearity.SWIGLU).optBias(false).build())
                        .optNorm(Norm.RMS)
                        .optNormPlacement(NormPlacement.BEFORE_PART));
    }

    /** FLOAT32 is rounded in each of two layers, of numbers below 4: 1e-5 is 20 times that. */
    @CartesianTest
    void equalsThePublishedFormulas(
            @CartesianTest.Enum Model model, @CartesianTest.Enum(names = {"FLOAT32", "FLOAT64"}) DataType type)
            throws Exception {
        WeightFile file = model.open();
        TransformerStackBlock stack = model.stack.get();
        stack.initialize(manager, type, new Shape(1, 1));
        stack.freezeParameters(true);
        WeightLoader.of(file).module(model.prefix, stack, model.names).load(stack);
        WeightFile outputs = Weights.layers("stack_outputs");
        NDArray output = Forward.infer(manager, stack, outputs.read(manager, "ids"));
        double[] expected = doubles(outputs.read(manager, model.label()));
        requireClose(output, expected, type == DataType.FLOAT32 ? 1e-5 : 1e-10);
    }

    /** As for saving under the names of a model. */
    @ParameterizedTest
    @EnumSource
    void namesEachParameterAndEachTensor(Model model) throws Exception {
        TransformerStackBlock stack = model.stack.get();
        List<TensorNames.Tensor> tensors = model.names.tensors(stack);
        assertThat(tensors.stream().flatMap(tensor -> tensor.parameters().stream()))
                .containsExactlyInAnyOrderElementsOf(stack.getParameters().values());
        assertThat(model.open().getTensors().keySet().stream()
                        .map(name -> name.replace("gamma", "weight").replace("beta", "bias")))
                .containsExactlyInAnyOrderElementsOf(tensors.stream()
                        .map(tensor -> model.prefix + tensor.name())
                        .toList());
    }
}
