package io.github.djlpositional.examples.llama;

import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

/**
 * The configuration of a model of the Llama family. Values of missing keys are those of the classes of transformers,
 * for each model type. A null is not the same as a missing key.
 *
 * <p>Every method throws {@link IllegalArgumentException} for a value that is missing or not valid.
 */
final class LlamaConfig {

    /** The model types that have this architecture. */
    private static final Set<String> MODEL_TYPES = Set.of("llama", "mistral", "qwen2", "qwen3");

    private static final String FULL = "full_attention";
    private static final String SLIDING = "sliding_attention";

    private final Map<String, ?> json;
    private final String modelType;
    private final HuggingFaceConfig rope;

    /** Takes the values of a {@code config.json}. */
    LlamaConfig(Map<String, ?> json) {
        this.json = json;
        modelType = String.valueOf(json.get("model_type"));
        Check.that(
                MODEL_TYPES.contains(modelType),
                () -> "model_type " + modelType
                        + ": expected llama, mistral, qwen2 or qwen3; give the folder of a model"
                        + " of one of these types");
        Check.that(
                json.get("quantization_config") == null,
                "quantization_config is given: expected weights that are not quantized; give the folder of the model"
                        + " before its quantization");
        Object activation = Objects.requireNonNullElse(json.get("hidden_act"), "silu");
        Check.that(
                activation.equals("silu"),
                () -> "hidden_act " + activation + ": expected silu, the activation of the published models; give the"
                        + " folder of such a model");
        rope = HuggingFaceConfig.of(json);
    }

    /** Returns a value that must be there and positive. */
    int size(String key) {
        Check.present(key, json.get(key));
        int size = whole(key, 0);
        Check.positive(key, size);
        return size;
    }

    /** Returns a whole number. The JSON reader returns it as a double. */
    private int whole(String key, int missing) {
        return value(json, key, missing, "a whole number", text -> new BigDecimal(text).intValueExact());
    }

    boolean isOn(String key) {
        return value(json, key, false, "true or false", text -> {
            Check.that(text.equals("true") || text.equals("false"), text);
            return text.equals("true");
        });
    }

    /** Returns the number that normalizations add to the mean square. */
    double epsilon() {
        return value(json, "rms_norm_eps", 1e-6, "a number", Double::valueOf);
    }

    /** Returns the tokens that end a text: one id, a list of ids, or none. */
    List<Long> endTokens() {
        String key = "eos_token_id";
        Object ids = json.get(key);
        List<?> all = ids instanceof List<?> list ? list : ids == null ? List.of() : List.of(ids);
        return all.stream()
                .map(id -> value(
                        Map.of(key, String.valueOf(id)),
                        key,
                        0L,
                        "a whole number",
                        text -> new BigDecimal(text).longValueExact()))
                .toList();
    }

    private static <T> T value(
            Map<String, ?> values, String key, T missing, String expected, Function<String, T> parse) {
        Object value = values.get(key);
        try {
            return value == null ? missing : parse.apply(value.toString());
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IllegalArgumentException(
                    "argument '" + key + "' is " + value + ": expected " + expected + "; correct it", e);
        }
    }

    /** Returns the rotary encoding that all layers share, for sequences of up to a length. */
    RotaryEmbeddingBlock rotary(int length) {
        return rope.rotary(length).build();
    }

    /** Returns the attention of a layer, counted from 0, with the rotary encoding of all layers. */
    MultiHeadAttentionBlock attention(int layer, RotaryEmbeddingBlock rotary) {
        int heads = size("num_attention_heads");
        boolean isQwen2 = modelType.equals("qwen2");
        boolean hasBias = isQwen2 || (!modelType.equals("mistral") && isOn("attention_bias"));
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size("hidden_size"))
                .setHeadCount(heads)
                .optKeyValueHeadCount(keyValueHeads(heads))
                .optHeadSize(rotary.getHeadSize())
                .optCausal(true)
                .optBias(hasBias)
                .optResultBias(hasBias && !isQwen2)
                .optRelativeEncoding(rotary);
        if (hasWindow(layer)) {
            builder.optWindow(whole("sliding_window", 4096));
        }
        return modelType.equals("qwen3")
                ? builder.optQueryNorm(norm(rotary)).optKeyNorm(norm(rotary)).build()
                : builder.build();
    }

    private int keyValueHeads(int heads) {
        String key = "num_key_value_heads";
        if (json.get(key) != null) {
            return size(key);
        }
        return json.containsKey(key) || modelType.equals("llama") ? heads : modelType.equals("mistral") ? 8 : 32;
    }

    private boolean hasWindow(int layer) {
        boolean isNone = json.containsKey("sliding_window") && json.get("sliding_window") == null;
        if (isNone || modelType.equals("llama")) {
            return false;
        }
        if (modelType.equals("mistral")) {
            return true;
        }
        if (!isOn("use_sliding_window")) {
            return false;
        }
        Object types = json.get("layer_types");
        if (types == null) {
            return layer >= whole("max_window_layers", 28);
        }
        Check.that(
                types instanceof List<?> list
                        && layer < list.size()
                        && Set.of(FULL, SLIDING).contains(String.valueOf(list.get(layer))),
                () -> "layer_types " + types + ": expected " + FULL + " or " + SLIDING
                        + " for each layer; download it again");
        return SLIDING.equals(((List<?>) types).get(layer));
    }

    /** Returns the normalization of queries or keys. */
    private RmsNormBlock norm(RotaryEmbeddingBlock rotary) {
        return RmsNormBlock.builder()
                .setEmbeddingSize(rotary.getHeadSize())
                .optEpsilon(epsilon())
                .build();
    }
}
