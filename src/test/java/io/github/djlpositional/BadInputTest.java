package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.math.GridEncoding;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Forwards and initializations with inputs that are not valid. The message says what was given and what is expected.
 */
class BadInputTest {

    private static final Shape X = new Shape(1, 3, 4);

    private static PositionalEncodingBlock positions() {
        return SmallBlocks.positions().build();
    }

    private static InputEmbeddingBlock initializedEmbedding(NDManager manager) {
        return initialized(manager, embedding().optMaxSequenceLength(10).build(), 1, 3);
    }

    private static void refusedFrom(NDManager manager, Object start, Block block, Shape input, Object... parts) {
        refused(() -> Forward.inferFrom(manager, start, block, manager.zeros(input)), parts);
    }

    @EngineTest
    void refusesInputsWithoutTheSequenceAxis(NDManager manager) {
        for (int axis : new int[] {2, 3, -4}) {
            Block block = SmallBlocks.positions().optSequenceAxis(axis).build();
            refused(manager, block, manager.zeros(new Shape(2, 3, 4)), "axis " + axis, "0 to 1", "-2 to -3");
        }
    }

    @EngineTest
    void refusesInputsOfAnotherRankOrWidth(NDManager manager) {
        refused(manager, positions(), manager.zeros(new Shape(4)), "rank 1", "rank 2", "expandDims");
        refused(manager, positions(), List.of(manager.create(1f)), "rank 0");
        NDArray wide = manager.zeros(new Shape(2, 3, 6));
        refused(manager, positions(), wide, "width 6", "expected 4", "setEmbeddingSize(6)");
        refused(manager, learnedBlock(manager), manager.zeros(new Shape(1, 3, 5)), "width 5");
    }

