package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.convolutional.Conv2d;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Patches of 2 by 3 pixels of pictures of 4 by 9 pixels, to vectors of 5 numbers, compared with a convolution. */
class PatchEmbeddingBlockTest extends OnEachEngine {

    private static final Shape PICTURES = new Shape(2, 3, 4, 9);

    private static PatchEmbeddingBlock.Builder patches() {
        return PatchEmbeddingBlock.builder().setPatchSize(2, 3).setEmbeddingSize(5);
    }

    private static LearnedPositionalEncodingBlock positions(int... grid) {
        return LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(5)
                .optGrid(1, grid)
                .optResampling(GridResampling.BICUBIC)
                .build();
    }

    /** The vectors of the patches by DJL's convolution with the parameters of a block, (B, patches, 5). */
    private NDArray convolved(PatchEmbeddingBlock block, NDArray pictures) {
        NDArray weight = block.getProjection().getParameters().get("weight").getArray();
        NDArray bias = block.getProjection().getParameters().get("bias").getArray();
        Shape stride = new Shape(2, 3);
        NDArray y = Conv2d.conv2d(
                        pictures, weight.reshape(5, 3, 2, 3), bias, stride, new Shape(0, 0), new Shape(1, 1), 1)
                .singletonOrThrow();
        return y.reshape(pictures.getShape().get(0), 5, -1).transpose(0, 2, 1);
    }

    @Test
    void patchesAreThoseOfAConvolution() {
        PatchEmbeddingBlock block = filled(manager, patches().build(), DataType.FLOAT32, PICTURES);
        NDArray pictures = numbers(manager, 1, DataType.FLOAT32, 2, 3, 4, 9);
        NDArray y = infer(manager, block, pictures);
        assertThat(y.getShape()).isEqualTo(new Shape(2, 6, 5));
        requireClose(y, doubles(convolved(block, pictures)), 1e-5);
    }

    @Test
    void aClassTokenHasAPositionAndRegistersHaveNone() {
        PatchEmbeddingBlock block = filled(
                manager,
                patches()
                        .optClassToken(true)
                        .optRegisters(2)
                        .optPositionalEncoding(positions(2, 3))
                        .build(),
                DataType.FLOAT32,
                PICTURES);
        NDArray pictures = numbers(manager, 1, DataType.FLOAT32, 2, 3, 4, 9);
        NDArray classToken = block.getClassToken().getArray().expandDims(0).repeat(0, 2);
        NDArray positioned =
                infer(manager, block.getPositionalEncoding(), classToken.concat(convolved(block, pictures), 1));
        NDArray registers = block.getRegisters().getArray().expandDims(0).repeat(0, 2);
        NDArray expected = NDArrays.concat(new NDList(positioned.get(":, :1"), registers, positioned.get(":, 1:")), 1);
        requireClose(infer(manager, block, pictures), doubles(expected), 1e-5);
    }

    @Test
    void picturesOfOtherSizesHaveResampledPositions() {
        PatchEmbeddingBlock block = filled(
                manager,
                patches()
                        .optClassToken(true)
                        .optPositionalEncoding(positions(4, 4))
                        .build(),
                DataType.FLOAT32,
                new Shape(1, 3, 8, 12));
        NDArray pictures = numbers(manager, 1, DataType.FLOAT32, 2, 3, 4, 9);
        assertThat(infer(manager, block, pictures).getShape()).isEqualTo(new Shape(2, 7, 5));
        PatchEmbeddingBlock larger = patches()
                .optClassToken(true)
                .optPositionalEncoding(positions(1, 2))
                .build();
        larger.initialize(manager, DataType.FLOAT32, PICTURES); // a trainer does this for the pictures it gets
        assertThat(infer(manager, larger, pictures).getShape()).isEqualTo(new Shape(2, 7, 5));
        assertThat(block.getOutputShapes(new Shape[] {PICTURES})).containsExactly(new Shape(2, 7, 5));
    }

    @Test
    void saysWhichPicturesItTakes() {
        PatchEmbeddingBlock block = filled(manager, patches().build(), DataType.FLOAT32, PICTURES);
        String sizes = "expected (B, 3, H, W) with H a multiple of 2 and W of 3; resize or crop them";
        assertAll(
                rejected(() -> infer(manager, block, zeros(manager, 2, 3, 5, 9)), "(2, 3, 5, 9)", sizes),
                rejected(() -> infer(manager, block, zeros(manager, 2, 3, 4, 10)), "(2, 3, 4, 10)", sizes),
                rejected(() -> infer(manager, block, zeros(manager, 2, 4, 9, 3)), "(2, 4, 9, 3)", "the channels first"),
                rejected(
                        () -> infer(manager, block, zeros(manager, 2, 1, 4, 9)),
                        "(2, 1, 4, 9)",
                        "or build it with optChannels(1)"),
                rejected(() -> infer(manager, block, zeros(manager, 3, 4, 9)), "(3, 4, 9)", sizes),
                rejected(() -> patches().setPatchSize(0, 3).build(), "patchSize"),
                rejected(() -> patches().setPatchSize(1 << 15, 1 << 15).build(), "numbers in a patch"),
                rejected(
                        () -> PatchEmbeddingBlock.fromArguments(Map.of("patchSize", List.of(16), "embeddingSize", 8)),
                        "patchSize [16]",
                        "rows and columns"),
                rejected(
                        () -> infer(manager, block, zeros(manager, 2, 3, 4, 9).toType(DataType.UINT8, false)),
                        "uint8",
                        "expected float32"));
    }
}
