package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.nn.Block;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.concurrent.Callable;

/** Queries and keys (B, N, T, H) rotated. */
final class Rotations {

    static final Operation ROTATE = new Operation("ROTATE", "", setting -> rotate(setting, PairLayout.CONCATENATED));
    static final Operation ROTATE_INTERLEAVED =
            new Operation("ROTATE_INTERLEAVED", "", setting -> rotate(setting, PairLayout.INTERLEAVED));
    static final Operation ROTATE_AS_USUAL = new Operation("ROTATE_AS_USUAL", "usual in DJL", Rotations::rotateAsUsual);

    private Rotations() {}

    private static Callable<NDResource> rotate(Setting setting, PairLayout layout) {
        NDArray queries = setting.x();
        NDArray keys = setting.x();
        Block block = setting.initialized(
                RotaryEmbeddingBlock.builder()
                        .setHeadSize(setting.size(3))
                        .optLayout(layout)
                        .build(),
                setting.shape());
        return () -> setting.forward(block, queries, keys);
    }

    /** The usual formulation, x · cos + rotate_half(x) · sin, in DJL's operations. */
    private static Callable<NDResource> rotateAsUsual(Setting setting) {
        NDArray queries = setting.x();
        NDArray keys = setting.x();
        int half = setting.size(3) / 2;
        NDArray steps = setting.manager()
                .arange((float) half)
                .mul(-Math.log(10_000) / half)
                .exp();
        NDArray angles =
                setting.manager().arange((float) setting.size(2)).reshape(-1, 1).mul(steps);
        NDArray cosines = NDArrays.concat(new NDList(angles.cos(), angles.cos()), 1);
        NDArray sines = NDArrays.concat(new NDList(angles.sin(), angles.sin()), 1);
        return () -> new NDList(rotateAsUsual(queries, cosines, sines), rotateAsUsual(keys, cosines, sines));
    }

    private static NDArray rotateAsUsual(NDArray x, NDArray cosines, NDArray sines) {
        long half = x.getShape().get(3) / 2;
        try (NDArray first = x.get(NDIndex.sliceAxis(3, 0, half));
                NDArray second = x.get(NDIndex.sliceAxis(3, half, 2 * half));
                NDArray negative = second.neg();
                NDArray rotated = NDArrays.concat(new NDList(negative, first), 3);
                NDArray along = x.mul(cosines);
                NDArray across = rotated.mul(sines)) {
            return along.add(across);
        }
    }
}
