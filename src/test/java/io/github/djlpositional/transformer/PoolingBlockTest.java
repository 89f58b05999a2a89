package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class PoolingBlockTest extends OnEachEngine {

    private static PoolingBlock block(Pooling pooling) {
        return PoolingBlock.builder().setPooling(pooling).build();
    }

    /** Two sequences of three tokens, (2, 3, 2). */
    private NDArray x() {
        return manager.create(new double[] {1, 10, 2, 20, 6, 60, 3, 30, 5, 50, 7, 70}, new Shape(2, 3, 2));
    }

    private static Stream<Arguments> cases() {
        return Stream.of(
                Arguments.of(Pooling.MEAN, new double[] {3, 30, 5, 50}, new double[] {1.5, 15, 6, 60}),
                Arguments.of(Pooling.FIRST, new double[] {1, 10, 3, 30}, new double[] {1, 10, 5, 50}),
                Arguments.of(Pooling.LAST, new double[] {6, 60, 7, 70}, new double[] {2, 20, 7, 70}));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void poolsVisibleTokens(Pooling pooling, double[] ofAll, double[] ofVisible) {
        NDArray mask = manager.create(new int[] {1, 1, 0, 0, 1, 1}, new Shape(2, 3)); // on the right, on the left
        requireClose(infer(manager, block(pooling), x()), ofAll, 1e-15);
        requireClose(infer(manager, block(pooling), x(), mask), ofVisible, 1e-7); // weights are FLOAT32
        requireClose(infer(manager, block(pooling), x(), mask.neq(0)), ofVisible, 1e-7);
    }

    @ParameterizedTest
    @EnumSource
    void aSequenceWithoutTokensIsZero(Pooling pooling) {
        NDArray mask = manager.create(new int[] {1, 1, 1, 0, 0, 0}, new Shape(2, 3));
        requireClose(infer(manager, block(pooling), x(), mask).get(1), new double[] {0, 0}, 0);
    }

    /** The sum of 4,096 numbers of 60 exceeds the largest FLOAT16. MXNet has no matrix product of FLOAT16 on a CPU. */
    @Test
    void theMeanOfManyFloat16IsFinite() {
        assumeEngine(TestEngine.PYTORCH);
        NDArray x = manager.full(new Shape(1, 4096, 2), 60, DataType.FLOAT32).toType(DataType.FLOAT16, false);
        NDArray mask = manager.ones(new Shape(1, 4096), DataType.INT32);
        NDArray mean = infer(manager, block(Pooling.MEAN), x, mask);
        assertThat(mean.getDataType()).isEqualTo(DataType.FLOAT16);
        requireClose(mean, new double[] {60, 60}, 0.05);
    }

    /** A sequence with padding gives what it gives alone. */
    @Test
    void endsASequentialBlockThatPassesTheMaskOn() {
        Block block = new SequentialBlock()
                .add(InputEmbeddingBlock.builder()
                        .setVocabularySize(9)
                        .setEmbeddingSize(8)
                        .optPaddingIndex(0)
                        .optReturnMask(true)
                        .build())
                .add(layer().optReturnMask(true).build())
                .add(layer().optReturnMask(true).build())
                .add(block(Pooling.MEAN))
                .add(Linear.builder().setUnits(3).build());
        filled(manager, block, DataType.FLOAT64, new Shape(2, 5));
        NDArray alone = infer(manager, block, manager.create(new long[][] {{5, 6, 7}}));
        assertThat(alone.getShape()).isEqualTo(new Shape(1, 3));
        NDArray padded = infer(manager, block, manager.create(new long[][] {{5, 6, 7, 0, 0}, {1, 2, 3, 4, 5}}));
        requireClose(padded.get(0), doubles(alone), 1e-6);
    }

    @Test
    void rejectsOtherShapes() {
        refused(() -> infer(manager, block(Pooling.MEAN), x().get(0)), "(3, 2)", "(B, T, D)");
        refused(() -> infer(manager, block(Pooling.MEAN), x(), manager.ones(new Shape(2, 4))), "(2, 4)", "(2, 3)");
    }
}
