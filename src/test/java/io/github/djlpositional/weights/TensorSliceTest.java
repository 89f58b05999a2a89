package io.github.djlpositional.weights;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows and columns of tensors, against plain indexing. */
class TensorSliceTest extends OnEachEngine {

    @TempDir
    private Path folder;

    /** Tensors of up to four axes. */
    @Test
    void readsRowsAndColumnsOfAnyTensor() throws Exception {
        Random random = new Random(15);
        for (int round = 0; round < 50; round++) {
            int rank = 1 + random.nextInt(4);
            assertSlice(random, random.ints(rank, 1, 6).toArray());
        }
    }

    /** Tensors of up to 13 MB in FLOAT32, which are read in FLOAT64 in pieces of 8 MiB. */
    @Test
    void readsLargeMatricesInPieces() throws Exception {
        Random random = new Random(16);
        for (int round = 0; round < 8; round++) {
            assertSlice(random, random.ints(2, 900, 1800).toArray());
        }
    }

    private void assertSlice(Random random, int... sizes) throws Exception {
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
        TensorSlice part = new TensorSlice(tensor, isTransposed, from, to);
        try (NDArray array = part.read(manager, DataType.FLOAT64)) {
            assertThat(array.getShape()).isEqualTo(part.shape());
            assertThat(array.toDoubleArray())
                    .as("%s %s", part, shape)
                    .isEqualTo(expected.asDoubleStream().toArray());
        }
    }

    /** Six rows of two numbers in three groups. */
    @Test
    void readsTheSameRowsOfEachGroup() throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(12 * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        IntStream.range(0, 12).forEach(bytes::putFloat);
        Path file = Files.write(folder.resolve("groups"), bytes.array());
        StoredTensor tensor = StoredTensor.inFile(file, "t", "F32", StoredType.F32, new Shape(6, 2), 0);
        TensorSlice second = new TensorSlice(tensor, false, 3, 1, 2);
        try (NDArray array = second.read(manager, DataType.FLOAT32)) {
            assertThat(array.getShape()).isEqualTo(new Shape(3, 2)).isEqualTo(second.shape());
            assertThat(array.toFloatArray()).containsExactly(2, 3, 6, 7, 10, 11);
        }
        assertAll(
                rejected(() -> new TensorSlice(tensor, false, 4, 0, 1).requireExists(() -> "it"), "4 equal", "(6, 2)"),
                rejected(
                        () -> new TensorSlice(tensor, false, 3, 1, 3).requireExists(() -> "it"), "3 groups", "[0, 2)"));
    }

    @Test
    void rejectsRowsThatAreLargerThanABuffer() {
        Shape shape = new Shape(1, (1 << 28) + 1);
        StoredTensor tensor = StoredTensor.inFile(Path.of("large"), "t", "F32", StoredType.F32, shape, 0);
        TensorSlice part = TensorSlice.whole(tensor);
        assertAll(rejected(() -> part.read(manager, DataType.FLOAT32), "\"t\"", "large", (1 << 30) + 4, 1 << 30));
    }
}
