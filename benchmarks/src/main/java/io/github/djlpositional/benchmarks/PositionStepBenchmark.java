package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** A decoder's steps at 4096 positions: the encoding of the next position is added to an input (1, 1, D). */
public class PositionStepBenchmark extends EngineBenchmark {

    private static final int POSITIONS = 4096;

    /** An input. */
    public static class Input extends Setting {

        @Param("1x1x512")
        String shape;

        NDArray x;
        private int position;

        @Override
        void prepare() {
            x = numbers(shape(shape));
        }

        final int next() {
            position = (position + 1) % POSITIONS;
            return position;
        }
    }

    /** An encoding of each position. */
    public static class Prepared extends Input {

        NDList rows;

        @Override
        void prepare() {
            super.prepare();
            rows = numbers(new Shape(POSITIONS, x.getShape().get(2))).split(POSITIONS, 0);
        }
    }

    /** The block of this library. */
    public static class Library extends Input {

        Block block;

        @Override
        void prepare() {
            super.prepare();
            block = initialized(AdditionBenchmark.block((int) x.getShape().get(2), POSITIONS), x.getShape());
        }
    }

    /** The limit with a single row, which stays in the cache of the processor. */
    @Benchmark
    public void bareAddOfOneRow(Prepared in) {
        in.finish(in.x.add(in.rows.get(0)));
    }

    /** The limit. */
    @Benchmark
    public void bareAdd(Prepared in) {
        in.finish(in.x.add(in.rows.get(in.next())));
    }

    @Benchmark
    public void library(Library in) {
        PairList<String, Object> params = new PairList<>(1);
        params.add(PositionalEncodingBlock.START_POSITION, in.next());
        in.finish(in.block.forward(in.store, new NDList(in.x), false, params));
    }
}
