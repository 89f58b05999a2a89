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

    /** The first output. */
    private static NDArray forward(NDManager manager, Block block, PairList<String, Object> params, NDList inputs) {
        return block.forward(new ParameterStore(manager, false), inputs, false, params)
                .head();
    }

    @EngineTest(Selection.EACH)
    void aForwardParameterIsThereOnceAndOfItsType(NDManager manager, TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList input = kind.numbers(manager);
        for (String name : List.of("startPosition", "positions", KeyValueCache.KEY, "gridSizes")) {
            PairList<String, Object> twice = Forward.params(name, 0);
            twice.add(name, 0);
            refused(() -> forward(manager, block, twice, input), name, "twice", "new list");
        }
        for (Object start : new Object[] {1.5, 1f, "3", (short) 1, new int[0], manager.create(1)}) {
            PairList<String, Object> params = Forward.params("startPosition", start);
            String type = start.getClass().getSimpleName();
            refused(() -> forward(manager, block, params, input), "startPosition", type, "an Integer or a Long");
        }
        for (Object start : new Object[] {0, 0L}) {
            PairList<String, Object> params = Forward.params("startPosition", start);
            for (String own : List.of("temperature", "temperature", "mask", "position", "cache", "gridsize", "")) {
                params.add(own, "of the user");
            }
            assertThat(forward(manager, block, params, input)).isEqualTo(kind.infer(manager, block, input));
        }
    }

    /** One minute in June 2026: rotary is a function of the distance, exact to 2e9 · 2^-53 radians. */
    @EngineTest
    void positionsMayBeUnixSeconds(NDManager manager) {
        MultiHeadAttentionBlock block =
                filled(manager, EncodingType.ROTARY.attention(HEADS).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 3, SIZE);
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
