package io.github.djlpositional.weights;

import io.github.djlpositional.math.PairLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the published code of a model type fixes, and the values that it takes where a configuration has none. Facts
 * have the name of the key that most models use for them; some have no key in any configuration.
 */
final class ModelType {

    static final String FULL = "full_attention";
    static final String SLIDING = "sliding_attention";
    static final String CHUNKED = "chunked_attention";

    /** Types of models of text and images whose configuration has that of the text within it. */
    static final Set<String> WITH_TEXT_CONFIG =
            Set.of("gemma3", "gemma4", "llama4", "mistral3", "qwen2_vl", "qwen2_5_vl", "qwen3_vl");

    private static final Set<String> USUAL = Set.of(
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "max_position_embeddings",
            "original_max_position_embeddings",
            "rope_theta",
            "rope_scaling",
            "rope_parameters",
            "partial_rotary_factor",
            "layer_types");

    private static final Map<String, ModelType> ALL = new TreeMap<>();

    static {
        // biases of the projections: attention_bias for queries, keys and values, result_bias for the result's
        add("llama").reads("attention_bias", false);
        addInterleaved("llama4_text")
                .reads("attention_bias", false)
                .reads("rope_theta", 500_000)
                .fixes("layer_type", CHUNKED)
                .reads("attention_chunk_size", 8192)
                .skipsRotary()
                .reads("attn_temperature_tuning", true)
                .reads("attn_scale", 0.1)
                .reads("floor_scale", 8192)
                .normalizes("use_qk_norm", true, 1e-5);
        add("mistral").fixes("attention_bias", false).slides(4096).fixes("layer_type", SLIDING);
        add("mixtral")
                .fixes("attention_bias", false)
                .reads("rope_theta", 1_000_000)
                .slides(null)
                .fixes("layer_type", SLIDING);

        add("qwen")
                .names("head_dim", "kv_channels")
                .names("rope_theta", "rotary_emb_base")
                .reads("rope_theta", 10_000)
                .names("partial_rotary_factor", "rotary_pct")
                .fixes("attention_bias", true)
                .fixes("result_bias", false)
                .requiresInAttention("no_bias", true)
                .reads("seq_length", 8192)
                .reads("use_dynamic_ntk", true)
                .reads("use_logn_attn", true);
        qwen2("qwen2", 10_000);
        for (String name : List.of("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text")) {
            qwen2(name, 1_000_000).fixes("mrope_interleaved", false);
        }
        slidesFrom(add("qwen3").reads("attention_bias", false).normalizes(null, true, 1e-6))
                .reads("head_dim", 128);
        slidesIfAsked(add("qwen3_moe").reads("attention_bias", false).normalizes(null, true, 1e-6))
                .fixes("layer_type", SLIDING);
        add("qwen3_vl_text")
                .reads("attention_bias", false)
                .reads("head_dim", 128)
                .reads("rope_theta", 5_000_000)
                .normalizes(null, true, 1e-6)
                .fixes("mrope_interleaved", true);

        add("gemma").reads("attention_bias", false).reads("head_dim", 256);
        add("gemma2")
                .reads("attention_bias", false)
                .reads("head_dim", 256)
                .reads("query_pre_attn_scalar", 256)
                .reads("attn_logit_softcapping", 50.0)
                .slides(4096)
                .fixes("sliding_window_pattern", 2);
        add("gemma3_text")
                .reads("hidden_size", 2304)
                .reads("num_hidden_layers", 26)
                .reads("num_attention_heads", 8)
                .reads("num_key_value_heads", 4)
                .reads("head_dim", 256)
                .reads("max_position_embeddings", 131_072)
                .reads("rope_theta", 1_000_000)
                .reads("rope_local_base_freq", 10_000)
                .reads("attention_bias", false)
                .reads("query_pre_attn_scalar", 256)
                .reads("attn_logit_softcapping", null)
                .normalizes(null, true, 1e-6)
                .slides(4096)
                .reads("sliding_window_pattern", 6)
                .requiresInAttention("use_bidirectional_attention", false);
        add("gemma4_text")
                .reads("head_dim", 256)
                .reads("global_head_dim", 512)
                .reads("max_position_embeddings", 131_072)
                .reads(
                        "rope_parameters",
                        Map.of(
                                SLIDING,
                                Map.of("rope_type", "default", "rope_theta", 10_000),
                                FULL,
                                Map.of(
                                        "rope_type",
                                        "proportional",
                                        "partial_rotary_factor",
                                        0.25,
                                        "rope_theta",
                                        1_000_000)))
                .fixes("scale", 1.0)
                .hasOtherAttention("normalizes values too, and its layers may share keys and values");

        add("phi")
                .fixes("attention_bias", true)
                .reads("partial_rotary_factor", 0.5)
                .requiresInAttention("qk_layernorm", false);
        add("phi3").fixes("attention_bias", false).slides(null).fixes("layer_type", SLIDING);
        add("phimoe")
                .reads("attention_bias", false)
                .reads("rope_theta", 1_000_000)
                .slides(null)
                .fixes("layer_type", SLIDING);
        add("stablelm")
                .names("attention_bias", "use_qkv_bias")
                .reads("attention_bias", false)
                .fixes("result_bias", false)
                .reads("partial_rotary_factor", 0.25)
                .requiresInAttention("qk_layernorm", false);
        add("gpt_neox")
                .names("rope_theta", "rotary_emb_base")
                .names("partial_rotary_factor", "rotary_pct")
                .reads("partial_rotary_factor", 0.25)
                .reads("attention_bias", true);
        addInterleaved("gptj")
                .names("hidden_size", "n_embd")
                .names("num_hidden_layers", "n_layer")
                .names("num_attention_heads", "n_head")
                .names("max_position_embeddings", "n_positions")
                .reads("rotary_dim", 64)
                .fixes("rope_theta", 10_000)
                .fixes("attention_bias", false);
        add("falcon")
                .names("num_key_value_heads", "num_kv_heads")
                .names("attention_bias", "bias")
                .reads("attention_bias", false)
                .reads("multi_query", true)
                .reads("new_decoder_architecture", false)
                .reads("max_position_embeddings", 2048)
                .requires("alibi", false);
        addInterleaved("roformer")
                .fixes("rope_theta", 10_000)
                .fixes("attention_bias", true)
                .names("causal", "is_decoder")
                .reads("causal", false)
                .requires("rotary_value", false);

        addInterleaved("cohere").reads("attention_bias", false).requiresInAttention("use_qk_norm", false);
        addInterleaved("cohere2")
                .reads("attention_bias", false)
                .slides(4096)
                .reads("sliding_window_pattern", 4)
                .fixes("rotary_layer_type", SLIDING);
        for (String name : List.of("glm", "glm4")) {
            addInterleaved(name)
                    .reads("attention_bias", false)
                    .fixes("result_bias", false)
                    .reads("partial_rotary_factor", 0.5);
        }
        add("glm4_moe")
                .reads("attention_bias", false)
                .fixes("result_bias", false)
                .reads("partial_rotary_factor", 0.5)
                .normalizes("use_qk_norm", false, 1e-5);
        for (String name : List.of("deepseek_v2", "deepseek_v3")) {
            addInterleaved(name)
                    .reads("qk_nope_head_dim", 128)
                    .reads("qk_rope_head_dim", 64)
                    .reads("rope_interleave", true)
                    .hasOtherAttention("is latent: keys and values are projected from a compressed vector");
        }
        add("gpt_oss")
                .reads("attention_bias", true)
                .reads("head_dim", 64)
                .reads("rope_theta", 150_000)
                .fixes("sinks", true)
                .slides(128)
                .fixes("sliding_window_pattern", 2);
        add("olmo2").hasOtherAttention("normalizes queries and keys over all heads together");
        add("smollm3")
                .reads("attention_bias", false)
                .reads("rope_theta", 2_000_000)
                .skipsRotary()
                .slides(null)
                .reads("use_sliding_window", false)
                .fixes("layer_type_without_rotary", SLIDING);
        add("modernbert")
                .names("rope_theta", "global_rope_theta")
                .reads("rope_theta", 160_000)
                .names("rope_local_base_freq", "local_rope_theta")
                .reads("rope_local_base_freq", 10_000)
                .requires("rope_scaling", null)
                .reads("attention_bias", false)
                .fixes("causal", false)
                .names("sliding_window", "local_attention")
                .slides(128)
                .reads("global_attn_every_n_layers", 3);
    }

