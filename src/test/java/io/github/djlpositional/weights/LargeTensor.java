package io.github.djlpositional.weights;

import ai.djl.ndarray.types.Shape;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;

/** A tensor in memory that counts its numbers row by row. */
final class LargeTensor {

    private LargeTensor() {}

    static StoredTensor of(int rows, int columns, boolean isColumnMajor) {
        ByteBuffer bytes = ByteBuffer.allocate(rows * columns * Float.BYTES).order(ByteOrder.BIG_ENDIAN);
        for (int i = 0; i < rows * columns; i++) {
            int place = isColumnMajor ? i % columns * rows + i / columns : i;
            bytes.putFloat(place * Float.BYTES, i);
        }
        return new StoredTensor(
                Path.of("memory"),
                "large",
                ">f4",
                StoredType.F32,
                ByteOrder.BIG_ENDIAN,
                new Shape(rows, columns),
                isColumnMajor,
                () -> new ByteArrayInputStream(bytes.array()));
    }
}
