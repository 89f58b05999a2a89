package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assumptions.assumeThat;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Embedding;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.Arrays;

/** Typical mistakes with the input of a model, and what prevents them. */
class InputPositionsTest {

    @EngineTest
    void aBlockWithoutPositionsCanBeDescribedAndInitializedAgain(NDManager manager) {
        InputEmbeddingBlock block =
                embedding().optPositionalEncoding(Blocks.identityBlock()).build();
        Block model = new SequentialBlock().add(block);
        for (int i = 0; i < 2; i++) {
            model.initialize(manager, DataType.FLOAT32, new Shape(-1, -1));
            assertThat(model.toString()).contains("InputEmbeddingBlock");
        }
        assertThat(block.getArguments())
                .isEqualTo(embedding().optNoPositions().build().getArguments());
        NDArray table = block.getTokenTable().getArray();
        NDArray expected =
                Embedding.embedding(ids(manager), table, SparseFormat.DENSE).singletonOrThrow();
        assertThat(Forward.infer(manager, model, ids(manager))).isEqualTo(expected);
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
    void anInitializerOfTheUserWins(NDManager manager) {
        InputEmbeddingBlock block = embedding().build();
        block.setInitializer(new ConstantInitializer(7), Parameter.Type.WEIGHT);
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        assertThat(block.getTokenTable().getArray().toFloatArray()).containsOnly(7);
    }

    @EngineTest
    void positionsFromPaddingNeedExplicitPositionsAfterTheFirstStep(NDManager manager) {
        InputEmbeddingBlock block = initialized(
                manager,
                embedding().optPaddingIndex(0).optPositionsFromPadding(2).build(),
                2,
                3);
        NDArray whole = manager.create(new long[][] {{4, 5, 6, 3}, {0, 4, 5, 2}});
        NDArray expected = Forward.infer(manager, block, whole);
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(4)
                .setHeadCount(1)
                .optCausal(true)
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 4));
        ParameterStore store = new ParameterStore(manager, false);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            var first = cache.nextStep();
            NDList x = block.forward(store, new NDList(whole.get(":, :3")), false, first);
            assertThat(x.head()).isEqualTo(expected.get(":, :3"));
            attention.forward(store, x, false, first);
            var second = cache.nextStep();
            NDArray ids = whole.get(":, 3:");
            refused(() -> block.forward(store, new NDList(ids), false, second), "startPosition 3", "[ids, positions]");
            NDArray positions = manager.create(new long[][] {{5}, {4}});
            assertThat(block.forward(store, new NDList(ids, positions), false, second)
                            .head())
                    .isEqualTo(expected.get(":, 3:"));
        }
    }

    @EngineTest
    void refusesArraysOfAnotherEngine(Engine engine, NDManager manager) {
        String other = engine.getEngineName().equals("PyTorch") ? "MXNet" : "PyTorch";
        assumeThat(EngineTestExtension.isAvailable(other)).as("both engines").isTrue();
        try (NDManager foreign = Engine.getEngine(other).newBaseManager(Device.cpu())) {
            NDArray x = foreign.ones(new Shape(2, 3, 4));
            refused(
                    () -> Forward.infer(
                            manager, initialized(manager, embedding().build(), 2, 3), ids(foreign)),
                    other,
                    "engine of the token table");
            refused(
                    () -> Forward.infer(
                            manager, positions().build(), manager.ones(new Shape(2, 3, 4)), foreign.arange(3)),
                    other,
                    "engine of the embeddings");
            MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(4)
                    .setHeadCount(1)
                    .build();
            attention.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
            refused(() -> Forward.infer(manager, attention, x), other, "engine of the projections");
            refused(
                    () -> Forward.infer(
                            manager, attention, manager.ones(new Shape(2, 3, 4)), foreign.ones(new Shape(2, 3))),
                    other,
                    "engine of the queries");
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
