package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Types of stored numbers, in files that torch wrote. */
class StoredTypesTest {

    private static final Map<String, List<DataType>> WIDER = Map.of(
            "f16", List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64),
            "bf16", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f32", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f64", List.of(DataType.FLOAT64));

    private static double[] loaded(
            NDManager manager, String file, String tensor, DataType type, int skipped, long... shape) throws Exception {
        Parameter parameter = Weights.parameter(manager, type, shape);
        Weights.loader(file)
                .rows(tensor, skipped, skipped + shape[0], parameter)
                .load();
        NDArray array = parameter.getArray();
        assertThat(array.getDataType()).isEqualTo(type);
        return array.toType(DataType.FLOAT64, false).toDoubleArray();
    }

    @EngineTest
    void everyTypeIsLoadedExactly(NDManager manager) throws Exception {
        for (Map.Entry<String, List<DataType>> tensor : WIDER.entrySet()) {
            String name = tensor.getKey();
            for (DataType type : tensor.getValue()) {
                assertThat(loaded(manager, "types.safetensors", name, type, 0, 4, 3))
                        .as("%s in %s", name, type)
                        .isEqualTo(Weights.expected(name));
            }
        }
    }

    @EngineTest
    void namesOfAnyText(NDManager manager) throws Exception {
        assertThat(loaded(manager, "types.safetensors", "größe \n", DataType.FLOAT32, 0, 2))
                .containsExactly(1, 1);
    }

    /** Types that are no real numbers, and types whose numbers would be rounded. */
    @ParameterizedTest
    @CsvSource({
        "i64, FLOAT32, I64",
        "i32, FLOAT32, I32",
        "bool, FLOAT32, BOOL",
        "f8, FLOAT32, F8_E4M3",
        "f64, FLOAT32, F64",
        "f64, FLOAT16, F64",
        "f32, FLOAT16, F32",
        "bf16, FLOAT16, BF16"
    })
    void otherTypesAreListedAndRejected(String tensor, DataType target, String type) throws Exception {
        assertThat(Weights.open("types.safetensors").getTensors())
                .containsEntry(tensor, new TensorInfo(type, new Shape(4, 3)));
        try (NDManager manager = EngineTestExtension.cpuManager()) {
            Parameter parameter = Weights.parameter(manager, target, 4, 3);
            WeightLoader loader = Weights.loader("types.safetensors").table(tensor, parameter);
            Weights.assertRejected(
                    loader::load,
                    "parameter \"table\"",
                    "tensor \"" + tensor + "\"",
                    "types.safetensors",
                    "\"" + type + "\"",
                    target.toString());
            Weights.assertUnchanged(parameter);
        }
    }

    @Test
    void tensorsAreListedInTheOrderOfTheFile() throws Exception {
        assertThat(Weights.open("types.safetensors").getTensors().keySet())
                .containsExactly(
                        "i64", "f64", "empty", "f32", "größe \n", "scalar", "i32", "bf16", "f16", "f8", "bool");
        assertThat(Weights.open("types.safetensors").getTensors())
                .containsEntry("scalar", new TensorInfo("F32", new Shape()))
                .containsEntry("empty", new TensorInfo("F32", new Shape(0, 3)));
    }

    /** Every number of 16 bits, against the value that its definition gives it. */
    @Test
    void everyHalf() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            ByteBuffer raw = ByteBuffer.allocate(2).putShort(0, (short) bits);
            int exponent = bits >> 10 & 31;
            double fraction = (bits & 1023) / 1024.0;
            double size = exponent == 31
                    ? (fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN)
                    : exponent == 0 ? Math.pow(2, -14) * fraction : Math.pow(2, exponent - 15.0) * (1 + fraction);
            assertThat(Double.valueOf(StoredType.F16.get(raw, 0)))
                    .isEqualTo(Double.valueOf(bits >> 15 == 0 ? size : -size));
        }
    }
}
