package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Saved sinusoidal tables, computed by other libraries: those of the right encoding pass, others do not. */
class EncodingsTest {

    private static final SinusoidalEncoding PAPER = SinusoidalEncoding.vaswani(8);
    private static final SinusoidalEncoding HALVES = SinusoidalEncoding.xTransformers(8);

    private static final Map<String, SinusoidalEncoding> ENCODINGS = Map.of(
            "paper", PAPER,
            "halves", HALVES,
            "fairseq", SinusoidalEncoding.fairseq(8),
            "another base", SinusoidalEncoding.vaswani(8, 10_001),
            "cosine first", encoding().optCosineFirst(true).build(),
            "rotary's base", SinusoidalEncoding.vaswani(8, 500_000),
            "scaled", scaled(PairLayout.INTERLEAVED, 1.001));

    /** The encoding of each tensor. */
    private static final Map<String, String> RIGHT = Map.of(
            "tutorial", "paper",
            "tutorial.f16", "paper",
            "tutorial.bf16", "paper",
            "tutorial.f64", "paper",
            "book", "paper",
            "distilbert", "paper",
            "marian", "halves",
            "fairseq", "fairseq");

    /** In 64 rows of 8 or 11 bits, frequencies that differ by a thousandth or less cannot be distinguished. */
    private static final Set<String> TOO_COARSE =
            Set.of("tutorial.bf16 another base", "tutorial.bf16 scaled", "tutorial.f16 another base");

    private static SinusoidalEncoding.Builder encoding() {
        return SinusoidalEncoding.builder().setEmbeddingSize(8);
    }

    private static SinusoidalEncoding scaled(PairLayout layout, double factor) {
        Frequencies frequencies = Frequencies.geometric(4, 10_000, 4).scaledBy(factor);
        return encoding().optLayout(layout).optFrequencies(frequencies).build();
    }

    private static void check(String file, String tensor, SinusoidalEncoding encoding) throws Exception {
        Weights.loader(file).encodings(tensor, encoding).load();
    }

    private static void assertRejected(String file, String tensor, SinusoidalEncoding encoding, String... values) {
        Weights.assertRejected(() -> check(file, tensor, encoding), values);
        Weights.assertRejected(() -> check(file, tensor, encoding), "tensor \"" + tensor + "\"", file);
    }

    static Stream<Arguments> pairs() {
        return RIGHT.keySet().stream()
                .flatMap(tensor -> ENCODINGS.keySet().stream().map(encoding -> Arguments.of(tensor, encoding)))
                .filter(pair -> !TOO_COARSE.contains(pair.get()[0] + " " + pair.get()[1]));
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void aTablePassesOnlyForItsEncoding(String tensor, String name) throws Exception {
        SinusoidalEncoding encoding = ENCODINGS.get(name);
        if (RIGHT.get(tensor).equals(name)) {
            check("encodings.safetensors", tensor, encoding);
        } else {
            assertRejected("encodings.safetensors", tensor, encoding, "position ", encoding.toString());
        }
    }

    /** 5000 positions of PyTorch's tutorial, (n, 1, D); a diffusion model's frequencies from 1000 to 1. */
    @Test
    void longAndScaledTables() throws Exception {
        check("tutorial.safetensors", "pos_encoder.pe", SinusoidalEncoding.vaswani(4));
        assertRejected("tutorial.safetensors", "pos_encoder.pe", SinusoidalEncoding.vaswani(4, 10_000.1), "dimension ");
        check("diffusion.safetensors", "scaled", scaled(PairLayout.CONCATENATED, 1000));
        assertRejected("diffusion.safetensors", "scaled", scaled(PairLayout.CONCATENATED, 1000.1), "dimension ");
        check("encodings.safetensors", "one", PAPER);
    }

    @Test
    void theFirstDifferenceIsReported() {
        assertRejected(
                "encodings.safetensors",
                "shifted",
                PAPER,
                "has 0.8414709568023682 at position 0, dimension 0",
                "0.0",
                PAPER.toString());
        assertRejected("encodings.safetensors", "missing", PAPER, "NaN", "position 0, dimension 0");
    }

    @Test
    void otherShapesAndTypes() {
        assertRejected("encodings.safetensors", "odd shape", PAPER, "(8, 8, 8)", "(n, 8), (1, n, 8) or (n, 1, 8)");
        assertRejected("encodings.safetensors", "tutorial", SinusoidalEncoding.vaswani(4), "(64, 1, 8)");
        assertRejected("encodings.safetensors", "integers", PAPER, "\"I64\"", "F16, BF16, F32 or F64");
        assertRejected("types.safetensors", "empty", SinusoidalEncoding.vaswani(3), "(0, 3)");
        assertRejected("types.safetensors", "scalar", SinusoidalEncoding.vaswani(1), "()");
    }

    @Test
    void oddSizesThatEndWithAZero() {
        assertThat(SinusoidalEncoding.fairseq(5).frequency(4)).isZero();
        assertThat(SinusoidalEncoding.fairseq(8).frequency(7))
                .isEqualTo(SinusoidalEncoding.fairseq(8).frequency(3));
        assertThat(PAPER.frequency(3)).isEqualTo(0.1);
    }

    @Test
    void noTableIsWrittenIfEncodingsDiffer() throws Exception {
        try (NDManager manager = EngineTestExtension.cpuManager()) {
            Parameter parameter = Weights.parameter(manager, 64, 8);
            WeightLoader loader = Weights.loader("encodings.safetensors").table("marian", parameter);
            Weights.assertRejected(() -> loader.encodings("tutorial", HALVES).load(), "tutorial");
            Weights.assertUnchanged(parameter);
        }
    }
}
