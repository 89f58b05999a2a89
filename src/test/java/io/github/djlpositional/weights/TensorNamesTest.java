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
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock.OutputGate;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;

/**
 * Files with the names of published models, which {@code make_stacks.py} wrote, load completely in one call, and the
 * outputs equal the formulas of their classes. D = 8, two heads, hidden size 16, 11 tokens, two layers.
 */
class TensorNamesTest extends OnEachEngine {

    @TempDir
    private Path folder;

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

    /** A safetensors file of the tensors of a stack, whose numbers count. */
    private Path counted(TransformerStackBlock stack, TensorNames names) throws IOException {
        StringJoiner header = new StringJoiner(",", "{", "}");
        int end = 0;
        for (TensorNames.Tensor tensor : names.tensors(stack)) {
            long rows = tensor.parameters().stream()
                    .mapToLong(parameter -> parameter.getShape().get(0))
                    .sum();
            Shape shape = Shape.update(tensor.parameters().get(0).getShape(), 0, rows);
            int from = end;
            end += Math.toIntExact(shape.size() * Float.BYTES);
            header.add("\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%d,%d]}"
                    .formatted(tensor.name(), Arrays.toString(shape.getShape()), from, end));
        }
        byte[] file = Weights.safetensors(header.toString(), end);
        for (int i = 0; i < end / Float.BYTES; i++) {
            Weights.littleEndian(file).putFloat(file.length - end + i * Float.BYTES, i);
        }
        return Files.write(folder.resolve("model.safetensors"), file);
    }

    /** Two heads of size 4: rows 0 to 3 of a head are of its query, the others of its gate. */
    @ParameterizedTest
    @CsvSource({"false, 8", "true, 5"})
    void queriesAndGatesOfEachHeadMayHaveOneModule(boolean isByHead, int rowsOfHead) throws Exception {
        TransformerStackBlock stack =
                llama(() -> llamaAttention().optOutputGate(OutputGate.SIGMOID).optOutputGateByHead(isByHead));
        stack.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        TensorNames names = TensorNames.builder()
                .setLayers("layers.")
                .optTokens("tokens.weight")
                .optQueryOutputGate("q_proj")
                .optKey("k_proj")
                .optValue("v_proj")
                .optResult("o_proj")
                .optAttentionNorm("norm1")
                .optGate("gate")
                .optHidden("up")
                .optOutput("down")
                .optFeedForwardNorm("norm2")
                .optFinalNorm("norm")
                .build();
        WeightFile file = WeightFile.open(counted(stack, names));
        WeightLoader.of(file).module("", stack, names).load(stack);
        MultiHeadAttentionBlock attention = stack.getLayers().get(1).getAttention();
        NDArray stored = file.read(manager, "layers.1.q_proj.weight").reshape(2, rowsOfHead, 8);
        requireClose(weight(attention.getQueryProjection()), doubles(stored.get(":, :4")), 0);
        requireClose(weight(attention.getGateProjection()), doubles(stored.get(":, 4:")), 0);
    }

    private static NDArray weight(Linear projection) {
        return projection.getParameters().get("weight").getArray();
    }

    @Test
    void gatesMayHaveAModuleOfTheirOwn() throws Exception {
        TransformerStackBlock stack = llama(() -> llamaAttention().optOutputGate(OutputGate.SOFTPLUS));
        stack.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        TensorNames names = TensorNames.builder()
                .setLayers("layers.")
                .optQuery("q_proj")
                .optOutputGate("gate_proj")
                .build();
        Parameter gate = stack.getLayers()
                .get(0)
                .getAttention()
                .getGateProjection()
                .getParameters()
                .get("weight");
        assertThat(names.tensors(stack))
                .contains(new TensorNames.Tensor("layers.0.gate_proj.weight", List.of(gate), false, 1, 0));
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
