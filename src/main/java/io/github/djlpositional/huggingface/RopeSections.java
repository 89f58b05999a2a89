package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.shown;

import io.github.djlpositional.internal.options.Check;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The rope section of a configuration, {@code rope_scaling} or {@code rope_parameters}, which may consist of a section
 * for each type of layers.
 *
 * @param facts the facts of the model
 */
record RopeSections(Facts facts) {

    /** Returns the whole section, or that of the model type for none. */
    Map<?, ?> all() {
        Map<?, ?> scaling = facts.get("rope_scaling", Map.class);
        Map<?, ?> parameters = facts.get("rope_parameters", Map.class);
        Check.that(
                isMissing(scaling) || parameters == null || scaling.equals(parameters),
                () -> "rope_scaling " + shown(scaling) + " and rope_parameters " + shown(parameters)
                        + ": expected one of them; remove the one that the model does not have");
        Map<?, ?> section = isMissing(scaling) ? parameters : scaling;
        return section == null ? (Map<?, ?>) facts.value("default_rope") : section;
    }

    private static boolean isMissing(Map<?, ?> section) {
        return section == null || section.isEmpty();
    }

    /** Returns the sections by layer type, none if there is one section for all layers. */
    Map<String, Map<?, ?>> byLayerType() {
        Map<String, Map<?, ?>> sections = new TreeMap<>();
        Map<Object, Object> others = new LinkedHashMap<>();
        if (facts.isOn("default_rope_completes")) {
            ((Map<?, ?>) facts.value("default_rope"))
                    .forEach((layerType, section) -> sections.put(layerType.toString(), (Map<?, ?>) section));
        }
        all().forEach((key, value) -> {
            if (value instanceof Map<?, ?> ofLayers) {
                Map<Object, Object> section =
                        new LinkedHashMap<>(sections.getOrDefault(ModelType.layerType(key), Map.of()));
                section.putAll(ofLayers);
                sections.put(ModelType.layerType(key), section);
            } else if (value != null) {
                others.put(key, value);
            }
        });
        others.remove("rope_type", "default");
        others.keySet().removeIf(key -> hasNoEffect(key, sections.values()));
        Check.that(
                sections.isEmpty() || others.isEmpty(),
                () -> "keys " + shown(others)
                        + " beside the rope sections of layer types: expected sections only; move them"
                        + " into the sections");
        return sections;
    }

    /** Returns whether all sections that read a key have a value of their own for it. */
    private static boolean hasNoEffect(Object key, Collection<Map<?, ?>> sections) {
        return sections.stream().anyMatch(section -> section.containsKey(key))
                && sections.stream().allMatch(section -> section.containsKey(key) || !RopeSection.reads(section, key));
    }

    /** Returns whether the section of a type of layers is null, which in some models stands for no rotation. */
    boolean isNull(String layerType) {
        return all().entrySet().stream()
                .anyMatch(section -> section.getValue() == null
                        && ModelType.layerType(section.getKey()).equals(layerType));
    }

    private boolean has(Set<String> layerTypes) {
        return !byLayerType().isEmpty() && byLayerType().keySet().containsAll(layerTypes);
    }

    /** Checks that the sections of a model whose layers have different bases name their layers. */
    void requireLayerTypes(HuggingFaceConfig config, Set<String> layerTypes) {
        Map<?, ?> scaling = facts.get("rope_scaling", Map.class);
        boolean isOld = isMissing(scaling) || scaling.containsKey("rope_type");
        Check.that(
                isOld && (isMissing(facts.get("rope_parameters", Map.class)) || has(layerTypes)),
                () -> "rope_parameters or rope_scaling " + shown(all()) + " of " + config
                        + ": expected a section for each type of layers, or rope_scaling with a rope_type; correct the"
                        + " configuration");
    }
}
