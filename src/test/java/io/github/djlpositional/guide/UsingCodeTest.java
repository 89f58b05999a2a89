package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
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
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.NoopTranslator;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock.OutputGate;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.KerpleBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.PoolingBlock;
import io.github.djlpositional.transformer.TokenDataset;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import io.github.djlpositional.weights.SavedBlockFactory;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import io.github.djlpositional.weights.Weights;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/using.md. */
class UsingCodeTest extends OnEachEngine {

    /** The header of a file of zeros with the weights of an attention, whose queries and gates share a module. */
    private static final String HEADER_OF_A_GATE = """
            {"self_attn.q_proj.weight": {"dtype": "F32", "shape": [160, 64], "data_offsets": [0, 40960]},
            "self_attn.k_proj.weight": {"dtype": "F32", "shape": [48, 64], "data_offsets": [40960, 53248]},
            "self_attn.v_proj.weight": {"dtype": "F32", "shape": [32, 64], "data_offsets": [53248, 61440]},
            "self_attn.o_proj.weight": {"dtype": "F32", "shape": [64, 64], "data_offsets": [61440, 77824]}}""";

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

    @Test
    void configurationAsAMap() throws Exception {
        String engine = manager.getEngine().getEngineName();
        float[] before;
        try (Model model = Model.newInstance("input", Device.cpu(), engine)) {
            // tag::arguments[]
            InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                    .setVocabularySize(1000)
                    .setEmbeddingSize(64)
                    .build();
            // {type=InputEmbeddingBlock, vocabularySize=1000, …}
            Map<String, Object> arguments = input.getArguments();
            Files.writeString(folder.resolve("input.json"), JsonUtils.GSON.toJson(arguments));
            // end::arguments[]
            assertThat(arguments.toString()).startsWith("{type=InputEmbeddingBlock, vocabularySize=1000, ");
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

    @Test
    void encodingByName() {
        // tag::named[]
        // 8 heads of size 64
        RelativeEncoding kerple = RelativeEncoding.named("KERPLE", 8, 64, Map.of("form", "POWER"));
        // end::named[]
        assertThat(kerple).isInstanceOf(KerpleBiasBlock.class);
        assertThat(((HasArguments) kerple).getArguments()).containsEntry("form", "POWER");
    }

    @Test
    void learnedPositions() {
        // tag::learned[]
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(100)
                .setEmbeddingSize(64)
                .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(64)
                        .optMaxSequenceLength(512)
                        .build())
                .build();
        // end::learned[]
        input.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        NDArray tokens = input.getTokenTable().getArray().get("5:8");
        NDArray positions = input.getPositionalEncoding()
                .getParameters()
                .get("encodings")
                .getArray()
                .get(":3");
        NDArray y = Forward.infer(manager, input, manager.create(new int[][] {{5, 6, 7}}));
        requireClose(y.get(0), doubles(tokens.add(positions)), 1e-6);
    }

    /** The score of a picture is that of its class token: the block's parts, one after the other. */
    @Test
    void visionTransformer() {
        // tag::vision[]
        PatchEmbeddingBlock patches = PatchEmbeddingBlock.builder()
                .setPatchSize(8, 8)
                .setEmbeddingSize(64)
                .optChannels(1) // gray; 3 by default
                .optClassToken(true)
                .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(64)
                        .optGrid(1, 4, 4) // a class token, and 4 x 4 patches
                        .build())
                .build();
        VisionTransformerBlock classifier = VisionTransformerBlock.builder()
                .setInput(patches)
                .setStages(TransformerStackBlock.builder()
                        .setLayers(
                                2,
                                () -> TransformerLayerBlock.builder()
                                        .setEmbeddingSize(64)
                                        .setHeadCount(4)
                                        .optNormPlacement(NormPlacement.BEFORE_PART))
                        .optPooling(Pooling.FIRST) // the class token
                        .optOutputSize(10) // classes
                        .build())
                .build();
        // end::vision[]
        classifier.initialize(manager, DataType.FLOAT32, new Shape(2, 1, 32, 32));
        ParameterStore store = new ParameterStore(manager, false);
        NDArray pictures = numbers(manager, 1, DataType.FLOAT32, 2, 1, 32, 32);
        // tag::vision[]
        // (B, 1, 32, 32) -> (B, 10)
        NDArray scores = classifier.forward(store, new NDList(pictures), false).head();
        // end::vision[]
        assertThat(scores.getShape()).isEqualTo(new Shape(2, 10));
        TransformerStackBlock stack = classifier.getStages().get(0);
        NDArray x = Forward.infer(manager, patches, pictures);
        assertThat(x.getShape()).isEqualTo(new Shape(2, 17, 64));
        for (TransformerLayerBlock layer : stack.getLayers()) {
            x = Forward.infer(manager, layer, x);
        }
        NDArray normed = Forward.infer(manager, stack.getFinalNorm(), x.get(":, :1"));
        NDArray expected = Forward.infer(manager, stack.getOutput(), normed.squeeze(1));
        requireClose(scores, doubles(expected), 1e-4);
        // of another size, with positions between those of the table
        NDArray larger = numbers(manager, 1, DataType.FLOAT32, 1, 1, 48, 40);
        assertThat(Forward.infer(manager, classifier, larger).getShape()).isEqualTo(new Shape(1, 10));
    }

