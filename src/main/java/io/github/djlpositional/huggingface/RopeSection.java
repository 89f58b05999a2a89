package io.github.djlpositional.huggingface;

import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.RotaryScaling;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;

/**
 * The rope section of a configuration, {@code rope_scaling} or {@code rope_parameters}, or the section within it for
 * one type of layers. Keys have the meaning of {@code modeling_rope_utils.py} of Hugging Face's transformers. A key
 * with the value null counts as missing.
 */
final class RopeSection {

    /** The keys of all types. finetuned has no effect, nor has attn_factor of YaRN. */
    private static final String COMMON_KEYS = "rope_type type rope_theta partial_rotary_factor finetuned ";

    private static final Map<String, String> KEYS = Map.of(
            "default", "",
            "linear", "factor",
            "dynamic", "factor original_max_position_embeddings",
            "yarn",
                    "factor original_max_position_embeddings beta_fast beta_slow truncate attention_factor attn_factor"
                            + " mscale mscale_all_dim",
            "llama3", "factor original_max_position_embeddings low_freq_factor high_freq_factor",
            "longrope",
                    "factor original_max_position_embeddings short_factor long_factor attention_factor short_mscale"
                            + " long_mscale",
            "proportional", "factor",
            "axial", "");

    /** The rope types of text models, of which the code of a model type may know fewer. */
    private static final List<String> OF_TEXT = KEYS.keySet().stream()
            .filter(type -> !type.equals("axial"))
            .sorted()
            .toList();

    /** Other names of rope types. Qwen2-VL's {@code mrope} is the default with sections. */
    private static final Map<String, String> OTHER_NAMES = Map.of("su", "longrope", "mrope", "default");

    private final Map<String, Object> values = new LinkedHashMap<>();
    private final String type;
    private final int maxLength;
    private final int originalLength;

    /**
     * Reads a section.
     *
     * @param types the rope types that the model may have; null for all of text models
     * @param otherKeys keys of the model in addition to the keys of the rope type
     * @param maxLength {@code max_position_embeddings}
     * @param originalLength {@code original_max_position_embeddings} outside the section; null for none
     */
    RopeSection(Map<?, ?> section, List<?> types, List<?> otherKeys, int maxLength, Integer originalLength) {
        section.forEach((key, value) -> {
            if (value != null) {
                values.put(String.valueOf(key), value);
            }
        });
        type = readType();
        List<?> known = types == null ? OF_TEXT : types;
        Check.that(
                known.contains(type),
                () -> "rope_type \"" + type + "\": expected one of " + known + ", which the model type is known with;"
                        + " correct the configuration, or build the block with RotaryEmbeddingBlock;"
                        + " see docs/models.md#the-rope-section");
        List<Object> keys = new ArrayList<>(List.of((COMMON_KEYS + KEYS.get(type)).split(" ")));
        keys.addAll(otherKeys);
        for (String key : values.keySet()) {
            Check.that(
                    keys.contains(key),
                    () -> "key " + InvalidFileException.quoted(key) + " of rope type \"" + type + "\": expected one of "
                            + keys + "; correct the configuration, or build the block with RotaryEmbeddingBlock");
        }
        this.maxLength = maxLength;
        this.originalLength = Objects.requireNonNullElse(
                originalLength,
                Objects.requireNonNullElse(value("original_max_position_embeddings", Integer.class), maxLength));
    }

    private String readType() {
        String type = readType("rope_type", readType("type", "default"));
        String other = readType("type", type);
        Check.that(
                type.equals(other),
                () -> "rope_type \"" + type + "\" and type \"" + other
                        + "\": expected the same; remove the one that the model does not have");
        return type;
    }

    private String readType(String key, String defaultType) {
        String name = Objects.requireNonNullElse(value(key, String.class), defaultType);
        String known = OTHER_NAMES.getOrDefault(name, name);
        Check.that(
                KEYS.containsKey(known),
                () -> key + " " + InvalidFileException.quoted(name) + ": expected one of "
                        + new TreeSet<>(KEYS.keySet()) + ", su or mrope; correct the configuration, or build the block"
                        + " with RotaryEmbeddingBlock");
        return known;
    }

    /** Whether the frequencies are not scaled. */
    boolean isDefault() {
        return type.equals("default");
    }

    int originalLength() {
        return originalLength;
    }

    /** Whether the frequencies span the whole head, and only the first of them rotate. */
    boolean isProportional() {
        return type.equals("proportional");
    }

    /** Returns a value, or null if the key is missing. */
    <T> T value(String key, Class<T> wanted) {
        return Settings.value(HuggingFaceRope.class, values, key, wanted);
    }

    /** Returns a number, which must be present. */
    double number(String key) {
        return Check.present(key, value(key, Double.class));
    }

    double number(String key, double defaultValue) {
        return Objects.requireNonNullElse(value(key, Double.class), defaultValue);
    }

