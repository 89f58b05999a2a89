package io.github.djlpositional.benchmarks;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** The table of T sinusoidal encodings of size D computed, and added to an input (1, 128, D) for the first time. */
public class TableBenchmark extends EngineBenchmark {

    /** An input. */
    public static class Input extends Setting {

        @Param({"5000x512", "1000000x64"})
        String shape;

        int positions;
        int size;
        NDArray x;

        @Override
        void prepare() throws IOException {
            Shape table = shape(shape);
            positions = (int) table.get(0);
            size = (int) table.get(1);
            x = numbers(new Shape(1, Math.min(128, positions), size));
        }
    }

    /** A saved block of this library. */
    public static class Library extends Input {

        byte[] saved;

        @Override
        void prepare() throws IOException {
            super.prepare();
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            initialized(AdditionBenchmark.block(size, positions), x.getShape())
                    .saveParameters(new DataOutputStream(bytes));
            saved = bytes.toByteArray();
        }
    }

    @Benchmark
    public void d2l(Input in) {
        try (NDManager manager = in.manager.newSubManager()) {
            in.finish(in.forward(new D2lEncoding(manager, in.positions, in.size), in.x));
        }
    }

    @Benchmark
    public void library(Library in) throws IOException, MalformedModelException {
        Block block = AdditionBenchmark.block(in.size, in.positions);
        block.loadParameters(in.manager, new DataInputStream(new ByteArrayInputStream(in.saved)));
        in.finish(in.forward(block, in.x));
        block.clear();
    }
}
