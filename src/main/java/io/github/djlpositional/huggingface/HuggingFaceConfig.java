package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.check;
import static io.github.djlpositional.internal.InvalidFileException.quoted;
import static io.github.djlpositional.internal.InvalidFileException.shown;

import ai.djl.MalformedModelException;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import io.github.djlpositional.weights.TensorNames;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The configuration of a model in Hugging Face's format, {@code config.json}: its rotary encoding, its attentions and,
 * for many model types, its layers. {@link HuggingFaceModel} also loads the weights.
 *
 * <pre>{@code
 * HuggingFaceConfig config = HuggingFaceConfig.read(Path.of("Llama-3.1-8B"));
 * RotaryEmbeddingBlock rotary = config.rotary().build();
 * MultiHeadAttentionBlock attention = config.attention(0).optDropoutRate(0.1f).build(); // of layer 0
 * TransformerStackBlock stack = config.withHead(config.stack()).build();
 * }</pre>
 *
 * <p>Builders have every option that the configuration and the model type determine. A key that asks for something that
 * the blocks of this library cannot compute is rejected by name.
 *
 * <p>A configuration leaves much to the code of its {@code model_type}: the layout of the pairs, and values of missing
 * keys. They are known for the types in {@code docs/model-types.csv}. Other types, unknown rope types, unknown keys of
 * the rope section, and keys that describe the rotation of other model types are rejected; nothing is guessed. The rope
 * section is read as Hugging Face's {@code modeling_rope_utils.py} (transformers 4 and 5) reads it. LongRoPE and
 * dynamic NTK need the maximum length of the sequences, as in vLLM; transformers uses the length of each forward.
 *
 * <p>For a model of text and images, {@code text_config} is read, and {@code vision_config} by {@link #ofVision}.
 *
 * <p>Immutable and thread-safe. Every method throws {@link IllegalArgumentException} for a key that is missing, of
 * another type, or outside its range.
 */
public final class HuggingFaceConfig {

    /** Published files have a few kilobytes, or a few hundred if they list quantized layers. */
    private static final int MOST_BYTES = 4 << 20;

    /** The initial length of a rotary table, which grows as far as the model allows. */
    private static final int FIRST_LENGTH = 4096;

    /** The maximum length of a rotary table. */
    private static final int LONGEST = 1 << 29;

    /** Far above any published model; bounds the number of frequencies of a configuration. */
    private static final int LARGEST_HEAD = 1 << 12;

    final Map<String, Object> config;
    final Layers layers;
    final Facts facts;
    private final RopeSections sections;
    private final ModelType type;

    private HuggingFaceConfig(Map<String, ?> config) {
        this.config = Collections.unmodifiableMap(new LinkedHashMap<>(config));
        type = ModelType.of(config.get("model_type"));
        Check.that(
                !ModelType.WITHOUT_ROTARY.contains(config.get("model_type")),
                () -> "model_type " + quoted(config.get("model_type")) + " has no rotary encoding: expected a type with"
                        + " one; build its attention without optRelativeEncoding");
        Check.that(
                type != null,
                () -> "model_type "
                        + (config.get("model_type") == null ? "is missing" : quoted(config.get("model_type")))
                        + ": expected one of " + ModelType.names()
                        + "; build other models with RotaryEmbeddingBlock; see docs/models.md#what-is-known"
                        + ModelType.whyNotKnown(config.get("model_type")));
        facts = new Facts(type, this.config);
        layers = new Layers(facts);
        sections = new RopeSections(facts);
        requireKnownValues();
        if (layers.positions().equals("rope")) {
            for (String layerType : layerTypes()) {
                builder(layerType, 1).build();
            }
        }
        requireReadKeys();
    }

    /**
     * Reads a configuration.
     *
     * @param configJson the {@code config.json} of a model, which may be untrusted, or the model's folder
     * @return the configuration
     * @throws IllegalArgumentException if the model or rope type is not known, a key of the rope section is not known,
     *     or a value is not valid
     * @throws MalformedModelException if the file is not one JSON object of at most 4 MiB without repeated keys
     * @throws IOException if the file does not exist or cannot be read
     */
    public static HuggingFaceConfig read(Path configJson) throws IOException, MalformedModelException {
        return of(values(fileOf(configJson)));
    }

    private static Path fileOf(Path path) {
        return Files.isDirectory(path) ? path.resolve("config.json") : path;
    }

    /** The values by key: maps, lists, strings, booleans, nulls, and numbers as {@link java.math.BigDecimal}. */
    static Map<String, Object> values(Path path) throws IOException, MalformedModelException {
        Check.that(
                Files.isRegularFile(path) || !Files.isReadable(path),
                () -> "the path " + path
                        + " is not a file: expected the config.json of a model; pass its path, or that of its folder");
        try (InputStream in = Files.newInputStream(path)) {
            byte[] bytes = in.readNBytes(MOST_BYTES + 1);
            check(bytes.length <= MOST_BYTES, "it has more than %s bytes", MOST_BYTES);
            return Json.read(bytes);
        } catch (MalformedJsonException e) {
            throw InvalidFileException.notJson("it is not one JSON object", e).ofConfiguration(path);
        } catch (InvalidFileException e) {
            throw e.ofConfiguration(path);
        }
    }

    /**
     * Returns a configuration.
     *
     * @param config the values of a {@code config.json}: maps, lists, strings, booleans, numbers and nulls
     * @return the configuration
     * @throws IllegalArgumentException as {@link #read} does
     */
    public static HuggingFaceConfig of(Map<String, ?> config) {
        Object textType = ModelType.WITH_TEXT_CONFIG.get(config.get("model_type"));
        if (textType != null && config.get("text_config") instanceof Map<?, ?> textConfig) {
            Object named = textConfig.get("model_type");
            Map<String, Object> text = nested(ModelType.TEXT_DEFAULTS.get(config.get("model_type")), null);
            text.putAll(nested(textConfig, named == null ? textType : named));
            return new HuggingFaceConfig(text);
        }
        if (config.get("attn_config") instanceof Map<?, ?> ofAttention) { // MPT
            Map<String, Object> all = new LinkedHashMap<>(config);
            ofAttention.forEach((key, value) -> all.putIfAbsent(String.valueOf(key), value));
            return new HuggingFaceConfig(all);
        }
        return new HuggingFaceConfig(config);
    }

    /**
     * {@return the configuration of the vision tower of a model; see {@link #ofVision}}
     *
     * @param configJson the {@code config.json} of the model, which may be untrusted
     * @throws MalformedModelException as {@link #read} does
     * @throws IOException as {@link #read} does
     */
    public static HuggingFaceConfig readVision(Path configJson) throws IOException, MalformedModelException {
        return ofVision(values(fileOf(configJson)));
    }

    /**
     * {@return the configuration of the vision tower of a model of text and images, from its {@code vision_config}}
     * {@link #rotary()} is {@link RotaryPresets#axial} or {@link RotaryPresets#gemma4Vision}.
     *
     * @param config the values of the {@code config.json}, of which the {@code text_config} need not be known
     * @throws IllegalArgumentException as {@link #read} does, or if the model's vision tower is not known
     */
    public static HuggingFaceConfig ofVision(Map<String, ?> config) {
        Object type = ModelType.WITH_VISION_CONFIG.get(config.get("model_type"));
        Check.that(
                type != null && config.get("vision_config") instanceof Map,
                () -> "model_type " + quoted(config.get("model_type")) + ": expected one of "
                        + ModelType.WITH_VISION_CONFIG.keySet()
                        + " with a vision_config; build other vision towers with RotaryPresets");
        return new HuggingFaceConfig(nested(config.get("vision_config"), type));
    }

    /**
     * {@return the configuration of the decoder of a model with an encoder and a decoder; that of the encoder is
     * {@link #read}}
     *
     * @param configJson the {@code config.json} of the model, which may be untrusted, or the model's folder
     * @throws IllegalArgumentException as {@link #read} does, or if the model has one stack of layers
     * @throws MalformedModelException as {@link #read} does
     * @throws IOException as {@link #read} does
     */
    public static HuggingFaceConfig readDecoder(Path configJson) throws IOException, MalformedModelException {
        return ofDecoder(values(fileOf(configJson)));
    }

    /**
     * {@return the configuration of the decoder of a model with an encoder and a decoder}
     *
     * @param config the values of its {@code config.json}
     * @throws IllegalArgumentException as {@link #readDecoder} does
     */
    public static HuggingFaceConfig ofDecoder(Map<String, ?> config) {
        Object type = ModelType.WITH_DECODER.get(config.get("model_type"));
        Check.that(
                type != null,
                () -> "model_type " + quoted(config.get("model_type")) + ": expected one of "
                        + ModelType.WITH_DECODER.keySet()
                        + ", which have an encoder and a decoder; use read for other models");
        return new HuggingFaceConfig(nested(config, type));
    }

    private static Map<String, Object> nested(Object config, Object type) {
        Map<String, Object> values = new LinkedHashMap<>();
        if (config instanceof Map<?, ?> map) {
            map.forEach((key, value) -> values.put(String.valueOf(key), value));
        }
        values.put("model_type", type);
        return values;
    }

    /**
     * Returns the rotary encoding of all {@linkplain #isRotated rotated} layers, for a rope type that needs no length.
     *
     * @return a new builder of this encoding; see {@link #rotary(String, int)}
     * @throws IllegalArgumentException if no layer is rotated, layers of different types are rotated differently, or
     *     the rope type is {@code longrope}, or {@code dynamic} without {@code alpha}
     */
    public RotaryEmbeddingBlock.Builder rotary() {
        return builder(onlyLayerType(), null);
    }

    /**
     * Returns the rotary encoding of all {@linkplain #isRotated rotated} layers.
     *
     * @param length the maximum length of the sequences, at least 1
     * @return a new builder of this encoding; see {@link #rotary(String, int)}
     * @throws IllegalArgumentException if no layer is rotated, or layers of different types are rotated differently
     */
    public RotaryEmbeddingBlock.Builder rotary(int length) {
        return builder(onlyLayerType(), length);
    }

    /**
     * Returns the rotary encoding of one type of layers, for a rope type that needs no length. Some layers of the type
     * may not be {@linkplain #isRotated rotated}.
     *
     * @param layerType {@code full_attention}, {@code sliding_attention} or {@code chunked_attention}
     * @return a new builder of this encoding; see {@link #rotary(String, int)}
     * @throws IllegalArgumentException if the model has no rotary encoding for such layers, as Cohere 2 for
     *     {@code full_attention}, or the rope type is {@code longrope}, or {@code dynamic} without {@code alpha}
     */
    public RotaryEmbeddingBlock.Builder rotary(String layerType) {
        String known = known(layerType);
        requireRotated(known);
        return builder(known, null);
    }

    /**
     * Returns the rotary encoding of one type of layers. Its table initially has up to 4096 positions, and grows to the
     * length that the configuration allows: {@code max_position_embeddings}, multiplied by {@code factor} for linear
     * (except in Gemma 3, whose number is multiplied already) and dynamic scaling, and at least {@code factor} times
     * the original length for YaRN.
     *
     * @param layerType {@code full_attention}, {@code sliding_attention} or {@code chunked_attention}
     * @param length the maximum length of the sequences, at least 1, by which the rope types {@code longrope} and
     *     {@code dynamic} choose the frequencies; the other types do not depend on it
     * @return a new builder with head size, rotated dimensions, layout, frequencies, scaling, axes and maximum length
     * @throws IllegalArgumentException if the model has no rotary encoding for such layers
     */
    public RotaryEmbeddingBlock.Builder rotary(String layerType, int length) {
        String known = known(layerType);
        requireRotated(known);
        return builder(known, length);
    }

    /**
     * Returns whether a layer has a rotary encoding. In Llama 4 and SmolLM 3, every fourth layer has none; in Cohere 2,
     * only layers with windows have one; layers without an attention, as in LFM 2, have none.
     *
     * @param layer the number of the layer, from 0
     * @throws IllegalArgumentException if the model has no such layer
     */
    public boolean isRotated(int layer) {
        Check.between("layer", layer, 0, layers.count() - 1L);
        return layers.isRotated(layer) || Objects.equals(facts.value("patch_positions"), "rotary");
    }

    /**
     * {@return the type of a layer, which {@link #rotary(String)} takes: {@code full_attention},
     * {@code sliding_attention} or {@code chunked_attention}, or another one for a layer without an attention} Other
     * names of configurations for these, such as {@code hybrid}, stand for one of them.
     *
     * @param layer the number of the layer, from 0
     * @throws IllegalArgumentException if the model has no such layer
     */
    public String layerType(int layer) {
        Check.between("layer", layer, 0, layers.count() - 1L);
        return layers.type(layer);
    }

    /**
     * Returns the attention of a layer, for a rope type that needs no length.
     *
     * @param layer the number of the layer, from 0
     * @return a new builder with all that the configuration and the model type fix: sizes, biases, norms of queries and
     *     keys, rotary encoding, window or chunks, scale, cap, sinks and output gate; each encoding is a new block
     * @throws IllegalArgumentException if the model has no such layer, the layer has no attention, as most layers of
     *     Qwen3-Next, a {@link MultiHeadAttentionBlock} cannot compute it, or the rope type is {@code longrope}, or
     *     {@code dynamic} without {@code alpha}
     */
    public MultiHeadAttentionBlock.Builder attention(int layer) {
        return new ModelAttention(this, layer).builder(null);
    }

    /**
     * Returns the attention of a layer.
     *
     * @param layer the number of the layer, from 0
     * @param length the maximum length of the sequences, at least 1
     * @return a new builder; see {@link #attention(int)}
     * @throws IllegalArgumentException if the model has no such layer, or a {@link MultiHeadAttentionBlock} cannot
     *     compute its attention
     */
    public MultiHeadAttentionBlock.Builder attention(int layer, int length) {
        return new ModelAttention(this, layer).builder(length);
    }

    /**
     * {@return a layer, a new builder with all that the configuration and the model type fix}
     *
     * @param layer the number of the layer, from 0
     * @throws IllegalArgumentException as {@link #attention(int)}, or if the layers of the model type are not known
     */
    public TransformerLayerBlock.Builder layer(int layer) {
        return new ModelLayers(this).layer(layer, null);
    }

    /**
     * {@return the input embedding, a new builder}
     *
     * @throws IllegalArgumentException if the layers of the model type are not known
     */
    public InputEmbeddingBlock.Builder input() {
        return new ModelLayers(this).input();
    }

    /**
     * {@return the input embedding and the layers, a new builder} Its output are the last hidden states, (B, T, D).
     *
     * @throws IllegalArgumentException as {@link #layer}
     */
    public TransformerStackBlock.Builder stack() {
        return new ModelLayers(this).stack(null);
    }

    /**
     * {@return the {@link #stack} for sequences of up to a length, by which the rope types {@code longrope} and
     * {@code dynamic} choose the frequencies}
     *
     * @param length the maximum length of the sequences, at least 1
     * @throws IllegalArgumentException if the layers of the model type are not known
     */
    public TransformerStackBlock.Builder stack(int length) {
        return new ModelLayers(this).stack(length);
    }

    /**
     * {@return a {@link #stack} with the output layer of a language model} Its output are the scores of tokens, (B, T,
     * V).
     *
     * @param stack the builder of the stack
     * @throws IllegalArgumentException if the layers of the model type are not known
     */
    public TransformerStackBlock.Builder withHead(TransformerStackBlock.Builder stack) {
        return new ModelLayers(this).withHead(stack);
    }

    /**
     * {@return the names of the tensors of such a model}
     *
     * @throws IllegalArgumentException if the layers of the model type are not known
     */
    public TensorNames tensorNames() {
        return new ModelLayers(this).names();
    }

    /**
     * {@return a new builder of the encoder of a vision model} The output is the last hidden states, (B, T, D).
     *
     * @throws IllegalArgumentException if the model is one of text, or has what a {@link VisionTransformerBlock} lacks
     */
    public VisionTransformerBlock.Builder visionEncoder() {
        return new VisionModel(this).encoder(null);
    }

    /** Checks that layers of this library have what the configuration asks for. */
    void requireBuilt() {
        Check.that(
                facts.value("other_attention") == null,
                () -> this + ": " + facts.value("other_attention")
                        + ": expected a model whose attention is a MultiHeadAttentionBlock; use "
                        + (VisionModel.isOfPictures(this) ? "visionEncoder" : "rotary only"));
        requireValues();
    }

    /** Checks the values of keys with which layers can be built. */
    void requireValues() {
        type.column("built")
                .forEach((key, value) -> Check.that(
                        config.get(key) == null || Facts.isSame(config.get(key), value),
                        () -> key + " " + shown(config.get(key)) + " of " + this + ": expected " + value
                                + ", which the blocks of this library have; build the model yourself"));
    }

    /** Checks that the positions are those of a text. */
    private void requireText() {
        Check.that(
                !VisionModel.isOfPictures(this),
                () -> this + ": expected a text model, since the positions of patches belong to the whole model; use"
                        + " attention(int) or visionEncoder()");
    }

    /** Checks that some layers of a type have the rotary encoding. */
    private void requireRotated(String layerType) {
        requireText();
        if (layers.mayLackRotary()) {
            Set<String> rotated = rotatedTypes();
            Check.that(
                    rotated.contains(layerType),
                    () -> "layer type \"" + layerType + "\" of " + this + ": expected "
                            + String.join(" or ", rotated) + ", since its other layers have no rotary encoding; build"
                            + " their attention without optRelativeEncoding");
        }
    }

    /** The types of the layers with a rotary encoding, at least one. */
    private Set<String> rotatedTypes() {
        Set<String> rotated = layers.rotatedTypes();
        Check.that(
                !rotated.isEmpty(),
                () -> this + " with " + withoutRotary() + ": expected layers with a rotary encoding; build the"
                        + " attention of its layers without optRelativeEncoding");
        return rotated;
    }

    /** The keys that say which layers have a rotary encoding. */
    private Map<String, Object> withoutRotary() {
        Map<String, Object> values = new TreeMap<>();
        for (String fact :
                List.of("position_embedding_type", "alibi", "layer_types", "no_rope_layers", "sliding_window")) {
            if (type.reads(fact)) {
                values.put(type.keyOf(fact, config), shown(facts.value(fact)));
            }
        }
        return values;
    }

    /** A type of the layers that are all rotated alike. */
    private String onlyLayerType() {
        requireText();
        List<String> types = layerTypes();
        Check.that(
                types.size() == 1,
                () -> "no layer type, but " + this + " rotates layers of the types " + types
                        + " differently: expected one of them; use rotary(String)");
        if (sections.byLayerType().isEmpty()) {
            return layers.mayLackRotary() ? rotatedTypes().iterator().next() : types.get(0);
        }
        Set<String> rotated = rotatedTypes();
        Check.that(
                rotated.equals(Set.copyOf(types)),
                () -> "no layer type, but " + this + " has a rope section for " + types
                        + " only, of layers of the types " + rotated
                        + ": expected a section for each; use rotary(String)");
        return types.get(0);
    }

    RotaryEmbeddingBlock.Builder builder(String layerType, Integer length) {
        RopeSection section = section(layerType);
        requireScaledLayers(section);
        requireLength(section, length);
        int headSize = headSize(layerType);
        double base = base(section, layerType);
        double share = share(section, layerType);
        if (facts.whole("vision_axes") != null) {
            return facts.isOn("vision_halves")
                    ? RotaryPresets.gemma4Vision(headSize, base)
                    : RotaryPresets.axial(headSize, base, facts.whole("vision_axes"));
        }
        RotaryEmbeddingBlock.Builder builder =
                RotaryEmbeddingBlock.builder().setHeadSize(headSize).optLayout(layout());
        Integer latent = facts.whole("qk_rope_head_dim");
        int rotarySize = latent == null ? headSize : latent;
        if (section.isProportional()) {
            builder.optFrequencies(Frequencies.proportional(rotarySize, share, base, section.number("factor", 1)));
        } else {
            Integer dimensions = latent == null ? facts.whole("rotary_dim") : latent;
            rotarySize = dimensions == null ? (int) (headSize * share) : dimensions;
            if (facts.isOn("rotates_backwards")) {
                builder.optFrequencies(Frequencies.geometric(rotarySize / 2, base, rotarySize / 2.0)
                        .scaledBy(-1));
            } else {
                builder.optBase(base).optScaling(section.scaling(length));
            }
        }
        builder.optRotarySize(rotarySize);
        if (latent != null || facts.isOn("rotary_at_end")) {
            builder.optRotaryStart(headSize - rotarySize);
        }
        if (hasAxes()) {
            builder.optAxes(axes(section, rotarySize / 2));
        }
        int longest = longest(section);
        builder.optMaxSequenceLength(Math.min(longest, FIRST_LENGTH));
        return longest > FIRST_LENGTH ? builder.optAutoExtend(longest) : builder;
    }

    /** The number of positions that a rotary encoding may have. */
    private int longest(RopeSection section) {
        double limit = facts.isOn("use_dynamic_ntk")
                ? facts.requireInt("seq_length")
                : facts.isOn("length_is_scaled") ? facts.requireInt("max_position_embeddings") : section.lengthLimit();
        return (int) Math.min(Math.ceil(limit), LONGEST);
    }

    /**
     * {@return the number of positions of the model, which bounds the length of sequences; for ALiBi and without
     * positions {@link Integer#MAX_VALUE}}
     */
    public int getMaxSequenceLength() {
        if (!layers.positions().equals("rope")) {
            int unused = facts.whole("unused_positions");
            return layers.positions().equals("learned")
                    ? facts.requireInt("max_position_embeddings") - unused
                    : Integer.MAX_VALUE;
        }
        return layerTypes().stream()
                .mapToInt(layerType -> longest(section(layerType)))
                .min()
                .orElseThrow();
    }

    /** {@return the tokens that end a text, {@code eos_token_id}; empty for none} */
    public List<Long> getEndTokens() {
        Object ids = config.get("eos_token_id");
        List<?> all = ids instanceof List<?> list ? list : ids == null ? List.of() : List.of(ids);
        return all.stream()
                .map(id -> {
                    Check.that(
                            id != null,
                            () -> "eos_token_id " + shown(all) + ": expected token ids; correct the configuration");
                    return (long) Facts.converted("eos_token_id", id, Integer.class);
                })
                .toList();
    }

    /** Checks that versions of the published code agree about the frequencies for a length. */
    private void requireLength(RopeSection section, Integer length) {
        Check.that(
                length == null
                        || length <= section.originalLength()
                        || !facts.isOn("long_factor_is_disputed")
                        || !section.hasTwoLists(),
                () -> "length " + length + " of " + this + " with LongRoPE: expected at most "
                        + section.originalLength() + ", since beyond it the code published with the model takes"
                        + " long_factor, and transformers 5 short_factor; pass a shorter length, or build the block with"
                        + " RotaryEmbeddingBlock and a RotaryScaling.LongRope of the factors that you want");
    }

    /** Checks that a section that scales positions is that of all layers. */
    private void requireScaledLayers(RopeSection section) {
        List<?> scaled = facts.get("rope_scaling_layers", List.class);
        Check.that(
                scaled == null
                        || section.isDefault()
                        || IntStream.range(0, layers.count())
                                .allMatch(layer -> scaled.stream().anyMatch(each -> Facts.isSame(each, layer))),
                () -> "rope_scaling_layers " + shown(scaled) + " of " + this
                        + ": expected all layers, since layers of one type would rotate differently; build their"
                        + " encodings with RotaryEmbeddingBlock");
    }

    /** The share of a head that is rotated. */
    private double share(RopeSection section, String layerType) {
        boolean isRead = type.reads("partial_rotary_factor");
        boolean isReadInSection = facts.isOn("partial_rotary_in_section");
        Object outside =
                isRead || isReadInSection ? facts.value("partial_rotary_factor") : config.get("partial_rotary_factor");
        double share = section.number(
                "partial_rotary_factor", outside == null ? 1 : ofLayers("partial_rotary_factor", outside, layerType));
        Integer latent = facts.whole("qk_rope_head_dim");
        boolean isOfLatent = latent != null && share == latent / (double) headSize(ModelType.FULL);
        Check.that(
                isRead || isReadInSection || section.isProportional() || share == 1 || isOfLatent,
                () -> "partial_rotary_factor " + share + " of " + this + ": expected 1, since the class of this model"
                        + " type in transformers rotates whole heads, while vLLM rotates this share of them; remove the"
                        + " key for whole heads, or build the block with RotaryEmbeddingBlock and optRotarySize");
        return share;
    }

    private PairLayout layout() {
        return facts.isOn("rope_interleave") ? PairLayout.INTERLEAVED : PairLayout.CONCATENATED;
    }

    private double base(RopeSection section, String layerType) {
        Double inside = section.value("rope_theta", Double.class);
        double base = inside == null ? baseOutside(layerType) : inside;
        String bases = (String) facts.value("no_rope_layers_are");
        List<?> ofLayers = bases == null ? null : facts.get("no_rope_layers", List.class);
        if (ofLayers == null) {
            return base;
        }
        double ofLayer = ofLayers("no_rope_layers", ofLayers, layerType);
        Check.that(
                bases.equals("bases") || ofLayer == base,
                () -> type.keyOf("no_rope_layers") + " " + ofLayer + " of " + this + " with rope_theta " + base
                        + ": expected the same, or 0 for no rotation, since the class of this model type in transformers"
                        + " rotates by rope_theta; correct one of them");
        return ofLayer;
    }

    private double baseOutside(String layerType) {
        boolean isOwn = isLocal(layerType) && facts.value("rope_local_base_freq") != null;
        String fact = isOwn ? "rope_local_base_freq" : "rope_theta";
        Object value = facts.value(fact);
        return value instanceof List ? ofLayers(fact, value, layerType) : facts.number(fact);
    }

    /** Returns a number, of a list the one that all rotated layers of a type have. */
    private double ofLayers(String fact, Object value, String layerType) {
        if (!(value instanceof List<?> values)) {
            return Facts.converted(type.keyOf(fact), value, Double.class);
        }
        return layers.sharedNumber(type.keyOf(fact), values, layerType);
    }

    /** Whether the scaling of other layers does not change layers of a type, which may have their own base. */
    private boolean isLocal(String layerType) {
        return layerType.equals(ModelType.SLIDING)
                && (facts.value("rope_local_base_freq") != null || facts.isOn("full_attention_is_scaled"));
    }

    private boolean hasAxes() {
        return facts.value("mrope_interleaved") != null;
    }

    private RotaryAxes axes(RopeSection section, int pairs) {
        String order = (String) facts.value("mrope_order");
        if ("IN_TURN".equals(order)) {
            return RotaryAxes.of(IntStream.range(0, pairs).map(pair -> pair % 2).toArray());
        }
        List<?> old = section.value("xdrope_section", List.class);
        int[] sections = section
                .list("mrope_section", old == null ? (List<?>) facts.value("mrope_section") : old, Integer.class)
                .stream()
                .mapToInt(size -> size)
                .toArray();
        Check.that(
                IntStream.of(sections).asLongStream().sum() == pairs,
                () -> "mrope_section " + shown(Arrays.toString(sections)) + ": expected " + pairs
                        + " pairs together, half of the rotated dimensions; correct the configuration");
        if ("OF_DIMENSIONS".equals(order)) {
            return RotaryPresets.hunyuanVl(2 * pairs, 10_000, sections).build().getAxes();
        }
        if ("FIRST_AXIS_LAST".equals(order)) { // the sections are those of the axes 1, 2 and 0
            Check.that(
                    sections.length == 3 && sections[0] == sections[1],
                    () -> "mrope_section " + shown(Arrays.toString(sections))
                            + ": expected three numbers, the same for rows and columns; correct the configuration");
            return RotaryPresets.ernie45Vl(2 * pairs, 10_000, sections[0])
                    .build()
                    .getAxes();
        }
        boolean isInterleaved = Objects.requireNonNullElse(
                section.value("mrope_interleaved", Boolean.class), facts.isOn("mrope_interleaved"));
        return isInterleaved ? RotaryAxes.interleaved(pairs, sections) : RotaryAxes.sections(sections);
    }

    /** The types of layers that are rotated differently, or a single type for all layers. */
    private List<String> layerTypes() {
        Map<String, Map<?, ?>> parts = sections.byLayerType();
        if (isLocal(ModelType.SLIDING) && !facts.isOn("section_of_full_attention")) {
            boolean needsAll = facts.isOn("full_attention_is_scaled");
            sections.requireLayerTypes(this, needsAll ? layers.rotatedTypes() : Set.of());
        }
        if (!parts.isEmpty()) {
            Check.that(
                    type.reads("layer_types"),
                    () -> "rope_parameters " + shown(parts.keySet()) + " of " + this
                            + ": expected one section, since all its layers have one type; correct the configuration");
        }
        if (isLocal(ModelType.SLIDING)) {
            return List.of(ModelType.FULL, ModelType.SLIDING);
        }
        return parts.isEmpty() ? typesByBase() : List.copyOf(parts.keySet());
    }

    /** The types of layers if each layer has its own base: one for all that have the same. */
    private List<String> typesByBase() {
        if (facts.value("no_rope_layers_are") == null || facts.value("no_rope_layers") == null) {
            return List.of(ModelType.FULL);
        }
        List<String> types = List.copyOf(rotatedTypes());
        RopeSection section = section(types.get(0));
        return types.stream()
                                .mapToDouble(each -> base(section, each))
                                .distinct()
                                .count()
                        == 1
                ? types.subList(0, 1)
                : types;
    }

    private static String known(String layerType) {
        String known = ModelType.layerType(layerType);
        Check.that(
                ModelType.ATTENTIONS.contains(known),
                () -> "layer type " + quoted(layerType) + ": expected full_attention, sliding_attention or"
                        + " chunked_attention; pass one of them");
        return known;
    }

    RopeSection section(String layerType) {
        Map<String, Map<?, ?>> parts = sections.byLayerType();
        boolean hasBases = isLocal(ModelType.SLIDING); // the code then has a section for each type of layers
        Map<?, ?> all = isLocal(layerType) || !parts.isEmpty() ? Map.of() : sections.all();
        Check.that(
                parts.isEmpty() || parts.containsKey(layerType) || hasBases,
                () -> "layer type \"" + layerType + "\": expected one of " + shown(parts.keySet())
                        + ", the keys of the rope section; pass one of them");
        return new RopeSection(
                parts.getOrDefault(layerType, withAttentionFactor(all)),
                (List<?>) facts.value("rope_types"),
                (List<?>) facts.value("rope_keys"),
                facts.requireInt("max_position_embeddings"),
                facts.whole("original_max_position_embeddings"),
                hasBases || !parts.isEmpty());
    }

    /** A section of all layers with the attention factor of the model type, if it has one and the section has none. */
    private Map<?, ?> withAttentionFactor(Map<?, ?> section) {
        if (facts.value("attention_factor") == null || !RopeSection.reads(section, "beta_fast")) {
            return section;
        }
        Map<Object, Object> with = new LinkedHashMap<>(section);
        with.putIfAbsent("attention_factor", facts.value("attention_factor"));
        return with;
    }

    /**
     * Returns the factor of the products of queries and keys: 1 / √H, or the model's own, such as from the
     * {@code query_pre_attn_scalar} of Gemma. DeepSeek's is also multiplied by
     * {@link io.github.djlpositional.math.RotaryScaling#yarnMagnitude g}(factor, mscale_all_dim)<sup>2</sup>. The
     * {@linkplain #getKeyMultiplier factor of the keys} is not part of it.
     *
     * @return the same number for all layers
     */
    public double getScale() {
        if (facts.value("scale") != null) {
            return facts.number("scale");
        }
        double size = facts.value("query_pre_attn_scalar") == null
                ? headSize(ModelType.FULL)
                : facts.number("query_pre_attn_scalar");
        double factor = facts.value("qk_rope_head_dim") == null
                ? 1
                : section(ModelType.FULL).scoreFactor();
        return factor / Math.sqrt(size);
    }

    /**
     * Returns the factor of the keys, by which Falcon-H1 multiplies them before their rotation. Multiply the weight and
     * the bias of the key projection by it, or {@link #getScale} with the same result.
     *
     * @return 1 for all other models
     */
    public double getKeyMultiplier() {
        return facts.value("key_multiplier") == null ? 1 : facts.number("key_multiplier");
    }

    int headSize(String layerType) {
        long size;
        if (facts.value("qk_rope_head_dim") != null) {
            size = (long) facts.requireInt("qk_nope_head_dim") + facts.requireInt("qk_rope_head_dim");
        } else if (layers.ofSingleLayers("head_dim", layerType) != null) {
            size = layers.ofSingleLayers("head_dim", layerType);
        } else if (layerType.equals(ModelType.FULL) && facts.value("global_head_dim") != null) {
            size = facts.requireInt("global_head_dim");
        } else {
            size = facts.value("head_dim") == null
                    ? facts.requireInt("hidden_size") / facts.requireInt("num_attention_heads")
                    : facts.requireInt("head_dim");
        }
        Check.between("head size", size, 1, LARGEST_HEAD);
        return (int) size;
    }

    /** Checks that keys of which only some values are supported are missing or have these values. */
    private void requireKnownValues() {
        type.column("required")
                .forEach((key, value) -> Check.that(
                        config.get(key) == null || Facts.isSame(config.get(key), value),
                        () -> key + " " + shown(config.get(key)) + " of " + this + ": expected " + value
                                + "; build such a model from its code with RotaryEmbeddingBlock"));
    }

    /** Checks that keys that other model types have, and this type's code does not read, change nothing. */
    private void requireReadKeys() {
        Set<Object> read = type.keys();
        type.column("also").forEach((fact, key) -> {
            if (!fact.equals("max_position_embeddings")) { // of two lengths, either is a maximum of the same rotation
                read.remove(key);
            }
        });
        config.forEach((key, value) -> {
            if (!read.contains(key) && UnreadKeys.says(key, value)) {
                Object inUse = inUse(UnreadKeys.factOf(key));
                Check.that(
                        inUse != null && Facts.isSame(value, inUse),
                        () -> key + " " + shown(value) + " of " + this
                                + ": expected no such key, since the code of this"
                                + " model type does not read it" + (inUse == null ? "" : " and has " + inUse)
                                + "; remove the key, or build the model from its code with RotaryEmbeddingBlock");
            }
        });
    }

    /** The value that this model has for a fact; null if no value can be the same. */
    private Object inUse(String fact) {
        if (fact == null) {
            return null;
        }
        if (fact.equals("rope_theta")) {
            String layerType = layerTypes().get(0);
            return base(section(layerType), layerType);
        }
        if (fact.equals("rotary_size")) {
            return builder(layerTypes().get(0), 1).build().getRotarySize();
        }
        if (fact.equals("head_dim")) {
            Integer latent = facts.whole("qk_rope_head_dim"); // which transformers saves as head_dim
            return latent == null ? headSize(ModelType.FULL) : latent;
        }
        return facts.value(fact);
    }

    /** {@return the model type} */
    @Override
    public String toString() {
        return "HuggingFaceConfig(" + config.get("model_type") + ")";
    }
}
