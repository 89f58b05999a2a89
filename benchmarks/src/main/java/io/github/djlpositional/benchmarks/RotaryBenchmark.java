package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** Queries and keys (B, N, T, H) rotated. */
public class RotaryBenchmark extends EngineBenchmark {

    /** Queries and keys. */
    public abstract static class Input extends Setting {

        @Param("8x16x1024x64")
        String shape;

        @Param({"INTERLEAVED", "CONCATENATED"})
        PairLayout layout;

        NDArray queries;
        NDArray keys;

        @Override
        void prepare() {
            queries = numbers(shape(shape));
            keys = numbers(shape(shape));
        }
    }

    /** The tables that a program with DJL's operations prepares, (T, H). */
    public static class Tables extends Input {

        NDArray cosines;
        NDArray sines;

        @Override
        void prepare() {
            super.prepare();
            Shape shape = queries.getShape();
            long pairs = shape.get(3) / 2;
            NDArray frequencies =
                    manager.arange((float) pairs).mul(-Math.log(10_000) / pairs).exp();
            NDArray angles = manager.arange((float) shape.get(2)).reshape(-1, 1).mul(frequencies);
            NDArray twice = layout == PairLayout.INTERLEAVED ? angles.repeat(1, 2) : angles.concat(angles, 1);
            cosines = twice.cos();
            sines = twice.sin();
        }

        /** x · cos + (x with each pair (a, b) replaced by (-b, a)) · sin. */
        final NDArray rotate(NDArray x) {
            return scoped(() -> {
                if (layout == PairLayout.CONCATENATED) {
                    NDList halves = x.split(2, 3);
                    NDArray turned = halves.get(1).neg().concat(halves.get(0), 3);
                    return x.mul(cosines).add(turned.mul(sines));
                }
                NDArray first = x.get("..., ::2");
                NDArray second = x.get("..., 1::2");
                NDArray turned = NDArrays.stack(new NDList(second.neg(), first), 4);
                return x.mul(cosines).add(turned.reshape(x.getShape()).mul(sines));
            });
        }
    }

    /** The block of this library. */
    public static class Library extends Input {

        Block block;

        @Override
        void prepare() {
            super.prepare();
            RotaryEmbeddingBlock.Builder builder = RotaryEmbeddingBlock.builder()
                    .setHeadSize((int) queries.getShape().get(3))
                    .optLayout(layout);
            block = initialized(builder.build(), queries.getShape());
        }
    }

    /** The usual formula in DJL's operations. */
    @Benchmark
    public void djl(Tables in) {
        in.finish(new NDList(in.rotate(in.queries), in.rotate(in.keys)));
    }

    @Benchmark
    public void library(Library in) {
        in.finish(in.forward(in.block, in.queries, in.keys));
    }
}
