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
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Types, byte orders and layouts of stored numbers, in files that torch and numpy wrote. */
class StoredTypesTest {

    private static final Map<String, List<DataType>> WIDER = Map.of(
            "f16", List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64),
            "bf16", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f32", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f64", List.of(DataType.FLOAT64));

    /** The names of the arrays that hold the same numbers in each type, big-endian and in Fortran's order included. */
    private static final Map<String, List<String>> NUMPY = Map.of(
            "f16", List.of("f2", "big_f2", "F2"),
            "bf16", List.of(),
            "f32", List.of("f4", "big_f4", "F4"),
            "f64", List.of("f8", "big_f8"));

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

    private static double[] loaded(NDManager manager, String file, String tensor, int skipped, long... shape)
            throws Exception {
        return loaded(manager, file, tensor, DataType.FLOAT32, skipped, shape);
    }

    private static double[] range(int from, int to) {
        return IntStream.range(from, to).asDoubleStream().toArray();
    }

    @EngineTest
    void everyTypeIsLoadedExactly(NDManager manager) throws Exception {
        for (Map.Entry<String, List<DataType>> tensor : WIDER.entrySet()) {
            String name = tensor.getKey();
            for (DataType type : tensor.getValue()) {
                assertThat(loaded(manager, "types.safetensors", name, type, 0, 4, 3))
                        .as("%s in %s", name, type)
                        .isEqualTo(Weights.expected(name));
                for (String array : NUMPY.get(name)) {
                    assertThat(loaded(manager, "types.npz", array, type, 0, 4, 3))
                            .as("%s in %s", array, type)
                            .isEqualTo(Weights.expected(name));
                }
            }
        }
    }

    @EngineTest
    void everyVersionOfNumpysHeaderAndFormOfZip(NDManager manager) throws Exception {
        for (String tensor : List.of("v1", "v2", "v3", "python2")) {
            assertThat(loaded(manager, "versions.npz", tensor, 0, 4, 3))
                    .as(tensor)
                    .isEqualTo(Weights.expected("f32"));
        }
        for (String file : List.of("streamed.npz", "zip64.npz")) {
            assertThat(loaded(manager, file, "table", 0, 4, 3)).as(file).isEqualTo(range(0, 12));
        }
    }

    @EngineTest
    void everyShapeInEitherOrder(NDManager manager) throws Exception {
        // a transposed tensor of torch
        assertThat(loaded(manager, "types.npz", "t", 0, 4, 3)).containsExactly(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
        for (String tensor : List.of("C4_3d", "F4_3d")) {
            assertThat(loaded(manager, "types.npz", tensor, 0, 2, 3, 4))
                    .as(tensor)
                    .isEqualTo(range(0, 24));
            assertThat(loaded(manager, "types.npz", tensor, 1, 1, 3, 4))
                    .as(tensor)
                    .isEqualTo(range(12, 24));
        }
        assertThat(loaded(manager, "types.npz", "vector", 0, 5)).isEqualTo(range(0, 5));
        assertThat(loaded(manager, "types.npz", "vector", 3, 2)).isEqualTo(range(3, 5));
        assertThat(loaded(manager, "types.safetensors", "größe \n", 0, 2)).containsExactly(1, 1);
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
    void otherTypesAreListedAndRejected(String file, String tensor, String type) throws Exception {
        assertThat(Weights.open(file).getTensors()).containsEntry(tensor, new TensorInfo(type, new Shape(4, 3)));
        assertRejected(file, tensor, DataType.FLOAT32, type);
    }

    @ParameterizedTest
    @CsvSource({"f64, FLOAT32, F64", "f64, FLOAT16, F64", "f32, FLOAT16, F32", "bf16, FLOAT16, BF16"})
    void typesThatWouldBeRoundedAreRejected(String tensor, DataType target, String type) throws Exception {
        assertRejected("types.safetensors", tensor, target, type);
    }

    private static void assertRejected(String file, String tensor, DataType target, String type) throws Exception {
        try (NDManager manager = EngineTestExtension.cpuManager()) {
            Parameter parameter = Weights.parameter(manager, target, 4, 3);
            WeightLoader loader = Weights.loader(file).table(tensor, parameter);
            String given = "tensor \"" + tensor + "\"";
            Weights.assertRejected(
                    loader::load, "parameter \"table\"", given, file, "\"" + type + "\"", target.toString());
            Weights.assertUnchanged(parameter);
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
