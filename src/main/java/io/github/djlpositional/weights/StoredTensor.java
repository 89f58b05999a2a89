package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.InvalidFileException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;

/**
 * A tensor in a file.
 *
 * @param typeName its type as the file names it
 * @param type its type, or null if it cannot be loaded
 * @param dataStart the offset of its numbers in the file, which are row-major and little-endian
 */
record StoredTensor(Path file, String name, String typeName, StoredType type, Shape shape, long dataStart) {

    /** Receives {@code count} stored numbers, beginning with the index {@code first} in the tensor. */
    @FunctionalInterface
    interface Receiver {
        void accept(long first, int count, ByteBuffer raw);
    }

    /** Returns whether an array of numbers of {@code bits} each takes exactly a number of bytes. */
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

    /** Reads the numbers from index {@code start} to {@code end - 1}, at most {@code most} at once. */
    void read(long start, long end, int most, Receiver receiver) throws IOException, MalformedModelException {
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
    }

    /** Describes the tensor for messages. */
    @Override
    public String toString() {
        return "tensor " + InvalidFileException.quoted(name) + " of " + file;
    }
}
