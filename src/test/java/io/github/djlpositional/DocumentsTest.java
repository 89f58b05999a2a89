package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DocumentsTest extends OnEachEngine {

    private static final Documents ROWS = Documents.ofRows(Documents.ofLengths(2, 3), Documents.ofLengths(4, 1));

    private static final int[][] POSITIONS = {{0, 1, 0, 1, 2}, {0, 1, 2, 3, 0}};

    private static PairList<String, Object> packed(Documents documents) {
        return params(PositionalEncodingBlock.DOCUMENTS, documents);
    }

    private NDArray x() {
        return numbers(manager, 1, DataType.FLOAT64, 2, 5, 4);
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"INT32", "INT64", "UINT8"})
    void aDocumentEndsWhereTheNumberChanges(DataType type) {
        NDArray numbers = manager.create(new int[][] {{7, 7, 3, 3, 3}, {0, 0, 0, 0, 7}});
        assertThat(Documents.ofNumbers(numbers.toType(type, false)).getLengths())
                .isEqualTo(List.of(List.of(2, 3), List.of(4, 1)))
                .isEqualTo(ROWS.getLengths());
        assertThat(Documents.ofNumbers(manager.create(new int[] {1, 0, 1})).getLengths())
                .containsExactly(List.of(1, 1, 1));
    }

    @Test
    void largeNumbersOfDocumentsAreNotRounded() {
        assertThat(Documents.ofNumbers(manager.create(new long[] {1L << 53, 1L + (1L << 53)}))
                        .getLengths())
                .containsExactly(List.of(1, 1));
    }

    @Test
    void aDocumentBeginsWhereThePositionIsNotGreaterThanTheOneBefore() {
        NDArray positions = manager.create(new int[][] {{0, 5, 5, 6, 9}, {1, 2, 3, 4, 3}});
        for (DataType type : List.of(DataType.INT64, DataType.FLOAT32)) {
            assertThat(Documents.ofPositions(positions.toType(type, false)).getLengths())
                    .isEqualTo(ROWS.getLengths());
        }
    }

    @Test
    void positionsBeginAgainInEachDocument() {
        NDArray x = x();
        try (NDArray one = Documents.ofLengths(2, 3).positions(x, 1);
                NDArray each = ROWS.positions(x, 1);
                NDArray timeMajor = ROWS.positions(x.transpose(1, 0, 2), 0);
                NDArray ids = ROWS.positions(manager.zeros(new Shape(5, 2)), 0);
                NDArray fromTheEnd = ROWS.positions(x, -2)) {
            assertThat(ids).isEqualTo(timeMajor);
            assertThat(fromTheEnd).isEqualTo(each);
            assertThat(one.getShape()).isEqualTo(new Shape(5));
            assertThat(one.toIntArray()).containsExactly(POSITIONS[0]);
            assertThat(each.getShape()).isEqualTo(new Shape(2, 5));
            assertThat(each.toIntArray()).containsExactly(0, 1, 0, 1, 2, 0, 1, 2, 3, 0);
            assertThat(timeMajor.toIntArray()).containsExactly(each.transpose().toIntArray());
        }
    }

    /** Sinusoids, a trained table, and both in an embedding of ids. */
    @Test
    void absolutePositionsBeginAgainInEachDocument() {
        NDManager own = manager.newSubManager();
        NDArray x = numbers(own, 1, DataType.FLOAT64, 2, 5, 4);
        NDArray positions = own.create(POSITIONS);
        Block sinusoids = PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        Block learned = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(4)
                .build();
        learned.initialize(manager, DataType.FLOAT64, new Shape(2, 4, 4));
        for (Block block : List.of(sinusoids, learned)) {
            double[] expected = doubles(inferAt(own, positions, block, x));
            int before = own.getManagedArrays().size();
            NDArray y = infer(own, block, packed(ROWS), x);
            assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
            requireClose(y, expected, 0);
        }
        Block timeMajor = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optSequenceAxis(0)
                .build();
        NDArray y = infer(own, timeMajor, packed(ROWS), x.transpose(1, 0, 2));
        requireClose(y.transpose(1, 0, 2), doubles(infer(own, sinusoids, packed(ROWS), x)), 0);
    }

    @Test
    void anEmbeddingCountsThePositionsOfEachDocument() {
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(10)
                .setEmbeddingSize(4)
                .optPaddingIndex(0)
                .build();
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        NDArray ids = manager.create(new int[][] {{5, 1, 3, 4, 0}, {2, 9, 4, 1, 7}});
        NDArray positions = manager.create(POSITIONS);
        NDArray y = infer(manager, input, packed(ROWS), ids);
        requireClose(y, doubles(infer(manager, input, ids, positions)), 0);
        // positions of the caller are used
        NDArray others = manager.create(new int[] {4, 3, 2, 1, 0});
        PairList<String, Object> both = packed(ROWS);
        both.add(PositionalEncodingBlock.POSITIONS, others);
        requireClose(infer(manager, input, both, ids), doubles(infer(manager, input, ids, others)), 0);
        requireClose(infer(manager, input, packed(ROWS), ids, others), doubles(infer(manager, input, ids, others)), 0);
    }

    @Test
    void rejectsWhatIsNoDocument() {
        InputEmbeddingBlock fromPadding = InputEmbeddingBlock.builder()
                .setVocabularySize(10)
                .setEmbeddingSize(4)
                .optPaddingIndex(0)
                .optPositionsFromPadding(1)
                .build();
        fromPadding.initialize(manager, DataType.FLOAT32, new Shape(1, 5));
        NDArray ids = manager.create(new int[][] {{5, 1, 3, 4, 0}});
        Documents five = Documents.ofLengths(2, 3);
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(4).build();
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(2).build();
        Block sinusoids = PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        NDArray heads = numbers(manager, 1, DataType.FLOAT32, 1, 2, 5, 4);
        assertAll(
                rejected(Documents::ofLengths, "lengths"),
                rejected(() -> five.positions(ids, 2), "axis 2", "(1, 5)", "1"),
                rejected(() -> Documents.ofLengths(3, 0), "document 1", "length 0"),
                rejected(() -> Documents.ofLengths(3, -2), "document 1", "length -2"),
                rejected(Documents::ofRows, "rows"),
                rejected(() -> Documents.ofRows(five, ROWS), "2 rows"),
                rejected(() -> Documents.ofNumbers(manager.create(new float[] {0, 1})), "(2)", "float32"),
                rejected(() -> Documents.ofNumbers(manager.create(new Shape(2, 0), DataType.INT32)), "(2, 0)"),
                rejected(() -> Documents.ofPositions(manager.create(3)), "()", "(B, T)"),
                rejected(() -> five.ofBatch(1, 6), "[2, 3]", "5", "6"),
                rejected(() -> ROWS.ofBatch(3, 5), "2 rows", "3"),
                rejected(() -> infer(manager, fromPadding, packed(five), ids), "[2, 3]", "positionsFromPadding"),
                rejected(() -> infer(manager, rotary, packed(five), heads), "[2, 3]", "positions(x, axis)"),
                rejected(() -> infer(manager, alibi, packed(five), heads), "[2, 3]", "positions(x, axis)"),
                rejected(() -> infer(manager, sinusoids, packed(Documents.ofLengths(2)), x()), "[2]", "5"),
                rejected(() -> infer(manager, sinusoids, packed(Documents.ofRows(five, five, five)), x()), "3 rows"));
    }
}
