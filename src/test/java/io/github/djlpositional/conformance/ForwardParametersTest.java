package io.github.djlpositional.conformance;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every block reads the forward parameters of this library in the same way, and no others. */
class ForwardParametersTest extends OnEachEngine {

    private static final String BLOCKS = "io.github.djlpositional.conformance.TestBlocks#values";

    /** The first output. */
    private NDArray forward(Block block, PairList<String, Object> params, NDList inputs) {
        return block.forward(new ParameterStore(manager, false), inputs, false, params)
                .head();
    }

    @ParameterizedTest
    @MethodSource(BLOCKS)
    void rejectsAParameterThatIsGivenTwice(TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList inputs = kind.numbers(manager);
        assertAll(Stream.of(
                        "startPosition",
                        "positions",
                        "documents",
                        "memoryPositions",
                        ForwardParameters.CACHE,
                        "gridSizes")
                .map(name -> {
                    PairList<String, Object> twice = params(name, 0);
                    twice.add(name, 0);
                    return rejected(() -> forward(block, twice, inputs), name, "twice");
                }));
    }

    @ParameterizedTest
    @MethodSource(BLOCKS)
    void rejectsAStartPositionOfAnotherType(TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList inputs = kind.numbers(manager);
        assertAll(Stream.of(1.5, 1f, "3", (short) 1, new int[0], manager.create(1))
                .map(start -> rejected(
                        () -> forward(block, params("startPosition", start), inputs),
                        "startPosition",
                        start.getClass().getSimpleName(),
                        "Integer",
                        "Long")));
    }

    @ParameterizedTest
    @MethodSource(BLOCKS)
    void ignoresOtherParameters(TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList inputs = kind.numbers(manager);
        NDArray expected = kind.infer(manager, block, inputs);
        for (Object start : new Object[] {0, 0L}) {
            PairList<String, Object> params = params("startPosition", start);
            for (String own : List.of("temperature", "temperature", "mask", "position", "cache", "gridsize", "")) {
                params.add(own, "of the user");
            }
            // FLOAT32 numbers up to 20, which a processor may round in another order
            requireClose(forward(block, params, inputs), doubles(expected), 1e-5);
        }
    }

    /** One minute in June 2026: rotary is a function of the distance, exact to 2e9 · 2^-53 radians. */
    @Test
    void positionsMayBeUnixSeconds() {
        MultiHeadAttentionBlock block =
                filled(manager, EncodingType.ROTARY.attention(HEADS).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 3, SIZE);
        NDArray seconds = manager.create(new double[] {1.78e9, 1.78e9 + 30, 1.78e9 + 60});
        NDArray relative = manager.create(new double[] {0, 30, 60});
        NDArray expected = inferAt(manager, relative, block, x);
        NDArray y = inferAt(manager, seconds, block, x);
        requireClose(y, doubles(expected), 2e-6);
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        double sine = SinusoidalEncoding.vaswani(SIZE).value(1.78e9 + 30, 0);
        assertThat(infer(manager, sinusoids, x.zerosLike(), seconds).getDouble(0, 1, 0))
                .isCloseTo(sine, within(1e-12));
    }
}
