package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.relative.ScoreTerms.rows;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Learned biases of the differences of rows and columns in a window. */
class WindowBiasBlockTest extends OnEachEngine {

    private static WindowBiasBlock.Builder window(int... sizes) {
        return WindowBiasBlock.builder().setHeadCount(1).setWindow(sizes);
    }

    private WindowBiasBlock initialized(WindowBiasBlock.Builder builder) {
        WindowBiasBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        return block;
    }

    /** A block whose bias is the row of the table. */
    private WindowBiasBlock counted(WindowBiasBlock.Builder builder) {
        WindowBiasBlock block = initialized(builder);
        ScoreTerms.count(block, "biases");
        return block;
    }

    /** Section 3.2 of the paper: the table has a row for each difference of rows and of columns. */
    @Test
    void theBiasIsThatOfTheDifferenceOfRowsAndColumns() {
        WindowBiasBlock block = filled(manager, window(3, 4).setHeadCount(2).build(), DataType.FLOAT64);
        double[][] biases = rows(block, "biases");
        requireBiases(manager, block, (head, i, j) -> biases[(i / 4 - j / 4 + 2) * 7 + i % 4 - j % 4 + 3][head]);
    }

    /** Video Swin Transformer, section 3.2: also for each difference of frames. */
    @Test
    void theBiasOfAVideoIsAlsoThatOfTheDifferenceOfFrames() {
        WindowBiasBlock block = filled(manager, window(3, 2, 4).setHeadCount(2).build(), DataType.FLOAT64);
        double[][] biases = rows(block, "biases");
        assertThat(biases).hasDimensions(5 * 3 * 7, 2);
        assertThat(block.getWindow()).isEqualTo(new Shape(3, 2, 4));
        requireBiases(manager, block, (head, i, j) -> {
            int frames = i / 8 - j / 8 + 2;
            int rows = i / 4 % 2 - j / 4 % 2 + 1;
            return biases[(frames * 3 + rows) * 7 + i % 4 - j % 4 + 3][head];
        });
    }

    /** The rows of the class token, which are the last three, in a window of three axes. */
    @Test
    void aVideoMayHaveAClassToken() {
        WindowBiasBlock block = counted(window(2, 1, 2).optClassToken(true));
        assertThat(infer(manager, block, zeros(manager, 1, 5, 4)).toFloatArray())
                .containsExactly(11, 9, 9, 9, 9, 10, 4, 3, 1, 0, 10, 5, 4, 2, 1, 10, 7, 6, 4, 3, 10, 8, 7, 5, 4);
    }

    @Test
    void aWindowOfASequenceHasARowForEachDistance() {
        assertThat(infer(manager, counted(window(3)), zeros(manager, 1, 3, 4)).toFloatArray())
                .containsExactly(2, 1, 0, 3, 2, 1, 4, 3, 2);
    }

    /** Video Swin also uses the biases of its window for fewer frames. */
    @Test
    void fewerFramesThanTheWindowHasAreItsFirstOnes() {
        NDArray fewer = infer(manager, counted(window(3, 1, 2)), zeros(manager, 1, 4, 4));
        assertThat(fewer.toFloatArray()).containsExactly(7, 6, 4, 3, 8, 7, 5, 4, 10, 9, 7, 6, 11, 10, 8, 7);
    }

    /** relative_position_index of Swin's WindowAttention with window_size (2, 2), from its published listing. */
    @Test
    void theTableHasTheOrderOfSwin() {
        WindowBiasBlock swin = counted(window(2, 2));
        assertThat(infer(manager, swin, zeros(manager, 1, 4, 4)).toFloatArray())
                .containsExactly(4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4);
    }

