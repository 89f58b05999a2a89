package io.github.djlpositional.huggingface;

import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
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

    static final Map<String, ModelType> TYPES =
            ModelType.types(merged(ModelType.read("model-types.jsonc"), ModelType.read("attention-types.jsonc")));

    private final HuggingFaceRope rope;
    private final ModelType type;
    private final int layer;

    /** The attention of a layer, counted from 0. */
    ModelAttention(HuggingFaceRope rope, int layer) {
        this.rope = rope;
        this.layer = layer;
        type = TYPES.get(rope.config.get("model_type").toString());
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
        return block(whole("max_position_embeddings"));
    }

    /** The attention for a length. */
    MultiHeadAttentionBlock block(int length) {
        Check.that(
                value("other_attention") == null,
                () -> rope + ", " + value("other_attention")
                        + ": expected a model whose attention is compared; read its" + " rotary encoding only");
        type.column("required")
                .forEach((key, value) -> Check.that(
                        rope.config.get(key) == null || HuggingFaceRope.isSame(rope.config.get(key), value),
                        () -> key + " " + rope.config.get(key) + " of " + rope + ": expected " + value
                                + "; read others"));
        Check.between("layer", layer, 0, whole("num_hidden_layers") - 1L);
        String layerType = layerType();
        int headCount = whole("num_attention_heads");
        int headSize = rope.headSize(layerType);
        boolean hasOne = isOn("multi_query") && !isOn("new_decoder_architecture");
        boolean hasBias = isOn("attention_bias");
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(whole("hidden_size"))
                .setHeadCount(headCount)
                .optKeyValueHeadCount(
                        hasOne ? 1 : Objects.requireNonNullElse(get("num_key_value_heads", Integer.class), headCount))
                .optHeadSize(headSize)
                .optScale(rope.getScale())
                .optCausal(isOn("causal"))
                .optBias(hasBias)
                .optResultBias(value("result_bias") == null ? hasBias : isOn("result_bias"))
                .optSinks(isOn("sinks"));
        boolean isSliding = layerType.equals(ModelType.SLIDING)
                && (isOn("use_sliding_window") || (value("layer_types") != null && !type.reads("max_window_layers")));
        if (isSliding && value("sliding_window") != null) {
            builder.optWindow(whole("sliding_window"));
        }
        if (layerType.equals(ModelType.CHUNKED) && value("attention_chunk_size") != null) {
            builder.optChunkSize(whole("attention_chunk_size"));
        }
        if (value("attn_logit_softcapping") != null) {
            builder.optScoreCap(number("attn_logit_softcapping"));
        }
        boolean isRotated = isRotated();
        if (isRotated) {
            builder.optRelativeEncoding(rope.rotary(layerType, length).build());
        }
        if (isOn("query_key_norm") && (isRotated || isOn("norm_without_rotary"))) {
            builder.optQueryNorm(norm(headSize)).optKeyNorm(norm(headSize));
        }
        if (!isRotated && isOn("attn_temperature_tuning")) {
            builder.optQueryScale(new QueryScale.FloorLogarithm(number("attn_scale"), number("floor_scale")));
        }
        if (((List<?>) value("rope_keys")).contains("llama_4_scaling_beta")) {
            RopeSection section = rope.section(layerType);
            builder.optQueryScale(
                    new QueryScale.FloorLogarithm(section.number("llama_4_scaling_beta"), section.originalLength(), 0));
        }
        if (isOn("use_logn_attn")) {
            builder.optQueryScale(new QueryScale.LogN(whole("seq_length")));
        }
        return builder.build();
    }

    private RmsNormBlock norm(int headSize) {
        return RmsNormBlock.builder()
                .setEmbeddingSize(headSize)
                .optEpsilon(number("rms_norm_eps"))
                .build();
    }

    /** The type of the layer, which may be one without an attention that is known. */
    String layerType() {
        List<?> layerTypes = get("layer_types", List.class);
        if (layerTypes != null) {
            Check.between("number of layer_types", layerTypes.size(), layer + 1L, Integer.MAX_VALUE);
            String layerType = String.valueOf(layerTypes.get(layer));
            return layerType.equals("attention") ? ModelType.FULL : layerType;
        }
        List<?> full = get("full_attn_idxs", List.class);
        if (full != null) {
            return fullOrOther(full.stream().anyMatch(each -> each instanceof Number n && n.doubleValue() == layer));
        }
        if (has("sliding_window_pattern")) {
            return fullOrOther((layer + 1) % whole("sliding_window_pattern") == 0);
        }
        if (has("global_attn_every_n_layers")) {
            return fullOrOther(layer % whole("global_attn_every_n_layers") == 0);
        }
        if (value("max_window_layers") != null) {
            return fullOrOther(layer < get("max_window_layers", Integer.class));
        }
        return value(isRotated() ? "layer_type" : "layer_type_without_rotary").toString();
    }

    private String fullOrOther(boolean isFull) {
        return isFull ? ModelType.FULL : value("other_layer_type").toString();
    }

    /** Whether the layer has a rotary encoding. In {@code no_rope_layers}, 1 stands for a layer that has one. */
    private boolean isRotated() {
        if (!"rope".equals(value("position_embedding_type"))) {
            return false;
        }
        if (value("rotary_layer_type") != null && value("sliding_window") != null) {
            return value("rotary_layer_type").equals(layerType());
        }
        List<?> rotated = get("no_rope_layers", List.class);
        if (rotated == null || rotated.isEmpty()) {
            return !has("no_rope_layer_interval") || (layer + 1) % whole("no_rope_layer_interval") != 0;
        }
        Check.between("number of no_rope_layers", rotated.size(), layer + 1L, Integer.MAX_VALUE);
        return isTrue(rotated.get(layer));
    }

    private Object value(String fact) {
        return type.value(fact, rope.config);
    }

    /** Whether the type has a fact, which the value null in a configuration does not take away. */
    private boolean has(String fact) {
        return type.value(fact, Map.of()) != null;
    }

    private <T> T get(String fact, Class<T> wanted) {
        Object value = value(fact);
        String name = type.keyOf(fact);
        return value == null ? null : Settings.value(ModelAttention.class, Map.of(name, value), name, wanted);
    }

    private int whole(String fact) {
        int value = Check.present(type.keyOf(fact), get(fact, Integer.class));
        Check.positive(type.keyOf(fact), value);
        return value;
    }

    private double number(String fact) {
        return Check.present(type.keyOf(fact), get(fact, Double.class));
    }

    private static boolean isTrue(Object value) {
        return Boolean.TRUE.equals(value) || (value instanceof Number number && number.doubleValue() != 0);
    }

    private boolean isOn(String fact) {
        Object value = value(fact);
        return value instanceof Number ? isTrue(value) : isTrue(get(fact, Boolean.class));
    }
}
