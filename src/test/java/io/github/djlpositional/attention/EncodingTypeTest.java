package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.ArchitectureTest;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What holds of every relative encoding, also of the one that is added next. */
class EncodingTypeTest {

    @Test
    void everyRelativeEncodingIsTested() {
        Set<String> tested = Arrays.stream(EncodingType.values())
                .map(kind -> kind.encoding(2))
                .filter(Objects::nonNull)
                .map(encoding -> encoding.getClass().getSimpleName())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(tested)
                .as(
                        "an encoding that is missing here has no constant in EncodingType: see \"Add an encoding\" in CONTRIBUTING.md")
                .isEqualTo(ArchitectureTest.concrete(RelativeEncoding.class));
    }

    @ParameterizedTest
    @EnumSource
    void anAttentionWithItIsMadeAgainFromItsArguments(EncodingType kind) {
        MultiHeadAttentionBlock block = kind.attention(2).build();
        MultiHeadAttentionBlock again = MultiHeadAttentionBlock.fromArguments(block.getArguments());
        assertThat(again.getArguments()).isEqualTo(block.getArguments());
        assertThat(again).hasToString(block.toString());
    }
}
