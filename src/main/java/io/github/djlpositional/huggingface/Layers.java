package io.github.djlpositional.huggingface;

import io.github.djlpositional.internal.options.Check;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * The types of the layers of a model, and which layers have a rotary encoding.
 *
 * @param facts the facts of the model
 */
record Layers(Facts facts) {

    /** Far above any published model; bounds the time for a configuration. */
    private static final int MOST = 1 << 12;

    /** Whether the code of the model type, or a configuration, leaves the rotary encoding out in some layers. */
    boolean mayLackRotary() {
        return facts.has("rotary_layer_type")
                || facts.has("no_rope_layer_interval")
                || facts.has("no_rope_layers_are")
                || facts.isOn("null_section_without_rotary")
                || !positions().equals("rope");
    }

    /**
     * How positions are encoded: {@code rope}, {@code learned}, {@code alibi}, {@code none}, or in a way that is not
     * known.
     */
    String positions() {
        if (facts.value("alibi") != null && facts.isOn("alibi")) {
            return "alibi";
        }
        return facts.value("position_biased_input") != null && !facts.isOn("position_biased_input")
                ? "none"
                : String.valueOf(facts.value("position_embedding_type"));
    }

    int count() {
        int count = facts.requireInt("num_hidden_layers");
        Check.between("num_hidden_layers", count, 1, MOST);
        return count;
    }

    /** Returns the types of the layers with a rotary encoding, sorted. */
    Set<String> rotatedTypes() {
        Set<String> types = new TreeSet<>();
        IntStream.range(0, count()).filter(this::isRotated).forEach(layer -> types.add(type(layer)));
        return types;
    }

    /** Returns the type of a layer, counted from 0, which may be one without an attention that is known. */
    String type(int layer) {
        List<?> layerTypes = facts.get("layer_types", List.class);
        if (facts.isOn("last_layer_is_full") && layer == count() - 1) {
            return ModelType.FULL;
        }
        if (layerTypes != null) {
            Check.between("number of layer_types", layerTypes.size(), layer + 1L, Integer.MAX_VALUE);
            return ModelType.layerType(layerTypes.get(layer));
        }
        List<?> pattern = (List<?>) facts.value("layer_pattern");
        if (pattern != null) {
            return ofPattern(pattern, layer);
        }
        List<?> full = facts.get("full_attn_idxs", List.class);
        if (full != null) {
            return fullOrOther(full.stream().anyMatch(each -> each instanceof Number n && n.doubleValue() == layer));
        }
        if (facts.has("sliding_window_pattern")) {
            return fullOrOther((layer + 1) % facts.requireInt("sliding_window_pattern") == 0);
        }
        if (facts.has("global_attn_every_n_layers")) {
            return fullOrOther(layer % facts.requireInt("global_attn_every_n_layers") == 0);
        }
        if (facts.value("max_window_layers") != null) {
            return fullOrOther(layer < facts.whole("max_window_layers") || !hasWindow());
        }
        Object type = facts.value(hasRotary(layer) ? "layer_type" : "layer_type_without_rotary");
        return type.equals(ModelType.SLIDING) && !hasWindow() ? ModelType.FULL : type.toString();
    }

    private boolean hasWindow() {
        return facts.value("sliding_window") != null && facts.isOn("use_sliding_window");
    }

    /** Returns the type of a layer where a pattern repeats, after the first layer and before the last. */
    private String ofPattern(List<?> pattern, int layer) {
        Object other = layer == 0 ? facts.value("first_layer_type") : null;
        other = other == null && layer == count() - 1 ? facts.value("last_layer_type") : other;
        return String.valueOf(other == null ? pattern.get(counted(layer, 0) % pattern.size()) : other);
    }

    /** The number of a layer counted from the last one, or from the first one, which has another number. */
    private int counted(int layer, int first) {
        return facts.isOn("counted_from_last") ? count() - 1 - layer : first + layer;
    }

    private String fullOrOther(boolean isFull) {
        return isFull ? ModelType.FULL : facts.value("other_layer_type").toString();
    }

