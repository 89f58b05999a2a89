package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

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
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.io.TempDir;

/** What happens to the blocks and their arrays over a model's life. */
class BlockLifeTest {

    private static final float[] TABLE = SinusoidalEncoding.vaswani(4).table(0, 10);

    private static PositionalEncodingBlock positions() {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .build();
    }

    private static InputEmbeddingBlock embedding() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .build();
    }

    private static SequentialBlock network() {
        return new SequentialBlock()
                .add(embedding())
                .add(Linear.builder().setUnits(3).build());
    }

    private static Model model(Engine engine, Block block) {
        Model model = Model.newInstance("life", Device.cpu(), engine.getEngineName());
        model.setBlock(block);
        return model;
    }

    private static Trainer trainer(Model model) {
        return model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(0.02f))
                        .build()));
    }

    private static float[] encodeZeros(NDManager manager, Block block) {
        return Forward.infer(manager, block, manager.zeros(new Shape(1, 10, 4))).toFloatArray();
    }

    private static NDArray ids(NDManager manager) {
        return manager.create(new long[] {1, 0, 6, 3, 3, 0}, new Shape(2, 3));
    }

    private static float[] predict(Predictor<NDList, NDList> predictor, Engine engine) throws Exception {
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            NDList output = predictor.predict(new NDList(ids(manager)));
            float[] values = output.singletonOrThrow().toFloatArray();
            output.close();
            return values;
        }
    }

    private static float train(Trainer trainer, int steps) {
        float loss = Float.NaN;
        for (int i = 0; i < steps; i++) {
            try (NDManager batch = trainer.getManager().newSubManager()) {
                NDArray target = batch.arange(18f).reshape(2, 3, 3).div(10);
                NDArray value;
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    NDArray y = trainer.forward(new NDList(ids(batch))).singletonOrThrow();
                    value = y.sub(target).square().mean();
                    collector.backward(value);
                }
                loss = value.getFloat();
                trainer.step();
            }
        }
        return loss;
    }

    @EngineTest
    void learnsThroughATrainer(Engine engine) {
        engine.setRandomSeed(1);
        try (Model model = model(engine, network());
                Trainer trainer = trainer(model)) {
            trainer.initialize(new Shape(2, 3));
            float before = train(trainer, 1);
            float after = train(trainer, 100);
            assertThat(after).isLessThan(before / 4);
        }
    }

    @EngineTest
    void outlivesATrainer(Engine engine, NDManager manager) {
        PositionalEncodingBlock block = positions();
        try (Model model = model(engine, block)) {
            try (Trainer trainer = trainer(model)) {
                trainer.initialize(new Shape(1, 10, 4));
                trainer.forward(new NDList(manager.zeros(new Shape(1, 10, 4))));
            }
            assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
        }
    }

    @EngineTest
    void outlivesATrainerThatItWasFirstUsedIn(Engine engine, NDManager manager) {
        // nobody initializes: the first forward in training does, on the trainer's manager
        PositionalEncodingBlock block = positions();
        try (Model model = model(engine, block)) {
            try (Trainer trainer = trainer(model)) {
                trainer.forward(new NDList(manager.zeros(new Shape(1, 10, 4))));
            }
            assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
        }
    }

    @EngineTest
    void tableIsFreedWithTheModel(Engine engine) {
        PositionalEncodingBlock block = positions();
        NDArray table;
        try (Model model = model(engine, block)) {
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 10, 4));
            table = block.getEncodings();
            assertThat(table.isReleased()).isFalse();
        }
        assertThat(table.isReleased()).isTrue();
    }

    @EngineTest
    void savesAndLoadsIntoFreshBlocks(Engine engine, @TempDir Path folder) throws Exception {
        float[] before;
        try (Model model = model(engine, network())) {
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(2, 3));
            try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
                before = predict(predictor, engine);
            }
            model.save(folder, "life");
        }
        try (Model model = model(engine, network())) {
            model.load(folder, "life");
            try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
                assertThat(predict(predictor, engine)).isEqualTo(before);
            }
        }
    }

    @EngineTest
    void whatWasLoadedCanBeSavedAgain(Engine engine, @TempDir Path folder) throws Exception {
        // DJL's SequentialBlock cannot (it forgets the names of its inputs); these blocks can
        float[] tokens;
        try (Model model = model(engine, embedding())) {
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(2, 3));
            tokens = ((InputEmbeddingBlock) model.getBlock())
                    .getTokenTable()
                    .getArray()
                    .toFloatArray();
            model.save(folder, "life");
        }
        for (String next : new String[] {"second", "third"}) {
            InputEmbeddingBlock block = embedding();
            try (Model model = model(engine, block)) {
                model.load(next.equals("second") ? folder : folder.resolve("second"), "life");
                assertThat(block.getTokenTable().getArray().toFloatArray()).isEqualTo(tokens);
                model.save(folder.resolve(next), "life");
            }
        }
    }

    @EngineTest
    void loadedBlockHasItsTable(Engine engine, NDManager manager, @TempDir Path folder) throws Exception {
        try (Model model = model(engine, positions())) {
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 10, 4));
            model.save(folder, "life");
        }
        PositionalEncodingBlock loaded = positions();
        try (Model model = model(engine, loaded)) {
            model.load(folder, "life");
            assertThat(loaded.isInitialized()).isTrue();
            assertThat(loaded.getEncodings().toFloatArray()).isEqualTo(TABLE);
            assertThat(encodeZeros(manager, loaded)).isEqualTo(TABLE);
            assertThat(loaded.getInputShapes()).containsExactly(new Shape(1, 10, 4));
        }
    }

    @EngineTest
    void modelFileHoldsNoTable(Engine engine, @TempDir Path folder) throws Exception {
        PositionalEncodingBlock block =
                PositionalEncodingBlock.builder().setEmbeddingSize(512).build();
        try (Model model = model(engine, block)) {
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 10, 512));
            model.save(folder, "life");
        }
        assertThat(Files.size(folder.resolve("life-0000.params"))).isLessThan(1000);
    }

    @EngineTest
    void tableIsNoParameterAndNeverTrainable(NDManager manager) {
        PositionalEncodingBlock block = positions();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 4));
        block.freezeParameters(false);
        assertThat(block.getParameters()).isEmpty();
        NDArray x = manager.zeros(new Shape(1, 10, 4));
        x.setRequiresGradient(true);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), true)
                    .singletonOrThrow();
            collector.backward(y.square().sum());
        }
        assertThat(block.getEncodings().hasGradient()).isFalse();
        assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
    }

    @EngineTest
    void unfreezingTrainsTheTokensAlone(Engine engine) {
        InputEmbeddingBlock block = embedding();
        try (Model model = model(engine, block);
                Trainer trainer = trainer(model)) {
            trainer.initialize(new Shape(2, 3));
            block.freezeParameters(true);
            block.freezeParameters(false);
            assertThat(block.getParameters().keys()).containsExactly("02tokenEmbedding_embedding");
            PositionalEncodingBlock positions = (PositionalEncodingBlock) block.getPositionalEncoding();
            for (int i = 0; i < 3; i++) {
                try (NDManager batch = trainer.getManager().newSubManager()) {
                    try (GradientCollector collector = trainer.newGradientCollector()) {
                        collector.backward(trainer.forward(new NDList(ids(batch)))
                                .singletonOrThrow()
                                .square()
                                .sum());
                    }
                    trainer.step();
                }
            }
            assertThat(positions.getEncodings().toFloatArray()).isEqualTo(TABLE);
        }
    }

    @EngineTest
    void servesOnePredictorAfterAnother(Engine engine) throws Exception {
        try (Model model = model(engine, network())) {
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(2, 3));
            float[] first = null;
            for (int i = 0; i < 3; i++) {
                try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
                    float[] values = predict(predictor, engine);
                    first = first == null ? values : first;
                    assertThat(values).isEqualTo(first);
                }
            }
        }
    }

    @EngineTest
    void servesOnePredictorAfterAnotherWithoutEverBeingInitialized(Engine engine, NDManager manager) throws Exception {
        try (Model model = model(engine, positions())) {
            for (int i = 0; i < 3; i++) {
                try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
                    NDList output = predictor.predict(new NDList(manager.zeros(new Shape(1, 10, 4))));
                    assertThat(output.singletonOrThrow().toFloatArray()).isEqualTo(TABLE);
                }
            }
        }
    }

    @EngineTest
    void servesManyThreadsAtOnce(Engine engine) throws Exception {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optMaxSequenceLength(500)
                .build();
        int threads = 8;
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        CyclicBarrier together = new CyclicBarrier(threads);
        try (Model model = model(engine, block)) {
            List<Future<?>> futures = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                int first = thread;
                futures.add(executor.submit(() -> {
                    // the first forwards make the table, all at once
                    together.await();
                    try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator());
                            NDManager manager = engine.newBaseManager(Device.cpu())) {
                        for (int i = 0; i < 50; i++) {
                            int length = 1 + (first * 61 + i * 7) % 500;
                            NDList output = predictor.predict(new NDList(manager.zeros(new Shape(1, length, 64))));
                            assertThat(output.singletonOrThrow().toFloatArray())
                                    .isEqualTo(SinusoidalEncoding.vaswani(64).table(0, length));
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> future : futures) {
                future.get();
            }
        } finally {
            executor.shutdownNow();
        }
    }

    @EngineTest
    void clearFreesTheTableAndAForwardMakesItAnew(NDManager manager) {
        PositionalEncodingBlock block = positions();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 4));
        NDArray table = block.getEncodings();
        block.clear();
        assertThat(table.isReleased()).isTrue();
        assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
        assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
    }

    @EngineTest
    void clearReachesTheChildrenOfAnInputEmbedding(NDManager manager) {
        InputEmbeddingBlock block = embedding();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        NDArray table = ((PositionalEncodingBlock) block.getPositionalEncoding()).getEncodings();
        NDArray tokens = block.getTokenTable().getArray();
        block.clear();
        assertThat(table.isReleased()).isTrue();
        assertThat(tokens.isReleased()).isTrue();
        assertThat(block.isInitialized()).isFalse();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        assertThat(Forward.infer(manager, block, ids(manager)).getShape()).isEqualTo(new Shape(2, 3, 4));
    }

    @EngineTest
    void canBeInitializedAgainOnAnotherManager(Engine engine, NDManager manager) {
        PositionalEncodingBlock block = positions();
        try (NDManager first = engine.newBaseManager(Device.cpu())) {
            block.initialize(first, DataType.FLOAT32, new Shape(1, 10, 4));
            assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
        }
        // its manager is closed, and so is its table: a forward does without
        assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
        try (NDManager second = engine.newBaseManager(Device.cpu())) {
            block.initialize(second, DataType.FLOAT64, new Shape(1, 10, 4));
            assertThat(block.getEncodings().getDataType()).isEqualTo(DataType.FLOAT64);
            assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
        }
    }

    @EngineTest
    void survivesAScopeOfTheUsers(NDManager manager) {
        PositionalEncodingBlock block = positions();
        NDArray kept;
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 4));
            kept = block.getEncodings();
            NDArray temporary = Forward.infer(manager, block, manager.zeros(new Shape(1, 10, 4)));
            assertThat(temporary.toFloatArray()).isEqualTo(TABLE);
        }
        assertThat(kept.isReleased()).isFalse();
        assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
    }

    @EngineTest
    void survivesAScopeThatItsTableIsFirstMadeIn(NDManager manager) {
        PositionalEncodingBlock block = positions();
        NDArray positions = manager.arange(10);
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            encodeZeros(manager, block);
            block.encode(positions);
        }
        assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
        assertThat(block.encode(positions).toFloatArray()).isEqualTo(TABLE);
    }

    @EngineTest
    void tableClosedByAccidentIsMadeAnew(NDManager manager) {
        PositionalEncodingBlock block = positions();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 4));
        block.getEncodings().close();
        assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
        assertThat(encodeZeros(manager, block)).isEqualTo(TABLE);
    }

    @EngineTest
    void outputIsTheCallersToWriteAndClose(NDManager manager) {
        for (boolean add : new boolean[] {true, false}) {
            PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(4)
                    .optMaxSequenceLength(10)
                    .optAddToInput(add)
                    .build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 4));
            NDArray x = manager.zeros(new Shape(1, 10, 4));
            for (NDArray[] inputs : new NDArray[][] {
                {x}, {x, manager.arange(10)}, {x, manager.arange(10).reshape(1, 10)}, {x, manager.arange(10f)}
            }) {
                NDArray y = Forward.infer(manager, block, inputs);
                assertThat(y.toFloatArray()).isEqualTo(TABLE);
                y.addi(1);
                y.toFloatArray();
                y.close();
                assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
                assertThat(x.toFloatArray()).containsOnly(0);
            }
            NDArray looked = block.encode(manager.arange(10));
            looked.muli(0);
            looked.close();
            assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
        }
    }

    @EngineTest
    void inputIsNeverWrittenTo(NDManager manager) {
        InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optPaddingIndex(0)
                .optScaleEmbedding(true)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        float[] tokens = block.getTokenTable().getArray().toFloatArray();
        NDArray ids = ids(manager);
        long[] before = ids.toLongArray();
        Forward.infer(manager, block, ids).addi(1).close();
        assertThat(ids.toLongArray()).isEqualTo(before);
        assertThat(block.getTokenTable().getArray().toFloatArray()).isEqualTo(tokens);
    }

    @EngineTest
    void parametersSurviveAScopeThatTheyAreMadeOrLoadedIn(NDManager manager) throws Exception {
        for (boolean load : new boolean[] {false, true}) {
            InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                    .setVocabularySize(7)
                    .setEmbeddingSize(4)
                    .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                            .setEmbeddingSize(4)
                            .build())
                    .build();
            InputEmbeddingBlock source = block;
            if (load) {
                source = InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                                .setEmbeddingSize(4)
                                .build())
                        .build();
            }
            try (NDScope scope = new NDScope()) {
                scope.suppressNotUsedWarning();
                source.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
                if (load) {
                    byte[] file = BlockBytes.saved(source);
                    BlockBytes.load(manager, block, file);
                }
            }
            assertThat(Forward.infer(manager, block, ids(manager)).toFloatArray())
                    .hasSize(24);
        }
    }

    @EngineTest
    void encodingsAloneOfPositionsBelongToTheInputsManager(Engine engine, NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optAddToInput(false)
                .build();
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
    void viewsOfEncodedPositionsOutliveThem(NDManager manager) {
        NDArray view;
        try (NDArray encoded = positions().encode(manager.arange(10f))) {
            view = encoded.expandDims(0);
        }
        System.gc();
        assertThat(view.toFloatArray()).isEqualTo(TABLE);
    }

    @EngineTest
    void memoryDoesNotGrowOver100000Forwards(Engine engine) throws Exception {
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            NDArray x = manager.zeros(new Shape(1, 8, 64));
            PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(64)
                    .optMaxSequenceLength(128)
                    .build();
            block.initialize(manager, DataType.FLOAT32, x.getShape());
            assertMemoryFlat(manager, block, 100_000, x);
        }
    }

    @EngineTest
    void memoryDoesNotGrowOverForwardsOfEveryKind(Engine engine) throws Exception {
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            PositionalEncodingBlock.Builder positions =
                    PositionalEncodingBlock.builder().setEmbeddingSize(64).optMaxSequenceLength(128);
            InputEmbeddingBlock.Builder embedding = InputEmbeddingBlock.builder()
                    .setVocabularySize(7)
                    .setEmbeddingSize(64)
                    .optPaddingIndex(0)
                    .optScaleEmbedding(true);
            NDArray x = manager.zeros(new Shape(1, 8, 64));
            NDArray integers = manager.arange(8).toType(DataType.INT8, false);
            NDArray reals = manager.arange(8f);
            NDArray ids = manager.ones(new Shape(1, 8), DataType.INT32).toType(DataType.UINT8, false);
            assertMemoryFlat(manager, positions.build(), 5_000, x, integers);
            assertMemoryFlat(manager, positions.build(), 5_000, x, reals);
            assertMemoryFlat(manager, positions.optLearnedScale(1).build(), 5_000, x);
            assertMemoryFlat(manager, positions.optAddToInput(false).build(), 5_000, x, integers);
            assertMemoryFlat(manager, embedding.build(), 5_000, ids);
            assertMemoryFlat(manager, embedding.optPositionsFromPadding(1).build(), 5_000, ids);
            assertMemoryFlat(
                    manager,
                    LearnedPositionalEncodingBlock.builder()
                            .setEmbeddingSize(64)
                            .build(),
                    5_000,
                    x,
                    integers);
        }
    }

    @EngineTest
    void outgrownAndEvictedTablesAreFreed(Engine engine) {
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            PositionalEncodingBlock growing = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(8)
                    .optMaxSequenceLength(1)
                    .optAutoExtend(1 << 20)
                    .build();
            growing.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
            for (int length = 1; length < 200; length++) {
                Forward.infer(manager, growing, manager.zeros(new Shape(1, length, 8)));
            }
            GridPositionalEncodingBlock grids = GridPositionalEncodingBlock.builder()
                    .setEncoding(GridEncoding.visionTransformer(8))
                    .build();
            grids.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 1, 8));
            for (int size = 1; size < 50; size++) {
                Forward.infer(manager, grids, manager.zeros(new Shape(1, size, 1, 8)));
            }
            // of 200 lengths and 50 grids: the inputs and outputs, one table and its latest slice, and the last eight
            assertThat(manager.getManagedArrays()).hasSize(2 * 199 + 2 * 49 + 1 + 1 + 8);
        }
    }

    @EngineTest
    void tableTakesItsOwnBytesAndNoMore(Engine engine) throws Exception {
        if (ResidentMemory.bytes() == 0) {
            return;
        }
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(64)
                    .optMaxSequenceLength(1_000_000)
                    .build();
            long before = ResidentMemory.bytes();
            long peakFrom = ResidentMemory.resetPeak();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 64));
            long bytes = 4L * 64 * 1_000_000;
            // waits for an engine that works behind
            NDArray last = Forward.inferFrom(manager, 999_999, block, manager.zeros(new Shape(1, 1, 64)));
            assertThat(last.getFloat(0, 0, 0)).isEqualTo((float) StrictMath.sin(999_999));
            // pieces of some MB on the way, in Java and in the engine, and what Java's heap does meanwhile; a second
            // copy would be as large again. Less where the process has freed memory to make it in.
            assertThat(ResidentMemory.peak() - peakFrom).isLessThan(bytes * 3 / 2);
            assertThat(ResidentMemory.bytes() - before).isLessThan(bytes * 3 / 2);
            assertThat(block.getEncodings().size() * DataType.FLOAT32.getNumOfBytes())
                    .isEqualTo(bytes);
            block.clear();
        }
    }

    private static void assertMemoryFlat(NDManager manager, Block block, int times, NDArray... inputs)
            throws IOException {
        NDList list = new NDList(inputs);
        block.initialize(manager, DataType.FLOAT32, list.getShapes());
        ParameterStore store = new ParameterStore(manager, false);
        forwardOften(block, store, list, times);
        int arraysBefore = manager.getManagedArrays().size();
        long growth = Long.MAX_VALUE;
        // the heap and the engine's caches fill up once; a leak goes on round after round, and 256 bytes, one row
        // of one forward, would be 25 MB in 100,000
        for (int round = 0; round < 6 && growth > 20L << 20; round++) {
            long before = ResidentMemory.bytes();
            forwardOften(block, store, list, times);
            growth = ResidentMemory.bytes() - before;
        }
        assertThat(growth).isLessThan(20L << 20);
        // fewer where the table of a block before this one has become garbage
        assertThat(manager.getManagedArrays()).as("%s", block).hasSizeLessThanOrEqualTo(arraysBefore);
    }

    private static void forwardOften(Block block, ParameterStore store, NDList inputs, int times) {
        for (int i = 0; i < times; i++) {
            block.forward(store, inputs, false).singletonOrThrow().close();
        }
    }
}
