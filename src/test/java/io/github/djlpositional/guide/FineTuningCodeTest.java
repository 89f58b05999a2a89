package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.BlockList;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.WeightLoader;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/fine-tuning.md. */
class FineTuningCodeTest extends OnEachEngine {

    @TempDir
    private Path folder;

    // tag::model[]
    /** A stack with learned positions, the mean of a sentence's tokens, and a score for each class. */
    static TransformerStackBlock model(int positions, int classes) {
        return TransformerStackBlock.builder()
                .optInput(input().optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                                .setEmbeddingSize(8)
                                .optMaxSequenceLength(positions)
                                .build())
                        .build())
                .setLayers(2, () -> layer())
                .optPooling(Pooling.MEAN)
                .optOutputSize(classes)
                .build(); // (B, T) to (B, classes)
    }
    // end::model[]

    private static InputEmbeddingBlock.Builder input() {
        return InputEmbeddingBlock.builder().setVocabularySize(10).setEmbeddingSize(8);
    }

    private static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    private static TransformerStackBlock model(InputEmbeddingBlock.Builder input, RelativeEncoding... encodings) {
        return TransformerStackBlock.builder()
                .optInput(input.build())
                .setLayers(2, () -> layer().optRelativeEncoding(encodings))
                .optPooling(Pooling.MEAN)
                .optOutputSize(3)
                .build();
    }

    private static NDArray parameter(Block block, String end) {
        return block.getParameters().stream()
                .filter(entry -> entry.getKey().endsWith(end))
                .findFirst()
                .orElseThrow()
                .getValue()
                .getArray();
    }

    @Test
    void fromASavedModel() throws Exception {
        String engine = manager.getEngine().getEngineName();
        float[] rows;
        try (Model model = Model.newInstance("saved", Device.cpu(), engine)) {
            model.setBlock(model(512, 3));
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 1));
            model.setProperty("Epoch", "0");
            model.save(folder, "saved");
            rows = parameter(model.getBlock(), "encodings").toFloatArray();
        }
        // tag::copy[]
        try (Model saved = Model.newInstance("saved", Device.cpu(), engine);
                Model model = Model.newInstance("longer", Device.cpu(), engine)) {
            saved.setBlock(model(512, 3)); // as it was saved: 512 positions, 3 classes
            saved.load(folder, "saved");

            Block longer = model(1024, 5);
            longer.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 1)); // ids (B, T)
            WeightLoader.ofBlock(saved.getBlock())
                    .appendRows("*encodings") // positions from 512 on stay as initialized
                    .allowMissing("*output_*") // a new layer for the classes
                    .allowUnused("*output_*")
                    .load(longer);
            model.setBlock(longer);
            // end::copy[]
            assertThat(parameter(longer, "encodings").get(":512").toFloatArray())
                    .containsExactly(rows);
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss()).optDevices(new Device[] {Device.cpu()});
            // tag::freezing[]
            try (Trainer trainer = model.newTrainer(config)) {
                TransformerStackBlock block = (TransformerStackBlock) model.getBlock();
                block.freezeParameters(true);
                block.getOutput().freezeParameters(false); // train only the output layer
                trainer.initialize(new Shape(1, 8));
                // end::freezing[]
                assertThat(block.getParameters().values().stream().filter(Parameter::requiresGradient))
                        .hasSize(2);
                // tag::freezing[]
            }
            // end::freezing[]
            // tag::copy[]
        }
        // end::copy[]
    }

    private static SequentialBlock trained() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(Linear.builder().setUnits(3).build());
    }

    /** The numbers of the trained blocks, one after another, with the positions between them. */
    @Test
    void positionsInASequentialBlock() throws Exception {
        String engine = manager.getEngine().getEngineName();
        NDArray x = manager.arange(24f).reshape(2, 3, 4).div(24);
        NDArray expected;
        try (Model model = Model.newInstance("saved", Device.cpu(), engine)) {
            SequentialBlock trained = trained();
            model.setBlock(trained);
            trained.initialize(model.getNDManager(), DataType.FLOAT32, x.getShape());
            model.setProperty("Epoch", "0");
            model.save(folder, "saved");
            NDArray hidden = Forward.infer(manager, trained.getChildren().valueAt(0), x);
            NDArray table = manager.create(SinusoidalEncoding.vaswani(8).table(0, 3), new Shape(3, 8))
                    .toType(DataType.FLOAT32, false);
            expected = Forward.infer(manager, trained.getChildren().valueAt(1), hidden.add(table));
        }
        // tag::insert[]
        try (Model model = Model.newInstance("with-positions", Device.cpu(), engine)) {
            SequentialBlock trained = trained(); // 01Linear and 02Linear, as they were saved
            model.setBlock(trained);
            model.load(folder, "saved");

            BlockList children = trained.getChildren();
            SequentialBlock block = new SequentialBlock()
                    .add(children.get("01Linear")) // the same object, with its weights
                    .add(PositionalEncodingBlock.builder().setEmbeddingSize(8).build())
                    .add(children.get("02Linear")); // now 03Linear
            model.setBlock(block);
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 1, 4)); // changes no weights
            model.save(folder, "with-positions");
            // end::insert[]
            requireClose(Forward.infer(manager, block, x), doubles(expected), 1e-5);
            assertThat(block.getChildren().keys()).containsExactly("01Linear", "02PositionalEncodingBlock", "03Linear");
            // tag::insert[]
        }
        // end::insert[]
        try (Model model = Model.newInstance("with-positions", Device.cpu(), engine)) {
            SequentialBlock block = new SequentialBlock()
                    .add(Linear.builder().setUnits(8).build())
                    .add(PositionalEncodingBlock.builder().setEmbeddingSize(8).build())
                    .add(Linear.builder().setUnits(3).build());
            model.setBlock(block);
            model.load(folder, "with-positions");
            requireClose(Forward.infer(manager, block, x), doubles(expected), 1e-5);
        }
    }

    /** Row i of 15 lies at i / 2 of 8: every other one is the mean of two. */
    @Test
    void stretching() throws Exception {
        TransformerStackBlock trained = model(8, 3);
        trained.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        NDArray table = parameter(trained, "encodings");
        // tag::stretch[]
        LearnedPositionalEncodingBlock stretched = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(8)
                .optInitialEncodings(table) // of 8 positions, (8, D)
                .optMaxSequenceLength(15)
                .optResampling(GridResampling.BILINEAR_ALIGNED) // the first and the last keep their vectors
                .build();
        // end::stretch[]
        TransformerStackBlock longer = model(input().optPositionalEncoding(stretched));
        longer.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        WeightLoader.ofBlock(trained)
                .allowMissing("*encodings")
                .allowUnused("*encodings")
                .load(longer);
        for (int row = 0; row < 15; row++) {
            NDArray mean = table.get(row / 2).add(table.get((row + 1) / 2)).div(2);
            assertThat(stretched.getTable().getArray().get(row).toFloatArray())
                    .containsExactly(mean.toFloatArray(), within(1e-6f));
        }
    }

    /** Every other row and column lies where one of the smaller images does. */
    @Test
    void largerImages() {
        // tag::images[]
        SinusoidalEncoding encoding = SinusoidalEncoding.xTransformers(32);
        GridEncoding grid = GridEncoding.builder() // visionTransformer(64), with half of the coordinates
                .setAxes(2)
                .add(1, encoding)
                .add(0, encoding)
                .optScale(0.5)
                .build();
        // the same for rotary encodings, (2, 1, T)
        NDArray positions =
                manager.create(RotaryPresets.positions(16, 16)).mul(0.5f).expandDims(1);
        // end::images[]
        GridEncoding trained = GridEncoding.visionTransformer(64);
        for (int channel = 0; channel < 64; channel++) {
            double value = grid.value(channel, grid.coordinate(2, 16), grid.coordinate(6, 16));
            assertThat(value).isEqualTo(trained.value(channel, 1, 3));
        }
        assertThat(positions.get("1, 0, :3").toDoubleArray()).containsExactly(0, 0.5, 1);
    }

    @Test
    void anotherEncoding() throws Exception {
        TransformerStackBlock trained = model(512, 3);
        trained.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(4).optBase(500_000).build();
        TransformerStackBlock model = model(input().optNoPositions(), rotary);
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        // tag::encoding[]
        WeightLoader.ofBlock(trained) // with a learned table
                .allowUnused("*encodings")
                .load(model); // with rotary embeddings, which have no parameters
        // end::encoding[]
        RotaryEmbeddingBlock other =
                RotaryEmbeddingBlock.builder().setHeadSize(4).build();
        TransformerStackBlock withOtherBase = model(input().optNoPositions(), other);
        withOtherBase.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        WeightLoader.ofBlock(model).load(withOtherBase);
        requireSame(parameter(withOtherBase, "output_weight"), parameter(model, "output_weight"));
        NDArray ids = manager.create(new int[][] {{5, 6, 7}});
        assertThat(Forward.infer(manager, withOtherBase, ids)).isNotEqualTo(Forward.infer(manager, model, ids));
        RelativeEncoding bias = RelativeEncoding.named("T5", 2, 4, Map.of());
        TransformerStackBlock withBiases = model(input().optNoPositions(), bias);
        withBiases.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        WeightLoader.ofBlock(model).allowMissing("*relativeEncoding*").load(withBiases);
        requireSame(parameter(withBiases, "output_weight"), parameter(model, "output_weight"));
    }

    @Test
    void packedDocuments() {
        manager.getEngine().setRandomSeed(1);
        TransformerStackBlock block = TransformerStackBlock.builder()
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setEmbeddingSize(8)
                                .setHeadCount(2)
                                .optCausal(true))
                .optInput(input().build())
                .optTiedOutput(true)
                .build();
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(0.01f))
                        .build());
        double[] losses = new double[2];
        try (Model model =
                Model.newInstance("packed", Device.cpu(), manager.getEngine().getEngineName())) {
            model.setBlock(block);
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 7));
                for (int i = 0; i < losses.length; i++) {
                    double ofDocuments = 0;
                    for (int[][] document : new int[][][] {{{5, 7, 3}, {7, 3, 2}}, {{8, 9, 4, 1}, {9, 4, 1, 2}}}) {
                        NDArray scores = Forward.infer(
                                manager, block, manager.create(document[0]).expandDims(0));
                        NDArray loss = trainer.getLoss()
                                .evaluate(
                                        new NDList(manager.create(document[1]).reshape(1, -1, 1)), new NDList(scores));
                        ofDocuments += loss.getFloat() * document[0].length / 7;
                    }
                    // tag::packed[]
                    try (NDManager step = trainer.getManager().newSubManager()) {
                        NDArray ids = step.create(new int[][] {{5, 7, 3, 8, 9, 4, 1}}); // two documents, (B, T)
                        NDArray next = step.create(new int[][] {{7, 3, 2, 9, 4, 1, 2}}); // 2 after each
                        PairList<String, Object> params = new PairList<>();
                        params.add(PositionalEncodingBlock.DOCUMENTS, Documents.ofLengths(3, 4));
                        try (GradientCollector collector = trainer.newGradientCollector()) {
                            // trainer.forward takes no parameters
                            NDList scores = model.getBlock()
                                    .forward(new ParameterStore(step, false), new NDList(ids), true, params);
                            NDArray loss = trainer.getLoss().evaluate(new NDList(next.expandDims(2)), scores);
                            collector.backward(loss);
                            // end::packed[]
                            losses[i] = loss.getFloat();
                            // tag::packed[]
                        }
                        trainer.step();
                    }
                    // end::packed[]
                    assertThat(losses[i]).isCloseTo(ofDocuments, within(1e-5));
                }
            }
        }
        assertThat(losses[1]).isLessThan(losses[0]);
    }
}
