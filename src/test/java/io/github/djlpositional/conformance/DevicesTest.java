package io.github.djlpositional.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.Batchifier;
import ai.djl.translate.NoopTranslator;
import ai.djl.util.PairList;
import io.github.djlpositional.AxialPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Blocks on one and two simulated GPUs, and on real ones where an engine finds them. PositionalEncodingBlockTest has a
 * table that is copied to a GPU in several pieces.
 */
@EnabledIf(
        value = "io.github.djlpositional.simulated.SimulatedGpuEngine#isAvailable",
        disabledReason = "the simulated GPUs compute with PyTorch, which is not available")
public class DevicesTest {

    /** The shape of the table of absolute positions; no other array of the model has it. */
    private static final Shape TABLE = new Shape(37, 8);

    /** The shape of the rotary table: cosines and sines of the two pairs of a head. */
    private static final Shape ROTARY_TABLE = new Shape(41, 4);

    /** For five steps of sums in another order, of numbers about 1: some 100 roundings of 2^-24. */
    private static final float TOLERANCE = 1e-5f;

    private static final int STEPS = 5;
    private static final int BATCH = 4;
    private static final int LENGTH = 6;
    private static final int VOCABULARY = 11;

    private static final Device CPU = Device.cpu();
    private static final Device[] TWO = {Device.gpu(0), Device.gpu(1)};

    private static final SimulatedGpuEngine engine = new SimulatedGpuEngine();

    /** The engine with simulated GPUs, and each real engine that finds a GPU. */
    static List<Engine> gpus() {
        return Stream.concat(
                        Stream.of(engine),
                        Stream.of(TestEngine.values())
                                .filter(TestEngine::isAvailable)
                                .map(TestEngine::get)
                                .filter(real -> real.getGpuCount() > 0))
                .toList();
    }

