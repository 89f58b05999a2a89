package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
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
import ai.djl.translate.NoopTranslator;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The tests of {@link DevicesTest} on real GPUs. */
class GpuTest {

    @EngineTest
    @Gpus(1)
    void tablesAreExact(Engine engine) {
        int length = 70_000; // copied to the device in several pieces
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(64);
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT16, DataType.FLOAT64}) {
            try (NDManager manager = engine.newBaseManager(Device.gpu())) {
                PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                        .setEmbeddingSize(64)
                        .optMaxSequenceLength(length)
                        .build();
                block.initialize(manager, type, new Shape(1, 1, 64));
                NDArray table = block.getEncodings();
                assertThat(table.getDevice().isGpu()).isTrue();
                ByteBuffer expected =
                        ByteBuffer.allocate(length * 64 * type.getNumOfBytes()).order(ByteOrder.nativeOrder());
                encoding.write(0, length, FloatFormat.valueOf(type.name()), expected);
                assertThat(table.toByteBuffer()).isEqualTo(expected);
            }
        }
    }

    @EngineTest
    @Gpus(1)
    void everyBlockGivesWhatItGivesOnTheCpu(Engine engine) {
        for (TestBlocks kind : TestBlocks.values()) {
            float[] onCpu = DataParallelTraining.forward(engine, Device.cpu(), kind);
            // No TF32. An attention has the most roundings one after another: 25 in sums of 9, 4, 3 and 3 numbers, a
            // scale, a quotient and an exponential of 2 ulp, and 9 in its last sum, whose 8 weights of up to 0.5 come
            // to 2.6. All numbers are below 2, each rounding at most 2^-24: (25 * 2.6 + 9) * 2^-24 = 4.4e-6 on either
            // device
            assertThat(DataParallelTraining.forward(engine, Device.gpu(), kind))
                    .as("%s", kind)
                    .containsExactly(onCpu, within(1e-5f));
        }
    }

    @EngineTest
    @Gpus(1)
    void aPredictorMayBeOnAnotherDeviceThanItsModel(Engine engine) throws Exception {
        try (Model model = engine.newModel("positions", Device.cpu())) {
            Block block = PositionalEncodingBlock.builder().setEmbeddingSize(8).build();
            model.setBlock(block);
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 3, 8));
            NDArray x = model.getNDManager().ones(new Shape(1, 3, 8));
            float[] expected = Forward.infer(model.getNDManager(), block, x).toFloatArray();
            try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator(), Device.gpu())) {
                NDArray there = predictor
                        .predict(new NDList(x.toDevice(Device.gpu(), true)))
                        .head();
                assertThat(there.getDevice().isGpu()).isTrue();
                assertThat(there.toFloatArray()).containsExactly(expected);
            }
        }
    }

    @EngineTest
    @Gpus(1)
    void trainingGivesWhatTheCpuGives(Engine engine) {
        requireSame(
                DataParallelTraining.run(engine, Device.cpu()), DataParallelTraining.run(engine, Device.gpu()), 1e-4f);
    }

    @EngineTest
    @Gpus(2)
    void trainingOnTwoDevicesGivesWhatOneGives(Engine engine) {
        requireSame(
                DataParallelTraining.run(engine, Device.gpu(0)),
                DataParallelTraining.run(engine, Device.gpu(0), Device.gpu(1)),
                DataParallelTraining.TOLERANCE);
    }

    private static void requireSame(
            DataParallelTraining.Result one, DataParallelTraining.Result other, float tolerance) {
        one.parameters()
                .forEach((name, values) ->
                        assertThat(other.parameters().get(name)).as(name).containsExactly(values, within(tolerance)));
    }
}
