package io.github.djlpositional.examples.llama;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.TensorNames;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A decoder of the Llama family: Llama 2 and 3, Mistral, Qwen 2 and 3. After Touvron et al., <em>LLaMA: Open and
 * Efficient Foundation Language Models</em> (2023), section 2.2.
 *
 * @param stack maps token ids (B, T) to the scores of the tokens that may follow, (B, T, V)
 * @param endTokens the tokens that end a text; empty if the configuration has none
 * @param longestSequence the maximum number of tokens of a sequence
 */
public record LlamaDecoder(TransformerStackBlock stack, List<Long> endTokens, int longestSequence) {

    private static final String LAYERS = "num_hidden_layers";

    /** Builds a decoder that has no weights yet. */
    static LlamaDecoder of(LlamaConfig config, int length) {
        int vocabularySize = config.size("vocab_size");
        int embeddingSize = config.size("hidden_size");
        RotaryEmbeddingBlock rotary = config.rotary(length); // of all layers
        List<TransformerLayerBlock> layers = new ArrayList<>();
        for (int i = 0; i < config.size(LAYERS); i++) {
            layers.add(TransformerLayerBlock.builder()
                    .setAttention(config.attention(i, rotary))
                    .optFeedForward(FeedForwardBlock.builder()
                            .setEmbeddingSize(embeddingSize)
                            .setHiddenSize(config.size("intermediate_size"))
                            .optNonlinearity(Nonlinearity.SWIGLU)
                            .optBias(config.isOn("mlp_bias"))
                            .build())
                    .optNorm(Norm.RMS)
                    .optEpsilon(config.epsilon())
                    .optNormPlacement(NormPlacement.BEFORE_PART)
                    .build());
        }
        TransformerStackBlock.Builder stack = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(vocabularySize)
                        .setEmbeddingSize(embeddingSize)
                        .optNoPositions() // the attentions have rotary positions
                        .build())
                .setLayers(layers);
        if (config.isOn("tie_word_embeddings")) {
            stack.optTiedOutput(true);
        } else {
            stack.optOutputSize(vocabularySize).optOutputBias(false);
        }
        Map<String, ?> arguments = rotary.getArguments();
        return new LlamaDecoder(stack.build(), config.endTokens(), (int)
                arguments.get(arguments.containsKey("autoExtend") ? "autoExtend" : "maxSequenceLength"));
    }

    /**
     * Loads the model in a folder as Hugging Face publishes it. The weights, F32, F16 or BF16, are FLOAT32 in the
     * decoder, and frozen; the manager owns them.
     *
     * @param length the number of tokens to serve, on which the frequencies of LongRoPE and dynamic NTK depend
     * @throws UserError if the folder is not that of such a model, or a file is missing or damaged
     */
    public static LlamaDecoder load(Path folder, int length, NDManager manager) throws IOException {
        ModelFolder files = new ModelFolder(folder);
        try {
            HuggingFaceConfig.read(files.file("config.json")); // also refuses repeated keys and deep nesting
            LlamaConfig config = new LlamaConfig(files.json("config.json"));
            Collection<WeightFile> weights = files.weights();
            List<Shape> tensors = weights.stream()
                    .flatMap(file -> file.getTensors().values().stream())
                    .map(TensorInfo::shape)
                    .toList();
            Check.that(
                    config.size(LAYERS) < tensors.size(),
                    () -> LAYERS + " " + config.size(LAYERS) + ": expected fewer than the " + tensors.size()
                            + " tensors of the weights; download both again");
            LlamaDecoder decoder = of(config, length);
            TransformerStackBlock stack = decoder.stack;
            WeightLoader loader = WeightLoader.ofAll(weights)
                    .module("model.", stack, TensorNames.of("LLAMA"))
                    .oneByOne() // while a tensor is loaded, it is in memory twice
                    // the frequencies of the rotary encoding, and a copy of a token table that is the output layer too
                    .allowUnused("*.rotary_emb.inv_freq", "lm_head.weight");
            if (stack.getOutput() != null) {
                loader.module("lm_head.", stack.getOutput());
            }
            // before arrays are created, which may be too large
            double described = count(stack.getParameters().values().stream().map(Parameter::getShape));
            double stored = count(tensors.stream());
            Check.that(
                    described <= stored,
                    () -> String.format(
                            Locale.ROOT,
                            "a model of %,.0f numbers: expected at most the %,.0f of the weights; download both again",
                            described,
                            stored));
            stack.setInitializer(Initializer.ZEROS, parameter -> true);
            stack.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
            loader.load(stack);
            stack.freezeParameters(true);
            return decoder;
        } catch (IllegalArgumentException | MalformedModelException e) {
            throw new UserError("model folder '" + folder + "', config.json and weights: " + e.getMessage(), e);
        }
    }

    private static double count(Stream<Shape> shapes) {
        return shapes.mapToDouble(Shape::size).sum();
    }
}
