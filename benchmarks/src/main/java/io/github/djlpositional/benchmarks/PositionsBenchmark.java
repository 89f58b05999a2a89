package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Block;
import ai.djl.nn.core.Embedding;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** Sinusoidal encodings of explicit positions (B, T), added to an input (B, T, D). */
public class PositionsBenchmark extends EngineBenchmark {

    /** An input and its positions. */
    public static class Input extends Setting {

        @Param("32x128x512")
        String shape;

        NDArray x;
        NDArray positions;

        @Override
        void prepare() {
            x = numbers(shape(shape));
            positions = ids(x.getShape().slice(0, 2), AdditionBenchmark.POSITIONS);
        }
    }

    /** A table of encodings. */
    public static class Prepared extends Input {

        NDArray table;

        @Override
        void prepare() {
            super.prepare();
            table = numbers(new Shape(AdditionBenchmark.POSITIONS, x.getShape().get(2)));
        }
    }

    /** The block of this library. */
    public static class Library extends Input {

        Block block;

        @Override
        void prepare() {
            super.prepare();
            block = initialized(
                    AdditionBenchmark.block((int) x.getShape().get(2), AdditionBenchmark.POSITIONS), x.getShape());
        }
    }

    /** The limit. */
    @Benchmark
    public void bareLookUpAndAdd(Prepared in) {
        try (NDList rows = Embedding.embedding(in.positions, in.table, SparseFormat.DENSE)) {
            in.finish(in.x.add(rows.head()));
        }
    }

    @Benchmark
    public void library(Library in) {
        in.finish(in.forward(in.block, in.x, in.positions));
    }
}
