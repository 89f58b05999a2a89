package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.shown;

import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock.OutputGate;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import java.util.List;
import java.util.Objects;

/** The attention of a layer of a published model, with what its configuration and its model type fix. */
final class ModelAttention {

    private final HuggingFaceConfig config;
    private final Facts facts;
    private final int layer;

    /** The attention of a layer, counted from 0. */
    ModelAttention(HuggingFaceConfig config, int layer) {
        this.config = config;
        this.layer = layer;
        facts = config.facts;
    }

    /** Layers of a configuration with the same kind have the same attention. */
    String kind() {
        return layerType() + " " + isRotated() + " " + config.layers.headCount(layer);
    }

    /**
     * The attention.
     *
     * @param length the maximum length of the sequences, for rope types that depend on it; null for none
     */
    MultiHeadAttentionBlock.Builder builder(Integer length) {
        return builder(length, relativeBias(facts));
    }

    /** T5's biases, which all layers share; null for a model without them. */
    static RelativePositionBiasBlock relativeBias(Facts facts) {
        return facts.value("relative_attention_num_buckets") == null
                ? null
                : RelativePositionBiasBlock.builder()
                        .setHeadCount(facts.requireInt("num_attention_heads"))
                        .optBuckets(facts.requireInt("relative_attention_num_buckets"))
                        .optMaxDistance(facts.requireInt("relative_attention_max_distance"))
                        .optBidirectional(!facts.isOn("causal"))
                        .build();
    }

    MultiHeadAttentionBlock.Builder builder(Integer length, RelativePositionBiasBlock bias) {
        config.requireBuilt();
        Check.between("layer", layer, 0, facts.requireInt("num_hidden_layers") - 1L);
        String layerType = layerType();
        Check.that(
                ModelType.ATTENTIONS.contains(layerType),
                () -> "layer " + layer + " of " + config + " has the type " + layerType + ": expected one of "
                        + ModelType.ATTENTIONS + ", which have an attention; pass the number of another layer");
        int headCount = config.layers.headCount(layer);
        int headSize = config.headSize(layerType);
        boolean isSliding = layerType.equals(ModelType.SLIDING);
        boolean hasOne = facts.isOn("multi_query") && !facts.isOn("new_decoder_architecture");
        boolean hasAll = facts.type().reads("multi_query")
                && !facts.isOn("multi_query")
                && !facts.isOn("new_decoder_architecture");
        Integer named = hasAll ? null : facts.get("num_key_value_heads", Integer.class);
        int keyHeadCount = hasOne ? 1 : Objects.requireNonNullElse(named, headCount);
        if (isSliding && facts.isOn("key_heads_are_doubled")) {
            keyHeadCount = Objects.requireNonNullElse(facts.whole("sliding_num_key_value_heads"), 2 * keyHeadCount);
        }
        boolean hasBias = facts.isOn("attention_bias");
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(facts.requireInt("hidden_size"))
                .setHeadCount(headCount)
                .optKeyValueHeadCount(keyHeadCount)
                .optHeadSize(headSize)
                .optScale(config.getScale() * config.getKeyMultiplier())
                .optCausal(facts.isOn("causal"))
                .optBias(hasBias)
                .optResultBias(facts.value("result_bias") == null ? hasBias : facts.isOn("result_bias"))
                .optSinks(facts.isOn("sinks") || (isSliding && facts.isOn("sliding_sinks")));
        addGate(builder);
        if (facts.value("value_head_size") != null) {
            builder.optValueHeadSize(facts.requireInt("value_head_size"));
        }
        if (facts.value("value_scale") != null) {
            builder.optValueScale(facts.number("value_scale"));
        }
        if (hasBias && !facts.isOn("key_bias")) {
            builder.optKeyBias(false);
        }
        if (facts.value("patch_size") != null) {
            new VisionModel(config).addPositions(builder, headCount, headSize);
        }
        boolean hasWindow = isSliding
                && (facts.isOn("use_sliding_window")
                        || (facts.value("layer_types") != null && !facts.type().reads("max_window_layers")));
        if (hasWindow && facts.value("sliding_window_size") != null) {
            builder.optWindow(1 + facts.requireInt("sliding_window_size"));
        } else if (hasWindow && facts.value("sliding_window") != null) {
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
            builder.optRelativeEncoding(config.builder(layerType, length).build());
        }
        if (config.layers.positions().equals("alibi")) {
            builder.optRelativeEncoding(AlibiBiasBlock.builder()
                    .setHeadCount(headCount)
                    .optScaled(facts.isOn("alibi_scaled"))
                    .optRoundedByKey(facts.isOn("alibi_scaled"))
                    .build());
        }
        if (bias != null) {
            builder.optRelativeEncoding(bias);
        }
        if (facts.isOn("relative_attention")) {
            DisentangledPositionBlock encoding = disentangled();
            builder.optRelativeEncoding(encoding).optScale(encoding.defaultScale());
        }
        if (facts.value("clip_qkv") != null) {
            builder.optProjectionLimit(facts.number("clip_qkv"));
        }
        if (facts.isOn("query_key_norm") && (isRotated || facts.isOn("norm_without_rotary"))) {
            boolean isOfAll = facts.isOn("norm_of_all_heads");
            builder.optQueryNorm(norm(isOfAll ? headCount * headSize : headSize))
                    .optKeyNorm(norm(isOfAll ? keyHeadCount * headSize : headSize))
                    .optNormOfAllHeads(isOfAll);
        }
        if (!isRotated && facts.isOn("attn_temperature_tuning")) {
            builder.optQueryScale(
                    new QueryScale.FloorLogarithm(facts.number("attn_scale"), facts.number("floor_scale")));
        }
        if (((List<?>) facts.value("rope_keys")).contains("llama_4_scaling_beta")) {
            RopeSection section = config.section(layerType);
            builder.optQueryScale(
                    new QueryScale.FloorLogarithm(section.number("llama_4_scaling_beta"), section.originalLength(), 0));
        }
        if (facts.isOn("use_logn_attn")) {
            builder.optQueryScale(new QueryScale.LogN(facts.requireInt("seq_length")));
        }
        return builder;
    }

