package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assumptions.assumeThat;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.Arrays;
import java.util.List;

class InputEmbeddingBlockTest {

    private static final SinusoidalEncoding ENCODING = SinusoidalEncoding.vaswani(4);

    private static InputEmbeddingBlock initialized23(NDManager manager, InputEmbeddingBlock.Builder builder) {
        return initialized(manager, builder.build(), 2, 3);
    }

    private static float[] table(InputEmbeddingBlock block) {
        return block.getTokenTable().getArray().toFloatArray();
    }

    private static float[] infer(NDManager manager, Block block) {
        return Forward.infer(manager, block, ids(manager)).toFloatArray();
    }

    @EngineTest
    void addsPositionsToTokensOfEveryIntegerType(NDManager manager, boolean isScaled) {
        InputEmbeddingBlock block = initialized23(manager, embedding().optScaleEmbedding(isScaled));
        float[] tokens = table(block);
        float[] positions = ENCODING.table(0, 3);
        long[] ids = ids(manager).toLongArray();
        float[] expected = new float[24];
        for (int i = 0; i < expected.length; i++) {
            expected[i] = tokens[(int) ids[i / 4] * 4 + i % 4] * (isScaled ? 2 : 1) + positions[i % 12];
        }
        for (DataType type : List.of(DataType.INT64, DataType.INT32, DataType.INT8, DataType.UINT8)) {
            assertThat(Forward.infer(manager, block, ids(manager).toType(type, true))
                            .toFloatArray())
                    .isEqualTo(expected);
        }
        assertThat(table(block)).isEqualTo(tokens);
    }

    @EngineTest
    void neverWritesToTheOutputOfATokenEmbedding(NDManager manager, boolean isScaled) {
        NDArray held = manager.ones(new Shape(2, 3, 4));
        Block token = LambdaBlock.singleton(ids -> held);
        InputEmbeddingBlock block =
                initialized23(manager, embedding().optScaleEmbedding(isScaled).optTokenEmbedding(token));
        float[] y = infer(manager, block);
        float[] positions = ENCODING.table(0, 3);
        for (int i = 0; i < y.length; i++) {
            assertThat(y[i]).isEqualTo((isScaled ? 2 : 1) + positions[i % 12]);
        }
        assertThat(held.toFloatArray()).containsOnly(1f);
    }

