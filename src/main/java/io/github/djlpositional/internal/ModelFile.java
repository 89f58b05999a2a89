package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import com.google.gson.Gson;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.internal.options.Settings;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The section of a block in a model file: a version, the options as JSON, the shapes of the inputs, and the parameters
 * in the format of DJL's {@link Parameter#save}.
 *
 * <p>A file is not trusted. Options are parsed into plain values and compared with the options of the block; no object
 * is created from them. Every size in the file is compared with what the block needs before memory is allocated for it.
 */
final class ModelFile {

    /**
     * No block of DJL has this version. After a version that DJL knows, it would read the options as shapes, and
     * allocate gigabytes.
     */
    private static final byte VERSION = 100;

    /** More bytes of options than the block has are read, so that a message can name the option that differs. */
    private static final int OPTIONS_MARGIN = 64 << 10;

    private static final int MAX_SHAPES = 8;
    private static final int MAX_DIMENSIONS = 32;

    /** The longest text of a file that a message quotes. */
    private static final int MAX_TEXT = 200;

    /** A multiple of the size of a number. */
    private static final int BUFFER_BYTES = 1 << 16;

    // DJL's format of a parameter, of a version that it reads in all its releases from 0.28 on
    private static final char PARAMETER = 'P';
    private static final byte PARAMETER_VERSION = 1;
    private static final String ARRAY = "NDAR";
    private static final int ARRAY_VERSION = 3;
    private static final String DENSE = "DENSE";

    private final String block;
    private final Record options;

    /** Describes the section of a block. */
    ModelFile(String block, Record options) {
        this.block = block;
        this.options = options;
    }

    private static boolean hasSection(Object option) {
        return option instanceof Block;
    }

    /** Writes everything but the parameters. */
    void write(DataOutputStream out, Shape... inputShapes) throws IOException {
        out.writeByte(VERSION);
        byte[] json = json();
        out.writeInt(json.length);
        out.write(json);
        out.writeInt(inputShapes.length);
        for (Shape shape : inputShapes) {
            out.writeInt(shape.dimension());
            for (long size : shape.getShape()) {
                out.writeLong(size);
            }
        }
    }

    /** The options as JSON. The section of a block within this block has its options; this section has its class. */
    private byte[] json() {
        Map<String, Object> saved = new LinkedHashMap<>();
        saved.put(Settings.TYPE, block);
        saved.putAll(Settings.saved(options, ModelFile::hasSection));
        return new Gson().toJson(saved).getBytes(StandardCharsets.UTF_8);
    }

    /** Reads the output of {@link #write(DataOutputStream, Shape...)}, and returns the shapes of the inputs. */
    Shape[] read(DataInputStream in) throws IOException, MalformedModelException {
        byte version = in.readByte();
        require(version == VERSION, "version " + version, "version " + VERSION);
        byte[] json = new byte[count(in, json().length + OPTIONS_MARGIN, "bytes of options")];
        in.readFully(json);
        try {
            requireSame(Json.read(json));
        } catch (MalformedJsonException e) {
            throw damaged(e);
        }
        Shape[] shapes = new Shape[count(in, MAX_SHAPES, "input shapes")];
        for (int i = 0; i < shapes.length; i++) {
            shapes[i] = readShape(in);
        }
        return shapes;
    }

    private void require(boolean holds, String found, String expected) throws MalformedModelException {
        if (!holds) {
            throw new MalformedModelException("the model file has " + found + " for " + block + ": expected " + expected
                    + "; it is damaged, or was saved by a model with other blocks, such as fewer layers, or by another"
                    + " version of the library: load another, or build the model as it was saved");
        }
    }

    private int count(DataInputStream in, int most, String what) throws IOException, MalformedModelException {
        int count = in.readInt();
        require(count >= 0 && count <= most, count + " " + what, "at most " + most);
        return count;
    }

    private Shape readShape(DataInputStream in) throws IOException, MalformedModelException {
        long[] sizes = new long[count(in, MAX_DIMENSIONS, "dimensions")];
        for (int axis = 0; axis < sizes.length; axis++) {
            sizes[axis] = in.readLong();
            require(sizes[axis] >= -1, "an axis of size " + sizes[axis], "0 or more, or -1 for unknown");
        }
        return new Shape(sizes);
    }

    private void requireSame(Map<String, Object> file) throws MalformedModelException {
        Map<String, Object> saved = new LinkedHashMap<>(file);
        Object type = saved.remove(Settings.TYPE);
        String name = block.equals(type) ? Settings.difference(options, saved, ModelFile::hasSection) : Settings.TYPE;
        if (name != null) {
            Object own = name.equals(Settings.TYPE)
                    ? block
                    : Settings.saved(options, ModelFile::hasSection).get(name);
            throw new MalformedModelException("the model file was saved with " + difference(name, file.get(name), own)
                    + ": build the " + block + " with the options of the file, or load the file that belongs to it");
        }
    }

    /** An option of the file and of the block, for example {@code no relative encoding, expected AlibiBiasBlock}. */
    private static String difference(String name, Object file, Object own) {
        String words = InvalidFileException.shown(
                name.replaceAll("(?<=[a-z])(?=[A-Z])", " ").toLowerCase(Locale.ROOT));
        if (file instanceof List<?> saved && own instanceof List<?> expected && areOtherBlocks(saved, expected)) {
            String counted = saved.size() == 1 ? words.replaceFirst("s$", "") : words;
            return saved.size() + " " + counted + ", expected " + expected.size();
        }
        String none = "no " + words;
        return (file == null ? none : InvalidFileException.shown(name) + " " + shortened(file)) + ", expected "
                + (own == null ? none : shortened(own));
    }

