package io.github.djlpositional.conformance;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.support.TestEngine;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Properties of the forwards of every block: gradients, empty inputs, dropout, and arrays of another engine. */
class EveryForwardTest extends OnEachEngine {

    private Block filled(TestBlocks kind) {
        return TestNumbers.filled(manager, kind.block(), DataType.FLOAT64, kind.shapes());
    }

    private static boolean hasDropout(TestBlocks kind) {
        return ((HasArguments) kind.block()).getArguments().get("dropoutRate") instanceof Float rate && rate > 0;
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void gradientsAreThoseOfFiniteDifferences(TestBlocks kind) {
        Block block = filled(kind);
        NDArray[] inputs = kind.numbers(manager, DataType.FLOAT64).toArray(NDArray[]::new);
        if (kind.paddingIndex() >= 0) {
            // its row gets no gradient
            NDArray isToken = inputs[0].neq(kind.paddingIndex());
            inputs[0] = inputs[0].mul(isToken.toType(DataType.INT64, false));
        }
        FiniteDifferences.requireGradients(manager, block, null, !hasDropout(kind), inputs);
    }

    /** An encoding of queries and keys needs both, a grid all of its channels and cells, and a picture its patches. */
    private static boolean needsAll(TestBlocks kind, int axis) {
        boolean isGrid = kind.toString().matches("GRID|GRID_OF_TOKENS");
        boolean isPicture = kind.toString().matches("(PATCHES|PICTURES).*");
        return ((isPicture || kind.block() instanceof RelativeEncoding) && axis > 0) || (isGrid && axis == 1);
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void anEmptyInputGivesAnEmptyOutput(TestBlocks kind) {
        Block block = filled(kind);
        int axes = kind.input().dimension();
        for (int axis = 0; axis < (axes == 2 ? 2 : axes - 1); axis++) {
            NDList inputs = kind.numbers(manager, DataType.FLOAT64);
            for (int i = 0; i < inputs.size(); i++) {
                // the other inputs of a step are those of an encoder, whose length stays
                if (axis == 0 || !kind.hasSteps() || i == 0) {
                    Shape empty = Shape.update(inputs.get(i).getShape(), axis, 0);
                    inputs.set(i, manager.create(empty, inputs.get(i).getDataType()));
                }
            }
            if (!needsAll(kind, axis)) {
                NDArray y = kind.infer(manager, block, inputs);
                assertThat(y.getShape()).isEqualTo(block.getOutputShapes(inputs.getShapes())[0]);
                assertThat(y.getDataType()).isEqualTo(DataType.FLOAT64);
            } else if (!(block instanceof RelativeEncoding)) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> kind.infer(manager, block, inputs))
                        .withMessageContaining(" 0");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void rejectsAnInputThatIsNull(TestBlocks kind) {
        Block block = kind.initialized(manager);
        int count = kind.shapes().length;
        assertAll(IntStream.rangeClosed(0, count)
                .mapToObj(index -> rejected(
                        () -> {
                            NDList inputs = kind.numbers(manager);
                            inputs.add(null);
                            if (index < count) {
                                inputs.set(index, inputs.remove(count));
                            }
                            kind.infer(manager, block, inputs);
                        },
                        "input " + index,
                        "null")));
    }

    private static double largestDifference(double[] one, double... other) {
        return IntStream.range(0, one.length)
                .mapToDouble(i -> Math.abs(one[i] - other[i]))
                .max()
                .orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void dropsNumbersInTrainingOnly(TestBlocks kind) {
        assumeTrue(hasDropout(kind));
        Block block = filled(kind);
        NDList inputs = kind.numbers(manager, DataType.FLOAT64);
        double[] inferred = doubles(kind.infer(manager, block, inputs));
        requireClose(kind.infer(manager, block, inputs), inferred, 1e-12);
        NDArray[] arrays = inputs.toArray(NDArray[]::new);
        // of a few numbers and a low rate, none may be dropped in one forward
        assertThat(Stream.generate(() -> doubles(Forward.trainRecorded(manager, block, arrays)))
                        .limit(50))
                .anyMatch(trained -> largestDifference(trained, inferred) > 0.01);
        requireClose(kind.infer(manager, block, inputs), inferred, 1e-12);
    }

    @Test
    void rejectsArraysOfAnotherEngine() {
        TestEngine other = engine == TestEngine.PYTORCH ? TestEngine.MXNET : TestEngine.PYTORCH;
        try (NDManager foreign = other.newCpuManager()) {
            NDArray x = manager.ones(new Shape(2, 3, 4));
            Block tokens =
                    SmallBlocks.initialized(manager, SmallBlocks.embedding().build(), 2, 3);
            Block positions = SmallBlocks.positions().build();
            Block attention = SmallBlocks.initialized(
                    manager,
                    MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(4)
                            .setHeadCount(1)
                            .build(),
                    2,
                    3,
                    4);
            NDArray ids = SmallBlocks.ids(foreign);
            NDArray foreignPositions = foreign.arange(3);
            NDArray foreignX = foreign.ones(new Shape(2, 3, 4));
            NDArray mask = foreign.ones(new Shape(2, 3));
            String name = other.engineName();
            KeyValueCache foreignCache = new KeyValueCache(foreign);
            KeyValueCache cache = new KeyValueCache(manager);
            Forward.infer(manager, attention, cache.nextStep(), x);
            NDArray rows = foreign.create(new int[] {1, 0});
            assertAll(
                    rejected(
                            () -> Forward.infer(manager, attention, foreignCache.nextStep(), x),
                            name,
                            engine.engineName(),
                            "KeyValueCache"),
                    rejected(() -> cache.select(rows), name, engine.engineName(), "KeyValueCache"),
                    rejected(() -> Forward.infer(manager, tokens, ids), name, "token table"),
                    rejected(() -> Forward.infer(manager, positions, x, foreignPositions), name, "embeddings"),
                    rejected(() -> Forward.infer(manager, attention, foreignX), name, "projections"),
                    rejected(() -> Forward.infer(manager, attention, x, mask), name, "queries"));
        }
    }

    @Test
    void rejectsATableOfMoreNumbersThanMxnetCounts() throws Throwable {
        assumeEngine(TestEngine.MXNET);
        int length = 1 << 29;
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optAutoExtend(length)
                .build();
        NDArray x = manager.ones(new Shape(1, 1, 1, 4));
        rejected(() -> Forward.inferFrom(manager, length - 1, block, x), 4L * length, Integer.MAX_VALUE, "MXNet")
                .execute();
    }
}
