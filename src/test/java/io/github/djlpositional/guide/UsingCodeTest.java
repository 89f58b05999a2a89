package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.guide.Windows.mask;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.translate.NoopTranslator;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.AlibiBiasBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/using.md. */
class UsingCodeTest {

    @TempDir
    private Path folder;

    // tag::block[]
    /** [ids (B, T)] or [ids, mask (B, T), 1 for a token] to a score for each token of the vocabulary, (B, T, 1000). */
    static final class LanguageModel extends AbstractBlock {

        private final Block input = addChildBlock(
                "input",
                InputEmbeddingBlock.builder()
                        .setVocabularySize(1000)
                        .setEmbeddingSize(64)
                        .optMaxSequenceLength(256)
                        .build());
        private final Block attention = addChildBlock(
                "attention",
                MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(64)
                        .setHeadCount(4)
                        .optCausal(true)
                        .build());
        private final Block head =
                addChildBlock("head", Linear.builder().setUnits(1000).build());

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            NDList ids = new NDList(inputs.head()); // a second array would be positions
            NDList x = input.forward(store, ids, training, params); // params: start position and cache
            x.addAll(inputs.subNDList(1)); // the mask, if there is one
            x = attention.forward(store, x, training, params);
            return head.forward(store, x, training);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            Shape vectors = inputShapes[0].add(64);
            input.initialize(manager, dataType, inputShapes[0]);
            attention.initialize(manager, dataType, vectors);
            head.initialize(manager, dataType, vectors);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(1000)};
        }
    }
    // end::block[]

    @EngineTest
    void theMaskOfALanguageModelReachesItsAttention(NDManager manager) {
        Block model = new LanguageModel();
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        NDArray ids = manager.create(new long[][] {{5, 17, 3, 8}, {5, 17, 3, 8}});
        NDArray mask = manager.create(new long[][] {{1, 1, 1, 1}, {1, 0, 1, 1}});
        NDArray all = Forward.infer(manager, model, ids);
        NDArray masked = Forward.infer(manager, model, ids, mask);
        assertThat(masked.get("0")).isEqualTo(all.get("0"));
        assertThat(masked.get("1, 3")).isNotEqualTo(all.get("1, 3"));
    }

    // tag::factory[]
    /** Creates an input layer from input.json in the model's folder. */
    public static final class InputFactory implements BlockFactory {

        private static final long serialVersionUID = 1L;

        @Override
        public Block newBlock(Model model, Path modelPath, Map<String, ?> arguments) throws IOException {
            String json = Files.readString(modelPath.resolve("input.json"));
            return InputEmbeddingBlock.fromArguments(JsonUtils.GSON.fromJson(json, Map.class));
        }
    }
    // end::factory[]

    @EngineTest
    void configurationAsAMap(NDManager manager) throws Exception {
        String engine = manager.getEngine().getEngineName();
        float[] before;
        try (Model model = Model.newInstance("input", Device.cpu(), engine)) {
            // tag::arguments[]
            InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                    .setVocabularySize(1000)
                    .setEmbeddingSize(64)
                    .build();
            Map<String, Object> arguments = input.getArguments(); // {type=InputEmbeddingBlock, vocabularySize=1000, …}
            Files.writeString(folder.resolve("input.json"), JsonUtils.GSON.toJson(arguments));
            // end::arguments[]
            model.setBlock(input);
            input.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 3));
            before = Forward.infer(manager, input, manager.create(new int[][] {{5, 6, 7}}))
                    .toFloatArray();
            model.setProperty("Epoch", "0");
            model.save(folder, "input");
        }
        // tag::by-factory[]
        Criteria<NDList, NDList> criteria = Criteria.builder()
                .setTypes(NDList.class, NDList.class)
                .optModelPath(folder)
                .optModelName("input")
                .optEngine(engine)
                .optArgument("blockFactory", InputFactory.class.getName())
                .optTranslator(new NoopTranslator())
                .build();
        // end::by-factory[]
        try (ZooModel<NDList, NDList> model = criteria.loadModel();
                Predictor<NDList, NDList> predictor = model.newPredictor()) {
            NDArray ids = manager.create(new int[][] {{5, 6, 7}});
            assertThat(predictor.predict(new NDList(ids)).singletonOrThrow().toFloatArray())
                    .containsExactly(before);
        }
    }

    @EngineTest
    void severalDevices(NDManager manager) {
        String engine = manager.getEngine().getEngineName();
        try (Model model = Model.newInstance("language-model", Device.cpu(), engine)) {
            // tag::devices[]
            model.setBlock(new LanguageModel());
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optDevices(
                            Engine.getEngine(engine).getDevices(2)); // at most two GPUs; the CPU where there is none
            // end::devices[]
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 8));
                assertThat(trainer.getDevices()).isNotEmpty();
            }
        }
    }

    @EngineTest
    void padding(NDManager manager) {
        // tag::padding[]
        int padding = 0;
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(64)
                .optPaddingIndex(padding) // its token vector stays zero; the position is still added
                .build();
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .build();
        // end::padding[]
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 4));
        attention.initialize(manager, DataType.FLOAT32, new Shape(2, 4, 64));
        ParameterStore store = new ParameterStore(manager, false);
        // tag::padding[]
        NDArray ids = manager.create(new int[][] {{5, 17, 3, 0}, {8, 0, 0, 0}});
        NDArray isToken = ids.neq(padding); // (B, T): 1 for tokens, 0 for padding
        NDArray x = input.forward(store, new NDList(ids), false).singletonOrThrow();
        NDArray y = attention.forward(store, new NDList(x, isToken), false).singletonOrThrow();
        // end::padding[]
        NDArray alone = Forward.infer(manager, attention, x.get("1:2, :1"));
        // sums of 64 products of numbers below 1, in another order
        requireClose(y.get("1:2, :1"), doubles(alone), 64 * 64 * 0x1p-24f);
    }

    @EngineTest
    void positionsOfYourOwn(NDManager manager) {
        PositionalEncodingBlock positional =
                PositionalEncodingBlock.builder().setEmbeddingSize(64).build();
        NDArray x = manager.zeros(new Shape(1, 4, 64));
        ParameterStore store = new ParameterStore(manager, false);
        // tag::positions[]
        NDArray positions = manager.create(new float[] {0, 0.5f, 10, 4000}); // (T) or (B, T), integer or real
        NDArray encoded =
                positional.forward(store, new NDList(x, positions), false).singletonOrThrow();
        NDArray rows = positional.encode(positions); // only the encodings, (4, 64)
        // end::positions[]
        assertThat(encoded.toFloatArray()).isEqualTo(rows.toFloatArray());
    }

    @EngineTest
    void timesAsPositions(NDManager manager) {
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(8)
                .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(8).build())
                .build();
        NDArray x = manager.randomUniform(-1, 1, new Shape(1, 3, 64));
        attention.initialize(manager, DataType.FLOAT32, x.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        // tag::times[]
        // seconds since 1970, FLOAT64
        NDArray seconds = manager.create(new double[] {1_763_000_000, 1_763_000_030.5, 1_763_000_060}); // (T) or (B, T)
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, seconds);
        NDArray y = attention.forward(store, new NDList(x), false, params).singletonOrThrow();
        // end::times[]
        NDArray sinceFirst = seconds.sub(1_763_000_000.0).toType(DataType.FLOAT32, false);
        NDArray expected = Forward.infer(manager, attention, Forward.params("positions", sinceFirst), x);
        assertThat(y.toFloatArray()).isEqualTo(expected.toFloatArray());
        assertThat(Math.ulp((float) seconds.getDouble(0))).isEqualTo(128);
    }

    @EngineTest
    void fineTuning(NDManager manager) {
        try (Model model =
                Model.newInstance("tuned", Device.cpu(), manager.getEngine().getEngineName())) {
            Block block = new LanguageModel();
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 8)); // or loaded
            model.setBlock(block);
            try (Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss()))) {
                // tag::freezing[]
                block.freezeParameters(true); // block: model.getBlock()
                block.getChildren().get("03head").freezeParameters(false); // train only the head
                // end::freezing[]
                trainer.initialize(new Shape(1, 8));
                assertThat(block.getParameters().values().stream().filter(Parameter::requiresGradient))
                        .extracting(Parameter::getName)
                        .containsExactlyInAnyOrder("weight", "bias");
            }
        }
    }
}
