package io.github.djlpositional.internal;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.support.SmallBlocks.embedding;
import static io.github.djlpositional.support.SmallBlocks.ids;
import static io.github.djlpositional.support.SmallLayers.attention;
import static io.github.djlpositional.support.SmallLayers.causal;
import static io.github.djlpositional.support.SmallLayers.feedForward;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;

/** Changes of blocks, which fail while a block is in use, and leave it as it was or empty. */
class OptionsBlockTest extends OnEachEngine {

    private static final Shape X = new Shape(2, 3, 8);

    private enum Change {
        INITIALIZE,
        LOAD,
        CLEAR
    }

    private static RelativePositionBiasBlock bias() {
        return RelativePositionBiasBlock.builder().setHeadCount(2).build();
    }

    private static TransformerStackBlock stackWith(RelativeEncoding encoding) {
        return TransformerStackBlock.builder()
                .setLayers(2, () -> layer(attention().optRelativeEncoding(encoding)))
                .build();
    }

    private void change(Change change, Block block, byte... file) throws Exception {
        switch (change) {
            case INITIALIZE -> block.initialize(manager, DataType.FLOAT32, X);
            case LOAD -> BlockBytes.load(manager, block, file);
            default -> block.clear();
        }
    }

    private NDArray infer(Block block) {
        return Forward.infer(manager, block, manager.ones(X));
    }

    /** Runs an action within a forward of a block, when it takes the value of a parameter. */
    private void during(Block block, Parameter parameter, NDArray input, ThrowingCallable action) {
        ParameterStore store = new ParameterStore(manager, false) {
            @Override
            public NDArray getValue(Parameter each, Device device, boolean training) {
                if (each == parameter) {
                    try {
                        action.call();
                    } catch (Error | RuntimeException e) {
                        throw e;
                    } catch (Throwable e) {
                        throw new IllegalStateException(e);
                    }
                }
                return super.getValue(each, device, training);
            }
        };
        block.forward(store, new NDList(input), false);
    }

    private static void requireInUse(Block inUse, ThrowingCallable change) {
        assertThatIllegalStateException().isThrownBy(change).withMessageContainingAll("in use", inUse.toString());
    }

    /** Another model uses the shared block. */
    @CartesianTest
    void aChangeFailsWhileASharedBlockIsInUseAndSucceedsAfterwards(@CartesianTest.Enum Change change) throws Exception {
        RelativePositionBiasBlock shared = bias();
        TransformerStackBlock block = filled(manager, stackWith(shared), DataType.FLOAT32, X);
        byte[] file = BlockBytes.saved(block);
        Block other = filled(manager, attention().optRelativeEncoding(shared).build(), DataType.FLOAT32, X);
        BlockBytes.load(manager, block, file);
        float[] expected = infer(block).toFloatArray();
        during(other, shared.getBiases(), manager.ones(X), () -> {
            requireInUse(shared, () -> change(change, block, file));
            CompletableFuture.runAsync(() -> requireInUse(shared, () -> change(change, block, file)))
                    .join();
            // it has not changed
            assertThat(infer(block).toFloatArray()).containsExactly(expected, within(1e-5f));
        });
        assertThat(BlockBytes.saved(block)).isEqualTo(file);
        block.clear();
        BlockBytes.load(manager, block, file);
        assertThat(infer(block).toFloatArray()).containsExactly(expected, within(1e-5f));
    }

    /** A user's block. */
    private static final class FaultyLinear extends Linear {

        private boolean isFaulty;

        FaultyLinear() {
            super(Linear.builder().setUnits(4));
        }

        @Override
        public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
            super.initialize(manager, dataType, inputShapes);
            if (isFaulty) {
                throw new ArithmeticException("fault");
            }
        }

