package io.github.djlpositional.conformance;

import static io.github.djlpositional.support.SmallBlocks.embedding;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.within;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * A user's block fails within a block of the library: nothing leaks, and the outer block works once the user's does.
 */
class FaultTest extends OnEachEngine {

    private static final int SIZE = 4;
    private static final Shape INPUT = new Shape(2, 3);

    private enum Stage {
        INITIALIZE,
        LOAD,
        FORWARD
    }

    /** A user's block or relative encoding with parameters, which fails at a chosen stage. */
    private static final class FaultBlock extends Linear implements RelativeEncoding {

        private Stage faulty;
        private int calls;

        FaultBlock() {
            super(Linear.builder().setUnits(SIZE));
        }

        /** Sets the stage at which it fails after some calls; null for none. */
        void failIn(Stage stage, int after) {
            faulty = stage;
            calls = after;
        }

        private void reach(Stage stage) {
            if (faulty == stage && calls-- == 0) {
                throw new ArithmeticException("fault");
            }
        }

        @Override
        public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
            super.initialize(manager, dataType, new Shape(-1, SIZE));
            // after its parameter was created
            reach(Stage.INITIALIZE);
        }

        @Override
        public void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
            super.loadParameters(manager, is);
            reach(Stage.LOAD);
        }

        /** Of embeddings, or of ids that are repeated. */
        @Override
        protected NDList forwardInternal(
                ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
            reach(Stage.FORWARD);
            NDArray x = inputs.head().toType(DataType.FLOAT32, true);
            NDArray embeddings = x.getShape().dimension() == 2 ? x.expandDims(2).repeat(2, SIZE) : x;
            return super.forwardInternal(parameterStore, new NDList(embeddings), training, params);
        }

        @Override
        public List<Term> terms() {
            return List.of(
                    Term.heads(this::doubled, this::doubled), Term.scores(this::scores), Term.values(this::values));
        }

        private NDArray doubled(AttentionCall call, NDArray heads) {
            reach(Stage.FORWARD);
            return heads.mul(2);
        }

        private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
            reach(Stage.FORWARD);
            return queries.getManager()
                    .ones(new Shape(
                            1, 1, queries.getShape().get(2), keys.getShape().get(2)));
        }

        private NDArray values(AttentionCall call, NDArray probabilities) {
            reach(Stage.FORWARD);
            return null;
        }
    }

    private static Block outer(FaultBlock own, boolean isTokenEmbedding) {
        InputEmbeddingBlock.Builder builder =
                embedding().optScaleEmbedding(true).optPaddingIndex(0);
        return isTokenEmbedding
                ? builder.optTokenEmbedding(own).build()
                : builder.optPositionalEncoding(own).build();
    }

    private void forward(Block block, NDArray ids) {
        try (NDArray answer = Forward.infer(manager, block, ids)) {
            assertThat(answer.getShape()).isEqualTo(INPUT.add(SIZE));
        }
    }

    @CartesianTest
    void aFailureLeavesNothingAndTheBlockWorksAfterwards(
            @CartesianTest.Enum Stage stage, @Values(booleans = {true, false}) boolean isTokenEmbedding)
            throws IOException {
        byte[] file;
        try (NDManager own = manager.newSubManager()) {
            Block saved = outer(new FaultBlock(), isTokenEmbedding);
            saved.initialize(own, DataType.FLOAT32, INPUT);
            file = BlockBytes.saved(saved);
        }
        NDArray ids = manager.ones(INPUT, DataType.INT64);
        FaultBlock inner = new FaultBlock();
        Block block = outer(inner, isTokenEmbedding);
        if (stage == Stage.FORWARD) {
            block.initialize(manager, DataType.FLOAT32, INPUT);
            forward(block, ids);
        }
        ThrowingCallable action = () -> {
            switch (stage) {
                case INITIALIZE -> block.initialize(manager, DataType.FLOAT32, INPUT);
                case LOAD -> BlockBytes.load(manager, block, file);
                default -> forward(block, ids);
            }
        };
        int before = manager.getManagedArrays().size();
        inner.failIn(stage, 0);
        assertThatExceptionOfType(ArithmeticException.class).isThrownBy(action);
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertThat(block.isInitialized()).isEqualTo(stage == Stage.FORWARD);
        if (stage == Stage.LOAD) {
            assertThatIllegalStateException().isThrownBy(() -> forward(block, ids));
        }
        inner.failIn(null, 0);
        assertThatNoException().isThrownBy(action);
        forward(block, ids);
    }

    @Test
    void anEncodingThatFailsInAnAttentionLeavesNothing() {
        FaultBlock own = new FaultBlock();
        Block block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(own)
                .build();
        NDArray x = manager.ones(new Shape(1, 3, 8));
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        float[] expected = Forward.infer(manager, block, x).toFloatArray();
        int before = manager.getManagedArrays().size();
        // keys, queries, scores and values
        for (int calls = 0; calls < 4; calls++) {
            own.failIn(Stage.FORWARD, calls);
            assertThatExceptionOfType(ArithmeticException.class).isThrownBy(() -> Forward.infer(manager, block, x));
            assertThat(manager.getManagedArrays())
                    .as("failed after %s calls", calls)
                    .hasSize(before);
        }
        own.failIn(null, 0);
        // two computations of the same in FLOAT32, of numbers below 8
        assertThat(Forward.infer(manager, block, x).toFloatArray()).containsExactly(expected, within(1e-5f));
    }
}
