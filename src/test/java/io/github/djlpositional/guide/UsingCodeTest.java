package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.guide.Windows.mask;
import static io.github.djlpositional.guide.Windows.merge;
import static io.github.djlpositional.guide.Windows.roll;
import static io.github.djlpositional.guide.Windows.split;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.ParameterStore;
import ai.djl.translate.NoopTranslator;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.FourierFeaturesBlock;
import io.github.djlpositional.Goldens;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.refusals.Expression;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/using.md, docs/conventions.md, and docs/choosing.md. */
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
        assertThat(Math.ulp(1_763_000_000f)).isEqualTo(128);
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

    @EngineTest
    void porting(NDManager manager) {
        NDArray weights = manager.ones(new Shape(600, 64));
        // tag::porting[]
        LearnedPositionalEncodingBlock learned = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optInitialEncodings(weights) // for example GPT-2's wpe.weight, (1024, 768); here (600, 64)
                .build();
        // Llama 3.1 in the format of Hugging Face
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(128)
                .optBase(500_000)
                .optLayout(PairLayout.CONCATENATED)
                .optScaling(RotaryScaling.llama3(8, 1, 4, 8192))
                .optMaxSequenceLength(131_072)
                .build();
        // end::porting[]
        NDArray x = manager.zeros(new Shape(1, 3, 64));
        learned.initialize(manager, DataType.FLOAT32, x.getShape());
        assertThat(Forward.infer(manager, learned, x).toFloatArray()).containsOnly(1f);
        assertThat(learned.getMaxSequenceLength()).isEqualTo(600);
        assertThat(rotary.getScaling()).isEqualTo(RotaryScaling.llama3(8, 1, 4, 8192));
    }

    @EngineTest
    void aLearnedGridIsResampledToOtherPictures(NDManager manager) {
        NDArray weights = manager.ones(new Shape(1, 197, 64));
        NDArray tokens = manager.zeros(new Shape(2, 513, 64));
        ParameterStore parameterStore = new ParameterStore(manager, false);
        // tag::learned-grid[]
        LearnedPositionalEncodingBlock patches = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optGrid(1, 24, 24) // a class token, then 24 x 24 patches
                .optInitialEncodings(weights, 14, 14) // (1, 197, 64), from a model of 14 x 14 patches
                .build();
        patches.initialize(manager, DataType.FLOAT32, new Shape(-1, 577, 64));

        PairList<String, Object> params = new PairList<>();
        params.add(LearnedPositionalEncodingBlock.GRID_SIZES, new Shape(16, 32)); // this image has 16 x 32 patches
        NDList encoded = patches.forward(parameterStore, new NDList(tokens), false, params); // (2, 513, 64)
        // end::learned-grid[]
        assertThat(encoded.singletonOrThrow().getShape()).isEqualTo(tokens.getShape());
        assertThat(encoded.singletonOrThrow().min().getFloat()).isGreaterThan(0.999f);
    }

    static List<String> names() throws IOException {
        return Pattern.compile("`(\\w+\\.builder\\(\\)[^`]*)`")
                .matcher(Files.readString(Path.of("docs/choosing.md")))
                .results()
                .map(line -> line.group(1))
                .distinct()
                .toList();
    }

    /** The lines of code in the first table of docs/choosing.md, for an embedding size of 512. */
    @EngineTest
    void oneLineForEachChoice(NDManager manager, String line) throws Exception {
        Block block = (Block) new Expression(line, Map.of(), manager).value();
        Shape input = new Shape(1, 3, 512);
        if (block instanceof RelativeEncoding encoding) {
            block = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(512)
                    .setHeadCount(8)
                    .optRelativeEncoding(encoding)
                    .build();
        } else if (block instanceof GridPositionalEncodingBlock) {
            input = new Shape(1, 2, 3, 512);
        } else if (block instanceof FourierFeaturesBlock) {
            input = new Shape(1, 3, 1);
        }
        block.initialize(manager, DataType.FLOAT32, input);
        Shape output = Forward.infer(manager, block, manager.ones(input)).getShape();
        assertThat(output).isEqualTo(input.slice(0, input.dimension() - 1).add(512));
    }

    @EngineTest
    void layersInWindows(NDManager manager) {
        // tag::layers-in-windows[]
        List<TransformerLayerBlock> layers = new ArrayList<>(); // each has another bias
        for (int i = 0; i < 2; i++) {
            layers.add(TransformerLayerBlock.builder()
                    .setAttention(MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(96)
                            .setHeadCount(3)
                            .optRelativeEncoding(WindowBiasBlock.builder()
                                    .setHeadCount(3)
                                    .setWindow(7, 7)
                                    .build())
                            .build())
                    .setHiddenSize(384)
                    .optNonlinearity(Nonlinearity.GELU)
                    .optNormPlacement(NormPlacement.BEFORE_PART)
                    .build());
        }
        // end::layers-in-windows[]
        NDArray x = manager.ones(new Shape(2, 28, 28, 96));
        ParameterStore store = new ParameterStore(manager, false);
        layers.forEach(layer -> layer.initialize(manager, DataType.FLOAT32, new Shape(-1, 49, 96)));
        // tag::layers-in-windows[]
        Shape pictures = x.getShape(); // (B, 28, 28, 96)
        for (int i = 0; i < 2; i++) {
            int shift = i % 2 * 3;
            NDList inputs = new NDList(split(roll(roll(x, shift, 1), shift, 2), 7, 7));
            if (shift > 0) {
                inputs.add(mask(x, shift, shift, 7, 7));
            }
            NDArray y = layers.get(i).forward(store, inputs, false).singletonOrThrow();
            x = roll(roll(merge(y, pictures, 7, 7), 28 - shift, 1), 28 - shift, 2);
        }
        // end::layers-in-windows[]
        assertThat(x.getShape()).isEqualTo(pictures);
    }

    /** The weights are those of {@code reference_values.py}, i · 37 mod 101 - 50 in units of 1/64. */
    @EngineTest
    void timesteps(NDManager manager) {
        // tag::timesteps[]
        PositionalEncodingBlock sinusoids = PositionalEncodingBlock.builder()
                .setEmbeddingSize(8) // 320 in Stable Diffusion
                .optEncoding(SinusoidalEncoding.diffusion(8, 0, 1, true))
                .build();
        Linear hidden = Linear.builder().setUnits(6).build(); // 1280; linear_1 of diffusers
        Linear output = Linear.builder().setUnits(6).build(); // 1280; linear_2
        SequentialBlock network = new SequentialBlock() // (B, 8) to (B, 6)
                .add(hidden)
                .add(Activation.swishBlock(1)) // silu
                .add(output);
        network.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        // end::timesteps[]
        for (Linear linear : List.of(hidden, output)) {
            NDArray weight = linear.getParameters().get("weight").getArray();
            double[] values = IntStream.range(0, (int) weight.size())
                    .mapToDouble(i -> (i * 37 % 101 - 50) / 64.0)
                    .toArray();
            NDArray numbers = manager.create(values, weight.getShape()).toType(DataType.FLOAT32, false);
            numbers.copyTo(weight);
            numbers.get(":, 0").copyTo(linear.getParameters().get("bias").getArray());
        }
        // tag::timesteps[]
        NDArray times = manager.create(new float[] {0, 1, 37.5f, 999}); // (B)
        NDArray vectors = network.forward(
                        new ParameterStore(manager, false), new NDList(sinusoids.encode(times)), false)
                .singletonOrThrow(); // (B, 6)
        // end::timesteps[]
        double[] expected = Goldens.rows("timesteps.csv").stream()
                .flatMapToDouble(row -> Stream.of(row[1].split(" ", -1)).mapToDouble(Double::parseDouble))
                .toArray();
        // weights below 0.8 and sums of up to 8 terms below 6.4 · 0.8 + 0.8 < 6 in each of two layers, which multiply
        // the first error by at most 1.1 · 4.8
        requireClose(vectors, expected, (9 * 6 * 6 + 9 * 29) * 0x1p-24);
    }
}
