package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.check;
import static io.github.djlpositional.internal.InvalidFileException.quoted;
import static io.github.djlpositional.internal.InvalidFileException.shown;

import ai.djl.MalformedModelException;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
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
 * The rotary encoding that the {@code config.json} of a model in Hugging Face's format describes.
 *
 * <pre>{@code
 * HuggingFaceRope config = HuggingFaceRope.read(Path.of("Llama-3.1-8B/config.json"));
 * RotaryEmbeddingBlock rotary = config.rotary().build();
 * }</pre>
 *
 * <p>A configuration leaves much to the code of its {@code model_type}: the layout of the pairs, and values of missing
 * keys. They are known for the types in {@code docs/model-types.csv}. Other types, unknown rope types and unknown keys
 * of the rope section are rejected; nothing is guessed. The rope section is read as Hugging Face's
 * {@code modeling_rope_utils.py} (transformers 4 and 5) reads it. LongRoPE and dynamic NTK need the maximum length of
 * the sequences, as in vLLM; transformers uses the length of each forward.
 *
 * <p>For a model of text and images, {@code text_config} is read, and {@code vision_config} by {@link #ofVision}.
 *
 * <p>Immutable and thread-safe. Every method throws {@link IllegalArgumentException} for a key that is missing, of
 * another type, or outside its range.
 */
public final class HuggingFaceRope {

    /** Published files have a few kilobytes, or a few hundred if they list quantized layers. */
    private static final int MOST_BYTES = 4 << 20;

    /** The initial length of a rotary table, which grows as far as the model allows. */
    private static final int FIRST_LENGTH = 4096;

    /** The maximum length of a rotary table. */
    private static final int LONGEST = 1 << 29;

    /** Far above any published model; bounds the number of frequencies of a configuration. */
    private static final int LARGEST_HEAD = 1 << 12;

    final Map<String, Object> config;
    private final ModelType type;

    private HuggingFaceRope(Map<String, ?> config) {
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
                        + "; build other models with RotaryEmbeddingBlock;"
                        + " see docs/models.md#what-is-known");
        requireKnownValues();
        for (String layerType : layerTypes()) {
            rotary(layerType, requireInt("max_position_embeddings")).build();
        }
    }

    /**
     * Reads a configuration.
     *
     * @param configJson the {@code config.json} of a model, which may be untrusted
     * @return the configuration
     * @throws IllegalArgumentException if the model or rope type is not known, a key of the rope section is not known,
     *     or a value is not valid
     * @throws MalformedModelException if the file is not one JSON object of at most 4 MiB without repeated keys
     * @throws IOException if the file does not exist or cannot be read
     */
    public static HuggingFaceRope read(Path configJson) throws IOException, MalformedModelException {
        return of(values(configJson));
    }

    /** The values by key: maps, lists, strings, booleans, nulls, and numbers as {@link java.math.BigDecimal}. */
    static Map<String, Object> values(Path path) throws IOException, MalformedModelException {
        Check.that(
                Files.isRegularFile(path) || Files.notExists(path),
                () -> "the path " + path
                        + " is a directory or a device: expected the config.json of a model; pass the path of a file");
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
    public static HuggingFaceRope of(Map<String, ?> config) {
        Object textType = ModelType.WITH_TEXT_CONFIG.get(config.get("model_type"));
        if (textType != null && config.get("text_config") instanceof Map<?, ?> textConfig) {
            Object named = textConfig.get("model_type");
            return new HuggingFaceRope(nested(textConfig, named == null ? textType : named));
        }
        return new HuggingFaceRope(config);
    }

    /**
     * {@return the configuration of the vision tower of a model; see {@link #ofVision}}
     *
     * @param configJson the {@code config.json} of the model, which may be untrusted
     * @throws MalformedModelException as {@link #read} does
     * @throws IOException as {@link #read} does
     */
    public static HuggingFaceRope readVision(Path configJson) throws IOException, MalformedModelException {
        return ofVision(values(configJson));
    }

    /**
     * {@return the configuration of the vision tower of a model of text and images, from its {@code vision_config}}
     * {@link #rotary()} is {@link RotaryPresets#axial} or {@link RotaryPresets#gemma4Vision}.
     *
     * @param config the values of the {@code config.json}, of which the {@code text_config} need not be known
     * @throws IllegalArgumentException as {@link #read} does, or if the model's vision tower is not known
     */
    public static HuggingFaceRope ofVision(Map<String, ?> config) {
        Object type = ModelType.WITH_VISION_CONFIG.get(config.get("model_type"));
        Check.that(
                type != null && config.get("vision_config") instanceof Map,
                () -> "model_type " + quoted(config.get("model_type")) + ": expected one of "
                        + ModelType.WITH_VISION_CONFIG.keySet()
                        + " with a vision_config; build other vision towers with RotaryPresets");
        return new HuggingFaceRope(nested(config.get("vision_config"), type));
    }

    private static Map<String, Object> nested(Object config, Object type) {
        Map<String, Object> values = new LinkedHashMap<>();
        ((Map<?, ?>) config).forEach((key, value) -> values.put(String.valueOf(key), value));
        values.put("model_type", type);
        return values;
    }

    /**
     * Returns the rotary encoding of all layers, for a rope type that needs no length.
     *
     * @return a new builder of this encoding; see {@link #rotary(String, int)}
     * @throws IllegalArgumentException if layers of different types are rotated differently, or the rope type is
     *     {@code longrope}, or {@code dynamic} without {@code alpha}
     */
    public RotaryEmbeddingBlock.Builder rotary() {
        return builder(onlyLayerType(), null);
    }

    /**
     * Returns the rotary encoding of all layers.
     *
     * @param length the maximum length of the sequences, at least 1
     * @return a new builder of this encoding; see {@link #rotary(String, int)}
     * @throws IllegalArgumentException if layers of different types are rotated differently
     */
    public RotaryEmbeddingBlock.Builder rotary(int length) {
        return builder(onlyLayerType(), length);
    }

    /**
     * Returns the rotary encoding of one type of layers, for a rope type that needs no length.
     *
     * @param layerType {@code full_attention}, {@code sliding_attention} or {@code chunked_attention}
     * @return a new builder of this encoding; see {@link #rotary(String, int)}
     * @throws IllegalArgumentException if the model has no rotary encoding for such layers, as Cohere 2 for
     *     {@code full_attention}, or the rope type is {@code longrope}, or {@code dynamic} without {@code alpha}
     */
    public RotaryEmbeddingBlock.Builder rotary(String layerType) {
        return builder(layerType, null);
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
        return builder(layerType, length);
    }

    private String onlyLayerType() {
        List<String> types = layerTypes();
        Check.that(
                types.size() == 1,
                () -> "no layer type, but " + this + " rotates layers of the types " + types
                        + " differently: expected one of them; use rotary(String)");
        return types.get(0);
    }

    private RotaryEmbeddingBlock.Builder builder(String layerType, Integer length) {
        RopeSection section = section(layerType);
        String rotated = rotaryLayerType();
        Check.that(
                rotated == null || layerType.equals(rotated),
                () -> "layer type \"" + layerType + "\" of " + this + ": expected " + rotated
                        + ", since its other layers have no rotary encoding; build their attention without"
                        + " optRelativeEncoding");
        int headSize = headSize(layerType);
        double base = base(section, layerType);
        double share = share(section);
        if (whole("vision_axes") != null) {
            return isOn("vision_halves")
                    ? RotaryPresets.gemma4Vision(headSize, base)
                    : RotaryPresets.axial(headSize, base, whole("vision_axes"));
        }
        RotaryEmbeddingBlock.Builder builder =
                RotaryEmbeddingBlock.builder().setHeadSize(headSize).optLayout(layout());
        int rotarySize = headSize;
        if (section.isProportional()) {
            builder.optFrequencies(Frequencies.proportional(headSize, share, base, section.number("factor", 1)));
        } else {
            Integer dimensions = whole("qk_rope_head_dim") == null ? whole("rotary_dim") : whole("qk_rope_head_dim");
            rotarySize = dimensions == null ? (int) (headSize * share) : dimensions;
            builder.optBase(base).optRotarySize(rotarySize).optScaling(section.scaling(length));
        }
        if (whole("qk_rope_head_dim") != null) {
            builder.optRotaryStart(headSize - rotarySize);
        }
        if (hasAxes()) {
            builder.optAxes(axes(section, rotarySize / 2));
        }
        double limit = isOn("use_dynamic_ntk")
                ? requireInt("seq_length")
                : isOn("length_is_scaled") ? requireInt("max_position_embeddings") : section.lengthLimit();
        int longest = (int) Math.min(Math.ceil(limit), LONGEST);
        builder.optMaxSequenceLength(Math.min(longest, FIRST_LENGTH));
        return longest > FIRST_LENGTH ? builder.optAutoExtend(longest) : builder;
    }

    /**
     * The share of a head that is rotated. Published code that does not read it fails for a scaled encoding, and
     * otherwise ignores it.
     */
    private double share(RopeSection section) {
        boolean isRead = type.reads("partial_rotary_factor");
        Object other = isRead ? value("partial_rotary_factor") : config.get("partial_rotary_factor");
        double share =
                section.number("partial_rotary_factor", other instanceof Number number ? number.doubleValue() : 1);
        Check.that(
                isRead || share == 1 || section.isDefault() || section.isProportional(),
                () -> "partial_rotary_factor " + share + " with the scaling of " + this
                        + ": expected 1, since this model type rotates whole heads; correct the configuration");
        return isRead || section.isProportional() ? share : number("partial_rotary_factor");
    }

    private PairLayout layout() {
        return isOn("rope_interleave") ? PairLayout.INTERLEAVED : PairLayout.CONCATENATED;
    }

    private double base(RopeSection section, String layerType) {
        Double base = section.value("rope_theta", Double.class);
        return base == null ? number(isLocal(layerType) ? "rope_local_base_freq" : "rope_theta") : base;
    }

    /** Whether layers of a type have their own base, which the scaling of the other layers does not change. */
    private boolean isLocal(String layerType) {
        return layerType.equals(ModelType.SLIDING) && value("rope_local_base_freq") != null;
    }

    private boolean hasAxes() {
        return value("mrope_interleaved") != null;
    }

    private RotaryAxes axes(RopeSection section, int pairs) {
        int[] sections = section.list("mrope_section", (List<?>) value("mrope_section"), Integer.class).stream()
                .mapToInt(size -> size)
                .toArray();
        Check.that(
                IntStream.of(sections).asLongStream().sum() == pairs,
                () -> "mrope_section " + shown(Arrays.toString(sections)) + ": expected " + pairs
                        + " pairs together, half of the rotated dimensions; correct the configuration");
        boolean isInterleaved = Objects.requireNonNullElse(
                section.value("mrope_interleaved", Boolean.class), isOn("mrope_interleaved"));
        return isInterleaved ? RotaryAxes.interleaved(pairs, sections) : RotaryAxes.sections(sections);
    }

    /** The types of layers that are rotated differently, or a single type for all layers. */
    private List<String> layerTypes() {
        Map<String, Map<?, ?>> sections = sectionsByLayerType(sectionOfAll());
        if (isLocal(ModelType.SLIDING)) {
            requireSections(sections);
        }
        if (!sections.isEmpty()) {
            Check.that(
                    type.reads("layer_types"),
                    () -> "rope_parameters " + shown(sections.keySet()) + " of " + this
                            + ": expected one section, since all its layers have one type; correct the configuration");
            return List.copyOf(sections.keySet());
        }
        return isLocal(ModelType.SLIDING)
                ? List.of(ModelType.FULL, ModelType.SLIDING)
                : List.of(Objects.requireNonNullElse(rotaryLayerType(), ModelType.FULL));
    }

    /** The only type of layers with a rotary encoding; null if all types have one. */
    private String rotaryLayerType() {
        return value("sliding_window") == null ? null : (String) value("rotary_layer_type");
    }

    /** The sections within a rope section, by layer type, empty for one section of all layers. */
    private static Map<String, Map<?, ?>> sectionsByLayerType(Map<?, ?> section) {
        Map<String, Map<?, ?>> sections = new TreeMap<>();
        Map<Object, Object> others = new LinkedHashMap<>();
        section.forEach((key, value) -> {
            if (value instanceof Map<?, ?> ofLayers) {
                sections.put(String.valueOf(key), ofLayers);
            } else if (value != null) {
                others.put(key, value);
            }
        });
        others.remove("rope_type", "default");
        Check.that(
                sections.isEmpty() || others.isEmpty(),
                () -> "keys " + shown(others)
                        + " beside the rope sections of layer types: expected sections only; move them"
                        + " into the sections");
        return sections;
    }

    private Map<?, ?> sectionOfAll() {
        Map<?, ?> scaling = get("rope_scaling", Map.class);
        Map<?, ?> parameters = get("rope_parameters", Map.class);
        Check.that(
                isMissing(scaling) || parameters == null || scaling.equals(parameters),
                () -> "rope_scaling " + shown(scaling) + " and rope_parameters " + shown(parameters)
                        + ": expected one of them; remove the one that the model does not have");
        Map<?, ?> section = isMissing(scaling) ? parameters : scaling;
        return section == null ? (Map<?, ?>) value("default_rope") : section;
    }

    private static boolean isMissing(Map<?, ?> section) {
        return section == null || section.isEmpty();
    }

    /** Checks that the sections of a model whose layers have different bases name their layers. */
    private void requireSections(Map<String, Map<?, ?>> sections) {
        Map<?, ?> scaling = get("rope_scaling", Map.class);
        boolean isOld = scaling == null || scaling.isEmpty() || scaling.containsKey("rope_type");
        Check.that(
                isOld && (isMissing(get("rope_parameters", Map.class)) || !sections.isEmpty()),
                () -> "rope_parameters or rope_scaling " + shown(sectionOfAll()) + " of " + this
                        + ": expected a section for each type of layers, or rope_scaling with a rope_type; correct the"
                        + " configuration");
    }

    private static void requireKnown(String layerType) {
        Check.that(
                Set.of(ModelType.FULL, ModelType.SLIDING, ModelType.CHUNKED).contains(layerType),
                () -> "layer type " + quoted(layerType) + ": expected full_attention, sliding_attention or"
                        + " chunked_attention; pass one of them");
    }

    RopeSection section(String layerType) {
        requireKnown(layerType);
        Map<?, ?> all = isLocal(layerType) ? Map.of() : sectionOfAll();
        Map<String, Map<?, ?>> sections = sectionsByLayerType(sectionOfAll());
        Check.that(
                sections.isEmpty() || sections.containsKey(layerType),
                () -> "layer type \"" + layerType + "\": expected one of " + shown(sections.keySet())
                        + ", the keys of the rope section; pass one of them");
        return new RopeSection(
                sections.getOrDefault(layerType, all),
                (List<?>) value("rope_types"),
                (List<?>) value("rope_keys"),
                requireInt("max_position_embeddings"),
                whole("original_max_position_embeddings"));
    }

    /**
     * Returns the factor of the products of queries and keys: 1 / √H, or the model's own, such as from the
     * {@code query_pre_attn_scalar} of Gemma. DeepSeek's is also multiplied by
     * {@link io.github.djlpositional.math.RotaryScaling#yarnMagnitude g}(factor, mscale_all_dim)<sup>2</sup>.
     *
     * @return the same number for all layers
     */
    public double getScale() {
        double factor = number("key_multiplier");
        if (value("scale") != null) {
            return factor * number("scale");
        }
        double size =
                value("query_pre_attn_scalar") == null ? headSize(ModelType.FULL) : number("query_pre_attn_scalar");
        if (value("qk_rope_head_dim") != null) {
            factor *= section(ModelType.FULL).scoreFactor();
        }
        return factor / Math.sqrt(size);
    }

    int headSize(String layerType) {
        long size;
        if (value("qk_rope_head_dim") != null) {
            size = (long) requireInt("qk_nope_head_dim") + requireInt("qk_rope_head_dim");
        } else if (layerType.equals(ModelType.FULL) && value("global_head_dim") != null) {
            size = requireInt("global_head_dim");
        } else {
            size = value("head_dim") == null
                    ? requireInt("hidden_size") / requireInt("num_attention_heads")
                    : requireInt("head_dim");
        }
        Check.between("head size", size, 1, LARGEST_HEAD);
        return (int) size;
    }

    private Object value(String key) {
        return type.value(key, config);
    }

    private <T> T get(String key, Class<T> wanted) {
        Object value = value(key);
        String name = type.keyOf(key);
        return value == null ? null : Settings.value(HuggingFaceRope.class, Map.of(name, value), name, wanted);
    }

    private Integer whole(String key) {
        return get(key, Integer.class);
    }

    /** Returns a size or a count, which must be present and positive. */
    private int requireInt(String key) {
        String name = type.keyOf(key);
        int value = Check.present(name, whole(key));
        Check.positive(name, value);
        return value;
    }

    private double number(String key) {
        return Check.present(type.keyOf(key), get(key, Double.class));
    }

    /** Older configurations have numbers instead of some booleans: 0 is false. */
    private boolean isOn(String key) {
        return value(key) instanceof Number number
                ? number.doubleValue() != 0
                : Boolean.TRUE.equals(get(key, Boolean.class));
    }

    /** Checks that keys of which only some values are supported are missing or have these values. */
    private void requireKnownValues() {
        type.column("required")
                .forEach((key, value) -> Check.that(
                        config.get(key) == null || isSame(config.get(key), value),
                        () -> key + " " + shown(config.get(key)) + " of " + this + ": expected " + value
                                + "; build such a model from its code with RotaryEmbeddingBlock"));
    }

    static boolean isSame(Object value, Object other) {
        return (value instanceof Number one && other instanceof Number two)
                ? one.doubleValue() == two.doubleValue()
                : value.equals(other);
    }

    /** {@return the model type} */
    @Override
    public String toString() {
        return "HuggingFaceRope(" + config.get("model_type") + ")";
    }
}
