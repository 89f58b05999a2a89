package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Forward.train;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.CoordinateAugmentation;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.VisionTransformerBlock.Coordinates;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Pictures of one channel, with patches of one pixel and vectors of 8 numbers. Whole models are compared with the
 * published ones.
 */
class VisionTransformerBlockTest extends OnEachEngine {

    private static PatchEmbeddingBlock.Builder input() {
        return PatchEmbeddingBlock.builder()
                .setPatchSize(1, 1)
                .setEmbeddingSize(8)
                .optChannels(1);
    }

    private static TransformerStackBlock stack(int size, MultiHeadAttentionBlock.Builder first, int count) {
        return TransformerStackBlock.builder()
                .setLayers(
                        count,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(first.build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(size)
                                        .setHiddenSize(8)
                                        .build()))
                .build();
    }

    private static TransformerStackBlock windows(int size, int rows, int columns, boolean classToken) {
        return TransformerStackBlock.builder()
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(size)
                                        .setHeadCount(2)
                                        .optRelativeEncoding(WindowBiasBlock.builder()
                                                .setHeadCount(2)
                                                .setWindow(rows, columns)
                                                .optClassToken(classToken)
                                                .build())
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(size)
                                        .setHiddenSize(8)
                                        .build()))
                .build();
    }

    private static TransformerStackBlock plain(int size) {
        return stack(
                size, MultiHeadAttentionBlock.builder().setEmbeddingSize(size).setHeadCount(2), 1);
    }

    private static VisionTransformerBlock.Builder encoder(TransformerStackBlock... stages) {
        return VisionTransformerBlock.builder().setInput(input().build()).setStages(stages);
    }

    /** The second layer has windows that are shifted by (1, 1): compared with attention to all, with a mask. */
    @Test
    void cellsAttendWithinWindowsThatAreShiftedInEverySecondLayer() {
        VisionTransformerBlock block =
                filled(manager, encoder(windows(8, 2, 3, false)).build(), DataType.FLOAT64, new Shape(2, 1, 4, 6));
        NDArray pictures = numbers(manager, 1, DataType.FLOAT64, 2, 1, 4, 6);
        NDArray before = infer(manager, block, pictures);
        // a cell reaches the cells of its window, and in the next layer those of the shifted windows of all these
        for (int row = 0; row < 4; row++) {
            for (int column = 0; column < 6; column++) {
                NDArray changed = pictures.duplicate();
                changed.set(new NDIndex("0, 0, {}, {}", row, column), 5);
                NDArray difference =
                        infer(manager, block, changed).sub(before).abs().max(new int[] {2});
                for (int cell = 0; cell < 24; cell++) {
                    boolean isReached = reaches(row, column, cell / 6, cell % 6);
                    assertThat(difference.getDouble(0, cell) > 1e-9)
                            .as("cell %s of a change in %s, %s", cell, row, column)
                            .isEqualTo(isReached);
                    assertThat(difference.getDouble(1, cell)).isZero();
                }
            }
        }
    }

    /** Whether a window of the first layer has a cell of the window of the second layer with another cell. */
    private static boolean reaches(int fromRow, int fromColumn, int row, int column) {
        for (int r = fromRow / 2 * 2; r < fromRow / 2 * 2 + 2; r++) {
            for (int c = fromColumn / 3 * 3; c < fromColumn / 3 * 3 + 3; c++) {
                if (shifted(r, 2) == shifted(row, 2) && shifted(c, 3) == shifted(column, 3)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The number of a shifted window; those at the two ends of an axis stand in one window, and are hidden there. */
    private static int shifted(int index, int size) {
        return Math.floorDiv(index - size / 2, size);
    }

    private static VisionTransformerBlock.Builder dinov3() {
        return VisionTransformerBlock.builder()
                .setInput(input().optClassToken(true).build())
                .setStages(stack(
                        8,
                        MultiHeadAttentionBlock.builder()
                                .setEmbeddingSize(8)
                                .setHeadCount(2)
                                .optRelativeEncoding(RotaryPresets.dinov3(4).build()),
                        1));
    }

    @ParameterizedTest
    @EnumSource
    void coordinatesAreThoseOfThePresets(Coordinates coordinates) {
        VisionTransformerBlock block =
                filled(manager, dinov3().optCoordinates(coordinates).build(), DataType.FLOAT64, new Shape(2, 1, 2, 3));
        NDArray pictures = numbers(manager, 1, DataType.FLOAT64, 2, 1, 2, 3);
        double[][] expected = coordinates == Coordinates.CENTERS
                ? RotaryPresets.dinov3Positions(1, 2, 3)
                : new double[][] {{0, 0, 0, 0, 1, 1, 1}, {0, 0, 1, 2, 0, 1, 2}};
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, manager.create(expected).expandDims(1));
        NDArray x = infer(manager, block.getInput(), pictures);
        NDArray y = block.getStages()
                .get(0)
                .forward(new ParameterStore(manager, false), new NDList(x), false, params)
                .head();
        requireClose(infer(manager, block, pictures), doubles(y), 1e-12);
    }

    /** The numbers that the engine draws, which its seed repeats. The class token stays at 0. */
    @Test
    void coordinatesAreChangedInTrainingOnly() {
        CoordinateAugmentation augmentation = new CoordinateAugmentation(0.5, 1.5, 2);
        VisionTransformerBlock block = filled(
                manager,
                dinov3().optCoordinates(Coordinates.CENTERS)
                        .optAugmentation(augmentation)
                        .build(),
                DataType.FLOAT64,
                new Shape(2, 1, 2, 3));
        NDArray pictures = numbers(manager, 1, DataType.FLOAT64, 2, 1, 2, 3);
        NDArray x = infer(manager, block.getInput(), pictures);
        NDArray positions =
                manager.create(RotaryPresets.dinov3Positions(1, 2, 3)).expandDims(1);
        requireClose(infer(manager, block, pictures), doubles(ofLayers(block, x, positions)), 1e-12);
        manager.getEngine().setRandomSeed(3);
        NDArray changed = augmentation.apply(positions, 1);
        manager.getEngine().setRandomSeed(3);
        NDArray first = train(manager, block, pictures);
        requireClose(first, doubles(ofLayers(block, x, changed)), 1e-12);
        assertThat(train(manager, block, pictures).sub(first).abs().max().getDouble())
                .as("other numbers in the next forward")
                .isGreaterThan(1e-3);
        // positions of the caller are not changed
        NDArray y = block.forward(
                        new ParameterStore(manager, false),
                        new NDList(pictures),
                        true,
                        params(PositionalEncodingBlock.POSITIONS, positions))
                .head();
        requireClose(y, doubles(ofLayers(block, x, positions)), 1e-12);
    }

    private NDArray ofLayers(VisionTransformerBlock block, NDArray x, NDArray positions) {
        return inferAt(manager, positions, block.getStages().get(0), x);
    }

    /** In transformers, a stage whose windows were whole pictures is not shifted for larger pictures either. */
    @Test
    void windowsAreShiftedWhereTheTrainedGridHasSeveral() {
        NDArray pictures = numbers(manager, 1, DataType.FLOAT64, 2, 1, 4, 6);
        NDArray[] results = new NDArray[3];
        for (int i = 0; i < results.length; i++) {
            VisionTransformerBlock.Builder builder = encoder(windows(8, 2, 3, false));
            VisionTransformerBlock block = (i == 0 ? builder : builder.optTrainedGrid(2 * i, 3 * i)).build();
            results[i] = infer(manager, filled(manager, block, DataType.FLOAT64, new Shape(2, 1, 4, 6)), pictures);
        }
        assertThat(results[2]).isEqualTo(results[0]);
        assertThat(results[1].sub(results[0]).abs().max().getDouble()).isGreaterThan(1e-3);
    }

    @Test
    @SuppressWarnings("try") // MXNet drops only while gradients are collected
    void stochasticDepthDropsThePartsOfWholePictures() {
        VisionTransformerBlock block =
                filled(manager, encoder(windowsWithDropPath()).build(), DataType.FLOAT32, new Shape(1, 1, 4, 6));
        NDArray pictures = numbers(manager, 1, DataType.FLOAT32, 64, 1, 4, 6);
        NDArray x = infer(manager, block.getInput(), pictures);
        NDArray y;
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            y = block.forward(new ParameterStore(manager, false), new NDList(pictures), true)
                    .singletonOrThrow();
        }
        // a picture without both parts is as before, and has no cell that is not
        NDArray isSame = y.sub(x).abs().max(new int[] {2}).lt(1e-6).toType(DataType.FLOAT32, false);
        float[] cells = isSame.sum(new int[] {1}).toFloatArray();
        for (float count : cells) {
            assertThat(count).isIn(0f, 24f);
        }
        assertThat(cells).contains(0f).contains(24f);
    }

    private static TransformerStackBlock windowsWithDropPath() {
        return TransformerStackBlock.builder()
                .setLayers(
                        1,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHeadCount(2)
                                        .optRelativeEncoding(WindowBiasBlock.builder()
                                                .setHeadCount(2)
                                                .setWindow(2, 3)
                                                .build())
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHiddenSize(8)
                                        .build())
                                .optNormPlacement(NormPlacement.BEFORE_PART)
                                .optDropPathRate(0.5f))
                .optFinalNorm(false)
                .build();
    }

    @Test
    void coordinatesAreThoseOfEachStage() {
        MultiHeadAttentionBlock.Builder first = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(RotaryPresets.dinov3(4).build());
        MultiHeadAttentionBlock.Builder second = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(16)
                .setHeadCount(4)
                .optRelativeEncoding(RotaryPresets.dinov3(4).build());
        VisionTransformerBlock block = filled(
                manager,
                encoder(stack(8, first, 1), stack(16, second, 1))
                        .optCoordinates(Coordinates.INDICES)
                        .build(),
                DataType.FLOAT32,
                new Shape(1, 1, 4, 6));
        assertThat(infer(manager, block, zeros(manager, 2, 1, 4, 6)).getShape()).isEqualTo(new Shape(2, 6, 16));
    }

    @Test
    void aStageHasAQuarterOfThePatches() {
        VisionTransformerBlock block =
                filled(manager, encoder(plain(8), plain(16)).build(), DataType.FLOAT32, new Shape(1, 1, 4, 6));
        assertThat(infer(manager, block, zeros(manager, 2, 1, 4, 6)).getShape()).isEqualTo(new Shape(2, 6, 16));
        assertThat(block.getOutputShapes(new Shape[] {new Shape(2, 1, 4, 6)})).containsExactly(new Shape(2, 6, 16));
    }

    @Test
    void saysWhatDoesNotFit() {
        VisionTransformerBlock inWindows =
                filled(manager, encoder(windows(8, 2, 2, false)).build(), DataType.FLOAT32, new Shape(1, 1, 4, 4));
        VisionTransformerBlock inStages =
                filled(manager, encoder(plain(8), plain(16)).build(), DataType.FLOAT32, new Shape(1, 1, 4, 4));
        VisionTransformerBlock inOneWindow = filled(
                manager,
                VisionTransformerBlock.builder()
                        .setInput(input().optClassToken(true).build())
                        .setStages(windows(8, 2, 2, true))
                        .build(),
                DataType.FLOAT32,
                new Shape(1, 1, 2, 2));
        assertAll(
                rejected(
                        () -> infer(manager, inWindows, zeros(manager, 1, 1, 4, 5)),
                        "pictures of 4 by 5 patches in stage 0 with windows of (2, 2)",
                        "expected whole windows"),
                rejected(
                        () -> infer(manager, inStages, zeros(manager, 1, 1, 3, 4)),
                        "pictures of (3, 4) patches for 2 stages",
                        "multiples of 2 patches"),
                rejected(
                        () -> infer(manager, inOneWindow, zeros(manager, 1, 1, 4, 4)),
                        "pictures of 4 by 4 patches",
                        "one window, since it has a class token"),
                rejected(() -> encoder(plain(16)).build(), "stage 0 has layers of size 16", "expected 8"),
                rejected(() -> encoder(plain(8), plain(8)).build(), "stage 1 has layers of size 8", "expected 16"),
                rejected(() -> encoder().build(), "stages are missing"),
                rejected(
                        () -> encoder(stack(
                                        8,
                                        MultiHeadAttentionBlock.builder()
                                                .setEmbeddingSize(8)
                                                .setHeadCount(2)
                                                .optRelativeEncoding(WindowBiasBlock.builder()
                                                        .setHeadCount(2)
                                                        .setWindow(1, 2, 2)
                                                        .build()),
                                        1))
                                .build(),
                        "stage 0 has windows of [(1, 2, 2)]",
                        "rows and columns"),
                rejected(
                        () -> dinov3().optAugmentation(new CoordinateAugmentation(0, 1, 2))
                                .build(),
                        "rescale=2.0",
                        "optCoordinates"),
                rejected(
                        () -> encoder(windows(8, 2, 2, false))
                                .optCoordinates(Coordinates.INDICES)
                                .build(),
                        "coordinates INDICES for stage 0 with windows"),
                rejected(
                        () -> VisionTransformerBlock.builder()
                                .setInput(input().optRegisters(1).build())
                                .setStages(plain(8), plain(16))
                                .build(),
                        "1 tokens before the patches",
                        "expected none"));
    }
}
