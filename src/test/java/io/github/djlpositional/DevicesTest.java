package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

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
import ai.djl.training.ParameterStore;
import ai.djl.translate.NoopTranslator;
import io.github.djlpositional.attention.EncodingType;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Blocks on one and two simulated GPUs. {@link GpuTest} has the tests for real GPUs. */
@EnabledIf(
        value = "hasPyTorch",
        disabledReason = "the simulated GPUs compute with PyTorch, which is not on the class path")
class DevicesTest {

    static boolean hasPyTorch() {
        return Engine.getAllEngines().contains("PyTorch");
    }

    private static final Device[] ONE = {Device.gpu(0)};
    private static final Device[] TWO = {Device.gpu(0), Device.gpu(1)};

    private final SimulatedGpuEngine engine = new SimulatedGpuEngine();

    @Test
    void theSimulatedGpuRefusesWhatPyTorchRefuses() {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            NDArray here = manager.ones(new Shape(2));
            NDArray there = here.toDevice(Device.gpu(1), false);
            assertThatIllegalStateException()
                    .isThrownBy(() -> here.add(there))
                    .withMessage("add of arrays on gpu(0) and gpu(1)");
            assertThat(there.add(1).getDevice()).isEqualTo(Device.gpu(1));
            assertThat(engine.takeWaits()).isEqualTo(1);
            assertThat(here.add(here).toFloatArray()).containsExactly(2, 2);
            assertThat(engine.takeWaits()).isEqualTo(1);
        }
    }

    @Test
    void trainingOnTwoDevicesGivesWhatOneGives() {
        DataParallelTraining.Result one = DataParallelTraining.run(engine, ONE);
        DataParallelTraining.Result two = DataParallelTraining.run(engine, TWO);
        assertThat(two.parameters().keySet()).isEqualTo(one.parameters().keySet());
        one.parameters().forEach((name, values) -> {
            assertThat(values).as(name).isNotEqualTo(one.start().get(name));
            assertThat(two.parameters().get(name))
                    .as(name)
                    .containsExactly(values, within(DataParallelTraining.TOLERANCE));
        });
    }

    @EngineTest
    void trainingOnASimulatedGpuGivesWhatTheEnginesGive(Engine real) {
        DataParallelTraining.Result expected = DataParallelTraining.run(real, Device.cpu());
        DataParallelTraining.run(engine, ONE)
                .parameters()
                .forEach((name, values) -> assertThat(values)
                        .as(name)
                        .containsExactly(expected.parameters().get(name), within(DataParallelTraining.TOLERANCE)));
    }

    @Test
    void tablesAreCreatedOncePerDevice() {
        List<Shape> tables = List.of(DataParallelTraining.TABLE, DataParallelTraining.ROTARY_TABLE);
        DataParallelTraining.run(
                engine,
                TWO,
                () -> tables.forEach(
                        table -> assertThat(engine.openArrays(table).map(NDArray::getDevice))
                                .containsExactlyInAnyOrder(TWO)));
        tables.forEach(table -> assertThat(engine.openArrays(table)).isEmpty());
    }

    @ParameterizedTest
    @EnumSource
    void aForwardDoesNotWaitForAGpu(TestBlocks kind) {
        requireWaits(kind, false);
        requireWaits(kind, true);
    }

    private void requireWaits(TestBlocks kind, boolean training) {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            Block block = kind.block();
            block.initialize(manager, DataType.FLOAT32, kind.input());
            ParameterStore store = new ParameterStore(manager, false);
            NDList input = new NDList(kind.numbers(manager));
            // the first creates the tables
            block.forward(store, input, training).close();
            engine.takeWaits();
            NDArray output = block.forward(store, input, training).head();
            assertThat(engine.takeWaits()).isEqualTo(waits(kind));
            assertThat(output.getDevice()).isEqualTo(Device.gpu(0));
        }
    }

    /** Token ids are read, in one call, if the block was built with range checks. */
    private static int waits(TestBlocks kind) {
        return kind == TestBlocks.EMBEDDING_OF_EVERY_SETTING ? 1 : 0;
    }

    @Test
    void aDecodersStepDoesNotWaitForAGpu() {
        // except if frequencies depend on the length: each forward copies its rows to the GPU
        for (EncodingType kind : EnumSet.complementOf(EnumSet.of(EncodingType.ROTARY_DYNAMIC))) {
            try (NDManager manager = engine.newBaseManager(Device.gpu(0));
                    KeyValueCache cache = new KeyValueCache(manager)) {
                Block block = kind.attention(2).optCausal(true).build();
                block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
                for (int step = 0; step < 40; step++) {
                    NDList token = new NDList(manager.ones(new Shape(1, 1, 8)));
                    block.forward(new ParameterStore(manager, false), token, false, cache.nextStep())
                            .close();
                    int waits = engine.takeWaits();
                    if (step > 0) {
                        assertThat(waits).as("%s, step %d", kind, step).isZero();
                    }
                }
            }
        }
    }

    @Test
    void weightsAreLoadedOntoTheirDevice(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("weights.safetensors");
        String header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}";
        ByteBuffer bytes = ByteBuffer.allocate(8 + header.length() + 24).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(header.length()).put(header.getBytes(StandardCharsets.US_ASCII));
        for (int i = 0; i < 6; i++) {
            bytes.putFloat(i);
        }
        Files.write(file, bytes.array());
        try (NDManager manager = engine.newBaseManager(Device.gpu(1))) {
            LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(3)
                    .optMaxSequenceLength(2)
                    .build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 2, 3));
            WeightLoader.of(WeightFile.open(file)).table("w", block.getTable()).load();
            NDArray table = block.getTable().getArray();
            assertThat(table.getDevice()).isEqualTo(Device.gpu(1));
            assertThat(table.toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
        }
    }

    @Test
    void explicitPositionsAreReadOnAGpuOnlyWithRangeChecks() {
        for (Boolean checks : new Boolean[] {null, false, true}) {
            PositionalEncodingBlock.Builder positions =
                    PositionalEncodingBlock.builder().setEmbeddingSize(4);
            RotaryEmbeddingBlock.Builder rotary = RotaryEmbeddingBlock.builder().setHeadSize(4);
            LearnedPositionalEncodingBlock.Builder learned =
                    LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4);
            if (checks != null) {
                positions.optRangeChecks(checks);
                rotary.optRangeChecks(checks);
                learned.optRangeChecks(checks);
            }
            for (Block block : List.of(positions.build(), rotary.build(), learned.build())) {
                Shape shape = block instanceof RotaryEmbeddingBlock ? new Shape(1, 1, 3, 4) : new Shape(1, 3, 4);
                try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
                    block.initialize(manager, DataType.FLOAT32, shape);
                    NDList inputs = new NDList(manager.ones(shape), manager.arange(0, 3, 1, DataType.INT64));
                    ParameterStore store = new ParameterStore(manager, false);
                    block.forward(store, inputs, false).close();
                    engine.takeWaits();
                    block.forward(store, inputs, false).close();
                    assertThat(engine.takeWaits() > 0)
                            .as("%s with checks %s waits", block, checks)
                            .isEqualTo(Boolean.TRUE.equals(checks));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyBlockGivesOnAGpuWhatItGivesOnTheCpu(TestBlocks kind) {
        assertThat(DataParallelTraining.forward(engine, Device.gpu(0), kind))
                .containsExactly(DataParallelTraining.forward(engine, Device.cpu(), kind), within(1e-6f));
    }

    @Test
    void aPredictorMayBeOnAnotherDeviceThanItsModel() throws Exception {
        try (Model model = engine.newModel("positions", Device.cpu())) {
            Block block = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optRelativeEncoding(
                            RelativePositionBiasBlock.builder().setHeadCount(2).build())
                    .build();
            model.setBlock(block);
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 3, 8));
            NDArray x = model.getNDManager().ones(new Shape(1, 3, 8));
            float[] expected = Forward.infer(model.getNDManager(), block, x).toFloatArray();
            try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator(), Device.gpu(1))) {
                NDArray there = predictor
                        .predict(new NDList(x.toDevice(Device.gpu(1), true)))
                        .head();
                assertThat(there.getDevice()).isEqualTo(Device.gpu(1));
                assertThat(there.toFloatArray()).containsExactly(expected, within(1e-6f));
            }
        }
        assertThat(engine.openArrays(new Shape(1023, 1)).collect(Collectors.toList()))
                .isEmpty();
    }
}
