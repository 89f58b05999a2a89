package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.assertRejected;
import static io.github.djlpositional.weights.Weights.assertUnchanged;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.HostData;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;

/** Rows and columns of tensors, a whole attention, and tensors as arrays, in files that torch wrote. */
class TensorPartsTest {

    private static final String FILE = "attention.safetensors";

    /** The largest difference to what torch computed in float64. */
    private static final Map<DataType, Double> ERRORS = Map.of(DataType.FLOAT32, 1e-5, DataType.FLOAT64, 1e-10);

    @TempDir
    private Path folder;

    private static MultiHeadAttentionBlock attention(int size, boolean hasBias) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(2)
                .optBias(hasBias)
                .build();
    }

    private static MultiHeadAttentionBlock initialized(NDManager manager, DataType type, boolean hasBias) {
        MultiHeadAttentionBlock block = attention(8, hasBias);
        block.initialize(manager, type, new Shape(2, 5, 8));
        return block;
    }

    private static NDArray input(NDManager manager, DataType type, String name) throws Exception {
        double[] numbers = Weights.expected("attention " + name);
        return manager.create(numbers).reshape(2, -1, 8).toType(type, false);
    }

    private static void assertOutput(String name, DataType type, NDArray output) throws Exception {
        assertThat(output.getDataType()).isEqualTo(type);
        assertThat(output.toType(DataType.FLOAT64, false).toDoubleArray())
                .containsExactly(Weights.expected(name), within(ERRORS.get(type)));
    }

    @EngineTest
    void attentionOfPyTorch(NDManager manager) throws Exception {
        for (DataType type : ERRORS.keySet()) {
            for (boolean hasBias : new boolean[] {true, false}) {
                String name = hasBias ? "self_attn" : "plain";
                MultiHeadAttentionBlock block = initialized(manager, type, hasBias);
                int open = manager.getManagedArrays().size();
                Weights.loader(FILE).multiheadAttention(name + ".", block).load();
                assertThat(manager.getManagedArrays()).hasSize(open);
                NDArray output = Forward.infer(
                        manager,
                        block,
                        input(manager, type, "keys"),
                        input(manager, type, "queries"),
                        input(manager, type, "values"));
                assertOutput("attention " + name, type, output);
            }
        }
    }

    /** Conv1D stores (in, out); c_attn has the columns of queries, keys and values. */
    @EngineTest
    void layersOfGpt2(NDManager manager) throws Exception {
        for (DataType type : ERRORS.keySet()) {
            MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(2)
                    .optCausal(true)
                    .build();
            block.initialize(manager, type, new Shape(2, 5, 8));
            Linear feedForward = Linear.builder().setUnits(32).build();
            feedForward.initialize(manager, type, new Shape(2, 5, 8));
            WeightLoader loader = Weights.loader(FILE);
            List<Linear> projections =
                    List.of(block.getQueryProjection(), block.getKeyProjection(), block.getValueProjection());
            for (int i = 0; i < 3; i++) {
                addConv1d(loader, "h.0.attn.c_attn.", 8 * i, 8 * i + 8, projections.get(i));
            }
            addConv1d(loader, "h.0.attn.c_proj.", 0, 8, block.getResultProjection());
            addConv1d(loader, "h.0.mlp.c_fc.", 0, 32, feedForward);
            loader.load();
            NDArray x = input(manager, type, "keys");
            assertOutput("gpt2 attention", type, Forward.infer(manager, block, x));
            assertOutput("gpt2 feed-forward", type, Forward.infer(manager, feedForward, x));
        }
    }

    private static void addConv1d(WeightLoader loader, String prefix, int from, int to, Block linear) {
        loader.columnsAsRows(prefix + "weight", from, to, linear.getParameters().get("weight"));
        loader.rows(prefix + "bias", from, to, linear.getParameters().get("bias"));
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
        StoredTensor tensor = new StoredTensor(file, "t", "F32", StoredType.F32, shape, 0);
        TensorPart part = new TensorPart(tensor, isTransposed, from, to);
        try (NDArray array = part.read(manager, DataType.FLOAT64)) {
            assertThat(array.getShape()).isEqualTo(part.shape());
            assertThat(array.toDoubleArray())
                    .as("%s %s", part, shape)
                    .isEqualTo(expected.asDoubleStream().toArray());
        }
    }

    @EngineTest
    void rowsMayOverlapButNotRepeat(NDManager manager) throws Exception {
        Parameter first = Weights.parameter(manager, 3, 6);
        Parameter second = Weights.parameter(manager, 4, 6);
        WeightLoader loader = Weights.loader("gpt2.safetensors").rows("wpe.weight", 0, 3, first);
        Parameter other = Weights.parameter(manager, 3, 6);
        assertRejected(() -> loader.rows("wpe.weight", 0, 3, other), "rows [0, 3)", "\"wpe.weight\"");
        loader.rows("wpe.weight", 2, 6, second).load();
        assertThat(second.getArray().get(0).toFloatArray())
                .isEqualTo(first.getArray().get(2).toFloatArray());
        assertUnchanged(other);
    }

    /** The smallest, the greatest and another number of each type. */
    @EngineTest
    void integersAndBooleansAsArrays(NDManager manager) throws Exception {
        WeightFile file = Weights.open("integers.safetensors");
        Map<String, DataType> types =
                Map.of("i1", DataType.INT8, "u1", DataType.UINT8, "i4", DataType.INT32, "i8", DataType.INT64);
        for (String name : types.keySet()) {
            int bits = (name.charAt(1) - '0') * Byte.SIZE;
            long least = name.equals("u1") ? 0 : -1L << (bits - 1);
            long greatest = name.equals("u1") ? 255 : -1 - least;
            NDArray array = file.read(manager, name);
            assertThat(array.getDataType()).as(name).isEqualTo(types.get(name));
            assertThat(numbers(array)).as(name).containsExactly(least, greatest, 1);
        }
        assertThat(file.read(manager, "b1").toBooleanArray()).containsExactly(false, true, true);
        assertThat(file.read(manager, "number").getShape()).isEqualTo(new Shape());
        assertThat(file.read(manager, "number").toLongArray()).containsExactly(7);
        for (String name : List.of("i2", "u2", "u4", "u8")) {
            String type = file.getTensors().get(name).type();
            assertRejected(() -> file.read(manager, name), "\"" + name + "\"", "\"" + type + "\"", "I64");
        }
    }

    private static long[] numbers(NDArray array) {
        return switch (array.getDataType()) {
            case INT32 -> IntStream.of(array.toIntArray()).asLongStream().toArray();
            case INT64 -> array.toLongArray();
            case UINT8 -> IntStream.of(array.toUint8Array()).asLongStream().toArray();
            default -> array.toType(DataType.INT64, false).toLongArray();
        };
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
        assertRejected(() -> file.read(manager, "f8"), "\"f8\"", "F8_E4M3", "BF16");
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