    /** The same with BEiT's three ids: 9 for the class token as the query, 10 as the key, 11 as both. */
    @Test
    void theTableHasThreeRowsOfAClassTokenAsInBeit() {
        WindowBiasBlock beit = counted(window(2, 2).optClassToken(true));
        assertThat(infer(manager, beit, zeros(manager, 1, 5, 4)).toFloatArray())
                .containsExactly(11, 9, 9, 9, 9, 10, 4, 3, 1, 0, 10, 5, 4, 2, 1, 10, 7, 6, 4, 3, 10, 8, 7, 5, 4);
        assertThat(beit.getBiases().getArray().getShape()).isEqualTo(new Shape(12, 1));
        assertThat(beit.getBiases()).isSameAs(beit.getParameters().get("biases"));
    }

    /** For example, the visible patches of a masked autoencoder: the cells (0, 1) and (1, 0). */
    @Test
    void positionsAreTheNumbersOfCells() {
        NDArray cells = integers(manager, 1, 2);
        NDArray biases = inferAt(manager, cells, counted(window(2, 2)), zeros(manager, 1, 2, 4));
        assertThat(biases.toFloatArray()).containsExactly(4, 2, 6, 4);
    }

    @Test
    void biasesAreResampledAsThoseOfSwin() {
        WindowBiasBlock trained = initialized(window(2, 3).optClassToken(true));
        double[] before = new double[18];
        for (int i = 0; i < before.length; i++) {
            before[i] = 7 * i % 16 / 8.0;
        }
        ScoreTerms.set(trained, "biases", before);
        WindowBiasBlock block = initialized(window(3, 2).optClassToken(true));
        block.resample(trained);
        // torch 1.13: interpolate((3, 5), size=(5, 3), mode="bicubic", align_corners=False)
        double[] expected = {
            0.18018518,
            1.906,
            1.1153704,
            0.38846296,
            1.0925,
            1.4223148,
            0.712963,
            0.125,
            1.6481482,
            0.97746295,
            0.2375,
            1.0739815,
            1.123963,
            0.536,
            0.55722225
        };
        NDArray biases = block.getBiases().getArray();
        // numbers up to 2, rounded once
        requireClose(biases.get(":15").flatten(), expected, 2.5e-7);
        // the class token's rows
        requireClose(biases.get("15:"), new double[] {before[15], before[16], before[17]}, 0);
        requireClose(trained.getBiases().getArray(), before, 0);
    }

    /** Reference: {@code BeitRelativePositionBias} of transformers 5.23, trained for 2 × 2 patches, with 3 × 3. */
    @Test
    void biasesAreResampledAsThoseOfBeit() {
        WindowBiasBlock trained = initialized(window(2, 2).optClassToken(true));
        ScoreTerms.set(trained, "biases", 0, 1, 4, 2, 2, 4, 1, 0, 1, 4, 2, 2);
        WindowBiasBlock block = initialized(window(3, 3).optClassToken(true));
        block.resample(trained, GridResampling.BILINEAR);
        NDArray biases = infer(manager, block, zeros(manager, 1, 10, 4));
        double[] ofTheClassToken = {2, 4, 4, 4, 4, 4, 4, 4, 4, 4};
        double[] ofTheFirstPatch = {2, 2, 2, 2, 1.4, 1.04, 0.8, 1, 0.4, 0};
        double[] ofTheLastPatch = {2, 1, 0.6, 0, 2.2, 1.64, 0.8, 4, 3.2, 2};
        requireClose(biases.get("0, 0, 0"), ofTheClassToken, 0);
        requireClose(biases.get("0, 0, 1"), ofTheFirstPatch, 5e-7);
        requireClose(biases.get("0, 0, 9"), ofTheLastPatch, 5e-7);
    }

    /** {@code RelPosBias} of timm 1.0.31, trained for 2 × 2 cells, with 3 × 3. */
    @Test
    void biasesAreResampledAsThoseOfTimm() {
        WindowBiasBlock trained = initialized(window(2, 2));
        ScoreTerms.set(trained, "biases", 0, 3.5, 7, 2.5, 6, 1.5, 5, 0.5, 4);
        WindowBiasBlock block = initialized(window(3, 3));
        block.resample(trained, GridResampling.GEOMETRIC);
        double[] expected = {0, 0, 3.5, 7, 7, 0, 0, 3.5, 7, 7, 2.5, 2.5, 6, 1.5, 1.5, 5, 5, 0.5, 4, 4, 5, 5, 0.5, 4, 4};
        requireClose(block.getBiases().getArray().flatten(), expected, 0);
    }