    /**
     * Trains a small model for a few steps by DJL's own data-parallel training, and runs an action before the trainer
     * is closed; returns the parameters by name.
     */
    private static Map<String, float[]> run(Engine engine, Runnable whileTrained, Device... devices) {
        try (Model model = engine.newModel("model", devices[0])) {
            Block block = block();
            model.setBlock(block);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optDevices(devices)
                    .optInitializer(weights(), parameter -> true)
                    // DJL adds up the devices' gradients, each of which is of the mean over its part of the batch.
                    // Adam and momentum would differ: DJL 0.36.0 counts each device's update as a step
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(0.5f))
                            .setRescaleGrad(1f / devices.length)
                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(BATCH, LENGTH));
                for (int step = 0; step < STEPS; step++) {
                    try (Batch batch = batch(trainer.getManager().newSubManager(), step)) {
                        EasyTrain.trainBatch(trainer, batch);
                        trainer.step();
                    }
                }
                whileTrained.run();
                Map<String, float[]> parameters = new TreeMap<>();
                block.getParameters()
                        .forEach(pair -> parameters.put(
                                pair.getKey(), pair.getValue().getArray().toFloatArray()));
                return parameters;
            }
        }
    }

    private static Block block() {
        return new SequentialBlock()
                .add(SmallBlocks.embedding()
                        .setVocabularySize(VOCABULARY)
                        .setEmbeddingSize(8)
                        .optMaxSequenceLength((int) TABLE.get(0))
                        .build())
                .add(EncodingType.NONE
                        .attention(2)
                        .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                .setHeadSize(4)
                                .optMaxSequenceLength((int) ROTARY_TABLE.get(0))
                                .build())
                        .build())
                .add(Linear.builder().setUnits(VOCABULARY).build());
    }

    /** The output of a block on a device, with the same parameters on every device. */
    static float[] forward(Engine engine, Device device, TestBlocks kind) {
        try (NDManager manager = engine.newBaseManager(device)) {
            Block block = kind.block();
            block.setInitializer(weights(), parameter -> true);
            block.initialize(manager, DataType.FLOAT32, kind.shapes());
            return kind.values(manager, block);
        }
    }

    /** The same values on every engine and device, all different within a parameter. */
    public static Initializer weights() {
        return (manager, shape, type) -> manager.create(weights(Math.toIntExact(shape.size())), shape);
    }

    private static float[] weights(int count) {
        float[] values = new float[count];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.sin(i + 1) / 2;
        }
        return values;
    }

    /** Ids, with the next ids as labels. */
    private static Batch batch(NDManager manager, int step) {
        NDArray ids = manager.arange(step, step + BATCH * LENGTH, 1, DataType.INT64)
                .mod(VOCABULARY)
                .reshape(BATCH, LENGTH);
        NDArray next = ids.add(1).mod(VOCABULARY).expandDims(2);
        return new Batch(
                manager, new NDList(ids), new NDList(next), BATCH, Batchifier.STACK, Batchifier.STACK, step, STEPS);
    }

    private static void requireSame(Map<String, float[]> one, Map<String, float[]> other, float tolerance) {
        assertThat(other.keySet()).isEqualTo(one.keySet());
        one.forEach((name, values) -> {
            assertThat(values).as(name).isNotEqualTo(weights(values.length));
            assertThat(other.get(name)).as(name).containsExactly(values, within(tolerance));
        });
    }

    @ParameterizedTest
    @EnumSource
    void trainingOnOneOrTwoGpusGivesWhatACpuGivesWithATablePerDevice(TestEngine of) {
        Engine real = of.get();
        List<Shape> tables = List.of(TABLE, ROTARY_TABLE);
        Runnable requireOnBoth = () -> tables.forEach(table ->
                assertThat(engine.openArrays(table).map(NDArray::getDevice)).containsExactlyInAnyOrder(TWO));
        Map<String, float[]> expected = run(real, () -> {}, CPU);
        requireSame(expected, run(engine, requireOnBoth, TWO), TOLERANCE);
        tables.forEach(table -> assertThat(engine.openArrays(table)).isEmpty());
        if (gpus().contains(real)) {
            requireSame(expected, run(real, () -> {}, real.getDevices(2)), 1e-4f);
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void aForwardDoesNotWaitForAGpu(TestBlocks kind) {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            Block block = kind.initialized(manager);
            ParameterStore store = new ParameterStore(manager, false);
            NDList input = kind.numbers(manager);
            for (boolean training : new boolean[] {false, true}) {
                // the first creates the tables
                block.forward(store, input, training).close();
                engine.takeWaits();
                NDArray output = block.forward(store, input, training).head();
                // the mask of a grid is read: the coordinates of a cell depend on the visible cells; and real positions
                assertThat(engine.takeWaits() > 0)
                        .isEqualTo(kind.toString().matches("GRID_WITH_A_MASK|PICTURES_WITH_COORDINATES"));
                assertThat(output.getDevice()).isEqualTo(Device.gpu(0));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aDecodersStepDoesNotWaitForAGpu(EncodingType kind) {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            Block block = kind.attention(2).optCausal(true).build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
            requireNoWaits(manager, block, new NDList(manager.ones(new Shape(1, 20, 8))));
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void aStepDoesNotWaitForAGpu(TestBlocks kind) {
        assumeTrue(kind.hasSteps());
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            requireNoWaits(manager, kind.initialized(manager), kind.numbers(manager));
        }
    }

    /** Runs the first input in steps, of which only the first may create tables. */
    private void requireNoWaits(NDManager manager, Block block, NDList inputs) {
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int at = 0; at < inputs.head().getShape().get(1); at++) {
                NDList step = new NDList(inputs);
                step.set(0, inputs.head().get(":, {}:{}", at, at + 1));
                PairList<String, Object> params = Forward.params(PositionalEncodingBlock.START_POSITION, at);
                params.add(ForwardParameters.CACHE, cache);
                engine.takeWaits();
                block.forward(new ParameterStore(manager, false), step, false, params)
                        .close();
                int waits = engine.takeWaits();
                assertThat(at == 0 ? 0 : waits).as("step %d", at).isZero();
            }
        }
    }

    @Test
    void weightsAreLoadedOntoTheirDevice() throws Exception {
        Path file = Path.of("src/test/resources/weights/linear.safetensors");
        try (NDManager cpu = engine.newBaseManager(CPU);
                NDManager manager = engine.newBaseManager(Device.gpu(1))) {
            LearnedPositionalEncodingBlock block =
                    SmallBlocks.learned().optMaxSequenceLength(3).build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));
            WeightLoader.of(WeightFile.open(file))
                    .table("weight", block.getTable())
                    .allowUnused("bias")
                    .load(block);
            NDArray table = block.getTable().getArray();
            assertThat(table.getDevice()).isEqualTo(Device.gpu(1));
            assertThat(table.toFloatArray())
                    .isEqualTo(WeightFile.open(file).read(cpu, "weight").toFloatArray());
        }
    }

    /** The rows of ten indices from a first one: as token ids of two axes, or as positions of an input. */
    private static NDArray rows(NDManager manager, Block block, Shape input, int first, DataType type) {
        NDArray indices = manager.arange(first, first + 10, 1, type).expandDims(0);
        return input.dimension() == 2
                ? Forward.infer(manager, block, indices)
                : Forward.infer(manager, block, manager.ones(input), indices);
    }

    /** Looks up ten rows of width 4, with indices from 0 to 9. MXNet reads indices, and refuses those out of range. */
    @ParameterizedTest
    @MethodSource("gpus")
    void anIndexOutOfRangeGivesNaNOnAGpuAndNothingWaits(Engine gpus) {
        assumeTrue(gpus.getEngineName().equals("PyTorch"));
        Shape input = new Shape(1, 10, 4);
        Map<Block, Shape> blocks = Map.of(
                SmallBlocks.positions().build(),
                input,
                SmallBlocks.learned().build(),
                input,
                AxialPositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .setAxes(3, 3)
                        .optPrefixTokens(1)
                        .build(),
                input,
                RotaryEmbeddingBlock.builder()
                        .setHeadSize(4)
                        .optMaxSequenceLength(10)
                        .build(),
                new Shape(1, 1, 10, 4),
                SmallBlocks.embedding().setVocabularySize(10).optNoPositions().build(),
                new Shape(1, 10));
        try (NDManager manager = gpus.newBaseManager(Device.gpu(0))) {
            blocks.forEach((block, shape) -> {
                block.initialize(manager, DataType.FLOAT32, shape);
                // a rotation has the positions from -9 to 9
                int negative = block instanceof RotaryEmbeddingBlock ? -19 : -8;
                for (DataType type : List.of(DataType.INT8, DataType.INT32, DataType.INT64)) {
                    float[] all = rows(manager, block, shape, 0, type).toFloatArray();
                    for (int first : new int[] {1, negative}) {
                        engine.takeWaits();
                        NDArray found = rows(manager, block, shape, first, type);
                        assertThat(engine.takeWaits()).isZero();
                        float[] expected = new float[all.length];
                        for (int i = 0; i < expected.length; i++) {
                            int from = 4 * first + i;
                            expected[i] = from >= 0 && from < all.length ? all[from] : Float.NaN;
                        }
                        assertThat(found.toFloatArray()).as("%s", block).isEqualTo(expected);
                    }
                }
            });
        }
    }

    @Test
    void anIdOutOfRangeHasNoGradient() {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            InputEmbeddingBlock block = SmallBlocks.embedding()
                    .setVocabularySize(3)
                    .optNoPositions()
                    .build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
            NDArray ids = manager.arange(1, 4, 1, DataType.INT64).expandDims(0);
            SmallBlocks.train(manager, block, manager.ones(new Shape(1, 3, 4)), ids);
            NDArray table = block.getTokenTable().getArray();
            assertThat(table.getGradient().sum(new int[] {1}).toFloatArray()).containsExactly(0, 4, 4);
        }
    }

    @Test
    void positionsThatExtendATableAreReadOnAGpu() {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            PositionalEncodingBlock block =
                    SmallBlocks.positions().optAutoExtend(1 << 20).build();
            NDArray x = manager.ones(new Shape(1, 1, 4));
            block.initialize(manager, DataType.FLOAT32, x.getShape());
            engine.takeWaits();
            NDArray y = Forward.infer(manager, block, x, manager.full(new Shape(1), 25, DataType.INT64));
            assertThat(engine.takeWaits()).isPositive();
            assertThat(y.getFloat(0, 0, 0)).isEqualTo(1 + (float) Math.sin(25));
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void everyBlockGivesOnAGpuWhatItGivesOnTheCpu(TestBlocks kind) {
        for (Engine gpus : gpus()) {
            // No TF32. An attention has the most roundings one after another: 25 in sums of 9, 4, 3 and 3 numbers, a
            // scale, a quotient and an exponential of 2 ulp, and 9 in its last sum, whose 8 weights of up to 0.5 come
            // to
            // 2.6. All numbers are below 2, each rounding at most 2^-24: (25 * 2.6 + 9) * 2^-24 = 4.4e-6 on either
            // device
            assertThat(forward(gpus, Device.gpu(0), kind))
                    .containsExactly(forward(gpus, CPU, kind), within(gpus == engine ? 1e-6f : 1e-5f));
        }
    }

    @ParameterizedTest
    @MethodSource("gpus")
    void aPredictorMayBeOnAnotherDeviceThanItsModel(Engine gpus) throws Exception {
        Device device = gpus == engine ? Device.gpu(1) : Device.gpu();
        Block block = EncodingType.NONE
                .attention(2)
                .optRelativeEncoding(
                        RelativePositionBiasBlock.builder().setHeadCount(2).build())
                .build();
        try (Model model = gpus.newModel("model", CPU)) {
            model.setBlock(block);
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 3, 8));
            NDArray x = model.getNDManager().ones(new Shape(1, 3, 8));
            float[] expected = Forward.infer(model.getNDManager(), block, x).toFloatArray();
            try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator(), device)) {
                NDArray found =
                        predictor.predict(new NDList(x.toDevice(device, true))).head();
                assertThat(found.getDevice()).isEqualTo(device);
                assertThat(found.toFloatArray()).containsExactly(expected, within(gpus == engine ? 1e-6f : 1e-5f));
            }
        }
        assertThat(engine.openArrays(new Shape(1023, 1))).isEmpty();
    }
}
