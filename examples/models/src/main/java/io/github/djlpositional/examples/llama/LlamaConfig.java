package io.github.djlpositional.examples.llama;

import io.github.djlpositional.examples.Check;
import io.github.djlpositional.huggingface.HuggingFaceRope;
import java.math.BigDecimal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The configuration of a model of the Llama family.
 *
 * @param rope the rotary encoding of the layers
 * @param attention the attentions of the layers
 * @param vocabularySize the number of token ids, V
 * @param embeddingSize the size of a token's vector, D
 * @param layerCount the number of layers
 * @param hiddenSize the hidden size of the feed-forward networks
 * @param hasFeedForwardBias whether the matrices of the feed-forward networks have biases
 * @param epsilon the number that normalizations add to the mean square
 * @param isHeadTied whether the table of token vectors is also the weight of the output layer
 * @param endTokens the tokens that end a text
 */
record LlamaConfig(
        HuggingFaceRope rope,
        LlamaAttention attention,
        int vocabularySize,
        int embeddingSize,
        int layerCount,
        int hiddenSize,
        boolean hasFeedForwardBias,
        double epsilon,
        boolean isHeadTied,
        List<Long> endTokens) {

    /** The model types that have this architecture. */
    private static final Set<String> MODEL_TYPES = Set.of("llama", "mistral", "qwen2", "qwen3");

    /**
     * Takes what the model needs from the values of a {@code config.json}.
     *
     * @throws IllegalArgumentException if the configuration is not that of such a model, or a value is missing or not
     *     valid
     */
    static LlamaConfig of(Map<String, ?> json) {
        Map<String, Object> config = new HashMap<>(json);
        config.values().removeIf(Objects::isNull);
        Object modelType = config.get("model_type");
        Check.that(
                modelType != null && MODEL_TYPES.contains(modelType),
                () -> "model_type " + modelType
                        + ": expected llama, mistral, qwen2 or qwen3; give the folder of a model"
                        + " of one of these types");
        Check.that(
                !config.containsKey("quantization_config"),
                () ->
                        "quantization_config is given: expected weights that are not quantized; give the folder of the model"
                                + " before its quantization");
        Object activation = config.getOrDefault("hidden_act", "silu");
        Check.that(
                activation.equals("silu"),
                () -> "hidden_act " + activation + ": expected silu, the activation of the published models; give the"
                        + " folder of such a model");
        HuggingFaceRope rope = HuggingFaceRope.of(json);
        double epsilon =
                Objects.requireNonNullElse(Check.value(config, "rms_norm_eps", "a number", Double::valueOf), 1e-6);
        return new LlamaConfig(
                rope,
                LlamaAttention.of(
                        modelType.toString(), json, rope.rotary(1).build().getHeadSize(), epsilon),
                size(config, "vocab_size"),
                size(config, "hidden_size"),
                size(config, "num_hidden_layers"),
                size(config, "intermediate_size"),
                isOn(config, "mlp_bias"),
                epsilon,
                isOn(config, "tie_word_embeddings"),
                endTokens(config.get("eos_token_id")));
    }

    static int size(Map<String, ?> config, String key) {
        // the JSON reader gives whole numbers as doubles
        Integer size = Check.value(config, key, "a whole number", text -> new BigDecimal(text).intValueExact());
        Check.positive(key, Check.present(key, size));
        return size;
    }

    static boolean isOn(Map<String, ?> config, String key) {
        String on = Check.value(config, key, "true or false", text -> {
            Check.that(text.equals("true") || text.equals("false"), () -> text);
            return text;
        });
        return "true".equals(on);
    }

    /** One id, a list of ids, or none. */
    private static List<Long> endTokens(Object ids) {
        List<?> all = ids instanceof List<?> list ? list : ids == null ? List.of() : List.of(ids);
        return all.stream()
                .map(id -> Check.value(
                        Map.of("eos_token_id", String.valueOf(id)),
                        "eos_token_id",
                        "a whole number",
                        text -> new BigDecimal(text).longValueExact()))
                .toList();
    }
}
