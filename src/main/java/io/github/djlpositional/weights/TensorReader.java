package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.zip.ZipException;

/** Reads the numbers of a tensor in the order of the file, some at a time. */
final class TensorReader implements AutoCloseable {

    private final StoredTensor tensor;
    private final InputStream in;

    private TensorReader(StoredTensor tensor, InputStream in) {
        this.tensor = tensor;
        this.in = in;
    }

    static TensorReader open(StoredTensor tensor) throws IOException, MalformedModelException {
        try {
            return new TensorReader(tensor, tensor.data().open());
        } catch (EOFException | ZipException e) {
            throw damaged(tensor, e);
        }
    }

    /**
     * Reads some numbers.
     *
     * @param count how many
     * @param into where their bytes go, from the start, an array behind it; its byte order is set to theirs
     */
    void read(int count, ByteBuffer into) throws IOException, MalformedModelException {
        int length = count * tensor.type().bytes();
        try {
            int found = in.readNBytes(into.array(), into.arrayOffset(), length);
            if (found < length) {
                throw new EOFException("its data ends " + (length - found) + " bytes too soon");
            }
        } catch (EOFException | ZipException e) {
            throw damaged(tensor, e);
        }
        into.order(tensor.order());
    }

    /** Passes over some numbers. */
    void skip(long count) throws IOException, MalformedModelException {
        try {
            in.skipNBytes(count * tensor.type().bytes());
        } catch (EOFException | ZipException e) {
            throw damaged(tensor, e);
        }
    }

    /** To be called behind the last number: here a compressed tensor finds out whether it was read rightly. */
    void requireEnd() throws IOException, MalformedModelException {
        try {
            if (in.read() >= 0) {
                throw new ZipException("its data goes on behind its end");
            }
        } catch (EOFException | ZipException e) {
            throw damaged(tensor, e);
        }
    }

    private static MalformedModelException damaged(StoredTensor tensor, IOException cause) {
        return DamagedFile.because(
                tensor.file(), "the data of tensor " + Quoted.text(tensor.name()) + ": " + cause.getMessage(), cause);
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