    private final PairLayout layout;
    private final Map<String, String> names = new LinkedHashMap<>();
    private final Map<String, Object> defaults = new LinkedHashMap<>();
    private final Map<String, Object> fixed = new LinkedHashMap<>();
    private final Map<String, Object> required = new LinkedHashMap<>();
    private final Map<String, Object> requiredInAttention = new LinkedHashMap<>();
    private String otherAttention;

    private ModelType(PairLayout layout) {
        this.layout = layout;
        reads("rope_theta", 10_000).reads("partial_rotary_factor", 1);
    }

    private static ModelType add(String name) {
        return ALL.computeIfAbsent(name, any -> new ModelType(PairLayout.CONCATENATED));
    }

    private static ModelType addInterleaved(String name) {
        return ALL.computeIfAbsent(name, any -> new ModelType(PairLayout.INTERLEAVED));
    }

    private static ModelType qwen2(String name, int base) {
        return slidesFrom(add(name))
                .reads("rope_theta", base)
                .fixes("attention_bias", true)
                .fixes("result_bias", false);
    }

    /** The layers from {@code max_window_layers} on have a window, if the configuration asks for it. */
    private static ModelType slidesFrom(ModelType type) {
        return slidesIfAsked(type).reads("max_window_layers", 28);
    }

    private static ModelType slidesIfAsked(ModelType type) {
        return type.slides(4096).reads("use_sliding_window", false);
    }

