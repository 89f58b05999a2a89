package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.options.Check;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;

/**
 * A tensor in a file, or a parameter of a block that is copied.
 *
 * @param origin the path of the file, or the class of the block
 * @param typeName its type as the file names it
 * @param type its type, or null if it cannot be loaded
 */
record StoredTensor(String origin, String name, String typeName, StoredType type, Shape shape, Values values) {

    private static final int PIECE_BYTES = 8 << 20;

    /** Receives {@code count} stored values, beginning with the index {@code first} in the tensor. */
    @FunctionalInterface
    interface Receiver {
        void accept(long first, int count, ByteBuffer raw);
    }

    /** The values of a tensor, row-major. */
    @FunctionalInterface
    interface Values {
        /** Reads the values from index {@code start} to {@code end - 1}, at most {@code most} at once. */
        void read(long start, long end, int most, Receiver receiver) throws IOException, MalformedModelException;
    }

    /** Returns a tensor in a file, whose little-endian values begin at an offset. */
    static StoredTensor inFile(Path file, String name, String typeName, StoredType type, Shape shape, long dataStart) {
        Values values = (start, end, most, receiver) -> {
            byte[] bytes = new byte[(int) Math.min(end - start, most) * type.bytes()];
            ByteBuffer raw = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            try (InputStream in = WeightFile.stream(file, dataStart + start * type.bytes())) {
                for (long first = start; first < end; first += most) {
                    int count = (int) Math.min(most, end - first);
                    int missing = count * type.bytes() - in.readNBytes(bytes, 0, count * type.bytes());
                    if (missing > 0) {
                        String what = "the data of tensor " + InvalidFileException.quoted(name) + " ends " + missing
                                + " bytes too soon";
                        throw InvalidFileException.damaged(what, null).of(file);
                    }
                    receiver.accept(first, count, raw);
                }
            }
        };
        return new StoredTensor(file.toString(), name, typeName, type, shape, values);
    }

    /** Returns the values that a parameter of a block has, on any device. */
    static StoredTensor of(String block, String name, Parameter parameter) {
        Check.that(
                parameter.isInitialized() && !parameter.getArray().isReleased(),
                () -> "parameter " + InvalidFileException.quoted(name) + " of " + block
                        + " has no array: expected an initialized block; initialize or load it first");
        NDArray array = parameter.getArray();
        StoredType type = Stream.of(StoredType.values())
                .filter(each -> each.isStoredAs(array.getDataType()))
                .findFirst()
                .orElse(null);
        Values values = (start, end, most, receiver) -> {
            for (long first = start; first < end; first += most) {
                int count = (int) Math.min(most, end - first);
                // DJL attaches copies of views and of arrays on a GPU to the manager of the array
                try (NDManager temporary = array.getManager().newSubManager()) {
                    NDArray flat = array.reshape(-1);
                    flat.attach(temporary);
                    NDArray piece = flat.get(temporary, NDIndex.sliceAxis(0, first, first + count));
                    receiver.accept(first, count, piece.toByteBuffer().order(ByteOrder.nativeOrder()));
                }
            }
        };
        return new StoredTensor(block, name, array.getDataType().toString(), type, array.getShape(), values);
    }

    /** Returns whether another tensor has the same type, shape and values. */
    boolean hasNumbersOf(StoredTensor other) throws IOException, MalformedModelException {
        if (type == null || type != other.type || !shape.equals(other.shape)) {
            return false;
        }
        long size = shape.size();
        int most = PIECE_BYTES / type.bytes();
        for (long start = 0; start < size; start += most) {
            long end = Math.min(size, start + most);
            if (!Arrays.equals(bytes(start, end), other.bytes(start, end))) {
                return false;
            }
        }
        return true;
    }

    private byte[] bytes(long start, long end) throws IOException, MalformedModelException {
        byte[] bytes = new byte[(int) (end - start) * type.bytes()];
        values.read(start, end, (int) (end - start), (first, count, raw) -> raw.get(0, bytes));
        return bytes;
    }

    /** Returns whether an array of values of {@code bits} each takes exactly a number of bytes. */
    static boolean isSize(Shape shape, int bits, long bytes) {
        try {
            long product = bits;
            for (long size : shape.getShape()) {
                product = Math.multiplyExact(product, size);
            }
            return product == Math.multiplyExact(8, bytes);
        } catch (ArithmeticException e) {
            return false; // larger than any file
        }
    }

    /** Describes the tensor for messages. */
    @Override
    public String toString() {
        return "tensor " + InvalidFileException.quoted(name) + " of " + origin;
    }
}
