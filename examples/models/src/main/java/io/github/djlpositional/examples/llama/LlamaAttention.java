package io.github.djlpositional.examples.llama;

import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The attentions of a model of the Llama family. Values of missing keys are those of the classes of transformers, for
 * each model type.
 *
 * @param embeddingSize the size of a token's vector, D
 * @param headCount the number of heads of the queries
 * @param keyValueHeadCount the number of heads of the keys and values
 * @param headSize the size of a head, H
 * @param hasBias whether the projections of queries, keys and values have biases
 * @param hasResultBias whether the projection of the result has a bias
 * @param hasNorms whether queries and keys are normalized
 * @param epsilon the number that these normalizations add to the mean square
 * @param window the number of tokens that a token sees in layers with a window; null if no layer has one
 * @param firstWithWindow the first layer with a window, without {@code layerTypes}
 * @param layerTypes the type of each layer, such as {@code sliding_attention}; null for none
 */
record LlamaAttention(
        int embeddingSize,
        int headCount,
        int keyValueHeadCount,
        int headSize,
        boolean hasBias,
        boolean hasResultBias,
        boolean hasNorms,
        double epsilon,
        Integer window,
        int firstWithWindow,
        List<?> layerTypes) {

    private static final String FULL = "full_attention";
    private static final String SLIDING = "sliding_attention";

    /** Takes the values from a {@code config.json}; a null is not the same as a missing key. */
    static LlamaAttention of(String modelType, Map<String, ?> config, int headSize, double epsilon) {
        boolean isQwen = modelType.startsWith("qwen");
        boolean isQwen2 = modelType.equals("qwen2");
        int embeddingSize = LlamaConfig.size(config, "hidden_size");
        int headCount = LlamaConfig.size(config, "num_attention_heads");
        boolean hasBias = isQwen2 || (!modelType.equals("mistral") && LlamaConfig.isOn(config, "attention_bias"));
        boolean hasWindow = modelType.equals("mistral") || (isQwen && LlamaConfig.isOn(config, "use_sliding_window"));
        Object layerTypes = config.get("layer_types");
        Check.that(
                layerTypes == null || layerTypes instanceof List<?>,
                () -> "layer_types " + layerTypes + ": expected a list of a type for each layer; download it again");
        return new LlamaAttention(
                embeddingSize,
                headCount,
                config.get("num_key_value_heads") == null
                        ? missingKeyValueHeads(modelType, config, headCount)
                        : LlamaConfig.size(config, "num_key_value_heads"),
                headSize,
                hasBias,
                hasBias && !isQwen2,
                modelType.equals("qwen3"),
                epsilon,
                hasWindow ? window(config) : null,
                isQwen ? whole(config, "max_window_layers", 28) : 0,
                isQwen ? (List<?>) layerTypes : null);
    }

    private static int missingKeyValueHeads(String modelType, Map<String, ?> config, int headCount) {
        if (config.containsKey("num_key_value_heads") || modelType.equals("llama")) {
            return headCount;
        }
        return modelType.equals("mistral") ? 8 : 32;
    }

    private static Integer window(Map<String, ?> config) {
        if (config.containsKey("sliding_window") && config.get("sliding_window") == null) {
            return null;
        }
        return whole(config, "sliding_window", 4096);
    }

    private static int whole(Map<String, ?> config, String key, int missing) {
        Integer value = Check.value(config, key, "a whole number", text -> new BigDecimal(text).intValueExact());
        return value == null ? missing : value;
    }

    /** The attention of a layer, counted from 0, with the rotary encoding of all layers. */
    MultiHeadAttentionBlock block(int layer, RotaryEmbeddingBlock rotary) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(embeddingSize)
                .setHeadCount(headCount)
                .optKeyValueHeadCount(keyValueHeadCount)
                .optHeadSize(headSize)
                .optCausal(true)
                .optBias(hasBias)
                .optResultBias(hasResultBias)
                .optRelativeEncoding(rotary);
        if (window != null && isSliding(layer)) {
            builder.optWindow(window);
        }
        return hasNorms ? builder.optQueryNorm(norm()).optKeyNorm(norm()).build() : builder.build();
    }

    private boolean isSliding(int layer) {
        if (layerTypes == null) {
            return layer >= firstWithWindow;
        }
        Check.that(
                layer < layerTypes.size() && Set.of(FULL, SLIDING).contains(String.valueOf(layerTypes.get(layer))),
                () -> "layer_types " + layerTypes + ": expected " + FULL + " or " + SLIDING
                        + " for each layer; download it again");
        return SLIDING.equals(layerTypes.get(layer));
    }

    private RmsNormBlock norm() {
        return RmsNormBlock.builder()
                .setEmbeddingSize(headSize)
                .optEpsilon(epsilon)
                .build();
    }
}