    /** Interpolated between two frames: torch's trilinear interpolation from 3 to 5 differences. */
    @Test
    void biasesOfVideosAreResampledOnEachAxis() {
        WindowBiasBlock trained = initialized(window(2, 1, 1));
        ScoreTerms.set(trained, "biases", 0, 3, 1);
        WindowBiasBlock block = initialized(window(3, 1, 2));
        block.resample(trained, GridResampling.BILINEAR);
        double[] expected = {0, 0, 0, 1.2, 1.2, 1.2, 3, 3, 3, 1.8, 1.8, 1.8, 1, 1, 1};
        requireClose(block.getBiases().getArray().flatten(), expected, 2.5e-7);
    }

    @Test
    void rejectsBlocksToResampleThatDifferInMoreThanTheWindow() {
        WindowBiasBlock block = window(2, 3).setHeadCount(2).build();
        assertAll(
                rejected(
                        () -> block.resample(window(2, 2).setHeadCount(3).build()),
                        "headCount 3",
                        2,
                        "WindowBiasBlock(headCount=3",
                        "WindowBiasBlock(headCount=2"),
                rejected(
                        () -> block.resample(
                                window(2, 2).setHeadCount(2).optClassToken(true).build()),
                        "classToken=true",
                        "classToken=false"),
                rejected(() -> block.resample(window(2, 2).setHeadCount(2).build()), "biases"),
                rejected(
                        () -> initialized(window(2, 3)).resample(initialized(window(1, 2, 3))), "3 axes", "expected 2"),
                rejected(() -> block.resample(initialized(window(2, 2).setHeadCount(2))), "biases"),
                rejected(
                        () -> initialized(window(2, 3).setHeadCount(2))
                                .resample(window(2, 2).setHeadCount(2).build()),
                        "biases"));
    }

    @Test
    void hasNoClassTokenByDefault() {
        assertThat(window(2, 3).build().getArguments())
                .isEqualTo(Map.of(
                        "type", "WindowBiasBlock", "headCount", 1, "window", List.of(2, 3), "classToken", false));
    }

    @Test
    void rejectsWindowsWithoutPositiveSizesAndTooLargeOnes() {
        assertAll(
                rejected(WindowBiasBlock.builder().setHeadCount(1)::build, "window"),
                rejected(window()::build, "window []", "one to 3"),
                rejected(
                        () -> WindowBiasBlock.fromArguments(Map.of("headCount", 2, "window", List.of(3, 4, 5, 6))),
                        "window [3, 4, 5, 6]",
                        "one to 3"),
                rejected(window(0, 3)::build, "window 0"),
                rejected(window(64, 64, 64)::build, "[64, 64, 64]", 1 << 20),
                rejected(window(1 << 20, 1 << 20, 1 << 20)::build, 1 << 20),
                rejected(window(513, 513)::build, "[513, 513]", 1 << 20));
        // (2 · 512 - 1)² is less than 2^20
        assertThat(window(512, 512).build().getArguments()).containsEntry("window", List.of(512, 512));
    }

    @Test
    void rejectsPositionsOutsideTheWindow() {
        assumeCpu();
        WindowBiasBlock block = counted(window(2, 3));
        NDArray x = zeros(manager, 1, 7, 4);
        NDArray one = zeros(manager, 1, 1, 4);
        NDArray outside = integers(manager, 6);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, block, x), "position 6", "0 to 5"),
                rejectedWithoutLeak(
                        manager, () -> inferAt(manager, outside, block, one), "position 6", "[2, 3]", "0 to 5"));
        assertThat(infer(manager, block, x.get(":, :6")).getShape()).isEqualTo(new Shape(1, 1, 6, 6));
    }
}
