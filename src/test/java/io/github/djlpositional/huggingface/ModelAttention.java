package io.github.djlpositional.huggingface;

import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.QueryScale;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The attentions of the layers of published models, around the rotary encodings that {@link HuggingFaceRope} reads. For
 * each model type, {@code attention-types.jsonc} adds facts of its attention to the facts of {@code model-types.jsonc}.
 */
final class ModelAttention {

    static final Map<String, ModelType> TYPES = ModelType.types(merged(
            Json.resource(ModelType.class, "model-types.jsonc"),
            Json.resource(ModelType.class, "attention-types.jsonc")));

    private final HuggingFaceRope rope;
    private final Facts facts;
    private final int layer;

    /** The attention of a layer, counted from 0. */
    ModelAttention(HuggingFaceRope rope, int layer) {
        this.rope = rope;
        this.layer = layer;
        facts = new Facts(TYPES.get(rope.config.get("model_type").toString()), rope.config);
    }

    /** The entries of two maps, of which maps and lists with the same key are joined. */
    private static Map<String, Object> merged(Map<?, ?> one, Map<?, ?> other) {
        Map<String, Object> both = new LinkedHashMap<>();
        one.forEach((key, value) -> both.put(key.toString(), value));
        other.forEach((key, value) -> {
            Object joined = value;
            if (one.get(key) instanceof Map<?, ?> first) {
                joined = merged(first, (Map<?, ?>) value);
            } else if (one.get(key) instanceof List<?> first) {
                joined = Stream.concat(first.stream(), ((List<?>) value).stream())
                        .toList();
            }
            both.put(key.toString(), joined);
        });
        return both;
    }

    /** Layers of a configuration with the same kind have the same attention. */
    String kind() {
        return layerType() + " " + isRotated();
    }

    /** The attention for the maximum length of its configuration. */
    MultiHeadAttentionBlock block() {
        return block(facts.requireInt("max_position_embeddings"));
    }

    /** The attention for a length. */
    MultiHeadAttentionBlock block(int length) {
        Check.that(
                facts.value("other_attention") == null,
                () -> rope + ", " + facts.value("other_attention")
                        + ": expected a model whose attention is compared; read its" + " rotary encoding only");
        facts.type()
                .column("required")
                .forEach((key, value) -> Check.that(
                        rope.config.get(key) == null || Facts.isSame(rope.config.get(key), value),
                        () -> key + " " + rope.config.get(key) + " of " + rope + ": expected " + value
                                + "; read others"));
        Check.between("layer", layer, 0, facts.requireInt("num_hidden_layers") - 1L);
        String layerType = layerType();
        int headCount = facts.requireInt("num_attention_heads");
        int headSize = rope.headSize(layerType);
        boolean hasOne = facts.isOn("multi_query") && !facts.isOn("new_decoder_architecture");
        boolean hasBias = facts.isOn("attention_bias");
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(facts.requireInt("hidden_size"))
                .setHeadCount(headCount)
                .optKeyValueHeadCount(
                        hasOne
                                ? 1
                                : Objects.requireNonNullElse(
                                        facts.get("num_key_value_heads", Integer.class), headCount))
                .optHeadSize(headSize)
                .optScale(rope.getScale() * rope.getKeyMultiplier())
                .optCausal(facts.isOn("causal"))
                .optBias(hasBias)
                .optResultBias(facts.value("result_bias") == null ? hasBias : facts.isOn("result_bias"))
                .optSinks(facts.isOn("sinks"));
        boolean isSliding = layerType.equals(ModelType.SLIDING)
                && (facts.isOn("use_sliding_window")
                        || (facts.value("layer_types") != null && !facts.type().reads("max_window_layers")));
        if (isSliding && facts.value("sliding_window") != null) {
            builder.optWindow(facts.requireInt("sliding_window"));
        }
        if (layerType.equals(ModelType.CHUNKED) && facts.value("attention_chunk_size") != null) {
            builder.optChunkSize(facts.requireInt("attention_chunk_size"));
        }
        if (facts.value("attn_logit_softcapping") != null) {
            builder.optScoreCap(facts.number("attn_logit_softcapping"));
        }
        boolean isRotated = isRotated();
        if (isRotated) {
            builder.optRelativeEncoding(rope.rotary(layerType, length).build());
        }
        if (facts.isOn("query_key_norm") && (isRotated || facts.isOn("norm_without_rotary"))) {
            builder.optQueryNorm(norm(headSize)).optKeyNorm(norm(headSize));
        }
        if (!isRotated && facts.isOn("attn_temperature_tuning")) {
            builder.optQueryScale(
                    new QueryScale.FloorLogarithm(facts.number("attn_scale"), facts.number("floor_scale")));
        }
        if (((List<?>) facts.value("rope_keys")).contains("llama_4_scaling_beta")) {
            RopeSection section = rope.section(layerType);
            builder.optQueryScale(
                    new QueryScale.FloorLogarithm(section.number("llama_4_scaling_beta"), section.originalLength(), 0));
        }
        if (facts.isOn("use_logn_attn")) {
            builder.optQueryScale(new QueryScale.LogN(facts.requireInt("seq_length")));
        }
        return builder.build();
    }

    private RmsNormBlock norm(int headSize) {
        return RmsNormBlock.builder()
                .setEmbeddingSize(headSize)
                .optEpsilon(facts.number("rms_norm_eps"))
                .build();
    }

    /** The type of the layer, which may be one without an attention that is known. */
    String layerType() {
        return rope.layers.type(layer);
    }

    private boolean isRotated() {
        return rope.layers.isRotated(layer);
    }
}
