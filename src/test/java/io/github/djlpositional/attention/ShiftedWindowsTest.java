package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.Windows;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * Pictures of 6 or 3 by 8 cells, B = 2, and windows of 3 by 4; the code of the guide compared with torchvision's
 * blocks.
 */
class ShiftedWindowsTest extends OnEachEngine {

    /** Two videos of 4 frames of 3 by 6 cells, and their windows of 2 frames of 1 by 3. */
    private static final Shape VIDEOS = new Shape(2, 4, 3, 6, 2);

    private static final Shape WINDOW = new Shape(2, 1, 3);

    private static TransformerLayerBlock layer() {
        return TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(8)
                        .setHeadCount(2)
                        .optRelativeEncoding(WindowBiasBlock.builder()
                                .setHeadCount(2)
                                .setWindow(3, 4)
                                .build())
                        .build())
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(8)
                        .setHiddenSize(16)
                        .optNonlinearity(Nonlinearity.GELU)
                        .build())
                .optNormPlacement(NormPlacement.BEFORE_PART)
                .build();
    }

    /**
     * A layer in windows of the pictures x, (2, R, 8, 8), as torchvision has it: no shift of an axis with one window.
     */
    private NDArray forward(boolean shifted, TransformerLayerBlock layer, NDArray x, boolean training) {
        Shape shape = x.getShape();
        long rows = shifted && shape.get(1) > 3 ? 1 : 0;
        long columns = shifted ? 2 : 0;
        NDArray moved = Windows.roll(Windows.roll(x, rows, 1), columns, 2);
        Shape window = new Shape(3, 4);
        NDList inputs = new NDList(Windows.split(moved, window));
        if (shifted) {
            inputs.add(Windows.mask(x, new Shape(rows, columns), window));
        }
        NDArray y = layer.forward(new ParameterStore(manager, false), inputs, training)
                .singletonOrThrow();
        NDArray merged = Windows.merge(y, shape, window);
        return Windows.roll(Windows.roll(merged, shape.get(1) - rows, 1), 8 - columns, 2);
    }

    @CartesianTest
    void equalsSwinsBlock(
            @Values(strings = {"swin", "swin_with_one_row_of_windows"}) String name,
            @Values(booleans = {true, false}) boolean shifted)
            throws Exception {
        StoredLayer stored = new StoredLayer(manager, name);
        TransformerLayerBlock layer = stored.load(layer());
        NDArray x = stored.get("input");
        double[] expected = doubles(stored.get(shifted ? "output_shifted" : "output"));
        requireClose(forward(shifted, layer, x, false), expected, 1e-10);
    }

    /** Frame by frame, then row by row: the cells of a window are the same for its vectors and for these numbers. */
    @Test
    void windowsOfVideosHaveTheCellsOfEachAxis() {
        NDArray x = manager.arange(2 * 4 * 3 * 6 * 2)
                .toType(DataType.FLOAT32, false)
                .reshape(VIDEOS);
        NDArray windows = Windows.split(x, WINDOW);
        assertThat(windows.getShape()).isEqualTo(new Shape(2 * 2 * 3 * 2, 2 * 1 * 3, 2));
        // the window of video 1, frames 2 and 3, row 1 and columns 3 to 5
        NDArray expected = x.get("1, 2:4, 1:2, 3:6").reshape(6, 2);
        assertThat(windows.get("{}", 12 + 6 + 2 + 1)).isEqualTo(expected);
        assertThat(Windows.merge(windows, VIDEOS, WINDOW)).isEqualTo(x);
    }

    /** A key is visible if on each axis both cells were moved, or neither. */
    @Test
    void theMaskOfVideosHidesCellsThatWereMovedOnAnyAxis() {
        NDArray mask = Windows.mask(manager.zeros(VIDEOS), new Shape(1, 0, 1), WINDOW);
        assertThat(mask.getShape()).isEqualTo(new Shape(24, 6, 6));
        boolean[] actual = mask.toBooleanArray();
        for (int i = 0; i < actual.length; i++) {
            int window = i / 36 % 12;
            int query = i / 6 % 6;
            int key = i % 6;
            assertThat(actual[i]).isEqualTo(isMoved(window, query) == isMoved(window, key));
        }
    }

    /** 2 for the last frame, and 1 for the last column, of a cell in the windows (2, 3, 2) of a video. */
    private static int isMoved(int window, int cell) {
        int frame = window / 6 * 2 + cell / 3;
        int column = window % 2 * 3 + cell % 3;
        return (frame == 3 ? 2 : 0) + (column == 5 ? 1 : 0);
    }

    @Test
    void gradientsPassWindowsOfVideos() {
        NDArray x = manager.randomNormal(VIDEOS);
        NDArray weight = manager.randomNormal(VIDEOS);
        x.setRequiresGradient(true);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = Windows.roll(Windows.merge(Windows.split(x, WINDOW), VIDEOS, WINDOW), 1, 2);
            collector.backward(y.mul(weight).sum());
        }
        assertThat(x.getGradient()).isEqualTo(Windows.roll(weight, 2, 2));
    }

    @Test
    void aWindowOfASequenceIsASliceOfIt() {
        NDArray x = manager.arange(12f).reshape(1, 6, 2);
        assertThat(Windows.split(x, new Shape(3))).isEqualTo(x.reshape(2, 3, 2));
    }

    @Test
    void rejectsWindowsThatDoNotFit() {
        NDArray x = manager.zeros(VIDEOS);
        NDArray windows = Windows.split(x, WINDOW);
        assertAll(
                rejected(() -> Windows.split(x, new Shape(3, 1, 3)), "(3, 1, 3)", "(2, 4, 3, 6, 2)"),
                rejected(() -> Windows.split(x, new Shape(1, 3)), "(1, 3)", "(2, 4, 3, 6, 2)"),
                rejected(() -> Windows.split(x, new Shape(0, 1, 3)), "(0, 1, 3)"),
                rejected(() -> Windows.merge(windows, VIDEOS, new Shape(2, 1, 4)), "(2, 1, 4)"),
                rejected(() -> Windows.mask(x, new Shape(1, 1), WINDOW), "(1, 1)", "(2, 1, 3)"));
    }

    /** On MXNet, the gradient of erf, for GELU, has the factor 2 / √π in FLOAT32, which is 5e-8 of it too large. */
    @ParameterizedTest
    @ValueSource(strings = {"swin", "swin_with_one_row_of_windows"})
    void gradientsOfShiftedWindowsAreThoseOfSwinsBlock(String name) throws Exception {
        StoredLayer stored = new StoredLayer(manager, name);
        TransformerLayerBlock layer = stored.load(layer());
        NDArray x = stored.get("input");
        // gradients are up to 157
        double tolerance = engine == TestEngine.MXNET ? 157 * 5e-8 : 1e-10;
        stored.requireGradients(layer, () -> forward(true, layer, x, true), tolerance, x);
    }
}