    /** Returns a list, which must be present unless there is a default. */
    <T> List<T> list(String key, List<?> defaultValue, Class<T> wanted) {
        List<?> listed = value(key, List.class);
        List<?> elements = listed == null ? Check.present(key, defaultValue) : listed;
        return elements.stream()
                .map(each -> Settings.value(HuggingFaceRope.class, Collections.singletonMap(key, each), key, wanted))
                .toList();
    }

    /** Returns the maximum length of a sequence: the maximum of the model, or more if the positions are scaled. */
    double lengthLimit() {
        return switch (type) {
            case "linear" -> maxLength * number("factor");
            case "dynamic" -> value("alpha", Double.class) == null ? maxLength * number("factor") : maxLength;
            case "yarn" -> Math.max(maxLength, originalLength * yarnFactor());
            default -> maxLength;
        };
    }

    /**
     * Returns the scaling of the frequencies. The proportional type has its own frequencies, and no scaling.
     *
     * @param length the maximum length of the sequences; null if unknown
     */
    RotaryScaling scaling(Integer length) {
        return switch (type) {
            case "linear" -> RotaryScaling.linear(number("factor"));
            case "dynamic" -> dynamic(length);
            case "yarn" -> yarn();
            case "llama3" ->
                RotaryScaling.llama3(
                        number("factor"), number("low_freq_factor"), number("high_freq_factor"), originalLength);
            case "longrope" -> longRope(requireLength(length));
            default -> RotaryScaling.none();
        };
    }

    private int requireLength(Integer length) {
        Check.that(
                length != null,
                () -> "no length for rope type \"" + type
                        + "\": expected the maximum length of the sequences, on which its frequencies"
                        + " depend; use rotary(int) or rotary(String, int)");
        return length;
    }

    /** With alpha, a key of HunYuan, the base does not depend on the length, and the other keys have no effect. */
    private RotaryScaling dynamic(Integer length) {
        Double alpha = value("alpha", Double.class);
        return alpha == null ? dynamicNtk(requireLength(length)) : RotaryScaling.ntkAware(alpha);
    }

    private RotaryScaling dynamicNtk(int length) {
        int original = Objects.requireNonNullElse(value("original_max_position_embeddings", Integer.class), maxLength);
        Check.that(
                original == maxLength,
                () -> "original_max_position_embeddings " + original + " of rope type \"dynamic\" with"
                        + " max_position_embeddings " + maxLength
                        + ": expected the same, since the published code scales beyond the latter; correct one of them");
        return RotaryScaling.dynamicNtk(number("factor"), maxLength, length);
    }

    private double yarnFactor() {
        return number("factor", (double) maxLength / originalLength);
    }

    private RotaryScaling yarn() {
        double factor = yarnFactor();
        return new RotaryScaling.Yarn(
                factor,
                originalLength,
                number("beta_fast", 32),
                number("beta_slow", 1),
                Objects.requireNonNullElse(value("truncate", Boolean.class), true),
                number("attention_factor", magnitudeRatio(factor)));
    }

    /** The attention factor of YaRN or of DeepSeek, which divides by a factor that it moves to the scale of scores. */
    private double magnitudeRatio(double factor) {
        double mscale = number("mscale", 0);
        double ofAllDimensions = number("mscale_all_dim", 0);
        boolean isRatio = mscale != 0 && ofAllDimensions != 0;
        Check.that(
                isRatio || (ofAllDimensions == 0 && (mscale == 0 || mscale == 1)),
                () -> "mscale " + mscale + " with mscale_all_dim " + ofAllDimensions
                        + ": expected both or neither, or only mscale 1, since published code disagrees about the others;"
                        + " set attention_factor instead");
        return isRatio
                ? RotaryScaling.yarnMagnitude(factor, mscale) / RotaryScaling.yarnMagnitude(factor, ofAllDimensions)
                : RotaryScaling.yarnMagnitude(factor, 1);
    }

    /** Returns the factor of DeepSeek's scale of scores: g(s, mscale_all_dim)², or 1 if there is no YaRN. */
    double scoreFactor() {
        if (!type.equals("yarn")) {
            return 1;
        }
        double magnitude = RotaryScaling.yarnMagnitude(yarnFactor(), number("mscale_all_dim", 0));
        return magnitude * magnitude;
    }

    private RotaryScaling longRope(int length) {
        double factor = number("factor", (double) maxLength / originalLength);
        double published = factor <= 1 ? 1 : Math.sqrt(1 + StrictMath.log(factor) / StrictMath.log(originalLength));
        double attention = number("attention_factor", published);
        return new RotaryScaling.LongRope(
                list("short_factor", null, Double.class),
                list("long_factor", null, Double.class),
                originalLength,
                Math.max(originalLength, maxLength),
                number("short_mscale", attention),
                number("long_mscale", attention),
                length);
    }
}
