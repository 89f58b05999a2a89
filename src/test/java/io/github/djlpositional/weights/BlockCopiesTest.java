package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.assertRejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.util.Arrays;

/** Copies of the parameters of another block, tables of other lengths, and FLOAT16. */
class BlockCopiesTest {

    /** Learned positions, a linear layer, and a head. */
    private static SequentialBlock model(NDManager manager, DataType type, int length, int classes) {
        SequentialBlock model = new SequentialBlock()
                .add(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optMaxSequenceLength(length)
                        .build())
                .add(Linear.builder().setUnits(4).build())
                .add(Linear.builder().setUnits(classes).build());
        model.initialize(manager, type, new Shape(1, length, 4));
        return model;
    }

    private static double[][] numbers(Block block) {
        return block.getParameters().values().stream()
                .map(parameter -> HostData.doubles(parameter.getArray()))
                .toArray(double[][]::new);
    }

    @EngineTest
    void parametersOfTheSameNameAndShape(NDManager manager) throws Exception {
        Block trained = model(manager, DataType.FLOAT32, 5, 3);
        Block copy = model(manager, DataType.FLOAT64, 5, 3);
        int open = manager.getManagedArrays().size();
        WeightLoader.ofBlock(trained).load(copy);
        assertThat(numbers(copy)).isDeepEqualTo(numbers(trained));
        assertThat(manager.getManagedArrays()).hasSize(open);
        Block narrow = model(manager, DataType.FLOAT32, 5, 3);
        WeightLoader.ofBlock(copy).allowRounding().load(narrow);
        assertThat(numbers(narrow)).isDeepEqualTo(numbers(trained));
    }

    @EngineTest
    void sharedParameters(NDManager manager) throws Exception {
        Block[] models = new Block[2];
        for (int i = 0; i < 2; i++) {
            Block shared = Linear.builder().setUnits(4).build();
            models[i] = new SequentialBlock().add(shared).add(shared);
            models[i].initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        }
        WeightLoader.ofBlock(models[0]).load(models[1]);
        assertThat(numbers(models[1])).isDeepEqualTo(numbers(models[0]));
    }

    @EngineTest
    void otherShapesIfAllowed(NDManager manager) throws Exception {
        Block trained = model(manager, DataType.FLOAT32, 5, 3);
        Block other = model(manager, DataType.FLOAT32, 5, 2);
        double[][] before = numbers(other);
        WeightLoader.ofBlock(trained).allowMissing("03*").allowUnused("03*").load(other);
        assertThat(Arrays.copyOf(numbers(other), 3)).isDeepEqualTo(Arrays.copyOf(numbers(trained), 3));
        assertThat(numbers(other)[3]).isEqualTo(before[3]);
    }

    @EngineTest
    void longerAndShorterTables(NDManager manager) throws Exception {
        Block trained = model(manager, DataType.FLOAT32, 4, 3);
        Block longer = model(manager, DataType.FLOAT32, 7, 3);
        double[] initial = numbers(longer)[0];
        WeightLoader.ofBlock(trained).appendRows("*encodings").load(longer);
        assertThat(Arrays.copyOf(numbers(longer)[0], 16)).isEqualTo(numbers(trained)[0]);
        assertThat(Arrays.copyOfRange(numbers(longer)[0], 16, 28)).isEqualTo(Arrays.copyOfRange(initial, 16, 28));
        Block shorter = model(manager, DataType.FLOAT32, 3, 3);
        WeightLoader.ofBlock(longer).firstRows("*encodings").load(shorter);
        assertThat(numbers(shorter)[0]).isEqualTo(Arrays.copyOf(numbers(trained)[0], 12));
    }

    @EngineTest(engine = "PyTorch")
    void fromAnotherDevice(NDManager manager) throws Exception {
        try (NDManager gpu = new SimulatedGpuEngine().newBaseManager(Device.gpu())) {
            Block trained = model(gpu, DataType.FLOAT32, 5, 3);
            Block copy = model(manager, DataType.FLOAT32, 5, 3);
            WeightLoader.ofBlock(trained).load(copy);
            assertThat(numbers(copy)).isDeepEqualTo(numbers(trained));
        }
    }

    /** Expected numbers are those of torch, in types.safetensors. */
    @EngineTest
    void checkpointsInHalfPrecision(NDManager manager) throws Exception {
        for (String stored : new String[] {"f64", "f32"}) {
            Parameter half = Weights.parameter(manager, DataType.FLOAT16, 4, 3);
            Weights.loader("types.safetensors")
                    .table(stored, half)
                    .allowRounding()
                    .load();
            assertThat(HostData.doubles(half.getArray())).isEqualTo(Weights.expected("f16"));
        }
    }

    @EngineTest(engine = "PyTorch")
    void modelsInHalfPrecision(NDManager manager) throws Exception {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            Block model = model(manager, type, 5, 3);
            NDArray x = manager.randomNormal(new Shape(2, 5, 4)).toType(type, false);
            double[] expected = HostData.doubles(Forward.infer(manager, model, x));
            double[][] rounded = Arrays.stream(numbers(model))
                    .map(values -> Arrays.stream(values)
                            .map(FloatFormat.FLOAT16::round)
                            .toArray())
                    .toArray(double[][]::new);
            int open = manager.getManagedArrays().size();
            HalfPrecision.round(model);
            HalfPrecision.round(model); // has no effect
            assertThat(manager.getManagedArrays()).hasSize(open);
            assertThat(numbers(model)).isDeepEqualTo(rounded);
            NDArray y = Forward.infer(manager, model, x.toType(DataType.FLOAT16, false));
            assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
            assertThat(HostData.doubles(y)).containsExactly(expected, within(0.02));
        }
    }

    @EngineTest
    void whatHalfPrecisionCannotHold(Engine engine, NDManager manager) {
        Block model = model(manager, DataType.FLOAT32, 5, 3);
        NDArray bias = model.getParameters().get("03Linear_bias").getArray();
        bias.setRequiresGradient(false);
        bias.addi(65520); // 65519.99 is rounded to 65504
        double[][] before = numbers(model);
        if (engine.getEngineName().equals("MXNet")) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> HalfPrecision.round(model))
                    .withMessageContainingAll("MXNet", "float16", "expected");
        } else {
            assertRejected(() -> HalfPrecision.round(model), "\"03Linear_bias\" of the block", "65520.0", "float16");
        }
        assertThat(numbers(model)).isDeepEqualTo(before);
    }
}
