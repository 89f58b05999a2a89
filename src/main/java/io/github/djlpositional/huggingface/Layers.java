package io.github.djlpositional.huggingface;

import io.github.djlpositional.internal.options.Check;
import java.util.List;
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
        if (layerTypes != null) {
            Check.between("number of layer_types", layerTypes.size(), layer + 1L, Integer.MAX_VALUE);
            String layerType = String.valueOf(layerTypes.get(layer));
            return layerType.equals("attention") ? ModelType.FULL : layerType;
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
            return fullOrOther(layer < facts.whole("max_window_layers"));
        }
        return facts.value(hasRotary(layer) ? "layer_type" : "layer_type_without_rotary")
                .toString();
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
        if (facts.value("rotary_layer_type") != null && facts.value("sliding_window") != null) {
            return facts.value("rotary_layer_type").equals(type(layer));
        }
        List<?> rotated = facts.get("no_rope_layers", List.class);
        if (rotated == null || rotated.isEmpty()) {
            return !facts.has("no_rope_layer_interval")
                    || (layer + 1) % facts.requireInt("no_rope_layer_interval") != 0;
        }
        Check.between("number of no_rope_layers", rotated.size(), layer + 1L, Integer.MAX_VALUE);
        Object flag = rotated.get(layer);
        return Boolean.TRUE.equals(flag) || (flag instanceof Number number && number.doubleValue() != 0);
    }
}