    @Test
    void nonlinearity() {
        // tag::nonlinearity[]
        FeedForwardBlock feedForward = FeedForwardBlock.builder()
                .setEmbeddingSize(64)
                .setHiddenSize(256)
                .optNonlinearity(Nonlinearity.gated((g, h) -> g.mul(h))) // or of(h -> h.tanh())
                .build();
        // end::nonlinearity[]
        feedForward.initialize(manager, DataType.FLOAT64, new Shape(2, 5, 64));
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, 64);
        NDArray g = Forward.infer(manager, feedForward.getGateProjection(), x);
        NDArray h = Forward.infer(manager, feedForward.getHiddenProjection(), x);
        NDArray expected = Forward.infer(manager, feedForward.getOutputProjection(), g.mul(h));
        requireClose(Forward.infer(manager, feedForward, x), doubles(expected), 1e-12);
    }

    /** Learns whether the sum of two numbers is below 11. */
    @Test
    void classifier() throws Exception {
        String engine = manager.getEngine().getEngineName();
        manager.getEngine().setRandomSeed(1);
        long[][] sentences = new long[256][2];
        int[] classes = new int[256];
        for (int i = 0; i < 256; i++) {
            sentences[i][0] = 1L + i * 37 % 10;
            sentences[i][1] = 1L + i / 10 % 10;
            classes[i] = sentences[i][0] + sentences[i][1] < 11 ? 1 : 0;
        }
        int vocabularySize = 100;
        try (Model model = Model.newInstance("classifier", Device.cpu(), engine)) {
            NDArray ids = model.getNDManager().create(sentences);
            NDArray labels = model.getNDManager().create(classes).toType(DataType.FLOAT32, false);
            // tag::classifier[]
            model.setBlock(TransformerStackBlock.builder()
                    .optInput(InputEmbeddingBlock.builder()
                            .setVocabularySize(vocabularySize)
                            .setEmbeddingSize(16)
                            .optPaddingIndex(0)
                            .build())
                    .setLayers(
                            1,
                            () -> TransformerLayerBlock.builder()
                                    .setEmbeddingSize(16)
                                    .setHeadCount(2))
                    .optPooling(Pooling.MEAN) // of the tokens, without padding
                    .optOutputSize(2) // classes
                    .build());
            TokenDataset dataset = TokenDataset.builder()
                    // long[][], of any lengths; each batch is padded to its longest
                    .setTokens(sentences)
                    .setLabels(classes) // int[]
                    .setBatchSize(32)
                    .build();
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 1)); // ids (B, T)
                EasyTrain.fit(trainer, 20, dataset, null);
                // end::classifier[]
                NDArray found =
                        trainer.evaluate(new NDList(ids)).head().argMax(1).toType(DataType.FLOAT32, false);
                assertThat(found.eq(labels).sum().toType(DataType.INT64, false).getLong())
                        .isGreaterThan(240);
                // tag::classifier[]
            }
            // end::classifier[]
            // tag::describing[]
            model.save(folder, "classifier");
            SavedBlockFactory.describe(model.getBlock(), folder); // block.json, serving.properties
            // end::describing[]
            NDList expected = new NDList(Forward.infer(manager, model.getBlock(), ids.get(":3")));
            // tag::describing[]
            Criteria<NDList, NDList> criteria = Criteria.builder()
                    .setTypes(NDList.class, NDList.class)
                    .optModelPath(folder)
                    .optModelName("classifier")
                    // end::describing[]
                    .optEngine(engine)
                    // tag::describing[]
                    .build();
            try (ZooModel<NDList, NDList> loaded = criteria.loadModel()) {
                // end::describing[]
                assertThat(doubles(Forward.infer(manager, loaded.getBlock(), ids.get(":3"))))
                        .isEqualTo(doubles(expected.head()));
                // tag::describing[]
            }
            // end::describing[]
        }
    }

    /** A sequence with padding gives what it gives alone. */
    @Test
    void sequential() {
        // tag::sequential[]
        Block classifier = new SequentialBlock()
                .add(InputEmbeddingBlock.builder()
                        .setVocabularySize(100)
                        .setEmbeddingSize(16)
                        .optPaddingIndex(0)
                        .optReturnMask(true) // [x, mask]
                        .build())
                .add(TransformerLayerBlock.builder()
                        .setEmbeddingSize(16)
                        .setHeadCount(2)
                        .optReturnMask(true) // passes the mask on
                        .build())
                .add(PoolingBlock.builder().setPooling(Pooling.MEAN).build()) // (B, D)
                .add(Linear.builder().setUnits(2).build());
        // end::sequential[]
        classifier.initialize(manager, DataType.FLOAT32, new Shape(1, 5));
        NDArray padded = manager.create(new long[][] {{5, 17, 3, 0, 0}});
        NDArray alone = Forward.infer(manager, classifier, padded.get(":, :3"));
        requireClose(Forward.infer(manager, classifier, padded), doubles(alone), 1e-5);
    }

    @Test
    void padding() {
        // tag::padding[]
        int padding = 0;
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(64)
                // the vector of padding begins as zeros; the position is still added
                .optPaddingIndex(padding)
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
        NDArray isToken = input.mask(ids); // (B, T): true for tokens, false for padding
        NDArray x = input.forward(store, new NDList(ids), false).singletonOrThrow();
        NDArray y = attention.forward(store, new NDList(x, isToken), false).singletonOrThrow();
        // end::padding[]
        NDArray alone = Forward.infer(manager, attention, x.get("1:2, :1"));
        // sums of 64 products of numbers below 1, in another order
        requireClose(y.get("1:2, :1"), doubles(alone), 64 * 64 * 0x1p-24f);
    }

    @Test
    void timesAsPositions() {
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(8)
                .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(8).build())
                .build();
        NDArray x = manager.randomUniform(-1, 1, new Shape(1, 3, 64));
        attention.initialize(manager, DataType.FLOAT32, x.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        // tag::times[]
        // seconds since 1970
        NDArray seconds = manager.create(new double[] {1_763_000_000, 1_763_000_030, 1_763_000_060});
        NDArray minutes = seconds.sub(seconds.get(0)).div(60); // FLOAT64, (T) or (B, T)
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, minutes); // for every block of a model
        NDArray y = attention.forward(store, new NDList(x), false, params).singletonOrThrow();
        // end::times[]
        NDArray expected = Forward.infer(
                manager, attention, Forward.params("positions", manager.create(new float[] {0, 0.5f, 1})), x);
        requireClose(y, doubles(expected), 64 * 0x1p-23); // sums of 64 products of numbers below 1
    }

    // tag::atTimes[]
    /** [ids (B, T), times (B, T)] to the output of a model with the times as positions. */
    static final class AtTimes extends AbstractBlock {

        private final Block model;

        AtTimes(Block model) {
            this.model = addChildBlock("model", model);
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            PairList<String, Object> withTimes = new PairList<>();
            withTimes.add(PositionalEncodingBlock.POSITIONS, inputs.get(1));
            return model.forward(store, new NDList(inputs.get(0)), training, withTimes);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            model.initialize(manager, dataType, inputShapes[0]);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return model.getOutputShapes(new Shape[] {inputShapes[0]});
        }
    }
    // end::atTimes[]

    /** Learns whether two events, which are always the same, are closer than 3 units of time. */
    @Test
    void timesInATrainer() throws Exception {
        String engine = manager.getEngine().getEngineName();
        manager.getEngine().setRandomSeed(1);
        int[][] events = new int[256][];
        float[][] seconds = new float[256][];
        int[] classes = new int[256];
        for (int i = 0; i < 256; i++) {
            float distance = i % 32 / 5f; // up to 6.2
            events[i] = new int[] {1, 2};
            seconds[i] = new float[] {i % 7, i % 7 + distance};
            classes[i] = distance < 3 ? 1 : 0;
        }
        TransformerStackBlock stack = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(3)
                        .setEmbeddingSize(16)
                        .optNoPositions()
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setEmbeddingSize(16)
                                .setHeadCount(2)
                                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                        .setHeadSize(8)
                                        .build()))
                .optPooling(Pooling.MEAN)
                .optOutputSize(2)
                .build();
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(0.01f))
                        .build());
        try (Model model = Model.newInstance("events", Device.cpu(), engine)) {
            // tag::trainAtTimes[]
            model.setBlock(new AtTimes(stack));
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 2), new Shape(1, 2)); // ids and times, (B, T)
                NDManager arrays = trainer.getManager();
                ArrayDataset dataset = new ArrayDataset.Builder()
                        .setData(arrays.create(events), arrays.create(seconds))
                        .optLabels(arrays.create(classes))
                        .setSampling(32, true)
                        .build();
                EasyTrain.fit(trainer, 20, dataset, null);
            }
            // end::trainAtTimes[]
            NDArray times = manager.create(new float[][] {{0, 1}, {5, 6}, {0, 5}, {1, 6}});
            NDArray ids = manager.create(new int[][] {{1, 2}, {1, 2}, {1, 2}, {1, 2}});
            NDArray scores = Forward.infer(manager, model.getBlock(), ids, times);
            assertThat(scores.argMax(1).toType(DataType.INT64, false).toLongArray())
                    .containsExactly(1, 1, 0, 0);
            PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, times);
            requireClose(Forward.infer(manager, stack, params, ids), doubles(scores), 1e-6);
        }
    }

    /** The same as an attention of both to both, of which frames see sounds only. */
    @Test
    void timesOfAMemory() {
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(8)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(8).build())
                .build();
        NDArray frames = manager.randomUniform(-1, 1, new Shape(1, 3, 64));
        NDArray sounds = manager.randomUniform(-1, 1, new Shape(1, 4, 64));
        attention.initialize(manager, DataType.FLOAT32, frames.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        // tag::memory[]
        NDArray ofFrames = manager.create(new double[] {0, 0.5, 1}); // in seconds, (T) or (B, T)
        NDArray ofSounds = manager.create(new double[] {0.1, 0.3, 0.5, 0.7}); // (F) or (B, F)
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, ofFrames); // of the queries
        params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, ofSounds); // of the keys
        NDArray y = attention
                .forward(store, new NDList(sounds, frames, sounds), false, params)
                .singletonOrThrow();
        // end::memory[]
        NDArray mask = manager.create(new int[][] {{0, 0, 0, 1, 1, 1, 1}});
        PairList<String, Object> ofAll = Forward.params(PositionalEncodingBlock.POSITIONS, ofFrames.concat(ofSounds));
        NDArray all = Forward.infer(manager, attention, ofAll, frames.concat(sounds, 1), mask);
        requireClose(y, doubles(all.get(":, :3")), 64 * 0x1p-23); // sums of 64 products of numbers below 1
    }

    @Test
    void tiedOutput() {
        // tag::tied[]
        TransformerStackBlock decoder = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(100)
                        .setEmbeddingSize(64)
                        .optNoPositions()
                        .build())
                .setLayers(2, LanguageModel::layer)
                .optTiedOutput(true) // or optOutputSize(100), with weights of its own
                .build();
        // end::tied[]
        decoder.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        assertThat(decoder.getParameters().values().stream()
                        .filter(parameter -> parameter.getShape().equals(new Shape(100, 64))))
                .containsExactly(decoder.getInput().getTokenTable());
        NDArray ids = manager.create(new int[][] {{5, 6, 7}});
        NDArray scores = Forward.infer(manager, decoder, ids);
        NDArray x = Forward.infer(manager, decoder.getInput(), ids);
        for (TransformerLayerBlock layer : decoder.getLayers()) {
            x = Forward.infer(manager, layer, x);
        }
        NDArray table = decoder.getInput().getTokenTable().getArray();
        NDArray normed = Forward.infer(manager, decoder.getFinalNorm(), x);
        requireClose(scores, doubles(normed.get(0).matMul(table.transpose())), 1e-4);
    }

    /** A token sees itself and the one before it, but no padding. */
    @Test
    void whatAQuerySees() {
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .optCausal(true)
                .optWindow(2)
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(1, 4, 64));
        ParameterStore store = new ParameterStore(manager, false);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 4, 64);
        NDArray mask = manager.create(new int[][] {{0, 1, 1, 1}});
        // tag::sees[]
        NDArray weights = attention.probabilities(store, new NDList(x, mask)); // (B, N, T, F)
        NDArray sees = weights.max(new int[] {1}).gt(0); // (B, T, F): row i is what query i sees
        // end::sees[]
        assertThat(sees.toBooleanArray())
                .containsExactly(
                        false, false, false, false, //
                        false, true, false, false, //
                        false, true, true, false, //
                        false, false, true, true);
    }

    private static long[] shape(Linear projection) {
        return projection.getParameters().get("weight").getShape().getShape();
    }

    @Test
    void gate() throws Exception {
        // tag::gate[]
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .optKeyValueHeadCount(2)
                .optHeadSize(24) // of queries and keys
                .optValueHeadSize(16)
                .optOutputGate(OutputGate.SIGMOID)
                .optBias(false)
                .optCausal(true)
                .build();
        // end::gate[]
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, 64);
        attention.initialize(manager, DataType.FLOAT32, x.getShape());
        assertThat(shape(attention.getValueProjection())).containsExactly(32, 64);
        assertThat(shape(attention.getGateProjection())).containsExactly(64, 64);
        assertThat(Forward.infer(manager, attention, x).getShape()).isEqualTo(x.getShape());
        int rows = 4 * (24 + 16) + 2 * 24 + 2 * 16 + 64;
        byte[] bytes = Weights.safetensors(HEADER_OF_A_GATE, rows * 64 * Float.BYTES);
        WeightFile file = WeightFile.open(Files.write(folder.resolve("model.safetensors"), bytes));
        // tag::loadGate[]
        Parameter query = attention.getQueryProjection().getParameters().get("weight");
        Parameter gate = attention.getGateProjection().getParameters().get("weight");
        WeightLoader.of(file)
                // rows 0 … 23 of each of 4 heads
                .rowsOfGroups("self_attn.q_proj.weight", 4, 0, 24, query)
                .rowsOfGroups("self_attn.q_proj.weight", 4, 24, 40, gate)
                .module("self_attn.k_proj.", attention.getKeyProjection())
                .module("self_attn.v_proj.", attention.getValueProjection())
                .module("self_attn.o_proj.", attention.getResultProjection())
                .load(attention);
        // end::loadGate[]
        assertThat(gate.getArray().toFloatArray()).containsOnly(0);
        assertThat(query.getArray().toFloatArray()).containsOnly(0);
    }

    @Test
    void attentionMaps() {
        TransformerStackBlock stack = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(100)
                        .setEmbeddingSize(64)
                        .optNoPositions()
                        .build())
                .setLayers(2, LanguageModel::layer)
                .build();
        stack.initialize(manager, DataType.FLOAT32, new Shape(2, 4));
        NDArray ids = manager.create(new int[][] {{5, 17, 3, 9}, {8, 2, 0, 0}});
        NDArray mask = ids.neq(0);
        NDArray positions = manager.create(new float[][] {{0, 0.5f, 2, 3}, {0, 4, 0, 0}});
        ParameterStore store = new ParameterStore(manager, false);
        NDList maps = new NDList();
        // tag::maps[]
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, positions); // (B, T)
        NDArray x =
                stack.getInput().forward(store, new NDList(ids), false, params).head();
        for (TransformerLayerBlock layer : stack.getLayers()) {
            // a layer with its norm before the attention; otherwise, pass x itself
            NDArray normed = layer.getAttentionNorm()
                    .forward(store, new NDList(x), false)
                    .head();
            // (B, N, T, F)
            NDArray map = layer.getAttention().probabilities(store, new NDList(normed, mask), params);
            maps.add(map);
            x = layer.forward(store, new NDList(x, mask), false, params).head();
        }
        // end::maps[]
        assertThat(maps).hasSize(2);
        for (NDArray map : maps) {
            assertThat(map.getShape()).isEqualTo(new Shape(2, 4, 4, 4));
            // each query sees a token of its sentence
            requireClose(
                    map.sum(new int[] {3}),
                    DoubleStream.generate(() -> 1).limit(32).toArray(),
                    1e-6);
            // padding is hidden
            assertThat(map.get("1, :, :, 2:").sum().getFloat()).isZero();
        }
        NDArray normed = Forward.infer(manager, stack.getFinalNorm(), x);
        requireClose(normed, doubles(Forward.infer(manager, stack, params, ids, mask)), 1e-5);
    }

    @Test
    void causalAttentionOverExplicitKeys() {
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
        // otherwise query 0 would see key 0 only
        params.add(PositionalEncodingBlock.START_POSITION, 7);
        NDList inputs = new NDList(keys, queries, keys); // [keys, queries, values]
        NDArray y = attention.forward(store, inputs, false, params).singletonOrThrow();
        // end::keys[]
        NDArray whole = Forward.infer(manager, attention, keys);
        requireClose(y, doubles(whole.get(":, 7:")), 64 * 64 * 0x1p-24f);
    }

    @SuppressWarnings("ReachabilityFenceUsage") // an exception leaves no array to protect
    @Test
    void numbersThatArrive() {
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