    @EngineTest
    void refusesAnotherNumberOfInputs(NDManager manager) {
        NDArray x = manager.zeros(X);
        refused(manager, positions(), List.of(), "0 inputs");
        refused(manager, positions(), List.of(x, x, x), "3 inputs");
        refused(manager, initializedEmbedding(manager), List.of(), "0 inputs");
        Block grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(4))
                .build();
        refused(manager, grid, List.of(x, x, x), "3 inputs");
    }

    @EngineTest
    void refusesInputsThatAreNotRealNumbers(NDManager manager) {
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT64, DataType.UINT8, DataType.BOOLEAN}) {
            NDArray x = manager.zeros(X, DataType.INT64).toType(type, false);
            refused(manager, positions(), x, "data type " + type, "float16, float32 or float64");
        }
    }

    @EngineTest
    void refusesInputsOfAnotherDataTypeThanTheParameters(NDManager manager) {
        NDArray x = manager.zeros(X, DataType.FLOAT64);
        Block scaled = SmallBlocks.positions().optLearnedScale(1).build();
        refused(manager, initialized(manager, scaled, 1, 3, 4), x, "float64", "float32", "learned scale");
        refused(manager, learnedBlock(manager), x, "float64", "float32", "learned table");
    }

    private static LearnedPositionalEncodingBlock learnedBlock(NDManager manager) {
        return initialized(manager, learned().build(), 1, 3, 4);
    }

    @EngineTest
    void refusesSequencesLongerThanTheTable(NDManager manager) {
        String both = "exceeds the maximum 10";
        for (Block block : List.of(positions(), learnedBlock(manager))) {
            refused(manager, block, manager.zeros(new Shape(1, 11, 4)), "11", "position 0", both);
            refusedFrom(manager, 8, block, X, "sequence length 3", "position 8", both, "optMaxSequenceLength(11)");
        }
        NDArray tooMany = manager.zeros(new Shape(1, 11), DataType.INT64);
        refused(manager, initializedEmbedding(manager), tooMany, "sequence length 11", both);
    }

    @EngineTest
    void refusesStartsThatAreNotPositions(NDManager manager) {
        for (Block block : List.of(positions(), learnedBlock(manager))) {
            for (Object start : new Object[] {-1, Integer.MIN_VALUE, 11, Long.MAX_VALUE}) {
                refusedFrom(manager, start, block, X, "startPosition " + start, "0 to 10");
            }
        }
        for (Object start : new Object[] {1.5, "3", new int[0]}) {
            refusedFrom(manager, start, positions(), X, start.getClass().getSimpleName(), "an Integer or a Long");
        }
        refusedFrom(manager, new int[] {3, 4}, positions(), X, "int[] [3, 4]");
    }

    @EngineTest(onCpu = true)
    void refusesPositionsOutOfRange(NDManager manager) {
        NDArray x = manager.zeros(X);
        for (Block block : List.of(positions(), learnedBlock(manager))) {
            NDArray beyond = manager.create(new long[] {0, 10, 1});
            refused(manager, block, List.of(x, beyond), "position 10 at index 1 of (3)", "0 to 9", "optMaxSequence");
            NDArray negative = manager.create(new int[] {0, 1, -1});
            refused(manager, block, List.of(x, negative), "position -1 at index 2", "0 to 9");
        }
        for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
            NDArray real = manager.create(new float[] {0, 1, bad});
            refused(manager, positions(), List.of(x, real), "position " + (double) bad + " at index 2", "finite");
            refused(() -> positions().encode(real), "position " + (double) bad + " at index 2", "finite");
        }
        NDArray negative = manager.create(new double[] {0, 0.5, -0.5});
        refused(manager, positions(), List.of(x, negative), "position -0.5", "0 or more");
        refused(() -> positions().encode(negative), "position -0.5", "0 or more", "RotaryEmbeddingBlock");
        refused(() -> positions().encode(manager.create(10)), "position 10");
    }

    @EngineTest
    void refusesPositionsOutOfRangeOfABlockThatExtendsItself(NDManager manager) {
        int limit = 1 << 29;
        Block block = SmallBlocks.positions().optAutoExtend(limit).build();
        refusedFrom(manager, 1L << 40, block, X, "startPosition 1099511627776", "0 to 536870912", "count positions");
        refusedFrom(manager, limit - 1, block, X, "length 3", "position 536870911", "536870912", "split the sequence");
        NDArray beyond = manager.create(new long[] {0, limit, 2});
        refused(manager, block, List.of(manager.zeros(X), beyond), "position 536870912 at index 1", "0 to 536870911");
        NDArray one = manager.zeros(new Shape(1, 1, 4));
        refused(manager, block, List.of(one, manager.create(new long[] {-1})), "position -1 at index 0");
        refusedFrom(manager, -1, block, X, "startPosition -1");
    }

    @EngineTest
    void refusesPositionsOfAnotherShape(NDManager manager) {
        NDArray x = manager.zeros(new Shape(2, 3, 4));
        for (long[] sizes : new long[][] {{}, {2}, {4}, {3, 3}, {3, 2}, {2, 3, 1}}) {
            Shape shape = new Shape(sizes);
            NDArray positions = manager.zeros(shape, DataType.INT64);
            refused(manager, positions(), List.of(x, positions), "of shape " + shape, "expected (3) or (2, 3)");
        }
        NDArray square = manager.zeros(new Shape(3, 3), DataType.INT64);
        refused(manager, positions(), List.of(manager.zeros(new Shape(3, 4)), square), "(3, 3)", "expected (3);");
    }

    @EngineTest
    void refusesPositionsThatAreNotNumbersOrNotIntegers(NDManager manager) {
        NDArray x = manager.zeros(X);
        NDArray truths = manager.create(new boolean[] {true, false, true});
        refused(manager, positions(), List.of(x, truths), "positions", "data type boolean");
        NDArray reals = manager.create(new float[] {0, 1, 2});
        refused(manager, learnedBlock(manager), List.of(x, reals), "real positions (3)", "integer");
    }

    @EngineTest
    void refusesPositionsThatAreGivenTwice(NDManager manager) {
        NDArray x = manager.zeros(X);
        refused(
                () -> Forward.inferFrom(manager, 1, positions(), x, manager.arange(3)),
                "both positions and startPosition=1");
        Block fromPadding =
                embedding().optPaddingIndex(0).optPositionsFromPadding(1).build();
        initialized(manager, fromPadding, 2, 3);
        refused(() -> Forward.inferFrom(manager, 1, fromPadding, ids(manager)), "startPosition 1", "[ids, positions]");
    }

    @EngineTest
    void refusesBfloat16BeforeAnArrayOfItIsCreated(NDManager manager) {
        // on PyTorch, creating one would end the JVM and this test with it
        for (Block block : List.of(positions(), learned().build())) {
            refused(() -> block.initialize(manager, DataType.BFLOAT16, X), "data type bfloat16");
        }
        Block embedding = embedding().build();
        refused(() -> embedding.initialize(manager, DataType.BFLOAT16, new Shape(1, 3)), "data type bfloat16");
        assertThat(embedding.isInitialized()).isFalse();
    }

    @EngineTest
    void aRefusedInitializationLeavesABlockAsItWas(NDManager manager) {
        for (Shape shape : new Shape[] {new Shape(4), new Shape(1, 3, 5), new Shape(1, 11, 4)}) {
            for (Block block : List.of(positions(), learned().build())) {
                refused(() -> block.initialize(manager, DataType.FLOAT32, shape));
                assertThat(block.isInitialized()).isFalse();
            }
        }
        refused(() -> positions().initialize(manager, DataType.INT32, X), "int32");
        Block fresh = embedding().optMaxSequenceLength(10).build();
        refused(() -> fresh.initialize(manager, DataType.FLOAT32, new Shape(1, 11)), "sequence length 11");
        assertThat(fresh.isInitialized()).isFalse();
        assertThat(manager.getManagedArrays()).isEmpty();
        InputEmbeddingBlock block = initializedEmbedding(manager);
        Shape[] before = block.getInputShapes();
        refused(() -> block.initialize(manager, DataType.FLOAT32), "0 inputs");
        refused(() -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 11)), "sequence length 11");
        assertThat(block.getInputShapes()).isEqualTo(before);
    }

    @EngineTest(onCpu = true)
    void refusesTokenIdsOutOfRange(NDManager manager) {
        Block block = initializedEmbedding(manager);
        for (DataType type : new DataType[] {DataType.INT64, DataType.INT32, DataType.INT8}) {
            for (long bad : new long[] {7, -1, 100}) {
                NDArray ids = manager.create(new long[] {0, 6, bad, 1}, new Shape(2, 2))
                        .toType(type, false);
                String given = "token id " + bad + " at index 2 of (2, 2)";
                refused(manager, block, ids, given, "0 to 6", "setVocabularySize(int)");
            }
        }
    }

    @EngineTest
    void refusesTokenIdsOfAnotherDataTypeOrRank(NDManager manager) {
        Block block = initializedEmbedding(manager);
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.BOOLEAN}) {
            NDArray ids = manager.zeros(new Shape(1, 3)).toType(type, false);
            refused(manager, block, ids, "data type " + type, "toType(DataType.INT64, false)");
        }
        for (Shape shape : new Shape[] {new Shape(3), new Shape(), new Shape(1, 3, 1)}) {
            refused(manager, block, manager.zeros(shape, DataType.INT64), "expected (B, T)");
        }
    }

    @EngineTest
    void refusesOutputsOfAnotherShapeFromUserBlocks(NDManager manager) {
        Block narrow = embedding()
                .optTokenEmbedding(LambdaBlock.singleton(x -> x.getManager().ones(new Shape(2, 3, 5))))
                .build();
        refused(manager, narrow, ids(manager), "(2, 3, 5)", "ids (2, 3)", "expected (2, 3, 4)");
        Block wide = embedding()
                .optPositionalEncoding(Linear.builder().setUnits(5).build())
                .build();
        initialized(manager, wide, 2, 3);
        refused(manager, wide, ids(manager), "Linear", "(2, 3, 5)", "(2, 3, 4)");
    }

    @EngineTest
    void refusesPositionsForAnEncodingThatReturnsThemUnchanged(NDManager manager) {
        Block block = initialized(manager, BlockType.EMBEDDING_WITHOUT_POSITIONS.block(), 2, 3);
        refused(
                manager,
                block,
                List.of(ids(manager), manager.arange(3)),
                "without positions",
                "2 arrays",
                "expected [ids]");
    }

    @Test
    void refusesToReturnATableThatItDoesNotHave() {
        assertThatIllegalStateException()
                .isThrownBy(() -> positions().getEncodings())
                .withMessageContaining("initialize(manager, dataType, shapes)");
        InputEmbeddingBlock block =
                embedding().optTokenEmbedding(LambdaBlock.singleton(x -> x)).build();
        assertThatIllegalStateException()
                .isThrownBy(block::getTokenTable)
                .withMessageContainingAll("LambdaBlock", "find the table");
    }

    @EngineTest
    void refusesToSaveABlockThatWasNotInitialized(NDManager manager) {
        PositionalEncodingBlock block = positions();
        Forward.infer(manager, block, manager.zeros(X));
        assertThatIllegalStateException()
                .isThrownBy(() -> block.saveParameters(new DataOutputStream(new ByteArrayOutputStream())))
                .withMessageContainingAll("PositionalEncodingBlock(", "initialize(manager, dataType, shapes)");
    }
}
