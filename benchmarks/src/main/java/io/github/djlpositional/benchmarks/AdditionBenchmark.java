package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.PositionalEncodingBlock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** Sinusoidal encodings added to an input (B, T, D). */
public class AdditionBenchmark extends EngineBenchmark {

    static final int POSITIONS = 5000;

    /** An input. */
    public static class Input extends Setting {

        @Param({"1x1x512", "32x128x512", "8x2048x1024"})
        String shape;

        @Param("DEFAULT")
        Allocator allocator;

        NDArray x;

        @Override
        void prepare() throws Exception {
            allocator.requireInProcess();
            x = numbers(shape(shape));
        }

        final int positions() {
            return Math.max(POSITIONS, (int) x.getShape().get(1));
        }
    }

    /** Encodings that are there already. */
    public static class Prepared extends Input {

        NDArray encodings;

        @Override
        void prepare() throws Exception {
            super.prepare();
            encodings = numbers(Shape.update(x.getShape(), 0, 1));
        }
    }

    /** The block of the book. */
    public static class D2l extends Input {

        Block block;

        @Override
        void prepare() throws Exception {
            super.prepare();
            block = new D2lEncoding(manager, positions(), (int) x.getShape().get(2));
        }
    }

    /** The block of this library. */
    public static class Library extends Input {

        Block block;

        @Override
        void prepare() throws Exception {
            super.prepare();
            block = initialized(block((int) x.getShape().get(2), positions()), x.getShape());
        }
    }

    static Block block(int size, int positions) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(positions)
                .build();
    }

    /** Reads and writes the same bytes, and nothing else. */
    @Benchmark
    public void copy(Input in) {
        in.finish(in.x.duplicate());
    }

    /** The limit. */
    @Benchmark
    public void bareAdd(Prepared in) {
        in.finish(in.x.add(in.encodings));
    }

    @Benchmark
    public void d2l(D2l in) {
        in.finish(in.forward(in.block, in.x));
    }

    @Benchmark
    public void library(Library in) {
        in.finish(in.forward(in.block, in.x));
    }
}
