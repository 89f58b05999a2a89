package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Tables from other libraries' files, within blocks: outputs are those that torch computed. */
class WeightLoaderTest {

    private static final int[][] IDS = {{3, 1, 4, 1, 5}, {9, 2, 6, 5, 0}};

    /** One addition in float, of numbers below 4. */
    private static final float SUM = 0x1p-23f;

    private final LearnedPositionalEncodingBlock learned = LearnedPositionalEncodingBlock.builder()
            .setEmbeddingSize(6)
            .optMaxSequenceLength(8)
            .build();

    private InputEmbeddingBlock.Builder builder() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(11)
                .setEmbeddingSize(6)
                .optPositionalEncoding(learned);
    }

    private static InputEmbeddingBlock initialized(NDManager manager, InputEmbeddingBlock.Builder builder) {
        InputEmbeddingBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        return block;
    }

    private void loadBert(InputEmbeddingBlock input) throws Exception {
        WeightLoader.of(Weights.open("bert.safetensors"))
                .table("bert.embeddings.word_embeddings.weight", input.getTokenTable())
                .table("bert.embeddings.position_embeddings.weight", learned.getTable())
                .load();
    }

    @EngineTest
    void bert(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        loadBert(input);
        assertThat(Forward.infer(manager, input, manager.create(IDS)).toFloatArray())
                .containsExactly(Weights.expectedFloats("bert"), within(SUM));
    }

    @EngineTest
    void gpt2WithPositionsInFortranOrder(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        WeightLoader.of(Weights.open("gpt2.npz"))
                .table("wte.weight", input.getTokenTable())
                .table("wpe.weight", learned.getTable())
                .load();
        assertThat(Forward.infer(manager, input, manager.create(IDS)).toFloatArray())
                .containsExactly(Weights.expectedFloats("gpt2"), within(SUM));
    }

    @EngineTest
    void optWithTwoRowsBeforePosition0(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        WeightLoader.of(Weights.open("opt.safetensors"))
                .table("model.decoder.embed_tokens.weight", input.getTokenTable())
                .table("model.decoder.embed_positions.weight", learned.getTable(), 2)
                .load();
        assertThat(Forward.infer(manager, input, manager.create(IDS)).toFloatArray())
                .containsExactly(Weights.expectedFloats("opt"), within(SUM));
    }

    @EngineTest
    void robertaWithPositionsThatSkipPadding(NDManager manager) throws Exception {
        InputEmbeddingBlock input =
                initialized(manager, builder().optPaddingIndex(1).optPositionsFromPadding(0));
        WeightLoader.of(Weights.open("roberta.npz"))
                .table("roberta.embeddings.word_embeddings.weight", input.getTokenTable())
                .table("roberta.embeddings.position_embeddings.weight", learned.getTable(), 2)
                .load();
        NDArray ids = manager.create(IDS);
        NDArray tokens = Forward.infer(manager, input, ids).get(ids.neq(1));
        assertThat(tokens.toFloatArray()).containsExactly(Weights.expectedFloats("roberta"), within(SUM));
    }

    @EngineTest
    void tutorialWhoseSavedEncodingsAreDropped(NDManager manager) throws Exception {
        PositionalEncodingBlock positions =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        positions.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
        WeightLoader.of(Weights.open("tutorial.npz"))
                .encodings("pos_encoder.pe", positions.getEncoding())
                .load();
        // torch's linspace(-1, 1, 24), as (T, B, D)
        NDArray x = manager.linspace(-1, 1, 24).reshape(3, 2, 4).transpose(1, 0, 2);
        NDArray y = Forward.infer(manager, positions, x).transpose(1, 0, 2);
        // at these positions float arithmetic is right within a few roundings
        assertThat(y.toFloatArray()).containsExactly(Weights.expectedFloats("tutorial"), within(0x1p-21f));
    }

    @EngineTest
    void t5BiasOfBucketsAndHeads(NDManager manager) throws Exception {
        RelativePositionBiasBlock bias =
                RelativePositionBiasBlock.builder().setHeadCount(4).build();
        bias.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 8));
        Parameter table = bias.getBiases();
        WeightLoader.of(Weights.open("t5.safetensors"))
                .table("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", table)
                .load();
        assertThat(table.getArray().toFloatArray()).isEqualTo(Weights.expectedFloats("t5"));
    }

    @EngineTest
    void parametersOfOtherBlocks(NDManager manager) throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 4));
        WeightLoader.of(Weights.open("linear.safetensors"))
                .table("weight", linear.getParameters().get("weight"))
                .table("bias", linear.getParameters().get("bias"))
                .load();
        NDArray x = manager.arange(8f).reshape(2, 4);
        // four products and their sum, of numbers below 8
        assertThat(Forward.infer(manager, linear, x).toFloatArray())
                .containsExactly(Weights.expectedFloats("linear"), within(8 * 4 * 0x1p-24f));
    }

    @EngineTest
    void aModelThatWasSavedAfterwardsHasTheTables(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        loadBert(input);
        byte[] saved = BlockBytes.saved(input);
        Block again = builder()
                .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(6)
                        .optMaxSequenceLength(8)
                        .build())
                .build();
        BlockBytes.load(manager, again, saved);
        NDArray ids = manager.create(IDS);
        assertThat(Forward.infer(manager, again, ids).toFloatArray())
                .isEqualTo(Forward.infer(manager, input, ids).toFloatArray());
    }

    @EngineTest
    void aModelThatWasLoadedTakesTablesToo(NDManager manager) throws Exception {
        byte[] saved = BlockBytes.saved(initialized(manager, builder()));
        InputEmbeddingBlock input = builder().build();
        BlockBytes.load(manager, input, saved);
        loadBert(input);
        assertThat(Forward.infer(manager, input, manager.create(IDS)).toFloatArray())
                .containsExactly(Weights.expectedFloats("bert"), within(SUM));
    }

    @EngineTest
    void gradientsReachTheLoadedTables(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        NDArray array = learned.getTable().getArray();
        loadBert(input);
        assertThat(learned.getTable().getArray()).isSameAs(array);
        assertThat(array.hasGradient()).isTrue();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = input.forward(new ParameterStore(manager, false), new NDList(manager.create(IDS)), true)
                    .singletonOrThrow();
            collector.backward(y.sum());
        }
        float[] gradient = array.getGradient().toFloatArray();
        for (int i = 0; i < gradient.length; i++) {
            // two sequences use each of the first five rows
            assertThat(gradient[i]).isEqualTo(i < 5 * 6 ? 2 : 0);
        }
    }

    @EngineTest
    void aFrozenTableStaysFrozen(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        input.freezeParameters(true);
        loadBert(input);
        assertThat(learned.getTable().getArray().hasGradient()).isFalse();
        assertThat(learned.getTable().requiresGradient()).isFalse();
    }

    /** PyTorch records gradients on a new thread from its start, and then refuses to write to a table in place. */
    @EngineTest
    void onAnyThread(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            threads.submit(() -> {
                        loadBert(input);
                        return null;
                    })
                    .get();
        } finally {
            threads.shutdown();
        }
        assertThat(Forward.infer(manager, input, manager.create(IDS)).toFloatArray())
                .containsExactly(Weights.expectedFloats("bert"), within(SUM));
    }

    @EngineTest
    void withinAScopeOfTheUsers(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            loadBert(input);
        }
        assertThat(Forward.infer(manager, input, manager.create(IDS)).toFloatArray())
                .containsExactly(Weights.expectedFloats("bert"), within(SUM));
    }

    @EngineTest
    void leavesNothingBehindInTheManager(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager, builder());
        int before = manager.getManagedArrays().size();
        loadBert(input);
        assertThat(manager.getManagedArrays()).hasSize(before);
    }

    /** 3 million rows of three: more than one piece, in both orders. */
    @EngineTest
    void tablesOfSeveralPieces(NDManager manager) throws Exception {
        int rows = 1_000_003;
        for (boolean isColumnMajor : new boolean[] {false, true}) {
            Parameter parameter = Weights.parameter(manager, DataType.FLOAT64, rows - 2, 3);
            StoredTensor tensor = LargeTensor.of(rows, 3, isColumnMajor);
            StagedTable table = new StagedTable(tensor, 2, parameter.getArray());
            try (NDManager staging = manager.newSubManager()) {
                table.read(staging);
                table.write();
            }
            double[] values = parameter.getArray().toDoubleArray();
            for (int i = 0; i < values.length; i++) {
                if (values[i] != i + 6) {
                    assertThat(values[i])
                            .as("value %s, column-major: %s", i, isColumnMajor)
                            .isEqualTo(i + 6);
                }
            }
        }
    }
}
