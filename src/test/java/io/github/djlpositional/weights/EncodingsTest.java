package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Saved tables of sinusoids, as other libraries computed them: those of the right encoding pass, others do not. */
class EncodingsTest {

    private static final SinusoidalEncoding PAPER = SinusoidalEncoding.vaswani(8);
    private static final SinusoidalEncoding HALVES = SinusoidalEncoding.xTransformers(8);
    private static final SinusoidalEncoding FAIRSEQ = SinusoidalEncoding.fairseq(8);

    private static final Map<String, SinusoidalEncoding> ENCODINGS = Map.of(
            "paper", PAPER,
            "halves", HALVES,
            "fairseq", FAIRSEQ,
            "another base", SinusoidalEncoding.vaswani(8, 10_001),
            "cosine first",
                    SinusoidalEncoding.builder()
                            .setEmbeddingSize(8)
                            .optCosineFirst(true)
                            .build(),
            "rotary's base", SinusoidalEncoding.vaswani(8, 500_000),
            "scaled",
                    SinusoidalEncoding.builder()
                            .setEmbeddingSize(8)
                            .optLayout(PairLayout.INTERLEAVED)
                            .optFrequencies(Frequencies.geometric(4, 10_000, 4).scaledBy(1.001))
                            .build());

    private static void check(String file, String tensor, SinusoidalEncoding encoding) throws Exception {
        WeightLoader.of(Weights.open(file)).encodings(tensor, encoding).load();
    }

    private static ThrowableAssertAlternative<?> refused(String tensor, SinusoidalEncoding encoding) {
        return assertThatIllegalArgumentException()
                .isThrownBy(() -> check("encodings.safetensors", tensor, encoding))
                .withMessageContaining("tensor \"" + tensor + "\" of ")
                .withMessageContaining("encodings.safetensors");
    }

    /** Which tensors are those of which encoding. */
    private static final Map<String, String> RIGHT = Map.of(
            "tutorial",
            "paper",
            "tutorial.f16",
            "paper",
            "tutorial.bf16",
            "paper",
            "tutorial.f64",
            "paper",
            "book",
            "paper",
            "distilbert",
            "paper",
            "marian",
            "halves",
            "fairseq",
            "fairseq");

    static Stream<Arguments> pairs() {
        return RIGHT.keySet().stream()
                .flatMap(tensor -> ENCODINGS.keySet().stream().map(encoding -> Arguments.of(tensor, encoding)));
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void aTablePassesForItsOwnEncodingAlone(String tensor, String name) throws Exception {
        SinusoidalEncoding encoding = ENCODINGS.get(name);
        // 64 rows of eight bits do not tell frequencies apart that differ by a thousandth, or less
        boolean isTooCoarse = tensor.equals("tutorial.bf16") && (name.equals("another base") || name.equals("scaled"));
        if (RIGHT.get(tensor).equals(name)) {
            check("encodings.safetensors", tensor, encoding);
        } else if (!isTooCoarse && !(tensor.equals("tutorial.f16") && name.equals("another base"))) {
            refused(tensor, encoding)
                    .withMessageContaining(" at position ")
                    .withMessageContaining(encoding.toString())
                    .withMessageContaining("give the encoding that the tensor was made with");
        }
    }

    /** 5000 positions, (n, 1, D), computed in float. */
    @Test
    void theTableOfPyTorchsTutorial() throws Exception {
        check("tutorial.npz", "pos_encoder.pe", SinusoidalEncoding.vaswani(4));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> check("tutorial.npz", "pos_encoder.pe", SinusoidalEncoding.vaswani(4, 10_000.1)))
                .withMessageContaining("dimension");
    }

    /** Frequencies from 1000 to 1, of exponents that were rounded before they were scaled. */
    @Test
    void theTableOfADiffusionModelWithAScale() throws Exception {
        SinusoidalEncoding.Builder encoding =
                SinusoidalEncoding.builder().setEmbeddingSize(8).optLayout(PairLayout.CONCATENATED);
        Frequencies frequencies = Frequencies.geometric(4, 10_000, 4);
        check(
                "diffusion.npz",
                "scaled",
                encoding.optFrequencies(frequencies.scaledBy(1000)).build());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> check(
                        "diffusion.npz",
                        "scaled",
                        encoding.optFrequencies(frequencies.scaledBy(1000.1)).build()))
                .withMessageContaining("dimension");
    }

    @Test
    void tablesInFortranOrder() throws Exception {
        check("encodings.npz", "fortran", PAPER);
        check("encodings.npz", "fortran_3d", PAPER);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> check("encodings.npz", "fortran", HALVES))
                .withMessageContaining("at position 0, dimension 1, where");
    }

    @Test
    void aSingleRow() throws Exception {
        check("encodings.safetensors", "one", PAPER);
    }

    @Test
    void theFirstDifferenceIsNamed() {
        refused("shifted", PAPER)
                .withMessageContaining("has 0.8414709568023682 at position 0, dimension 0, where " + PAPER + " has 0.0")
                .withMessageContaining("load it as a learned table");
        refused("missing", PAPER).withMessageContaining("has NaN at position 0, dimension 0");
    }

    @Test
    void otherShapesAndTypes() {
        refused("odd shape", PAPER)
                .withMessageContaining("(8, 8, 8)")
                .withMessageContaining("allowed is (n, 8), (1, n, 8) or (n, 1, 8)");
        refused("tutorial", SinusoidalEncoding.vaswani(4)).withMessageContaining("(64, 1, 8)");
        refused("integers", PAPER)
                .withMessageContaining("type \"I64\"")
                .withMessageContaining("F16, BF16, F32 and F64");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> check("types.safetensors", "empty", SinusoidalEncoding.vaswani(3)))
                .withMessageContaining("(0, 3)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> check("types.safetensors", "scalar", SinusoidalEncoding.vaswani(1)))
                .withMessageContaining("shape ()");
    }

    @Test
    void oddSizesThatEndWithAZero() throws Exception {
        assertThat(SinusoidalEncoding.fairseq(5).frequency(4)).isZero();
        assertThat(SinusoidalEncoding.fairseq(8).frequency(7))
                .isEqualTo(SinusoidalEncoding.fairseq(8).frequency(3));
        assertThat(PAPER.frequency(3)).isEqualTo(0.1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PAPER.frequency(8))
                .withMessageContaining("dimension 8");
    }

    @Test
    void noTableIsWrittenWhenEncodingsDiffer() throws Exception {
        try (NDManager manager = NDManager.newBaseManager()) {
            Parameter parameter = Weights.parameter(manager, DataType.FLOAT32, 64, 8);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> WeightLoader.of(Weights.open("encodings.safetensors"))
                            .table("marian", parameter)
                            .encodings("tutorial", HALVES)
                            .load());
            assertThat(parameter.getArray().toFloatArray()).containsOnly(7);
        }
    }
}
