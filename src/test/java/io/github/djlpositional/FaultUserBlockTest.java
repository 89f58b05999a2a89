package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.FaultBlock.Fault;
import io.github.djlpositional.FaultBlock.Stage;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import java.util.List;
import java.util.function.Supplier;

/**
 * A user's own block fails within a block of the library: nothing leaks, and the block goes on once the user's does.
 */
class FaultUserBlockTest {

    private static final int SIZE = 4;

    /** A block of the library and the user's block within it. */
    private record Pair(Block outer, FaultBlock inner, Shape input) {}

    private static FaultBlock positions() {
        return new FaultBlock(new Shape(1, SIZE), tokens -> tokens.add(1));
    }

    private static FaultBlock tokens() {
        return new FaultBlock(
                new Shape(7, SIZE),
                ids -> ids.toType(DataType.FLOAT32, true).expandDims(2).repeat(2, SIZE));
    }

    private static InputEmbeddingBlock.Builder embedding() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(SIZE)
                .optScaleEmbedding(true)
                .optPaddingIndex(0);
    }

    private static Pair withPositions() {
        FaultBlock own = positions();
        return new Pair(embedding().optPositionalEncoding(own).build(), own, new Shape(2, 3));
    }

    private static Pair withTokens() {
        FaultBlock own = tokens();
        return new Pair(embedding().optTokenEmbedding(own).build(), own, new Shape(2, 3));
    }

    private static final List<Supplier<Pair>> EMBEDDINGS =
            List.of(FaultUserBlockTest::withPositions, FaultUserBlockTest::withTokens);

    private static void assertUsable(NDManager manager, Pair pair) {
        NDArray ids = manager.ones(pair.input(), DataType.INT64);
        assertThat(Forward.infer(manager, pair.outer(), ids).getShape())
                .isEqualTo(pair.input().add(SIZE));
    }

    @EngineTest
    void nothingLeaksFromAForwardAndTheNextOneWorks(NDManager root) {
        for (Supplier<Pair> maker : EMBEDDINGS) {
            // closed each time: the tables of the blocks before would go at a time of the garbage collector's
            try (NDManager manager = root.newSubManager()) {
                Pair pair = maker.get();
                pair.outer().initialize(manager, DataType.FLOAT32, pair.input());
                NDArray ids = manager.ones(pair.input(), DataType.INT64);
                Forward.infer(manager, pair.outer(), ids).close();
                try (NDManager forward = manager.newSubManager()) {
                    NDArray own = ids.duplicate();
                    own.attach(forward);
                    pair.inner().failIn(Stage.FORWARD);
                    int before = manager.getManagedArrays().size();
                    assertThatExceptionOfType(Fault.class).isThrownBy(() -> Forward.infer(forward, pair.outer(), own));
                    assertThat(manager.getManagedArrays()).hasSize(before);
                    pair.inner().failIn(null);
                    assertUsable(forward, pair);
                }
            }
        }
    }

    @EngineTest
    void nothingLeaksFromAnInitializationAndTheNextOneWorks(NDManager root) {
        for (Supplier<Pair> maker : EMBEDDINGS) {
            // closed each time: the tables of the blocks before would go at a time of the garbage collector's
            try (NDManager manager = root.newSubManager()) {
                Pair pair = maker.get();
                pair.inner().failIn(Stage.INITIALIZE);
                int before = manager.getManagedArrays().size();
                assertThatExceptionOfType(Fault.class)
                        .isThrownBy(() -> pair.outer().initialize(manager, DataType.FLOAT32, pair.input()));
                assertThat(manager.getManagedArrays()).hasSize(before);
                assertThat(pair.outer().isInitialized()).isFalse();
                pair.inner().failIn(null);
                pair.outer().initialize(manager, DataType.FLOAT32, pair.input());
                assertUsable(manager, pair);
            }
        }
    }

    @EngineTest
    void nothingLeaksFromALoadAndTheNextOneWorks(NDManager root) throws Exception {
        for (Supplier<Pair> maker : EMBEDDINGS) {
            // closed each time: the tables of the blocks before would go at a time of the garbage collector's
            try (NDManager manager = root.newSubManager()) {
                Pair saved = maker.get();
                saved.outer().initialize(manager, DataType.FLOAT32, saved.input());
                byte[] file = BlockBytes.saved(saved.outer());
                Pair pair = maker.get();
                pair.inner().failIn(Stage.LOAD);
                int before = manager.getManagedArrays().size();
                assertThatExceptionOfType(Fault.class).isThrownBy(() -> BlockBytes.load(manager, pair.outer(), file));
                assertThat(manager.getManagedArrays()).hasSize(before);
                pair.inner().failIn(null);
                BlockBytes.load(manager, pair.outer(), file);
                assertUsable(manager, pair);
            }
        }
    }

    /** A user's relative encoding, which fails at the n-th thing that it is asked for. */
    private static final class FaultEncoding extends AbstractBlock implements RelativeEncoding {

        private int untilFault = Integer.MAX_VALUE;

        void failAfter(int calls) {
            untilFault = calls;
        }

        private void reach() {
            if (untilFault-- == 0) {
                throw new Fault(Stage.FORWARD);
            }
        }

        @Override
        public void requireFits(int headCount, int headSize) {
            assertThat(headCount * headSize).isPositive();
        }

        @Override
        public NDArray encodeQueries(AttentionCall call, NDArray queries) {
            reach();
            return queries.mul(2);
        }

        @Override
        public NDArray encodeKeys(AttentionCall call, NDArray keys, int firstKey) {
            reach();
            return keys.mul(2);
        }

        @Override
        public NDArray scoreTerm(AttentionCall call, NDArray queries) {
            reach();
            return queries.getManager().ones(new Shape(1, 1, call.queryLength(), call.keyLength()));
        }

        @Override
        public NDArray valueTerm(AttentionCall call, NDArray probabilities) {
            reach();
            return null;
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
            throw new AssertionError("an attention asks for the parts alone");
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    @EngineTest
    void nothingLeaksFromAnAttentionWhoseEncodingFailsAnywhere(NDManager manager) {
        FaultEncoding own = new FaultEncoding();
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(own)
                .build();
        NDArray x = manager.ones(new Shape(1, 3, 8));
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        float[] expected;
        try (NDArray answer = Forward.infer(manager, block, x)) {
            expected = answer.toFloatArray();
        }
        int before = manager.getManagedArrays().size();
        // keys, queries, scores and values
        for (int calls = 0; calls < 4; calls++) {
            own.failAfter(calls);
            assertThatExceptionOfType(Fault.class).isThrownBy(() -> Forward.infer(manager, block, x));
            assertThat(manager.getManagedArrays())
                    .as("failed after %s calls", calls)
                    .hasSize(before);
        }
        own.failAfter(Integer.MAX_VALUE);
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(expected);
    }
}
