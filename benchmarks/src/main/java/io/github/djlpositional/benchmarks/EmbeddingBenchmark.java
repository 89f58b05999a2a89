package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Embedding;
import io.github.djlpositional.InputEmbeddingBlock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** Token ids (B, T) to vectors (B, T, D) with sinusoidal encodings; scaled, the vectors are multiplied by √D before. */
public class EmbeddingBenchmark extends EngineBenchmark {

    private static final int VOCABULARY = 32_000;

    /** Token ids. */
    public abstract static class Tokens extends Setting {

        @Param("8x2048x1024")
        String shape;

        @Param({"false", "true"})
        boolean scaled;

        NDArray ids;
        int size;

        @Override
        void prepare() {
            Shape all = shape(shape);
            ids = ids(all.slice(0, 2), VOCABULARY);
            size = (int) all.get(2);
        }
    }

    /** The table of tokens, and the encoding of the book. */
    public static class D2l extends Tokens {

        NDArray table;
        Block positions;

        @Override
        void prepare() {
            super.prepare();
            table = numbers(new Shape(VOCABULARY, size));
            positions = new D2lEncoding(manager, (int) ids.getShape().get(1), size);
        }
    }

    /** The block of this library. */
    public static class Library extends Tokens {

        Block block;

        @Override
        void prepare() {
            super.prepare();
            block = InputEmbeddingBlock.builder()
                    .setVocabularySize(VOCABULARY)
                    .setEmbeddingSize(size)
                    .optScaleEmbedding(scaled)
                    .build();
            block.setInitializer((manager, shape, type) -> numbers(shape), Parameter.Type.WEIGHT);
            initialized(block, ids.getShape());
        }
    }

    /** Without scale and positions. */
    @Benchmark
    public void bareLookUp(D2l in) {
        in.finish(Embedding.embedding(in.ids, in.table, SparseFormat.DENSE));
    }

    @Benchmark
    public void d2l(D2l in) {
        try (NDArray embedded = Embedding.embedding(in.ids, in.table, SparseFormat.DENSE)
                        .head();
                NDArray scaled = in.scaled ? embedded.mul(Math.sqrt(in.size)) : embedded) {
            in.finish(in.forward(in.positions, scaled));
        }
    }

    @Benchmark
    public void library(Library in) {
        in.finish(in.forward(in.block, in.ids));
    }
}
