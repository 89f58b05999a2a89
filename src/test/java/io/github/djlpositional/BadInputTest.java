package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the blocks refuse: each message says what was given, what is allowed, and what to do. */
class BadInputTest {

    private static PositionalEncodingBlock positions() {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .build();
    }

    private static InputEmbeddingBlock initializedEmbedding(NDManager manager) {
        InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        return block;
    }

    private static ThrowableAssertAlternative<?> refused(NDManager manager, Block block, NDArray... inputs) {
        return assertThatIllegalArgumentException().isThrownBy(() -> Forward.infer(manager, block, inputs));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
    void sizesThatAreNotPositive(int size) {
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        PositionalEncodingBlock.builder().setEmbeddingSize(size).build())
                .withMessage(
                        "embedding size %s is not positive: expected 1 or more; set it with" + " setEmbeddingSize(int)",
                        size);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optMaxSequenceLength(size)
                        .build())
                .withMessage(
                        "maximum sequence length %s is not positive: expected 1 or more; set it with"
                                + " optMaxSequenceLength(int)",
                        size);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(size)
                        .setEmbeddingSize(4)
                        .build())
                .withMessageContaining("vocabulary size " + size);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(4)
                        .setEmbeddingSize(size)
                        .build())
                .withMessageContaining("embedding size " + size);
    }

    @Test
    void requiredSettingsThatAreMissing() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PositionalEncodingBlock.builder().build())
                .withMessageContaining("setEmbeddingSize(int)");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> InputEmbeddingBlock.builder().setEmbeddingSize(4).build())
                .withMessageContaining("setVocabularySize(int)");
    }

    @ParameterizedTest
    @ValueSource(floats = {-0.1f, 1, 2, Float.NaN, Float.NEGATIVE_INFINITY})
    void dropoutRatesOutsideZeroToOne(float rate) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optDropoutRate(rate)
                        .build())
                .withMessageContaining("dropout rate " + rate)
                .withMessageContaining("outside [0, 1)")
                .withMessageContaining("optDropoutRate(float)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(4)
                        .setEmbeddingSize(4)
                        .optDropoutRate(rate)
                        .build())
                .withMessageContaining("dropout rate " + rate);
    }

    @Test
    void anEncodingOfAnotherSize() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optEncoding(SinusoidalEncoding.vaswani(6))
                        .build())
                .withMessageContaining("size=6")
                .withMessageContaining("the block's 4")
                .withMessageContaining("setEmbeddingSize(6)");
    }

    @Test
    void sequenceAxesAndScalesThatAreNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optSequenceAxis(-1)
                        .build())
                .withMessageContaining("sequence axis -1 is the embedding's")
                .withMessageContaining("optSequenceAxis(int)");
        for (float scale : new float[] {Float.NaN, Float.POSITIVE_INFINITY}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> PositionalEncodingBlock.builder()
                            .setEmbeddingSize(4)
                            .optLearnedScale(scale)
                            .build())
                    .withMessageContaining("learned scale " + scale + " is not finite");
        }
    }

    @EngineTest
    void inputsWithoutTheSequenceAxis(NDManager manager) {
        for (int axis : new int[] {2, 3, -4}) {
            PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(4)
                    .optSequenceAxis(axis)
                    .build();
            refused(manager, block, manager.zeros(new Shape(2, 3, 4)))
                    .withMessageContaining("has no sequence axis " + axis)
                    .withMessageContaining("expected 0 to 1, or -2 to -3");
        }
    }

    @EngineTest
    void inputsOfAnotherTypeThanTheLearnedScales(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optLearnedScale(1)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));
        refused(manager, block, manager.zeros(new Shape(1, 3, 4), DataType.FLOAT64))
                .withMessageContaining("data type float64: expected float32, that of the learned scale;");
    }

    @EngineTest
    void negativePositionsWhereTheBlockExtendsItself(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 20)
                .build();
        NDArray x = manager.zeros(new Shape(1, 1, 4));
        refused(manager, block, x, manager.create(new long[] {-1})).withMessageContaining("position -1");
        refused(manager, block, x, manager.create(new float[] {-1})).withMessageContaining("position -1.0");
        assertThatIllegalArgumentException().isThrownBy(() -> Forward.inferFrom(manager, -1, block, x));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 7})
    void paddingIndicesOutsideTheVocabulary(int index) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPaddingIndex(index)
                        .build())
                .withMessageContaining("padding index " + index + " is outside 0 to 6");
    }

    @Test
    void settingsThatContradictEachOther() {
        InputEmbeddingBlock.Builder builder =
                InputEmbeddingBlock.builder().setVocabularySize(7).setEmbeddingSize(4);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.optPositionalEncoding(positions())
                        .optMaxSequenceLength(20)
                        .build())
                .withMessageContaining("both a positional encoding and the maximum sequence length 20");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optTokenEmbedding(LambdaBlock.singleton(x -> x))
                        .optSparseGradients(true)
                        .build())
                .withMessageContaining("both a token embedding and sparse gradients");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(6)
                        .optPositionalEncoding(positions())
                        .build())
                .withMessageContaining("size 4 does not fit embedding size 6");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPositionalEncoding(PositionalEncodingBlock.builder()
                                .setEmbeddingSize(4)
                                .optAddToInput(false)
                                .build())
                        .build())
                .withMessageContaining("optAddToInput(true)");
    }

    @Test
    void encodingsOfGridsForSequences() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(8)
                        .optPositionalEncoding(GridPositionalEncodingBlock.builder()
                                .setEncoding(GridEncoding.multidim(2, 8))
                                .build())
                        .build())
                .withMessageContaining("would take the batch for an axis")
                .withMessageContaining("give a PositionalEncodingBlock");
    }

    @EngineTest
    void sequencesLongerThanTheTable(NDManager manager) {
        refused(manager, positions(), manager.zeros(new Shape(1, 11, 4)))
                .withMessage("sequence length 11 at start position 0 exceeds the maximum 10: build the block with"
                        + " optMaxSequenceLength(11) or more");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.inferFrom(manager, 8, positions(), manager.zeros(new Shape(1, 3, 4))))
                .withMessage("sequence length 3 at start position 8 exceeds the maximum 10: build the block with"
                        + " optMaxSequenceLength(11) or more");
        refused(manager, initializedEmbedding(manager), manager.zeros(new Shape(1, 11), DataType.INT64))
                .withMessageContaining("sequence length 11");
    }

    @EngineTest
    void startsThatAreNoPosition(NDManager manager) {
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        for (Object start : new Object[] {-1, Integer.MIN_VALUE, 11, Long.MAX_VALUE}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Forward.inferFrom(manager, start, positions(), x))
                    .withMessageContaining("startPosition " + start + " is outside 0 to 10");
        }
        for (Object start : new Object[] {1.5, "3", new int[0]}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Forward.inferFrom(manager, start, positions(), x))
                    .withMessageContaining("expected an Integer or a Long");
        }
    }

    @EngineTest
    void positionsOutOfRange(NDManager manager) {
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        refused(manager, positions(), x, manager.create(new long[] {0, 10, 1}))
                .withMessageContaining("position 10 at index 1 of (3) is outside 0 to 9")
                .withMessageContaining("optMaxSequenceLength(int)");
        refused(manager, positions(), x, manager.create(new int[] {0, 1, -1}))
                .withMessageContaining("position -1 at index 2");
        for (float bad : new float[] {-0.5f, 10, Float.NaN, Float.POSITIVE_INFINITY}) {
            refused(manager, positions(), x, manager.create(new float[] {0, 1, bad}))
                    .withMessageContaining("position " + (double) bad + " at index 2");
        }
        assertThatIllegalArgumentException().isThrownBy(() -> positions().encode(manager.create(10)));
    }

    @EngineTest
    void positionsOfAnotherShape(NDManager manager) {
        NDArray x = manager.zeros(new Shape(2, 3, 4));
        for (Shape shape : new Shape[] {
            new Shape(),
            new Shape(2),
            new Shape(4),
            new Shape(3, 3),
            new Shape(1, 3),
            new Shape(3, 2),
            new Shape(2, 3, 1)
        }) {
            refused(manager, positions(), x, manager.zeros(shape, DataType.INT64))
                    .withMessageContaining("positions of shape " + shape)
                    .withMessageContaining("expected (3) or (2, 3)");
        }
        refused(manager, positions(), manager.zeros(new Shape(3, 4)), manager.zeros(new Shape(3, 3), DataType.INT64))
                .withMessageContaining("expected (3);");
    }

    @EngineTest
    void positionsThatAreNoNumbers(NDManager manager) {
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        refused(manager, positions(), x, manager.create(new boolean[] {true, false, true}))
                .withMessageContaining("positions have data type boolean");
    }

    @EngineTest
    void positionsBesideAStart(NDManager manager) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.inferFrom(
                        manager, 1, positions(), manager.zeros(new Shape(1, 3, 4)), manager.arange(3)))
                .withMessageContaining("both positions and startPosition=1");
    }

    @EngineTest
    void inputsOfAnotherRankOrWidth(NDManager manager) {
        refused(manager, positions(), manager.zeros(new Shape(4)))
                .withMessageContaining("rank 1")
                .withMessageContaining("expandDims");
        refused(manager, positions(), manager.create(1f)).withMessageContaining("rank 0");
        refused(manager, positions(), manager.zeros(new Shape(2, 3, 6)))
                .withMessageContaining("width 6")
                .withMessageContaining("expected 4")
                .withMessageContaining("setEmbeddingSize(6)");
        refused(manager, positions()).withMessageContaining("0 inputs");
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        refused(manager, positions(), x, x, x).withMessageContaining("3 inputs");
    }

    @EngineTest
    void inputsThatAreNoRealNumbers(NDManager manager) {
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT64, DataType.UINT8, DataType.BOOLEAN}) {
            NDArray x = manager.zeros(new Shape(1, 3, 4), DataType.INT64).toType(type, false);
            refused(manager, positions(), x)
                    .withMessageContaining("data type " + type)
                    .withMessageContaining("expected float16, float32 and float64");
        }
    }

    @EngineTest
    void bfloat16BeforeAnArrayOfItIsMade(NDManager manager) {
        // on PyTorch, making one would end the JVM and this test with it
        assertThatIllegalArgumentException()
                .isThrownBy(() -> positions().initialize(manager, DataType.BFLOAT16, new Shape(1, 3, 4)))
                .withMessageContaining("data type bfloat16");
        InputEmbeddingBlock embedding = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .build();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> embedding.initialize(manager, DataType.BFLOAT16, new Shape(1, 3)))
                .withMessageContaining("data type bfloat16");
        assertThat(embedding.isInitialized()).isFalse();
    }

    @EngineTest
    void initializationWithWhatNoForwardTakes(NDManager manager) {
        for (Shape shape : new Shape[] {new Shape(4), new Shape(1, 3, 5), new Shape(1, 11, 4)}) {
            PositionalEncodingBlock block = positions();
            assertThatIllegalArgumentException().isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, shape));
            assertThat(block.isInitialized()).isFalse();
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> positions().initialize(manager, DataType.INT32, new Shape(1, 3, 4)));
        assertThatIllegalArgumentException().isThrownBy(() -> positions().initialize(manager, DataType.FLOAT32));
        int before = manager.getManagedArrays().size();
        InputEmbeddingBlock embedding = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .build();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> embedding.initialize(manager, DataType.FLOAT32, new Shape(1, 11)));
        assertThat(embedding.isInitialized()).isFalse();
        assertThat(manager.getManagedArrays()).hasSize(before);
    }

    @EngineTest
    void initializationThatLeavesAnInputEmbeddingAsItWas(NDManager manager) {
        InputEmbeddingBlock block = initializedEmbedding(manager);
        Shape[] before = block.getInputShapes();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32))
                .withMessageContaining("0 input shapes");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 11)));
        assertThat(block.getInputShapes()).isEqualTo(before);
    }

    @Test
    void positionsFromPaddingWithoutPadding() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPositionsFromPadding(1)
                        .build())
                .withMessageContaining("first position 1 and padding index null")
                .withMessageContaining("optPaddingIndex(int)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPaddingIndex(0)
                        .optPositionsFromPadding(-1)
                        .build());
    }

    @EngineTest
    void positionsBesideThoseFromPadding(NDManager manager) {
        InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optPaddingIndex(0)
                .optPositionsFromPadding(1)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        NDArray ids = manager.zeros(new Shape(1, 3), DataType.INT64);
        refused(manager, block, ids, manager.arange(3)).withMessageContaining("give the ids alone");
        assertThatIllegalArgumentException().isThrownBy(() -> Forward.inferFrom(manager, 1, block, ids));
    }

    @EngineTest
    void whatALearnedTableCannotTake(NDManager manager) {
        LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        refused(manager, block, x, manager.create(new float[] {0, 1, 2}))
                .withMessageContaining("a learned table has integer positions alone");
        refused(manager, block, x, manager.create(new int[] {0, 1, 10}))
                .withMessageContaining("position 10 at index 2");
        refused(manager, block, manager.zeros(new Shape(1, 11, 4))).withMessageContaining("sequence length 11");
        refused(manager, block, manager.zeros(new Shape(1, 3, 5))).withMessageContaining("width 5");
        refused(manager, block, manager.zeros(new Shape(1, 3, 4), DataType.FLOAT64))
                .withMessageContaining("expected float32, that of the learned table;");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.inferFrom(manager, -1, block, x))
                .withMessageContaining("startPosition -1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.BFLOAT16, new Shape(1, 3, 4)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 11, 4)));
    }

    @EngineTest
    void whatALearnedTableCannotStartFrom(NDManager manager) {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4);
        for (NDArray start : new NDArray[] {
            manager.zeros(new Shape(4)),
            manager.zeros(new Shape(2, 3, 4)),
            manager.zeros(new Shape(3, 4), DataType.INT32)
        }) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> builder.optInitialEncodings(start))
                    .withMessageContaining("expected (n, D) or (1, n, D) of float16, float32 or float64");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optEncoding(SinusoidalEncoding.vaswani(6))
                        .build())
                .withMessageContaining("start from vectors of size 6, the block's is 4");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.optEncoding(SinusoidalEncoding.vaswani(4))
                        .optInitialEncodings(manager.zeros(new Shape(3, 4)))
                        .build())
                .withMessageContaining("give what the table starts from once");
        for (int size : new int[] {0, -1}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> LearnedPositionalEncodingBlock.builder()
                            .setEmbeddingSize(size)
                            .build());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> LearnedPositionalEncodingBlock.builder()
                            .setEmbeddingSize(4)
                            .optMaxSequenceLength(size)
                            .build());
        }
    }

    @EngineTest
    void tokenIdsOutOfRange(NDManager manager) {
        InputEmbeddingBlock block = initializedEmbedding(manager);
        for (DataType type : new DataType[] {DataType.INT64, DataType.INT32, DataType.INT8}) {
            for (long bad : new long[] {7, -1, 100}) {
                NDArray ids = manager.create(new long[] {0, 6, bad, 1}, new Shape(2, 2))
                        .toType(type, false);
                refused(manager, block, ids)
                        .withMessageContaining("token id " + bad + " at index 2 of (2, 2) is outside 0 to 6")
                        .withMessageContaining("setVocabularySize(int)");
            }
        }
    }

    @EngineTest
    void tokenIdsOfAnotherTypeOrRank(NDManager manager) {
        InputEmbeddingBlock block = initializedEmbedding(manager);
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.BOOLEAN}) {
            refused(manager, block, manager.zeros(new Shape(1, 3)).toType(type, false))
                    .withMessageContaining("data type " + type)
                    .withMessageContaining("toType(DataType.INT64, false)");
        }
        for (Shape shape : new Shape[] {new Shape(3), new Shape(), new Shape(1, 3, 1)}) {
            refused(manager, block, manager.zeros(shape, DataType.INT64)).withMessageContaining("expected (B, T)");
        }
        refused(manager, block).withMessageContaining("0 inputs");
    }

    @EngineTest
    void blocksOfAUsersThatGiveAnotherShape(NDManager manager) {
        NDArray ids = manager.zeros(new Shape(2, 3), DataType.INT64);
        InputEmbeddingBlock narrow = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optTokenEmbedding(LambdaBlock.singleton(x -> x.getManager().ones(new Shape(2, 3, 5))))
                .build();
        refused(manager, narrow, ids).withMessageContaining("turned ids (2, 3) into (2, 3, 5): expected (2, 3, 4)");
        InputEmbeddingBlock flat = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optPositionalEncoding(Linear.builder().setUnits(5).build())
                .build();
        flat.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        refused(manager, flat, ids).withMessageContaining("turned (2, 3, 4) into (2, 3, 5)");
    }

    @Test
    void encodingsBeforeThereIsAManager() {
        assertThatIllegalStateException()
                .isThrownBy(() -> positions().getEncodings())
                .withMessageContaining("initialize(manager, dataType, shapes)");
    }

    @Test
    void tokenTablesOfABlockOfTheUsers() {
        InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optTokenEmbedding(LambdaBlock.singleton(x -> x))
                .build();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(block::getTokenTable)
                .withMessageContaining("getTokenEmbedding()");
    }

    @EngineTest
    void aRefusedForwardLeavesTheBlockUsable(NDManager manager) {
        PositionalEncodingBlock block = positions();
        refused(manager, block, manager.zeros(new Shape(1, 11, 4)));
        assertThat(Forward.infer(manager, block, manager.zeros(new Shape(1, 10, 4)))
                        .toFloatArray())
                .isEqualTo(SinusoidalEncoding.vaswani(4).table(0, 10));
    }

    @EngineTest
    void positionsForABlockThatHandsThemThroughAreRefused(NDManager manager) {
        Block block = TestBlocks.EMBEDDING_WITHOUT_POSITIONS.block();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        NDArray ids = manager.zeros(new Shape(2, 3), DataType.INT64);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, ids, manager.arange(3)))
                .withMessage(
                        "the positional encoding LambdaBlock answered with 2 arrays: expected one; give positions to an"
                                + " encoding that takes them alone");
    }

    @EngineTest
    void whatToDoFitsABlockThatExtendsItself(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optAutoExtend(1 << 20)
                .build();
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.inferFrom(manager, 1L << 40, block, x))
                .withMessage("startPosition 1099511627776 is outside 0 to 2147483646: count positions from 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.inferFrom(manager, Integer.MAX_VALUE - 1, block, x))
                .withMessage("sequence length 3 at start position 2147483646 exceeds the maximum 2147483646:"
                        + " split the sequence");
        NDArray positions = manager.create(new long[] {0, -1, 2});
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, x, positions))
                .withMessage("position -1 at index 1 of (3) is outside 0 to 2147483645: count positions from 0");
    }

    @EngineTest
    void aBlockThatNobodyInitializedHasNothingToSave(NDManager manager) {
        PositionalEncodingBlock block =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        Forward.infer(manager, block, manager.zeros(new Shape(1, 3, 4)));
        assertThatIllegalStateException()
                .isThrownBy(() -> block.saveParameters(new DataOutputStream(new ByteArrayOutputStream())))
                .withMessageStartingWith("the block PositionalEncodingBlock(")
                .withMessageEndingWith(" has no input shapes to save: expected one that was initialized or loaded;"
                        + " call initialize(manager, dataType, shapes) before it is saved");
    }
}
