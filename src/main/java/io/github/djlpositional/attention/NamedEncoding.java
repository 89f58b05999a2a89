package io.github.djlpositional.attention;

import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import java.lang.reflect.RecordComponent;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A relative encoding of this library.
 *
 * @param name its name in papers and models
 * @param settings the settings of its class
 * @param fromArguments creates it
 */
record NamedEncoding(
        String name, Class<? extends Record> settings, Function<Map<?, ?>, RelativeEncoding> fromArguments) {

    /** Every relative encoding. */
    static final List<NamedEncoding> ALL = List.of(
            of("rotary", RotaryEmbeddingBlock.Settings.class, RotaryEmbeddingBlock::fromArguments),
            of("ALiBi", AlibiBiasBlock.Settings.class, AlibiBiasBlock::fromArguments),
            of("T5", RelativePositionBiasBlock.Settings.class, RelativePositionBiasBlock::fromArguments),
            of("KERPLE", KerpleBiasBlock.Settings.class, KerpleBiasBlock::fromArguments),
            of("Sandwich", SandwichBiasBlock.Settings.class, SandwichBiasBlock::fromArguments),
            of("Gaussian", GaussianBiasBlock.Settings.class, GaussianBiasBlock::fromArguments),
            of("distance network", DistanceNetworkBiasBlock.Settings.class, DistanceNetworkBiasBlock::fromArguments),
            of("FIRE", FireBiasBlock.Settings.class, FireBiasBlock::fromArguments),
            of("Shaw", ShawRelativePositionBlock.Settings.class, ShawRelativePositionBlock::fromArguments),
            of("Transformer-XL", TransformerXlPositionBlock.Settings.class, TransformerXlPositionBlock::fromArguments),
            of("disentangled", DisentangledPositionBlock.Settings.class, DisentangledPositionBlock::fromArguments),
            of("Swin", WindowBiasBlock.Settings.class, WindowBiasBlock::fromArguments),
            of("Swin V2", WindowNetworkBiasBlock.Settings.class, WindowNetworkBiasBlock::fromArguments),
            of("MViTv2", WindowVectorsBlock.Settings.class, WindowVectorsBlock::fromArguments));

    private static NamedEncoding of(
            String name, Class<? extends Record> settings, Function<Map<?, ?>, RelativeEncoding> fromArguments) {
        return new NamedEncoding(name, settings, fromArguments);
    }

    /** {@return the simple name of its class} */
    String type() {
        return settings.getEnclosingClass().getSimpleName();
    }

    /** Creates the encoding that has a name, for the sizes of an attention. */
    static RelativeEncoding named(String name, int headCount, int headSize, Map<?, ?> options) {
        List<NamedEncoding> found =
                ALL.stream().filter(encoding -> encoding.name.equals(name)).toList();
        Check.that(
                !found.isEmpty(),
                () -> "relative encoding " + name + ": expected one of " + RelativeEncoding.names() + "; use its name");
        Map<String, Integer> sizes =
                Map.of("headCount", headCount, "headSize", headSize, "embeddingSize", headCount * headSize);
        Map<Object, Object> arguments = new LinkedHashMap<>();
        for (RecordComponent component : found.get(0).settings.getRecordComponents()) {
            arguments.computeIfAbsent(component.getName(), sizes::get);
        }
        arguments.putAll(options);
        return found.get(0).fromArguments.apply(arguments);
    }

    /** Creates an encoding from its arguments and the simple name of its class. */
    static RelativeEncoding ofType(Map<?, ?> arguments) {
        return Records.ofType(
                "RelativeEncoding",
                arguments,
                ALL.stream().collect(Collectors.toMap(NamedEncoding::type, NamedEncoding::fromArguments)));
    }
}
