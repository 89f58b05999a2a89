package io.github.djlpositional.attention;

import static io.github.djlpositional.Forward.infer;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.TestBlocks;
import io.github.djlpositional.relative.EncodingType;
import java.util.List;

/** Mistakes that the structure of a call shows, and the correct programs beside them. */
class StructureTest {

    private static MultiHeadAttentionBlock attention(NDManager manager, EncodingType type, boolean isCausal) {
        return filled(manager, type.attention(HEADS).optCausal(isCausal).build(), DataType.FLOAT64);
    }

    private static NDArray x(NDManager manager, long batch, long length) {
        return numbers(manager, 1, DataType.FLOAT64, batch, length, SIZE);
    }

    /** The first output. */
    private static NDArray forward(NDManager manager, Block block, PairList<String, Object> params, NDList inputs) {
        return block.forward(new ParameterStore(manager, false), inputs, false, params)
                .head();
    }

    @EngineTest(Selection.EACH)
    void aForwardParameterIsGivenOnce(NDManager manager, TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList input = kind.numbers(manager);
        for (String name : List.of(
                PositionalEncodingBlock.START_POSITION,
                PositionalEncodingBlock.POSITIONS,
                KeyValueCache.KEY,
                "gridSizes")) {
            PairList<String, Object> twice = Forward.params(name, 0);
            twice.add(name, 0);
            refused(() -> forward(manager, block, twice, input), name, "twice", "new list");
        }
        PairList<String, Object> own = new PairList<>();
        for (String name : List.of("temperature", "temperature", "mask", "position", "cache", "gridsize", "")) {
            own.add(name, "of the user");
        }
        assertThat(forward(manager, block, own, input)).isEqualTo(kind.infer(manager, block, input));
    }

    @EngineTest(Selection.EACH)
    void theStartPositionIsAnIntegerOrALong(NDManager manager, TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList input = kind.numbers(manager);
        for (Object start : new Object[] {1.5, 1f, "3", (short) 1, new int[0], manager.create(1)}) {
            refused(
                    () -> forward(manager, block, Forward.params("startPosition", start), input),
                    "startPosition",
                    start.getClass().getSimpleName(),
                    "an Integer or a Long");
        }
        for (Object start : new Object[] {0, 0L}) {
            assertThat(forward(manager, block, Forward.params("startPosition", start), input))
                    .isEqualTo(kind.infer(manager, block, input));
        }
    }

    /** One minute in June 2026: rotary is a function of the distance, exact to 2e9 · 2^-53 radians. */
    @EngineTest
    void positionsMayBeUnixSeconds(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, EncodingType.ROTARY, true);
        NDArray x = x(manager, 1, 3);
        NDArray seconds = manager.create(new double[] {1.78e9, 1.78e9 + 30, 1.78e9 + 60});
        NDArray relative = manager.create(new double[] {0, 30, 60});
        NDArray expected = infer(manager, block, Forward.params(PositionalEncodingBlock.POSITIONS, relative), x);
        NDArray y = infer(manager, block, Forward.params(PositionalEncodingBlock.POSITIONS, seconds), x);
        requireClose(y, doubles(expected), 2e-6);
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        double sine = sinusoids.getEncoding().value(1.78e9 + 30, 0);
        assertThat(infer(manager, sinusoids, x.zerosLike(), seconds).getDouble(0, 1, 0))
                .isCloseTo(sine, within(1e-12));
    }
}