    /** Returns a type by its name in configurations, or null if it is not known. */
    static ModelType of(Object name) {
        return name == null ? null : ALL.get(name.toString());
    }

    /** Returns the names of all types, sorted. */
    static Set<String> names() {
        return ALL.keySet();
    }

    private ModelType names(String usual, String own) {
        names.put(usual, own);
        return this;
    }

    private ModelType reads(String key, Object defaultValue) {
        defaults.put(key, defaultValue);
        return this;
    }

    private ModelType fixes(String fact, Object value) {
        fixed.put(fact, value);
        return this;
    }

    private ModelType slides(Integer window) {
        return reads("sliding_window", window);
    }

    /** Some layers have no rotary encoding. */
    private ModelType skipsRotary() {
        return reads("no_rope_layers", null).reads("no_rope_layer_interval", 4);
    }

    /** Queries and keys are normalized, always or if a key says so. */
    private ModelType normalizes(String key, boolean isDefault, double epsilon) {
        reads("rms_norm_eps", epsilon);
        return key == null
                ? fixes("query_key_norm", true)
                : names("query_key_norm", key).reads("query_key_norm", isDefault);
    }

    private ModelType requires(String key, Object value) {
        required.put(key, value);
        return this;
    }

    private ModelType requiresInAttention(String key, Object value) {
        requiredInAttention.put(key, value);
        return this;
    }

    private void hasOtherAttention(String reason) {
        otherAttention = reason;
    }

    /** The layout of the pairs. */
    PairLayout layout() {
        return layout;
    }

    /** The name of a key in configurations of this type. */
    String nameOf(String key) {
        return names.getOrDefault(key, key);
    }

    /** Whether this type has a fact, which the value null in a configuration does not take away. */
    boolean has(String key) {
        return fixed.containsKey(key) || defaults.containsKey(key);
    }

    /** Returns a fact, or null for none. A key with the value null is not the same as no key. */
    Object value(String key, Map<String, ?> config) {
        if (fixed.containsKey(key)) {
            return fixed.get(key);
        }
        boolean isRead = USUAL.contains(key) || defaults.containsKey(key);
        return isRead && config.containsKey(nameOf(key)) ? config.get(nameOf(key)) : defaults.get(key);
    }

    /** The only values of some keys that the rotary encoding is known for. */
    Map<String, Object> required() {
        return required;
    }

    /** The only values of some keys that the attention block supports. */
    Map<String, Object> requiredInAttention() {
        return requiredInAttention;
    }

    /** Why the attention block cannot compute the attention of this type; null if it can. */
    String otherAttention() {
        return otherAttention;
    }
}
