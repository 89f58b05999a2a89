package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.ParameterStore;
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
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/using.md. */
class UsingCodeTest {

    @TempDir
    private Path folder;

    /** Creates an input layer from input.json in the model's folder. */
    public static final class InputFactory implements BlockFactory {

        private static final long serialVersionUID = 1L;

        @Override
        public Block newBlock(Model model, Path modelPath, Map<String, ?> arguments) throws IOException {
            String json = Files.readString(modelPath.resolve("input.json"));
            return InputEmbeddingBlock.fromArguments(JsonUtils.GSON.fromJson(json, Map.class));
        }
    }

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
        Criteria<NDList, NDList> criteria = Criteria.builder()
                .setTypes(NDList.class, NDList.class)
                .optModelPath(folder)
                .optModelName("input")
                .optEngine(engine)
                .optArgument("blockFactory", InputFactory.class.getName())
                .optTranslator(new NoopTranslator())
                .build();
        try (ZooModel<NDList, NDList> model = criteria.loadModel();
                Predictor<NDList, NDList> predictor = model.newPredictor()) {
            NDArray ids = manager.create(new int[][] {{5, 6, 7}});
            assertThat(predictor.predict(new NDList(ids)).singletonOrThrow().toFloatArray())
                    .containsExactly(before);
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
        NDArray seconds = manager.create(new double[] {1_763_000_000, 1_763_000_030, 1_763_000_060}); // since 1970
        NDArray minutes = seconds.sub(seconds.get(0)).div(60); // FLOAT64, (T) or (B, T)
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, minutes); // for every block of a model
        NDArray y = attention.forward(store, new NDList(x), false, params).singletonOrThrow();
        // end::times[]
        NDArray expected = Forward.infer(
                manager, attention, Forward.params("positions", manager.create(new float[] {0, 0.5f, 1})), x);
        assertThat(y.toFloatArray()).isEqualTo(expected.toFloatArray());
        assertThat(Math.ulp((float) 1.763e9)).isEqualTo(128);
    }

    @EngineTest
    void causalAttentionOverExplicitKeys(NDManager manager) {
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .optCausal(true)
                .build();
        NDArray keys = manager.randomUniform(-1, 1, new Shape(1, 10, 64));
        attention.initialize(manager, DataType.FLOAT32, keys.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        // tag::keys[]
        NDArray queries = keys.get(":, 7:"); // (1, 3, 64), the last three of ten tokens
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.START_POSITION, 7); // otherwise query 0 would see key 0 only
        NDList inputs = new NDList(keys, queries, keys); // [keys, queries, values]
        NDArray y = attention.forward(store, inputs, false, params).singletonOrThrow();
        // end::keys[]
        NDArray whole = Forward.infer(manager, attention, keys);
        requireClose(y, doubles(whole.get(":, 7:")), 64 * 64 * 0x1p-24f);
    }

    @SuppressWarnings("ReachabilityFenceUsage") // an exception leaves no array to protect
    @EngineTest
    void numbersThatArrive(NDManager manager) {
        float[] numbers = {1, 2, 3};
        // tag::numbers[]
        ByteBuffer buffer = manager.allocateDirect(numbers.length * Float.BYTES);
        buffer.asFloatBuffer().put(numbers);
        NDArray array = manager.create(buffer, new Shape(numbers.length), DataType.FLOAT32);
        Reference.reachabilityFence(buffer);
        // end::numbers[]
        assertThat(array.toFloatArray()).containsExactly(numbers);
    }
}
