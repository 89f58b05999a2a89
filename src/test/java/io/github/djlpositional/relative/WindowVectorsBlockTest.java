package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.NaiveAttention.dot;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.array;
import static io.github.djlpositional.relative.ScoreTerms.requireTerms;
import static io.github.djlpositional.relative.ScoreTerms.rows;
import static io.github.djlpositional.relative.ScoreTerms.set;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Learned vectors of the differences of rows and columns in a window, multiplied by the queries. */
class WindowVectorsBlockTest extends OnEachEngine {

    private static final Shape HEADS = new Shape(-1, -1, -1, 4);

    private static WindowVectorsBlock.Builder window(int... sizes) {
        return WindowVectorsBlock.builder().setHeadSize(4).setWindow(sizes);
    }

    private WindowVectorsBlock initialized(WindowVectorsBlock.Builder builder) {
        WindowVectorsBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, -1, -1));
        return block;
    }

    /** Section 4.1 of the paper: q · (a[y - y'] + b[x - x']). */
    @Test
    void theTermIsTheProductOfTheQueryAndTwoVectors() {
        WindowVectorsBlock block = filled(manager, window(3, 4).build(), DataType.FLOAT64, HEADS);
        double[][] ofRows = rows(block, "rows");
        double[][] ofColumns = rows(block, "columns");
        requireTerms(
                manager,
                block,
                (head, q, k, i, j) -> dot(q, ofRows[i / 4 - j / 4 + 2]) + dot(q, ofColumns[i % 4 - j % 4 + 3]));
    }

    /** MViTv2 for videos: also the vectors of frames. */
    @Test
    void theTermOfAVideoHasThreeVectors() {
        WindowVectorsBlock block = filled(manager, window(2, 2, 3).build(), DataType.FLOAT64, HEADS);
        double[][] ofFrames = rows(block, "frames");
        double[][] ofRows = rows(block, "rows");
        double[][] ofColumns = rows(block, "columns");
        requireTerms(
                manager,
                block,
                (head, q, k, i, j) -> dot(q, ofFrames[i / 6 - j / 6 + 1])
                        + dot(q, ofRows[i / 3 % 2 - j / 3 % 2 + 1])
                        + dot(q, ofColumns[i % 3 - j % 3 + 2]));
    }

    /** As in the code of MViTv2, which adds nothing to its row and its column. */
    @Test
    void theTermOfAClassTokenIsZero() {
        WindowVectorsBlock block =
                filled(manager, window(3, 4).optClassToken(true).build(), DataType.FLOAT64, HEADS);
        double[][] ofRows = rows(block, "rows");
        double[][] ofColumns = rows(block, "columns");
        requireTerms(manager, block, (head, q, k, i, j) -> {
            int row = (i - 1) / 4 - (j - 1) / 4 + 2;
            int column = (i - 1) % 4 - (j - 1) % 4 + 3;
            return i == 0 || j == 0 ? 0 : dot(q, ofRows[row]) + dot(q, ofColumns[column]);
        });
    }

    /** In a window of one row, a query of (1, 0) reads the first numbers of the columns' vectors. */
    @Test
    void theFirstVectorIsOfTheKeyFarthestAfterTheQuery() {
        WindowVectorsBlock block = initialized(window(1, 3).setHeadSize(2));
        set(block, "columns", 1, 0, 2, 0, 3, 0, 4, 0, 5, 0);
        NDArray queries = reals(manager, 1, 0, 1, 0, 1, 0).reshape(1, 1, 3, 2);
        requireClose(infer(manager, block, queries), new double[] {3, 2, 1, 4, 3, 2, 5, 4, 3}, 0);
    }

    @Test
    void vectorsAreResampledAsThoseOfSam() {
        WindowVectorsBlock trained = initialized(window(2, 1).setHeadSize(2));
        set(trained, "rows", 0, 2, 3, -1, 1, 0);
        set(trained, "columns", 4, 5);
        WindowVectorsBlock block = initialized(window(3, 2).setHeadSize(2));
        block.resample(trained);
        // torch 1.13: interpolate of both columns from 3 to 5, mode="linear"; numbers up to 4, rounded once
        double[] expected = {0, 2, 1.2, 0.8, 3, -1, 1.8, -0.4, 1, 0};
        requireClose(array(block, "rows"), expected, 2.5e-7);
        requireClose(array(block, "columns"), new double[] {4, 5, 4, 5, 4, 5}, 0);
    }

    @Test
    void rejectsVectorsToResampleOfAnotherHeadSizeOrWithoutValues() {
        WindowVectorsBlock block = window(2, 2).build();
        assertAll(
                rejected(
                        () -> block.resample(window(2, 2).setHeadSize(6).build()),
                        "headSize 6",
                        4,
                        "WindowVectorsBlock(headSize=6",
                        "WindowVectorsBlock(headSize=4"),
                rejected(() -> block.resample(initialized(window(1, 3, 3))), "[1, 3, 3]", "2 axes"),
                rejected(() -> block.resample(initialized(window(3, 3))), "rows"),
                rejected(() -> initialized(window(3, 3)).resample(block), "rows"));
    }

    /** An attention with a new block is one without. */
    @Test
    void beginsWithZeros() {
        WindowVectorsBlock block = initialized(window(2, 3));
        assertThat(block.getArguments())
                .isEqualTo(Map.of(
                        "type", "WindowVectorsBlock", "headSize", 4, "window", List.of(2, 3), "classToken", false));
        requireClose(array(block, "rows"), new double[3 * 4], 0);
        requireClose(array(block, "columns"), new double[5 * 4], 0);
    }

    @Test
    void rejectsWindowsWithoutPositiveSizes() {
        assertAll(
                rejected(window(3, -1)::build, "window -1"),
                rejected(
                        () -> WindowVectorsBlock.fromArguments(Map.of("headSize", 4, "window", List.of())),
                        "window []",
                        "one to 3"));
    }

    @Test
    void rejectsQueriesOfAnotherShape() {
        WindowVectorsBlock block = initialized(window(2, 3));
        ScoreTerms.requireRejected(manager, block, "(B, N, T, 4)", new Shape(1, 3, 4), new Shape(1, 2, 3, 6));
    }

    @Test
    void rejectsPositionsOutsideTheWindow() {
        assumeCpu();
        WindowVectorsBlock block = initialized(window(2, 3));
        NDArray x = zeros(manager, 1, 2, 7, 4);
        assertAll(rejectedWithoutLeak(manager, () -> infer(manager, block, x), "position 6", "0 to 5"));
    }
}