        @Override
        public void clear() {
            super.clear();
            if (isFaulty) {
                throw new ArithmeticException("fault");
            }
        }
    }

    private static InputEmbeddingBlock embeddingWith(Block positions, Block tokens) {
        return embedding()
                .optPositionalEncoding(positions)
                .optTokenEmbedding(new SequentialBlock()
                        .add(LambdaBlock.singleton(
                                ids -> ids.toType(DataType.FLOAT32, false).expandDims(2), "ids"))
                        .add(tokens))
                .build();
    }

    @Test
    void afterAFailedInitializationASharedBlockIsAsItWas() {
        PositionalEncodingBlock.Builder scaled = SmallBlocks.positions().optLearnedScale(2);
        FaultyLinear tokens = new FaultyLinear();
        tokens.isFaulty = true;
        for (boolean isInitialized : new boolean[] {true, false}) {
            PositionalEncodingBlock positions = scaled.build();
            if (isInitialized) {
                positions.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));
            }
            try (NDManager other = manager.newSubManager()) {
                InputEmbeddingBlock block = embeddingWith(positions, tokens);
                assertThatExceptionOfType(ArithmeticException.class)
                        .isThrownBy(() -> block.initialize(other, DataType.FLOAT32, new Shape(2, 3)));
                assertThat(block.isInitialized()).isFalse();
                assertThat(tokens.getParameters().values()).noneMatch(Parameter::isInitialized);
            }
            assertThat(positions.isInitialized()).isEqualTo(isInitialized);
            if (isInitialized) {
                assertThat(positions.getInputShapes()).containsExactly(new Shape(1, 3, 4));
                // of the first manager, which is open
                assertThat(positions.getEncodings().getShape()).isEqualTo(new Shape(1, 10, 4));
            } else {
                assertThatIllegalStateException().isThrownBy(positions::getEncodings);
            }
        }
    }

    @Test
    void aBlockThatCannotBeClearedDoesNotKeepOthersOrTheChange() {
        LearnedPositionalEncodingBlock positions = SmallBlocks.learned().build();
        FaultyLinear tokens = new FaultyLinear();
        InputEmbeddingBlock block = embedding()
                .optPositionalEncoding(positions)
                .optTokenEmbedding(tokens)
                .build();
        tokens.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        positions.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
        tokens.isFaulty = true;
        for (int times = 0; times < 2; times++) {
            assertThatExceptionOfType(ArithmeticException.class).isThrownBy(block::clear);
            assertThat(block.getParameters().values()).noneMatch(Parameter::isInitialized);
        }
        byte[] damaged = {1, 2, 3};
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, damaged))
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        tokens.isFaulty = false;
        block.clear();
    }

    /** A child whose parameters or tables its parent uses without a forward of the child, and a parameter used then. */
    private record Used(Block block, OptionsBlock child, Parameter parameter, Shape input) {}

    static Stream<Arguments> usedChildren() {
        Stream.Builder<Arguments> all = Stream.builder();
        LearnedPositionalEncodingBlock positions = SmallBlocks.learned().build();
        InputEmbeddingBlock input = embedding().optPositionalEncoding(positions).build();
        all.add(Arguments.argumentSet(
                "positions in place", new Used(input, positions, positions.getTable(), new Shape(2, 3))));
        InputEmbeddingBlock sinusoids = embedding().build();
        all.add(Arguments.argumentSet(
                "a table in place",
                new Used(
                        sinusoids,
                        (OptionsBlock) sinusoids.getPositionalEncoding(),
                        sinusoids.getTokenTable(),
                        new Shape(2, 3))));
        RelativePositionBiasBlock bias = bias();
        all.add(Arguments.argumentSet(
                "an encoding", new Used(attention().optRelativeEncoding(bias).build(), bias, bias.getBiases(), X)));
        RmsNormBlock norm = RmsNormBlock.builder().setEmbeddingSize(4).build();
        all.add(Arguments.argumentSet(
                "a norm of queries", new Used(attention().optQueryNorm(norm).build(), norm, norm.getScale(), X)));
        TransformerLayerBlock layer = layer(causal())
                .optFeedForward(feedForward(Nonlinearity.GELU).build())
                .optNormPlacement(NormPlacement.BEFORE_PART)
                .build();
        for (OptionsBlock child : new OptionsBlock[] {
            (OptionsBlock) layer.getFeedForwardNorm(), layer.getFeedForward(), layer.getAttention()
        }) {
            all.add(Arguments.argumentSet(
                    "the " + child.getClass().getSimpleName() + " of a layer",
                    new Used(layer, child, child.getParameters().valueAt(0), X)));
        }
        return all.build();
    }

    @ParameterizedTest
    @MethodSource("usedChildren")
    void aChildDoesNotChangeWhileItsParentUsesIt(Used used) throws Exception {
        used.block.initialize(manager, DataType.FLOAT32, used.input);
        NDArray input = used.input.dimension() == 2 ? ids(manager) : manager.ones(X);
        byte[] file = BlockBytes.saved(used.child);
        float[] expected = Forward.infer(manager, used.block, input).toFloatArray();
        for (Change change : Change.values()) {
            during(
                    used.block,
                    used.parameter,
                    input,
                    () -> requireInUse(used.child, () -> {
                        switch (change) {
                            case INITIALIZE ->
                                used.child.initialize(manager, DataType.FLOAT32, used.child.getInputShapes());
                            case LOAD -> BlockBytes.load(manager, used.child, file);
                            default -> used.child.clear();
                        }
                    }));
        }
        assertThat(Forward.infer(manager, used.block, input).toFloatArray()).containsExactly(expected, within(1e-5f));
        used.block.clear();
    }

    /** As a user's block does that computes the shapes of its children by a forward. */
    @Test
    void aBlockInBetweenMayRunForwardsWhileItIsInitialized() {
        LearnedPositionalEncodingBlock positions = SmallBlocks.learned().build();
        SequentialBlock ofUser = new SequentialBlock() {
            @Override
            public void initializeChildBlocks(NDManager own, DataType type, Shape... shapes) {
                super.initializeChildBlocks(own, type, shapes);
                Forward.infer(own, positions, own.ones(shapes[0])).close();
            }
        };
        InputEmbeddingBlock block =
                embedding().optPositionalEncoding(ofUser.add(positions)).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        assertThat(Forward.infer(manager, block, ids(manager)).getShape()).isEqualTo(new Shape(2, 3, 4));
        block.clear();
    }

    /** Its encodings have the type of the model, as after initializing. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void loadedTablesHaveTheTypeOfTheModel(DataType type) throws Exception {
        InputEmbeddingBlock saved = embedding().build();
        saved.initialize(manager, type, new Shape(2, 3));
        InputEmbeddingBlock loaded = embedding().build();
        BlockBytes.load(manager, loaded, BlockBytes.saved(saved));
        for (InputEmbeddingBlock block : Arrays.asList(saved, loaded)) {
            PositionalEncodingBlock positions = (PositionalEncodingBlock) block.getPositionalEncoding();
            assertThat(positions.getEncodings().getDataType()).isEqualTo(type);
        }
    }

    /** A frozen parameter of a loaded block stays frozen in training. */
    @Test
    void theFirstTrainingOfALoadedBlockRecordsGradientsUnlessItIsFrozen() throws Exception {
        byte[] file = BlockBytes.saved(SmallBlocks.initialized(manager, stackWith(bias()), 2, 3, 8));
        TransformerStackBlock block = stackWith(bias());
        BlockBytes.load(manager, block, file);
        block.getLayers().get(0).freezeParameters(true);
        infer(block);
        assertThat(block.getParameters().values())
                .noneMatch(parameter -> parameter.getArray().hasGradient());
        SmallBlocks.train(manager, block, manager.ones(X), manager.ones(X));
        assertThat(block.getParameters().values())
                .allMatch(parameter -> parameter.getArray().hasGradient() == parameter.requiresGradient());
    }

    @Test
    void anInitializerThatFailsLeavesNothing() {
        TransformerStackBlock block = stackWith(bias());
        int[] calls = {0};
        Initializer sixth = (own, shape, type) -> {
            if (calls[0]++ == 5) {
                throw new ArithmeticException("fault");
            }
            return own.ones(shape, type);
        };
        block.setInitializer(sixth, parameter -> true);
        int before = manager.getManagedArrays().size();
        assertThatExceptionOfType(ArithmeticException.class)
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, X));
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertThat(block.isInitialized()).isFalse();
        block.initialize(manager, DataType.FLOAT32, X);
        assertThat(infer(block).getShape()).isEqualTo(X);
    }
}
