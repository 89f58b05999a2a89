package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The values of arrays in files, which are read and written in pieces. */
public final class ArrayValues {

    /** A multiple of the size of a number. */
    private static final int PIECE_BYTES = 1 << 16;

    private ArrayValues() {}

    /** Writes the order of the bytes of an array, as DJL does, and the values. */
    public static void write(DataOutputStream out, NDArray array) throws IOException {
        HostData.requireBuffer(array.getShape(), array.getDataType());
        ByteBuffer values = HostData.read(array, NDArray::toByteBuffer);
        writeOrder(out, values);
        write(out, values);
    }

    static void writeOrder(DataOutputStream out, ByteBuffer values) throws IOException {
        out.writeByte(values.order() == ByteOrder.BIG_ENDIAN ? '>' : '<');
    }

    static void write(DataOutputStream out, ByteBuffer values) throws IOException {
        byte[] piece = new byte[PIECE_BYTES];
        while (values.hasRemaining()) {
            int count = Math.min(piece.length, values.remaining());
            values.get(piece, 0, count);
            out.write(piece, 0, count);
        }
    }

    /**
     * Reads what {@link #write(DataOutputStream, NDArray)} has written into a new array, which no scope closes. Its
     * size must be known to be that of the file.
     */
    public static NDArray read(DataInputStream in, Shape shape, DataType type, NDManager manager) throws IOException {
        return read(in, readOrder(in), shape, type, manager);
    }

    static ByteOrder readOrder(DataInputStream in) throws IOException {
        return in.readByte() == '>' ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }

    static NDArray read(DataInputStream in, ByteOrder order, Shape shape, DataType type, NDManager manager)
            throws IOException {
        ByteBuffer values = HostData.bufferFor(manager, shape, type);
        while (values.hasRemaining()) {
            values.put(readPiece(in, order, type, values.remaining()));
        }
        NDArray array = HostData.toArray(manager, manager.getDevice(), values.rewind(), shape, type);
        NDScope.unregister(array);
        return array;
    }

    /** Reads some of the values of an array, in the byte order of this machine. */
    static ByteBuffer readPiece(DataInputStream in, ByteOrder order, DataType type, int remaining) throws IOException {
        byte[] piece = new byte[Math.min(PIECE_BYTES, remaining)];
        in.readFully(piece);
        if (order != ByteOrder.nativeOrder()) {
            int size = type.getNumOfBytes();
            for (int at = 0; at < piece.length; at += size) {
                for (int i = 0; i < size / 2; i++) {
                    byte first = piece[at + i];
                    piece[at + i] = piece[at + size - 1 - i];
                    piece[at + size - 1 - i] = first;
                }
            }
        }
        return ByteBuffer.wrap(piece);
    }
}
