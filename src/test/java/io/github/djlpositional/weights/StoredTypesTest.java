package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tensors of each type, in files that torch wrote, as parameters, as arrays, and parts of them. */
class StoredTypesTest {

    @TempDir
    private Path folder;

    private static final Map<String, List<DataType>> WIDER = Map.of(
            "f16", List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64),
            "bf16", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f32", List.of(DataType.FLOAT32, DataType.FLOAT64),
            "f64", List.of(DataType.FLOAT64));

    private static double[] loaded(NDManager manager, String tensor, DataType type, long... shape) throws Exception {
        Parameter parameter = Weights.parameter(manager, type, shape);
        Weights.loader("types.safetensors").table(tensor, parameter).load();
        NDArray array = parameter.getArray();
        assertThat(array.getDataType()).isEqualTo(type);
        return array.toType(DataType.FLOAT64, false).toDoubleArray();
    }

    @EngineTest
    void everyTypeIsLoadedExactly(NDManager manager) throws Exception {
        for (Map.Entry<String, List<DataType>> tensor : WIDER.entrySet()) {
            String name = tensor.getKey();
            for (DataType type : tensor.getValue()) {
                assertThat(loaded(manager, name, type, 4, 3))
                        .as("%s in %s", name, type)
                        .isEqualTo(Weights.expected(name));
            }
        }
        assertThat(loaded(manager, "größe \n", DataType.FLOAT32, 2)).containsExactly(1, 1);
    }

    @Test
    void tensorsAreListedInTheOrderOfTheFile() throws Exception {
        WeightFile file = Weights.open("types.safetensors");
        assertThat(file.getTensors().keySet())
                .containsExactly(
                        "i64", "f64", "empty", "f32", "größe \n", "scalar", "i32", "bf16", "f16", "f8", "bool");
        assertThat(file.getTensors().values().stream().map(TensorInfo::type))
                .containsExactly("I64", "F64", "F32", "F32", "F32", "F32", "I32", "BF16", "F16", "F8_E4M3", "BOOL");
        assertThat(file.getTensors())
                .isUnmodifiable()
                .containsEntry("f8", new TensorInfo("F8_E4M3", new Shape(4, 3)))
                .containsEntry("scalar", new TensorInfo("F32", new Shape()))
                .containsEntry("empty", new TensorInfo("F32", new Shape(0, 3)));
        assertThat(file).hasToString("WeightFile(" + file.getPath() + ", 11 tensors)");
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

    /** Tensors of up to four axes, in one and in several pieces, against plain indexing. */
    @EngineTest
    void rowsAndColumnsOfAnyTensor(NDManager manager) throws Exception {
        Random random = new Random(15);
        for (int round = 0; round < 50; round++) {
            int rank = 1 + random.nextInt(4);
            assertPart(manager, random, random.ints(rank, 1, 6).toArray());
        }
        for (int round = 0; round < 8; round++) {
            assertPart(manager, random, random.ints(2, 900, 1800).toArray());
        }
    }

    private void assertPart(NDManager manager, Random random, int... sizes) throws Exception {
        boolean isTransposed = sizes.length == 2 && random.nextBoolean();
        int available = sizes[isTransposed ? 1 : 0];
        int from = random.nextInt(available);
        int to = from + 1 + random.nextInt(available - from);
        int size = IntStream.of(sizes).reduce(1, (a, b) -> a * b);
        int inner = size / sizes[0];
        ByteBuffer bytes = ByteBuffer.allocate(size * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        IntStream.range(0, size).forEach(bytes::putFloat);
        Path file = Files.write(folder.resolve("numbers"), bytes.array());
        IntStream expected = isTransposed
                ? IntStream.range(0, (to - from) * sizes[0]).map(i -> i % sizes[0] * inner + from + i / sizes[0])
                : IntStream.range(from * inner, to * inner);
        Shape shape = new Shape(IntStream.of(sizes).asLongStream().toArray());
        StoredTensor tensor = StoredTensor.inFile(file, "t", "F32", StoredType.F32, shape, 0);
        TensorPart part = new TensorPart(tensor, isTransposed, from, to);
        try (NDArray array = part.read(manager, DataType.FLOAT64)) {
            assertThat(array.getShape()).isEqualTo(part.shape());
            assertThat(array.toDoubleArray())
                    .as("%s %s", part, shape)
                    .isEqualTo(expected.asDoubleStream().toArray());
        }
    }

    /** The smallest, the largest and another number of each type. */
    @EngineTest
    void integersAndBooleansAsArrays(NDManager manager) throws Exception {
        WeightFile file = Weights.open("integers.safetensors");
        Map<String, DataType> types =
                Map.of("i1", DataType.INT8, "u1", DataType.UINT8, "i4", DataType.INT32, "i8", DataType.INT64);
        for (String name : types.keySet()) {
            int bits = (name.charAt(1) - '0') * Byte.SIZE;
            long smallest = name.equals("u1") ? 0 : -1L << (bits - 1);
            long largest = name.equals("u1") ? 255 : -1 - smallest;
            NDArray array = file.read(manager, name);
            assertThat(array.getDataType()).as(name).isEqualTo(types.get(name));
            assertThat(array.toType(DataType.INT64, false).toLongArray())
                    .as(name)
                    .containsExactly(smallest, largest, 1);
        }
        assertThat(file.read(manager, "b1").toBooleanArray()).containsExactly(false, true, true);
        assertThat(file.read(manager, "number").getShape()).isEqualTo(new Shape());
        assertThat(file.read(manager, "number").toLongArray()).containsExactly(7);
    }

    @EngineTest
    void realNumbersAsArrays(NDManager manager) throws Exception {
        WeightFile file = Weights.open("types.safetensors");
        Map<String, DataType> types = Map.of(
                "f64", DataType.FLOAT64, "f32", DataType.FLOAT32, "f16", DataType.FLOAT16, "bf16", DataType.FLOAT32);
        for (String name : types.keySet()) {
            try (NDManager own = manager.newSubManager()) {
                NDArray array = file.read(own, name);
                assertThat(own.getManagedArrays()).containsExactly(array);
                assertThat(array.getDataType()).isEqualTo(types.get(name));
                assertThat(array.getShape()).isEqualTo(new Shape(4, 3));
                assertThat(HostData.doubles(array)).isEqualTo(Weights.expected(name));
            }
        }
        assertThat(file.read(manager, "scalar").toFloatArray()).containsExactly(2.5f);
        assertThat(file.read(manager, "empty").getShape()).isEqualTo(new Shape(0, 3));
    }

    /** A boolean is a byte; another one than 0 and 1 must not reach an engine. */
    @EngineTest
    void booleansOfAnyByte(NDManager manager) throws Exception {
        String header = "{\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}";
        byte[] bytes = Weights.safetensors(header, 3);
        bytes[bytes.length - 1] = -1;
        bytes[bytes.length - 2] = 2;
        WeightFile file = WeightFile.open(Files.write(folder.resolve("booleans"), bytes));
        assertThat(file.read(manager, "b").toByteBuffer()).isEqualTo(ByteBuffer.wrap(new byte[] {0, 1, 1}));
    }
}