    /**
     * Whether lists contain different numbers of blocks. Lists of numbers, such as the sizes of a window, are shown.
     */
    private static boolean areOtherBlocks(List<?> one, List<?> other) {
        return one.size() != other.size()
                && Stream.of(one, other).flatMap(List::stream).noneMatch(Number.class::isInstance);
    }

    private static String shortened(Object value) {
        String text = String.valueOf(value);
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "…";
    }

    /** Writes a parameter as {@link Parameter#save} does, but without a copy of its values in Java's memory. */
    void write(DataOutputStream out, Parameter parameter) throws IOException {
        NDArray array = parameter.getArray();
        out.writeChar(PARAMETER);
        out.writeByte(PARAMETER_VERSION);
        out.writeUTF(parameter.getName());
        out.writeUTF(ARRAY);
        out.writeInt(ARRAY_VERSION);
        out.writeByte(0); // no name
        out.writeUTF(DENSE);
        out.writeUTF(array.getDataType().name());
        out.write(array.getShape().getEncoded());
        ByteBuffer values = HostData.read(array, NDArray::toByteBuffer);
        out.writeByte(values.order() == ByteOrder.BIG_ENDIAN ? '>' : '<');
        out.writeInt(values.remaining());
        byte[] piece = new byte[BUFFER_BYTES];
        while (values.hasRemaining()) {
            int count = Math.min(piece.length, values.remaining());
            values.get(piece, 0, count);
            out.write(piece, 0, count);
        }
    }

    /** The type of a parameter's values in the file, and the order of their bytes. */
    private record Format(DataType type, ByteOrder order) {}

    /** Reads what precedes the values of a parameter whose shape is known. */
    private Format readFormat(DataInputStream in, Parameter parameter) throws IOException, MalformedModelException {
        boolean isParameter = in.readChar() == PARAMETER && in.readByte() == PARAMETER_VERSION;
        String name = isParameter ? in.readUTF() : "";
        boolean isArray = isParameter && in.readUTF().equals(ARRAY) && in.readInt() == ARRAY_VERSION;
        require(isArray && in.readByte() == 0, "no array", "the parameter " + parameter.getName());
        String format = in.readUTF();
        String type = in.readUTF();
        Shape shape = readShape(in);
        int layout = count(in, MAX_DIMENSIONS, "letters of a layout");
        in.readFully(new byte[layout * Character.BYTES]);
        ByteOrder order = in.readByte() == '>' ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        int bytes = in.readInt();
        DataType dataType = Stream.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64)
                .filter(each -> each.name().equals(type))
                .findFirst()
                .orElse(null);
        Shape expected = parameter.getShape();
        require(
                name.equals(parameter.getName())
                        && format.equals(DENSE)
                        && shape.equals(expected)
                        && dataType != null
                        && bytes == HostData.bytes(shape, dataType),
                "the parameter " + shortened(name) + " " + shape + " " + shortened(type),
                parameter.getName() + " " + expected + " FLOAT16, FLOAT32 or FLOAT64");
        return new Format(dataType, order);
    }

    /** Reads the values of a parameter whose shape is known into a new array, which no scope closes. */
    NDArray read(DataInputStream in, Parameter parameter, NDManager manager)
            throws IOException, MalformedModelException {
        Format format = readFormat(in, parameter);
        Shape shape = parameter.getShape();
        ByteBuffer values = HostData.bufferFor(manager, shape, format.type);
        while (values.hasRemaining()) {
            values.put(readPiece(in, format, values.remaining()));
        }
        NDArray array = HostData.toArray(manager, manager.getDevice(), values.rewind(), shape, format.type);
        NDScope.unregister(array);
        return array;
    }

    /** Reads the values of a parameter that has the values of an earlier section, which must be the same. */
    void requireSame(DataInputStream in, Parameter parameter) throws IOException, MalformedModelException {
        Format format = readFormat(in, parameter);
        NDArray array = parameter.getArray();
        requireShared(format.type == array.getDataType(), parameter);
        ByteBuffer values = HostData.read(array, NDArray::toByteBuffer);
        while (values.hasRemaining()) {
            ByteBuffer piece = readPiece(in, format, values.remaining());
            ByteBuffer own = values.slice(values.position(), piece.remaining());
            requireShared(own.equals(piece), parameter);
            values.position(values.position() + piece.remaining());
        }
    }

    /** Checks that the values of a parameter in two sections are the same. */
    void requireShared(boolean isSame, Parameter parameter) throws MalformedModelException {
        if (!isSame) {
            throw new MalformedModelException("the model file has other values for the parameter " + parameter.getName()
                    + " " + parameter.getShape() + " of " + block + " than in an earlier section: expected the same,"
                    + " since several blocks of this model share the parameter; build the model as it was saved, with"
                    + " a block of its own in each place");
        }
    }

    /** Reads some of the values of a parameter, in the byte order of this machine. */
    private static ByteBuffer readPiece(DataInputStream in, Format format, int remaining) throws IOException {
        byte[] piece = new byte[Math.min(BUFFER_BYTES, remaining)];
        in.readFully(piece);
        if (format.order != ByteOrder.nativeOrder()) {
            int size = format.type.getNumOfBytes();
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

    /** The error for a file that ends too soon, or holds values that cannot be decoded. */
    MalformedModelException damaged(Exception cause) {
        return new MalformedModelException(
                "the model file ends or is damaged within " + block + " (" + cause
                        + "): expected a complete section; load a file that was saved completely, by a model with"
                        + " as many blocks",
                cause);
    }
}
