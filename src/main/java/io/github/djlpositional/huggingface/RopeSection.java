package io.github.djlpositional.huggingface;

import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.RotaryScaling;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/**
 * The rope section of a configuration, {@code rope_scaling} or {@code rope_parameters}, or the section within it for
 * one type of layers. Keys have the meaning of {@code modeling_rope_utils.py} of Hugging Face's transformers. A key
 * with the value null counts as missing.
 */
final class RopeSection {

    /** The keys of all types. finetuned has no effect. */
    private static final String COMMON_KEYS = "rope_type type rope_theta partial_rotary_factor finetuned ";

    private static final Map<String, String> KEYS = Map.of(
            "default", "",
            "linear", "factor",
            "dynamic", "factor original_max_position_embeddings",
            "yarn",
                    "factor original_max_position_embeddings beta_fast beta_slow truncate attention_factor attn_factor"
                            + " mscale mscale_all_dim",
            "llama3", "factor original_max_position_embeddings low_freq_factor high_freq_factor",
            "longrope", "factor original_max_position_embeddings short_factor long_factor attention_factor",
            "proportional", "factor",
            "axial", "");

    /** The rope types of text models, of which the code of a model type may know fewer. */
    private static final List<String> OF_TEXT = KEYS.keySet().stream()
            .filter(type -> !type.equals("axial"))
            .sorted()
            .toList();

    /** Other names of rope types. Qwen2-VL's {@code mrope} is the default with sections. */
    private static final Map<String, String> OTHER_NAMES =
            Map.of("su", "longrope", "mrope", "default", "xdrope", "dynamic");

    /** The rope types whose frequencies depend on the original length. */
    private static final Set<String> USES_ORIGINAL_LENGTH = Set.of("yarn", "llama3", "longrope");

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
     * @param outside {@code original_max_position_embeddings} outside the section; null for none
     * @param isOfLayerType whether other types of layers have other sections
     */
    RopeSection(
            Map<?, ?> section,
            List<?> types,
            List<?> otherKeys,
            int maxLength,
            Integer outside,
            boolean isOfLayerType) {
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
        Integer inside = value("original_max_position_embeddings", Integer.class);
        originalLength = outside == null || isOfLayerType ? Objects.requireNonNullElse(inside, maxLength) : outside;
        if (isOfLayerType) {
            requireReadByClass(outside);
        }
    }

    /** Returns whether the rope type of a section has a key. */
    static boolean reads(Map<?, ?> section, Object key) {
        Object named = section.get("rope_type") == null ? section.get("type") : section.get("rope_type");
        String keys = COMMON_KEYS + KEYS.getOrDefault(String.valueOf(named), "");
        return List.of(keys.split(" ", -1)).contains(key);
    }

    /** Checks that what the code does not read for a section of a type of layers changes nothing. */
    private void requireReadByClass(Integer outside) {
        Check.that(
                outside == null || outside == originalLength || !USES_ORIGINAL_LENGTH.contains(type),
                () -> "original_max_position_embeddings " + outside + " outside the rope section of a type of layers,"
                        + " which has " + originalLength + ": expected the same, since the code of the model type reads"
                        + " the key within the section only; move it into the section, or remove it");
        Check.that(
                !Boolean.FALSE.equals(value("truncate", Boolean.class)),
                () -> "truncate false of the rope section of a type of layers: expected true, since transformers 5 does"
                        + " not find the key there and rounds the bounds, and transformers 4 does not round them; remove"
                        + " the key for rounded bounds, or build the block with RotaryEmbeddingBlock and a"
                        + " RotaryScaling.Yarn that does not truncate");
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
                        + new TreeSet<>(KEYS.keySet())
                        + ", su, mrope or xdrope; correct the configuration, or build the block"
                        + " with RotaryEmbeddingBlock");
        return known;
    }

    /** Whether LongRoPE has other factors for long sequences. */
    boolean hasTwoLists() {
        return type.equals("longrope")
                && !list("short_factor", null, Double.class).equals(list("long_factor", null, Double.class));
    }

    int originalLength() {
        return originalLength;
    }

    boolean isDefault() {
        return type.equals("default");
    }

    /** Whether the frequencies span the whole head, and only the first of them rotate. */
    boolean isProportional() {
        return type.equals("proportional");
    }

    /** Returns a value, or null if the key is missing. */
    <T> T value(String key, Class<T> wanted) {
        Object value = values.get(key);
        return value == null ? null : Facts.converted(key, value, wanted);
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
        return elements.stream().map(each -> Facts.converted(key, each, wanted)).toList();
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
                attentionFactor(factor));
    }

    /**
     * The factor of the rotated queries and keys, of YaRN or of DeepSeek, which divides by a factor that it moves to
     * the scale of scores. Where published code disagrees, attention_factor must say which is meant.
     */
    private double attentionFactor(double factor) {
        Double set = value("attention_factor", Double.class);
        if (set != null) {
            return set;
        }
        double mscale = number("mscale", 0);
        double ofAllDimensions = number("mscale_all_dim", 0);
        double ratio = RotaryScaling.yarnMagnitude(factor, mscale == 0 ? 1 : mscale)
                / RotaryScaling.yarnMagnitude(factor, ofAllDimensions);
        double usual = RotaryScaling.yarnMagnitude(factor, 1);
        double found = mscale != 0 && ofAllDimensions != 0 ? ratio : usual;
        requireAgreement(
                "mscale " + mscale + " with mscale_all_dim " + ofAllDimensions, found, "DeepSeek's code", ratio);
        double multiplier = number("attn_factor", 1);
        requireAgreement("attn_factor " + multiplier, found, "vLLM", found * multiplier);
        return found;
    }

    private static void requireAgreement(String given, double found, String other, double foundByOther) {
        Check.that(
                found == foundByOther,
                () -> given + ": expected attention_factor, since published code disagrees: transformers multiplies"
                        + " rotated queries and keys by " + found + ", " + other + " by " + foundByOther
                        + "; set attention_factor to the number that the model was trained with");
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
