package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.types.Shape;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.zip.ZipException;

/**
 * A tensor in a file.
 *
 * @param typeName its type as the file names it
 * @param type its type, or null if it cannot be loaded
 * @param isColumnMajor whether its first index varies fastest, as in Fortran, and not its last
 * @param data passes its bytes to a reader, as many as shape and type need
 */
record StoredTensor(
        Path file,
        String name,
        String typeName,
        StoredType type,
        ByteOrder order,
        Shape shape,
        boolean isColumnMajor,
        Data data) {

    @FunctionalInterface
    interface Data {
        void open(Reader reader) throws IOException;
    }

    @FunctionalInterface
    interface Reader {
        void read(InputStream in) throws IOException;
    }

    /**
     * Receives {@code count} numbers as they are stored, the first of which has the index {@code first} in the tensor.
     */
    @FunctionalInterface
    interface Receiver {
        void accept(long first, int count, ByteBuffer raw);
    }

    /** Returns whether numbers of {@code bits} each in a shape take exactly a number of bytes. */
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

    /**
     * Reads the numbers from index {@code start} to {@code end - 1}, in the order of the file, at most {@code most} at
     * once. The rest of the tensor is read too: a checksum may follow it.
     */
    void read(long start, long end, int most, Receiver receiver) throws IOException, MalformedModelException {
        try {
            data.open(in -> read(in, start, end, most, receiver));
        } catch (EOFException | ZipException e) {
            String what = "the data of tensor " + InvalidFileException.quoted(name) + ": " + e.getMessage();
            throw InvalidFileException.damaged(what, e).of(file);
        } catch (InvalidFileException e) {
            throw e.of(file);
        }
    }

    private void read(InputStream in, long start, long end, int most, Receiver receiver) throws IOException {
        long size = shape.size();
        byte[] bytes = new byte[(int) Math.min(size - start, most) * type.bytes()];
        ByteBuffer raw = ByteBuffer.wrap(bytes).order(order);
        in.skipNBytes(start * type.bytes());
        for (long first = start; first < size; first += most) {
            if (Thread.currentThread().isInterrupted()) {
                throw new ClosedByInterruptException(); // as channels do; ZipFile ignores interrupts
            }
            int count = (int) Math.min(most, size - first);
            int missing = count * type.bytes() - in.readNBytes(bytes, 0, count * type.bytes());
            if (missing > 0) {
                throw new EOFException("its data ends " + missing + " bytes too soon");
            }
            if (first < end) {
                receiver.accept(first, (int) Math.min(count, end - first), raw);
            }
        }
    }

    /** Returns the tensor as messages name it. */
    @Override
    public String toString() {
        return "tensor " + InvalidFileException.quoted(name) + " of " + file;
    }
}
