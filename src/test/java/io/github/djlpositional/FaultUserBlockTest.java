package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

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
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/**
 * A user's block fails within a block of the library: nothing leaks, and the outer block works once the user's does.
 */
class FaultUserBlockTest {

    private static final int SIZE = 4;
    private static final Shape INPUT = new Shape(2, 3);

    /** A block of the library and the user's block within it. */
    private record Pair(Block outer, FaultBlock inner) {}

    private static InputEmbeddingBlock.Builder embedding() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(SIZE)
                .optScaleEmbedding(true)
                .optPaddingIndex(0);
    }

    private static Pair withPositions() {
        FaultBlock own = new FaultBlock(new Shape(1, SIZE), tokens -> tokens.add(1));
        return new Pair(embedding().optPositionalEncoding(own).build(), own);
    }

    private static Pair withTokens() {
        FaultBlock own = new FaultBlock(
                new Shape(7, SIZE),
                ids -> ids.toType(DataType.FLOAT32, true).expandDims(2).repeat(2, SIZE));
        return new Pair(embedding().optTokenEmbedding(own).build(), own);
    }

    private static void initialize(NDManager manager, Pair pair) {
        pair.outer().initialize(manager, DataType.FLOAT32, INPUT);
    }

    private static void forward(NDManager manager, Pair pair, NDArray ids) {
        try (NDArray answer = Forward.infer(manager, pair.outer(), ids)) {
            assertThat(answer.getShape()).isEqualTo(INPUT.add(SIZE));
        }
    }

    /** An action fails in the user's block without leaving an array, and succeeds afterwards. */
    @EngineTest
    void aFailureLeavesNothingAndTheBlockWorksAfterwards(NDManager root) throws Exception {
        for (Stage stage : Stage.values()) {
            for (Supplier<Pair> maker :
                    List.<Supplier<Pair>>of(FaultUserBlockTest::withPositions, FaultUserBlockTest::withTokens)) {
                // closed each time, or the garbage collector would free the tables of the blocks before at any time
                try (NDManager manager = root.newSubManager()) {
                    assertLeavesNothing(manager, stage, maker);
                }
            }
        }
    }

    private static void assertLeavesNothing(NDManager manager, Stage stage, Supplier<Pair> maker) throws Exception {
        byte[] file;
        try (NDManager own = manager.newSubManager()) {
            Pair saved = maker.get();
            initialize(own, saved);
            file = BlockBytes.saved(saved.outer());
        }
        NDArray ids = manager.ones(INPUT, DataType.INT64);
        Pair pair = maker.get();
        if (stage == Stage.FORWARD) {
            initialize(manager, pair);
            forward(manager, pair, ids);
        }
        ThrowingCallable action = () -> {
            switch (stage) {
                case INITIALIZE -> initialize(manager, pair);
                case LOAD -> BlockBytes.load(manager, pair.outer(), file);
                default -> forward(manager, pair, ids);
            }
        };
        int before = manager.getManagedArrays().size();
        pair.inner().failIn(stage);
        assertThatExceptionOfType(Fault.class).as("%s", stage).isThrownBy(action);
        assertThat(manager.getManagedArrays()).as("%s", stage).hasSize(before);
        assertThat(pair.outer().isInitialized()).isEqualTo(stage == Stage.FORWARD);
        pair.inner().failIn(null);
        assertThatNoException().isThrownBy(action);
        forward(manager, pair, ids);
    }

    /** A user's relative encoding, which fails at its n-th call. */
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
            throw new AssertionError("an attention block calls the other methods");
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    @EngineTest
    void anEncodingThatFailsInAnAttentionLeavesNothing(NDManager manager) {
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
