package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTest;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Types, byte orders and layouts of stored numbers; torch and numpy made the files. */
class StoredTypesTest {

    private static double[] loaded(NDManager manager, String file, String tensor, DataType type, long... shape)
            throws Exception {
        Parameter parameter = Weights.parameter(manager, type, shape);
        WeightLoader.of(Weights.open(file)).table(tensor, parameter).load();
        NDArray array = parameter.getArray();
        assertThat(array.getDataType()).isEqualTo(type);
        return array.toType(DataType.FLOAT64, false).toDoubleArray();
    }

    private static final Map<String, List<DataType>> WIDER = Map.of(
            "f16", List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64),
            "bf16", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f32", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f64", List.of(DataType.FLOAT64));

    @EngineTest
    void numbersOfSafetensorsArriveAsTheyAre(NDManager manager) throws Exception {
        for (Map.Entry<String, List<DataType>> tensor : WIDER.entrySet()) {
            for (DataType type : tensor.getValue()) {
                assertThat(loaded(manager, "types.safetensors", tensor.getKey(), type, 4, 3))
                        .as("%s in %s", tensor.getKey(), type)
                        .isEqualTo(Weights.expected(tensor.getKey()));
            }
        }
    }

    @EngineTest
    void numbersOfNumpyArriveAsTheyAre(NDManager manager) throws Exception {
        Map<String, String> expected = Map.of(
                "f2", "f16", "f4", "f32", "f8", "f64", "big_f2", "f16", "big_f4", "f32", "big_f8", "f64", "F4", "f32",
                "F2", "f16");
        for (Map.Entry<String, String> tensor : expected.entrySet()) {
            for (DataType type : WIDER.get(tensor.getValue())) {
                assertThat(loaded(manager, "types.npz", tensor.getKey(), type, 4, 3))
                        .as("%s in %s", tensor.getKey(), type)
                        .isEqualTo(Weights.expected(tensor.getValue()));
            }
        }
    }

    @EngineTest
    void everyVersionOfNumpysHeader(NDManager manager) throws Exception {
        for (String tensor : List.of("v1", "v2", "v3", "python2")) {
            assertThat(loaded(manager, "versions.npz", tensor, DataType.FLOAT32, 4, 3))
                    .as(tensor)
                    .isEqualTo(Weights.expected("f32"));
        }
    }

    @EngineTest
    void otherFormsOfZip(NDManager manager) throws Exception {
        for (String file : List.of("streamed.npz", "zip64.npz")) {
            assertThat(loaded(manager, file, "table", DataType.FLOAT32, 4, 3))
                    .as(file)
                    .containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
        }
    }

    @EngineTest
    void aTransposedTensorOfTorch(NDManager manager) throws Exception {
        assertThat(loaded(manager, "types.npz", "t", DataType.FLOAT32, 4, 3))
                .containsExactly(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
    }

    @EngineTest
    void threeAxesInEitherOrder(NDManager manager) throws Exception {
        double[] rowMajor = loaded(manager, "types.npz", "C4_3d", DataType.FLOAT32, 2, 3, 4);
        assertThat(rowMajor[23]).isEqualTo(23);
        assertThat(loaded(manager, "types.npz", "F4_3d", DataType.FLOAT32, 2, 3, 4))
                .isEqualTo(rowMajor);
    }

    @EngineTest
    void rowsInFrontAreLeftOutInEitherOrder(NDManager manager) throws Exception {
        for (String tensor : List.of("C4_3d", "F4_3d")) {
            Parameter parameter = Weights.parameter(manager, DataType.FLOAT32, 1, 3, 4);
            WeightLoader.of(Weights.open("types.npz"))
                    .table(tensor, parameter, 1)
                    .load();
            assertThat(parameter.getArray().toFloatArray())
                    .as(tensor)
                    .containsExactly(12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23);
        }
    }

    @EngineTest
    void vectorsAndEmptyTables(NDManager manager) throws Exception {
        assertThat(loaded(manager, "types.npz", "vector", DataType.FLOAT32, 5)).containsExactly(0, 1, 2, 3, 4);
        Parameter tail = Weights.parameter(manager, DataType.FLOAT32, 2);
        WeightLoader.of(Weights.open("types.npz")).table("vector", tail, 3).load();
        assertThat(tail.getArray().toFloatArray()).containsExactly(3, 4);
        assertThat(loaded(manager, "types.safetensors", "größe \n", DataType.FLOAT32, 2))
                .containsExactly(1, 1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "types.safetensors | i64 | I64",
                "types.safetensors | i32 | I32",
                "types.safetensors | bool | BOOL",
                "types.safetensors | f8 | F8_E4M3",
                "types.npz | i8 | <i8",
                "types.npz | b1 | `|b1`",
                "types.npz | c8 | <c8",
                "types.npz | text | <U1",
                "types.npz | longdouble | <f16",
                "types.npz | pickled | `|O`",
                "types.npz | fields | [('a]', '<f4'), ('b', '<i4', (2,))]",
            })
    void otherTypesAreListedAndRefused(String file, String tensor, String type) throws Exception {
        WeightFile weights = Weights.open(file);
        assertThat(weights.getTensors()).containsEntry(tensor, new TensorInfo(type, new Shape(4, 3)));
        try (NDManager manager = NDManager.newBaseManager()) {
            Parameter parameter = Weights.parameter(manager, DataType.FLOAT32, 4, 3);
            assertThatIllegalArgumentException()
                    .isThrownBy(() ->
                            WeightLoader.of(weights).table(tensor, parameter).load())
                    .withMessageContaining("tensor \"" + tensor + "\"")
                    .withMessageContaining(file)
                    .withMessageContaining("type \"" + type + "\"")
                    .withMessageContaining("allowed for parameter \"table\" of type float32 is")
                    .withMessageContaining("convert the tensor");
            assertThat(parameter.getArray().toFloatArray()).containsOnly(7);
        }
    }

    @ParameterizedTest
    @CsvSource({"f64, FLOAT32", "f64, FLOAT16", "f32, FLOAT16", "bf16, FLOAT16"})
    void whatWouldBeRoundedIsRefused(String tensor, DataType type) throws Exception {
        WeightFile weights = Weights.open("types.safetensors");
        try (NDManager manager = NDManager.newBaseManager()) {
            Parameter parameter = Weights.parameter(manager, type, 4, 3);
            assertThatIllegalArgumentException()
                    .isThrownBy(() ->
                            WeightLoader.of(weights).table(tensor, parameter).load())
                    .withMessageContaining("tensor \"" + tensor + "\"")
                    .withMessageContaining("of type " + type);
        }
    }

    @Test
    void tensorsAreListedInTheOrderOfTheFile() throws Exception {
        assertThat(Weights.open("types.safetensors").getTensors().keySet())
                .containsExactly(
                        "i64", "f64", "empty", "f32", "größe \n", "scalar", "i32", "bf16", "f16", "f8", "bool");
        assertThat(Weights.open("types.npz").getTensors().keySet())
                .startsWith("f2", "f4", "f8", "F4", "F2", "F4_3d", "C4_3d", "t", "vector", "scalar", "empty");
        assertThat(Weights.open("versions.npz").getTensors().keySet()).containsExactly("v1", "v2", "v3", "python2");
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