    private void addGate(MultiHeadAttentionBlock.Builder builder) {
        if (facts.value("output_gate") == null) {
            return;
        }
        Object granularity = facts.value("output_gate_by_head");
        builder.optOutputGate(OutputGate.valueOf((String) facts.value("output_gate")))
                .optOutputGateByHead(Boolean.TRUE.equals(granularity) || "per-head".equals(granularity));
        if (facts.value("output_gate_bias") != null) {
            builder.optOutputGateBias(facts.isOn("output_gate_bias"));
        }
    }

    /** The attention to the output of an encoder, of a model that has one. */
    MultiHeadAttentionBlock cross() {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(facts.requireInt("hidden_size"))
                .setHeadCount(facts.requireInt("num_attention_heads"))
                .optHeadSize(config.headSize(layerType()))
                .optScale(config.getScale())
                .optBias(facts.isOn("attention_bias"))
                .build();
    }

    /** DeBERTa's encoding, in each layer one with the same vectors. */
    private DisentangledPositionBlock disentangled() {
        String terms = String.valueOf(facts.value("pos_att_type"));
        Check.that(
                terms.contains("c2p") || terms.contains("p2c"),
                () -> "pos_att_type " + shown(terms) + " of " + config
                        + ": expected c2p, p2c or both, the terms of a DisentangledPositionBlock; build another encoding");
        Integer buckets = facts.whole("position_buckets");
        Integer named = facts.whole("max_relative_positions");
        int longest = named < 1 ? facts.requireInt("max_position_embeddings") : named;
        DisentangledPositionBlock.Builder builder = DisentangledPositionBlock.builder()
                .setEmbeddingSize(facts.requireInt("hidden_size"))
                .setHeadCount(facts.requireInt("num_attention_heads"))
                .optContentToPosition(terms.contains("c2p"))
                .optPositionToContent(terms.contains("p2c"));
        if (buckets > 0) {
            builder.optBuckets(buckets).optMaxDistance(longest);
        } else {
            builder.optBuckets(longest).optLogarithmic(false);
        }
        return (String.valueOf(facts.value("norm_rel_ebd")).contains("layer_norm")
                        ? builder.optVectorNormEpsilon(facts.number("rms_norm_eps"))
                        : builder)
                .build();
    }

    private RmsNormBlock norm(int headSize) {
        return RmsNormBlock.builder()
                .setEmbeddingSize(headSize)
                .optEpsilon(facts.number("rms_norm_eps"))
                .build();
    }

    /** The type of the layer, which may be one without an attention that is known. */
    String layerType() {
        return config.layers.type(layer);
    }

    private boolean isRotated() {
        return config.layers.isRotated(layer);
    }
}
