package io.github.djlpositional.huggingface;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.SequentialBlock;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Files with the names of published models, which {@code make_stacks.py} wrote, load completely in one call, and the
 * outputs equal the formulas of their classes. D = 8, two heads, hidden size 16, 11 tokens, two layers.
 */
class TensorNamesTest {

    private static final String TYPES = "embeddings.token_type_embeddings.weight";

    private final LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
            .setEmbeddingSize(8)
            .optMaxSequenceLength(8)
            .build();

    static List<String> names() {
        return List.of("bert", "roberta", "distilbert", "gpt2", "llama", "qwen2", "qwen3", "phi3");
    }

    private static TensorNames family(String model) {
        return TensorNames.valueOf(model.replaceAll("qwen.", "llama").toUpperCase(Locale.ROOT));
    }

    private static String prefix(String model) {
        return Map.of("bert", "bert.", "llama", "model.", "phi3", "model.").getOrDefault(model, "");
    }

    private static WeightFile open(String model) throws Exception {
        return WeightFile.open(Path.of("src/test/resources/layers", "stack_" + model + ".safetensors"));
    }

    private TransformerStackBlock stack(String model) {
        TensorNames family = family(model);
        boolean isDecoder = prefix(model).equals("model.") || model.startsWith("qwen");
        InputEmbeddingBlock.Builder input =
                InputEmbeddingBlock.builder().setVocabularySize(11).setEmbeddingSize(8);
        if (isDecoder) {
            input.optNoPositions();
        } else if (family == TensorNames.GPT2) {
            input.optPositionalEncoding(positions);
        } else {
            input.optPositionalEncoding(new SequentialBlock()
                    .add(positions)
                    .add(LayerNormBlock.builder()
                            .setEmbeddingSize(8)
                            .optEpsilon(1e-12)
                            .build()));
        }
        return TransformerStackBlock.builder()
                .optInput(input.build())
                .setLayers(2, () -> isDecoder ? llama(model) : layer(family == TensorNames.GPT2))
                .build();
    }

    private static TransformerLayerBlock.Builder layer(boolean isGpt2) {
        return TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(8)
                        .setHeadCount(2)
                        .optCausal(isGpt2)
                        .build())
                .setHiddenSize(16)
                .optNonlinearity(isGpt2 ? Nonlinearity.GELU_TANH : Nonlinearity.GELU)
                .optEpsilon(isGpt2 ? 1e-5 : 1e-12)
                .optNormPlacement(isGpt2 ? NormPlacement.BEFORE_PART : NormPlacement.AFTER_SUM);
    }

    private static TransformerLayerBlock.Builder llama(String model) {
        MultiHeadAttentionBlock.Builder attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optKeyValueHeadCount(1)
                .optCausal(true)
                .optBias(model.equals("qwen2"))
                .optResultBias(false)
                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                        .setHeadSize(4)
                        .optLayout(PairLayout.CONCATENATED)
                        .build());
        if (model.equals("qwen3")) {
            attention.optQueryNorm(norm()).optKeyNorm(norm());
        }
        return TransformerLayerBlock.builder()
                .setAttention(attention.build())
                .setHiddenSize(16)
                .optNonlinearity(Nonlinearity.SWIGLU)
                .optNorm(Norm.RMS)
                .optNormPlacement(NormPlacement.BEFORE_PART)
                .optBias(false);
    }

    private static RmsNormBlock norm() {
        return RmsNormBlock.builder().setEmbeddingSize(4).build();
    }

    @EngineTest
    void equalsThePublishedFormulas(NDManager manager, String model) throws Exception {
        WeightFile file = open(model);
        WeightFile outputs = open("outputs");
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            TransformerStackBlock stack = stack(model);
            stack.initialize(manager, type, new Shape(1, 1));
            stack.freezeParameters(true);
            WeightLoader.of(file)
                    .module(prefix(model), stack, family(model))
                    .allowUnused("*" + TYPES)
                    .load(stack);
            if (file.getTensors().containsKey(prefix(model) + TYPES)) {
                // all tokens have the first type
                NDArray types = file.read(manager, prefix(model) + TYPES);
                positions.getTable().getArray().addi(types.get(0).toType(type, false));
            }
            NDArray output = Forward.infer(manager, stack, outputs.read(manager, "ids"));
            double[] expected = doubles(outputs.read(manager, model));
            requireClose(output, expected, type == DataType.FLOAT32 ? 1e-5 : 1e-10);
            positions.clear();
        }
    }

    /** As for saving under the names of a model. */
    @EngineTest
    void namesEachParameterAndEachTensor(String engine) throws Exception {
        for (String model : names()) {
            TransformerStackBlock stack = stack(model);
            List<TensorNames.Tensor> tensors = family(model).tensors(stack);
            assertThat(tensors.stream().flatMap(tensor -> tensor.parameters().stream()))
                    .containsExactlyInAnyOrderElementsOf(stack.getParameters().values());
            assertThat(open(model).getTensors().keySet().stream()
                            .map(name -> name.replace("gamma", "weight").replace("beta", "bias"))
                            .filter(name -> !name.endsWith(TYPES)))
                    .containsExactlyInAnyOrderElementsOf(tensors.stream()
                            .map(tensor -> prefix(model) + tensor.name())
                            .toList());
        }
    }
}
