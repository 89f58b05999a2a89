package io.github.djlpositional.examples.experiments;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What encoders learn in a comparison, and for how long by default. */
public enum Task {
    /** Whether the words of a sentence are in order. */
    SENTENCES(40_000, 3, 3, 500),

    /** The next character of a text. */
    TEXT(32_000, 1, 3, 64),

    /** Whether the rows and columns of a picture are in order. */
    PICTURES(100, 20, 5, 64);

    final int examples;
    final int epochs;
    final int seeds;
    final int quickExamples;

    Task(int examples, int epochs, int seeds, int quickExamples) {
        this.examples = examples;
        this.epochs = epochs;
        this.seeds = seeds;
        this.quickExamples = quickExamples;
    }

    /** Returns the kinds of positional encoding that are trained, in the order of the table. */
    List<Encoding> encodings() {
        return Arrays.stream(Encoding.values())
                .filter(encoding -> encoding.tasks().contains(this))
                .toList();
    }

    /** Returns the kind with a name, in any case. */
    Encoding encoding(String name) {
        return encodings().stream()
                .filter(encoding -> encoding.name().equalsIgnoreCase(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "--encoding " + name + " on " + this + ": expected one of " + encodings()));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