    /** Whether a layer has an attention, and the attention a rotary encoding. */
    boolean isRotated(int layer) {
        return ModelType.ATTENTIONS.contains(type(layer)) && hasRotary(layer);
    }

    /** Whether the attention of a layer has a rotary encoding. In {@code no_rope_layers}, 1 stands for one that has. */
    private boolean hasRotary(int layer) {
        if (!positions().equals("rope")) {
            return false;
        }
        if (facts.isOn("null_section_without_rotary") && new RopeSections(facts).isNull(type(layer))) {
            return false;
        }
        if (facts.value("rotary_layer_type") != null
                && (facts.value("sliding_window") != null || facts.isOn("rotary_layer_type_without_window"))) {
            return facts.value("rotary_layer_type").equals(type(layer));
        }
        List<?> rotated = facts.get("no_rope_layers", List.class);
        if (rotated == null || rotated.isEmpty()) {
            return !facts.has("no_rope_layer_interval")
                    || counted(layer, 1) % facts.requireInt("no_rope_layer_interval") != 0;
        }
        Object flag = ofLayer(facts.type().keyOf("no_rope_layers"), rotated, layer);
        return Boolean.TRUE.equals(flag) || (flag instanceof Number number && number.doubleValue() != 0);
    }

    /** Returns the number of heads of a layer. */
    int headCount(int layer) {
        List<?> counts = facts.get("num_attention_heads_per_layer", List.class);
        return counts == null
                ? facts.requireInt("num_attention_heads")
                : Facts.converted(
                        "num_attention_heads_per_layer",
                        ofLayer("num_attention_heads_per_layer", counts, layer),
                        Integer.class);
    }

    /** Returns the value for a layer in a list of a configuration with one for each. */
    private static Object ofLayer(String key, List<?> values, int layer) {
        Check.between("number of " + key, values.size(), layer + 1L, Integer.MAX_VALUE);
        return values.get(layer);
    }

    /**
     * Returns a size that single layers of a type have in {@code per_layer_config}, whose keys are their numbers; null
     * for none.
     */
    Integer ofSingleLayers(String key, String layerType) {
        Map<?, ?> singleLayers = facts.get("per_layer_config", Map.class);
        if (singleLayers == null) {
            return null;
        }
        Map<Integer, Object> sizesByLayer = new HashMap<>();
        singleLayers.forEach((layer, values) -> {
            int number = Facts.converted("layer of per_layer_config", layer, Integer.class);
            Check.between("layer of per_layer_config", number, 0, count() - 1L);
            sizesByLayer.put(number, values instanceof Map<?, ?> ofLayer ? ofLayer.get(key) : null);
        });
        Set<Object> sizes = new HashSet<>();
        IntStream.range(0, count())
                .filter(layer -> type(layer).equals(layerType))
                .forEach(layer -> sizes.add(sizesByLayer.get(layer)));
        Check.that(
                sizes.size() <= 1,
                () -> key + " " + sizes + " in per_layer_config of layers of the type " + layerType
                        + ": expected one number for all of them; build their encodings with RotaryEmbeddingBlock");
        Object size = sizes.isEmpty() ? null : sizes.iterator().next();
        return size == null ? null : Facts.converted(key, size, Integer.class);
    }

    /** Returns the number in a list of a configuration that all rotated layers of a type have; 1 if there are none. */
    double sharedNumber(String key, List<?> values, String layerType) {
        List<Double> numbers = IntStream.range(0, count())
                .filter(layer -> isRotated(layer) && type(layer).equals(layerType))
                .mapToObj(layer -> Facts.converted(key, ofLayer(key, values, layer), Double.class))
                .distinct()
                .toList();
        Check.that(
                numbers.size() <= 1,
                () -> key + " " + numbers + " of layers of the type " + layerType
                        + ": expected one number for all of them; build their encodings with RotaryEmbeddingBlock");
        return numbers.isEmpty() ? 1 : numbers.get(0);
    }
}
