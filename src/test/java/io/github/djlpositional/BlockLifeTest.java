package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.model;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.NoopTranslator;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.attention.EncodingType;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** What happens to the blocks and their arrays over a model's life. */
class BlockLifeTest {

    private static final float[] TABLE = SinusoidalEncoding.vaswani(4).table(0, 10);
    private static final Shape X = new Shape(1, 10, 4);

    private static PositionalEncodingBlock positions() {
        return SmallBlocks.positions().build();
    }

    private static SequentialBlock network() {
        return new SequentialBlock()
                .add(embedding().build())
                .add(Linear.builder().setUnits(3).build());
    }

    private static Trainer trainer(Model model) {
        return model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(0.02f))
                        .build()));
    }

    /** Expects a forward to return the rows of the table. */
    private static void assertTable(NDManager manager, Block block) {
        assertThat(Forward.infer(manager, block, manager.zeros(X)).toFloatArray())
                .isEqualTo(TABLE);
    }

    private static float[] predict(Model model, Engine engine) throws Exception {
        try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator());
                NDManager manager = engine.newBaseManager(Device.cpu())) {
            NDList output = predictor.predict(new NDList(ids(manager)));
            float[] values = output.singletonOrThrow().toFloatArray();
            output.close();
            return values;
        }
    }

    /** Trains on the ids, and returns the last loss. */
    private static float train(Trainer trainer, int steps, UnaryOperator<NDArray> loss) {
        float last = Float.NaN;
        for (int i = 0; i < steps; i++) {
            try (NDManager batch = trainer.getManager().newSubManager()) {
                NDArray value;
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    value = loss.apply(trainer.forward(new NDList(ids(batch))).singletonOrThrow());
                    collector.backward(value);
                }
                last = value.getFloat();
                trainer.step();
            }
        }
        return last;
    }

    private static NDArray distance(NDArray y) {
        return y.sub(y.getManager().arange(18f).reshape(2, 3, 3).div(10))
                .square()
                .mean();
    }

    @EngineTest
    void learnsInATrainer(Engine engine) {
        engine.setRandomSeed(1);
        try (Model model = model(engine, network());
                Trainer trainer = trainer(model)) {
            trainer.initialize(new Shape(2, 3));
            float before = train(trainer, 1, BlockLifeTest::distance);
            assertThat(train(trainer, 100, BlockLifeTest::distance)).isLessThan(before / 4);
        }
    }

    /** A block that was not initialized is initialized by the first forward in training, with the trainer's manager. */
    @EngineTest
    void remainsUsableAfterItsTrainer(Engine engine, NDManager manager, boolean initialize) {
        PositionalEncodingBlock block = positions();
        try (Model model = model(engine, block)) {
            try (Trainer trainer = trainer(model)) {
                if (initialize) {
                    trainer.initialize(X);
                }
                trainer.forward(new NDList(manager.zeros(X)));
            }
            assertTable(manager, block);
        }
    }

    @EngineTest
    void isTrainedWithoutItsTableWhenUnfrozen(Engine engine) {
        InputEmbeddingBlock block = embedding().optMaxSequenceLength(10).build();
        try (Model model = model(engine, block);
                Trainer trainer = trainer(model)) {
            trainer.initialize(new Shape(2, 3));
            block.freezeParameters(true);
            block.freezeParameters(false);
            assertThat(block.getParameters().keys()).containsExactly("embedding");
            train(trainer, 3, y -> y.square().sum());
            PositionalEncodingBlock positions = (PositionalEncodingBlock) block.getPositionalEncoding();
            assertThat(positions.getEncodings().hasGradient()).isFalse();
            assertThat(positions.getEncodings().toFloatArray()).isEqualTo(TABLE);
        }
    }

    @EngineTest
    void predictsTheSameAfterSavingAndLoadingEvenOnAnInterruptedThread(
            Engine engine, boolean interrupt, @TempDir Path folder) throws Exception {
        try (Model model = model(engine, network());
                Model loaded = model(engine, network())) {
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(2, 3));
            if (interrupt) {
                Thread.currentThread().interrupt();
            }
            model.save(folder, "life");
            loaded.load(folder, "life");
            assertThat(Thread.interrupted()).isEqualTo(interrupt);
            assertThat(predict(loaded, engine)).isEqualTo(predict(model, engine));
        }
    }

    @EngineTest
    void aModelIsSavedElsewhereWhenADiskIsFull(Engine engine, @TempDir Path folder) throws Exception {
        // Linux has a device that is always full
        Path full = Path.of("/dev/full");
        assumeTrue(Files.isWritable(full), "there is no /dev/full");
        Files.createSymbolicLink(folder.resolve("life-0000.params"), full);
        try (Model model = model(engine, embedding().build());
                Model loaded = model(engine, embedding().build())) {
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(2, 3));
            // or DJL would take the next number
            model.setProperty("Epoch", "0");
            assertThatIOException()
                    .isThrownBy(() -> model.save(folder, "life"))
                    .withMessageContaining("No space left on device");
            model.save(folder.resolve("other"), "life");
            loaded.load(folder.resolve("other"), "life");
            assertThat(predict(loaded, engine)).isEqualTo(predict(model, engine));
        }
    }

    /** DJL's SequentialBlock cannot be saved again after loading: it forgets the names of its inputs. */
    @EngineTest
    void modelFileHasNoTableAndALoadedBlockHasOne(Engine engine, @TempDir Path folder) throws Exception {
        PositionalEncodingBlock.Builder builder = SmallBlocks.positions().setEmbeddingSize(512);
        Shape shape = new Shape(1, 10, 512);
        PositionalEncodingBlock loaded = builder.build();
        try (Model saved = model(engine, builder.build());
                Model model = model(engine, loaded)) {
            saved.getBlock().initialize(saved.getNDManager(), DataType.FLOAT32, shape);
            saved.save(folder, "life");
            assertThat(Files.size(folder.resolve("life-0000.params"))).isLessThan(1000);
            model.load(folder, "life");
            assertThat(loaded.isInitialized()).isTrue();
            assertThat(loaded.getEncodings().toFloatArray())
                    .isEqualTo(SinusoidalEncoding.vaswani(512).table(0, 10));
            assertThat(loaded.getInputShapes()).containsExactly(shape);
            model.save(folder.resolve("again"), "life");
        }
        assertThat(folder.resolve("again/life-0000.params")).hasSameBinaryContentAs(folder.resolve("life-0000.params"));
    }

    /** EveryBlockTest has the test of initialized blocks. */
    @EngineTest
    void isUsedByOnePredictorAfterAnotherWithoutInitialization(Engine engine, NDManager manager) throws Exception {
        try (Model model = model(engine, positions())) {
            for (int i = 0; i < 3; i++) {
                try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
                    NDList output = predictor.predict(new NDList(manager.zeros(X)));
                    assertThat(output.singletonOrThrow().toFloatArray()).isEqualTo(TABLE);
                }
            }
        }
    }

    @EngineTest
    void canBeInitializedAgainInAnotherDataType(NDManager manager) {
        PositionalEncodingBlock block = initialized(manager, positions(), 1, 10, 4);
        block.initialize(manager, DataType.FLOAT64, X);
        assertThat(block.getEncodings().getDataType()).isEqualTo(DataType.FLOAT64);
        assertTable(manager, block);
    }

    /** EveryBlockTest has the test of initialized blocks. */
    @EngineTest
    void tableIsNotClosedWithAScopeThatItIsFirstUsedIn(NDManager manager) {
        NDArray positions = manager.arange(10);
        PositionalEncodingBlock block = positions();
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            assertTable(manager, block);
            block.encode(positions);
        }
        assertTable(manager, block);
        assertThat(block.encode(positions).toFloatArray()).isEqualTo(TABLE);
    }

    @EngineTest
    void tableThatWasClearedOrClosedByMistakeIsCreatedAgain(NDManager manager, boolean clear) {
        PositionalEncodingBlock block = initialized(manager, positions(), 1, 10, 4);
        NDArray table = block.getEncodings();
        if (clear) {
            block.clear();
        } else {
            table.close();
        }
        assertThat(table.isReleased()).isTrue();
        assertTable(manager, block);
        assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
    }

    /** EveryBlockTest has the test of a single input. */
    @EngineTest
    void encodingsOfPositionsBelongToTheCallerToWriteAndClose(NDManager manager, boolean add) {
        PositionalEncodingBlock block =
                initialized(manager, SmallBlocks.positions().optAddToInput(add).build(), 1, 10, 4);
        NDArray x = manager.zeros(X);
        for (NDArray positions : List.of(manager.arange(10), manager.arange(10).reshape(1, 10), manager.arange(10f))) {
            NDArray y = Forward.infer(manager, block, x, positions);
            assertThat(y.toFloatArray()).isEqualTo(TABLE);
            y.addi(1).close();
            block.encode(positions).muli(0).close();
            assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
            assertThat(x.toFloatArray()).containsOnly(0);
        }
    }

    @EngineTest
    void encodingsOfPositionsBelongToTheManagerOfTheInput(Engine engine, NDManager manager) {
        Block block = SmallBlocks.positions().optAddToInput(false).build();
        NDArray integers = manager.arange(3);
        NDArray reals = manager.arange(3f);
        try (NDManager inner = engine.newBaseManager(Device.cpu())) {
            NDArray x = inner.zeros(new Shape(1, 3, 4));
            int before = manager.getManagedArrays().size();
            for (NDArray positions : new NDArray[] {integers, reals}) {
                assertThat(Forward.infer(inner, block, x, positions).getManager())
                        .isSameAs(inner);
            }
            assertThat(manager.getManagedArrays()).hasSize(before);
        }
    }

    @EngineTest
    void viewsOfEncodedPositionsRemainValidAfterThem(NDManager manager) {
        NDArray view;
        try (NDArray encoded = positions().encode(manager.arange(10f))) {
            view = encoded.expandDims(0);
        }
        System.gc();
        assertThat(view.toFloatArray()).isEqualTo(TABLE);
    }

    /** The input of a decoder's step is a column of the ids, a view that is not contiguous. */
    @EngineTest
    void aForwardOfAColumnLeavesOnlyItsOutput(NDManager manager) {
        InputEmbeddingBlock block = initialized(manager, embedding().build(), 2, 3);
        NDArray column = manager.ones(new Shape(2, 3), DataType.INT64).get(":, 0:1");
        NDArray real = manager.ones(new Shape(2, 3), DataType.FLOAT64).get(":, 0:1");
        Forward.infer(manager, block, column).close();
        int before = manager.getManagedArrays().size();
        Forward.infer(manager, block, column).close();
        Forward.infer(manager, block, column, column).close();
        Forward.infer(manager, block, column, real).close();
        assertThat(manager.getManagedArrays()).hasSize(before);
    }

    /** Positions of other types are converted before their range is checked. */
    @EngineTest
    void aRangeCheckLeavesNothing(NDManager manager) {
        PositionalEncodingBlock block = positions();
        for (DataType type : List.of(DataType.INT32, DataType.INT8, DataType.FLOAT32, DataType.FLOAT16)) {
            NDArray few = manager.zeros(new Shape(3)).toType(type, true);
            NDArray many = manager.zeros(new Shape(100)).toType(type, true);
            block.encode(few).close();
            int before = manager.getManagedArrays().size();
            block.encode(few).close();
            block.encode(many).close();
            assertThat(manager.getManagedArrays()).as("%s", type).hasSize(before);
        }
    }

    @EngineTest
    @Tag("slow")
    void memoryDoesNotGrowOverForwards(Engine engine, NDManager manager) throws Exception {
        PositionalEncodingBlock.Builder positions =
                SmallBlocks.positions().setEmbeddingSize(64).optMaxSequenceLength(128);
        InputEmbeddingBlock.Builder embedding =
                embedding().setEmbeddingSize(64).optPaddingIndex(0).optScaleEmbedding(true);
        NDArray x = manager.zeros(new Shape(1, 8, 64));
        NDArray integers = manager.arange(8).toType(DataType.INT8, false);
        NDArray reals = manager.arange(8f);
        NDArray ids = manager.ones(new Shape(1, 8), DataType.INT32).toType(DataType.UINT8, false);
        // MXNet takes ten times as long for each
        assertMemoryFlat(manager, positions.build(), engine.getEngineName().equals("MXNet") ? 10_000 : 50_000, x);
        assertMemoryFlat(manager, positions.build(), 3_000, x, integers);
        assertMemoryFlat(manager, positions.build(), 3_000, x, reals);
        assertMemoryFlat(manager, positions.optLearnedScale(1).build(), 3_000, x);
        assertMemoryFlat(manager, positions.optAddToInput(false).build(), 3_000, x, integers);
        assertMemoryFlat(manager, embedding.build(), 3_000, ids);
        assertMemoryFlat(manager, embedding.optPositionsFromPadding(1).build(), 3_000, ids);
        assertMemoryFlat(manager, learned().setEmbeddingSize(64).build(), 3_000, x, integers);
    }

    private static void assertMemoryFlat(NDManager manager, Block block, int times, NDArray... inputs)
            throws IOException {
        NDList list = new NDList(inputs);
        block.initialize(manager, DataType.FLOAT32, list.getShapes());
        ParameterStore store = new ParameterStore(manager, false);
        forwardOften(block, store, list, times);
        int arraysBefore = manager.getManagedArrays().size();
        long growth = Long.MAX_VALUE;
        // the heap and the engine's caches fill up once; a leak continues in every round, and 256 bytes, one row
        // of one forward, would be 25 MB in 100,000
        for (int round = 0; round < 6 && growth > 20L << 20; round++) {
            long before = ResidentMemory.bytes();
            forwardOften(block, store, list, times);
            growth = ResidentMemory.bytes() - before;
        }
        assertThat(growth).isLessThan(20L << 20);
        // fewer if the table of an earlier block was garbage collected
        assertThat(manager.getManagedArrays()).as("%s", block).hasSizeLessThanOrEqualTo(arraysBefore);
    }

    private static void forwardOften(Block block, ParameterStore store, NDList inputs, int times) {
        for (int i = 0; i < times; i++) {
            block.forward(store, inputs, false).singletonOrThrow().close();
        }
    }

    @EngineTest
    void tableNeedsNoMoreThanItsOwnBytes(NDManager manager) throws Exception {
        assumeTrue(ResidentMemory.bytes() > 0);
        PositionalEncodingBlock block = SmallBlocks.positions()
                .setEmbeddingSize(64)
                .optMaxSequenceLength(1_000_000)
                .build();
        long before = ResidentMemory.bytes();
        long peakFrom = ResidentMemory.resetPeak();
        initialized(manager, block, 1, 3, 64);
        long bytes = 4L * 64 * 1_000_000;
        // waits for an engine that works asynchronously
        NDArray last = Forward.inferFrom(manager, 999_999, block, manager.zeros(new Shape(1, 1, 64)));
        assertThat(last.getFloat(0, 0, 0)).isEqualTo((float) StrictMath.sin(999_999));
        // some MB more are used while the table is computed; a second copy would be as large again. Less if the
        // process has freed memory to reuse.
        assertThat(ResidentMemory.peak() - peakFrom).isLessThan(bytes * 3 / 2);
        assertThat(ResidentMemory.bytes() - before).isLessThan(bytes * 3 / 2);
        assertThat(block.getEncodings().size() * DataType.FLOAT32.getNumOfBytes())
                .isEqualTo(bytes);
        block.clear();
    }

    /** Collects garbage, and overwrites the memory that was freed. */
    private static List<ByteBuffer> collectAndOverwrite() throws InterruptedException {
        System.gc();
        Thread.sleep(100);
        List<ByteBuffer> others = new ArrayList<>();
        for (int bytes : new int[] {4, 8, 16, 32}) {
            for (int i = 0; i < 2000; i++) {
                ByteBuffer other = ByteBuffer.allocateDirect(bytes);
                while (other.hasRemaining()) {
                    other.put((byte) 0x41);
                }
                others.add(other);
            }
        }
        return others;
    }

    /** The gradients, with garbage collected after the forward: Java must not free memory that the engine reads. */
    private static Map<String, float[]> gradients(Engine engine, Block block, NDArray x, boolean withGarbage)
            throws InterruptedException {
        Map<String, float[]> gradients = new LinkedHashMap<>();
        try (NDManager manager = engine.newBaseManager(x.getDevice());
                GradientCollector collector = engine.newGradientCollector()) {
            NDList inputs = new NDList(x);
            NDArray y = block.forward(new ParameterStore(manager, false), inputs, true)
                    .singletonOrThrow();
            NDArray loss = y.mul(y).sum();
            List<ByteBuffer> others = withGarbage ? collectAndOverwrite() : List.of();
            collector.backward(loss);
            assertThat(others).hasSize(withGarbage ? 8000 : 0);
            block.getParameters()
                    .forEach(pair -> gradients.put(
                            pair.getKey(),
                            pair.getValue().getArray().getGradient().toFloatArray()));
        }
        block.getParameters().forEach(pair -> {
            NDArray gradient = pair.getValue().getArray().getGradient();
            gradient.subi(gradient);
        });
        return gradients;
    }

    private static void requireSame(Engine engine, NDManager manager, Block block, NDArray x)
            throws InterruptedException {
        block.setInitializer(DevicesTest.weights(), parameter -> true);
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        block.getParameters().forEach(pair -> pair.getValue().getArray().setRequiresGradient(true));
        Map<String, float[]> expected = gradients(engine, block, x, false);
        Map<String, float[]> found = gradients(engine, block, x, true);
        expected.forEach((name, values) ->
                assertThat(found.get(name)).as("%s of %s", name, block).isEqualTo(values));
    }

    @EngineTest(Selection.EACH)
    void gradientsOfAttentionsDoNotChange(Engine engine, NDManager manager, EncodingType type)
            throws InterruptedException {
        NDArray x = manager.arange(2 * 3 * 8f).reshape(2, 3, 8).sin();
        requireSame(engine, manager, type.attention(2).build(), x);
    }

    @EngineTest
    void gradientsOfEmbeddingsDoNotChange(Engine engine, NDManager manager) throws InterruptedException {
        Block embedding = embedding().optScaleEmbedding(true).optPaddingIndex(0).build();
        requireSame(engine, manager, embedding, ids(manager));
        Block scaled = SmallBlocks.positions().optLearnedScale(0.5f).build();
        requireSame(engine, manager, scaled, manager.ones(new Shape(2, 3, 4)));
    }
}
