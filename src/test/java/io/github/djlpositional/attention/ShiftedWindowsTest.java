package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.Windows;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * Pictures of 6 or 3 by 8 cells, B = 2, and windows of 3 by 4; the code of the guide compared with torchvision's
 * blocks.
 */
class ShiftedWindowsTest extends OnEachEngine {

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
        NDList inputs = new NDList(Windows.split(moved, 3, 4));
        if (shifted) {
            inputs.add(Windows.mask(x, rows, columns, 3, 4));
        }
        NDArray y = layer.forward(new ParameterStore(manager, false), inputs, training)
                .singletonOrThrow();
        NDArray merged = Windows.merge(y, shape, 3, 4);
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