    @EngineTest
    void paddingIsZeroAndStaysZeroInTraining(NDManager manager) {
        NDArray weights = manager.arange(24f).reshape(2, 3, 4);
        for (Optimizer optimizer : new Optimizer[] {
            Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.1f)).build(),
            Optimizer.sgd()
                    .setLearningRateTracker(Tracker.fixed(0.1f))
                    .optMomentum(0.9f)
                    .optWeightDecays(0.1f)
                    .build()
        }) {
            InputEmbeddingBlock block = embedding().optPaddingIndex(0).build();
            block.setInitializer(new NormalInitializer(1), Parameter.Type.WEIGHT);
            initialized(manager, block, 2, 3);
            float[] before = table(block);
            assertThat(Arrays.copyOf(before, 4)).containsOnly(0);
            NDArray weight = block.getTokenTable().getArray();
            for (int i = 0; i < 5; i++) {
                SmallBlocks.train(manager, block, weights, ids(manager));
                optimizer.update(block.getTokenTable().getId(), weight, weight.getGradient());
            }
            assertThat(Arrays.copyOf(table(block), 4)).containsOnly(0);
            // token 1 was trained
            assertThat(Arrays.copyOfRange(table(block), 4, 8)).isNotEqualTo(Arrays.copyOfRange(before, 4, 8));
        }
    }

    @EngineTest
    void paddingIsZeroForAnyValuesOfItsRow(NDManager manager) {
        InputEmbeddingBlock block = initialized23(manager, embedding().optPaddingIndex(0));
        block.getTokenTable().getArray().set(new NDIndex("0"), 5);
        // the second id is padding
        assertThat(Arrays.copyOfRange(infer(manager, block), 4, 8)).isEqualTo(ENCODING.table(1, 1));
        SmallBlocks.train(manager, block, manager.ones(new Shape(2, 3, 4)), ids(manager));
        NDArray gradient = block.getTokenTable().getArray().getGradient();
        // how often each id occurs, but for padding
        assertThat(gradient.get(":, 0").toFloatArray()).containsExactly(0, 1, 0, 2, 0, 0, 1);
    }

    @EngineTest
    void paddingRowIsZeroIfInitializedWhileGradientsAreRecorded(NDManager manager) {
        InputEmbeddingBlock block = embedding().optPaddingIndex(2).build();
        SmallBlocks.train(manager, block, manager.ones(new Shape(2, 3, 4)), ids(manager));
        assertThat(Arrays.copyOfRange(table(block), 8, 12)).containsOnly(0);
    }

    @EngineTest
    void tokenVectorsAreAboutAsLongAsThePositions(NDManager manager) {
        // PyTorch's nn.Embedding: N(0, 1); Vaswani et al., section 3.4: N(0, 1 / D) times √D
        for (boolean scale : new boolean[] {false, true}) {
            InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                    .setVocabularySize(1000)
                    .setEmbeddingSize(512)
                    .optScaleEmbedding(scale)
                    .optNoPositions()
                    .build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
            NDArray vectors = Forward.infer(
                    manager,
                    block,
                    manager.arange(1000).toType(DataType.INT64, false).expandDims(0));
            double meanSquare = vectors.square().mean().getFloat();
            // of 512,000 numbers: five standard deviations of the mean
            assertThat(meanSquare).isCloseTo(1, within(5 * Math.sqrt(2 / 512_000.0)));
        }
    }

    @EngineTest
    void refusesArraysOfAnotherEngine(Engine engine, NDManager manager) {
        String other = engine.getEngineName().equals("PyTorch") ? "MXNet" : "PyTorch";
        assumeThat(EngineTestExtension.isAvailable(other)).as("both engines").isTrue();
        try (NDManager foreign = Engine.getEngine(other).newBaseManager(Device.cpu())) {
            NDArray x = manager.ones(new Shape(2, 3, 4));
            Block tokens = initialized23(manager, embedding());
            refused(() -> Forward.infer(manager, tokens, ids(foreign)), other, "engine of the token table");
            Block positions = positions().build();
            refused(() -> Forward.infer(manager, positions, x, foreign.arange(3)), other, "engine of the embeddings");
            Block attention = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(4)
                    .setHeadCount(1)
                    .build();
            initialized(manager, attention, 2, 3, 4);
            NDArray ofOther = foreign.ones(new Shape(2, 3, 4));
            refused(() -> Forward.infer(manager, attention, ofOther), other, "engine of the projections");
            NDArray mask = foreign.ones(new Shape(2, 3));
            refused(() -> Forward.infer(manager, attention, x, mask), other, "engine of the queries");
        }
    }

    @EngineTest
    void aFileOfFewerLayersIsNamedAsOne(NDManager manager) throws Exception {
        Block two = layers(2);
        two.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
        byte[] file = BlockBytes.saved(two);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, layers(3), file))
                .withMessageContainingAll("PositionalEncodingBlock", "as many blocks");
        byte[] other = Arrays.copyOf(file, file.length + 100);
        Arrays.fill(other, file.length, other.length, (byte) 7);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, layers(3), other))
                .withMessageContainingAll("PositionalEncodingBlock", "version 7", "fewer layers");
    }

    private static Block layers(int count) {
        SequentialBlock block = new SequentialBlock();
        for (int i = 0; i < count; i++) {
            block.add(positions().optLearnedScale(i).build());
        }
        return block;
    }

    @EngineTest(engine = "MXNet")
    void refusesATableOfMoreValuesThanMxnetCounts(NDManager manager) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optAutoExtend(1 << 29)
                .build();
        NDArray x = manager.ones(new Shape(1, 1, 1, 4));
        refused(() -> Forward.inferFrom(manager, (1 << 29) - 1, block, x), "2147483648 values", "2147483647", "MXNet");
    }
}
