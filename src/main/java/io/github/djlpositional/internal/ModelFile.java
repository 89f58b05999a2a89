package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.internal.options.Settings;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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
public final class ModelFile {

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

    // DJL's format of a parameter, of a version that it reads in all its releases from 0.28 on
    private static final char PARAMETER = 'P';
    private static final byte PARAMETER_VERSION = 1;
    private static final String ARRAY = "NDAR";
    private static final int ARRAY_VERSION = 3;
    private static final String DENSE = "DENSE";

    private final String file;
    private final String block;
    private final Record options;

    /**
     * Describes the section of a block.
     *
     * @param file the file, for messages
     */
    ModelFile(String file, String block, Record options) {
        this.file = file;
        this.block = block;
        this.options = options;
    }

    /**
     * Returns the sections of a block and of the blocks of this library within it, each once, for another file that
     * belongs to them.
     *
     * @param file the file, for messages
     */
    public static List<ModelFile> sections(String file, OptionsBlock block) {
        return block.sections(file);
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

    /**
     * Returns the options as plain values. The section of a block within this block has its options; this section has
     * its class.
     */
    public Map<String, Object> options() {
        Map<String, Object> saved = new LinkedHashMap<>();
        saved.put(Settings.TYPE, block);
        saved.putAll(Settings.saved(options, ModelFile::hasSection));
        return saved;
    }

    private byte[] json() {
        return Json.write(options());
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
            throw new MalformedModelException(file + " has " + found + " for " + block + ": expected " + expected
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

    private void requireSame(Map<String, Object> found) throws MalformedModelException {
        require(difference(found), found);
    }

    /** Checks that {@link #options} of a file are those of the block, also where a model file may have others. */
    public void requireEqual(Map<?, ?> found) throws MalformedModelException {
        String name = difference(found);
        require(
                name != null
                        ? name
                        : options().keySet().stream()
                                .filter(each -> !found.containsKey(each))
                                .findFirst()
                                .orElse(null),
                found);
    }

    /** The name of the first option that differs; null for none. */
    private String difference(Map<?, ?> found) {
        Map<Object, Object> saved = new LinkedHashMap<>(found);
        Object type = saved.remove(Settings.TYPE);
        return block.equals(type) ? Settings.difference(options, saved, ModelFile::hasSection) : Settings.TYPE;
    }

    private void require(String name, Map<?, ?> found) throws MalformedModelException {
        if (name != null) {
            Object own = name.equals(Settings.TYPE)
                    ? block
                    : Settings.saved(options, ModelFile::hasSection).get(name);
            throw new MalformedModelException(file + " was saved with " + difference(name, found.get(name), own)
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
        ArrayValues.writeOrder(out, values);
        out.writeInt(values.remaining());
        ArrayValues.write(out, values);
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
        ByteOrder order = ArrayValues.readOrder(in);
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
        return ArrayValues.read(in, format.order, parameter.getShape(), format.type, manager);
    }

    /** Reads the values of a parameter that has the values of an earlier section, which must be the same. */
    void requireSame(DataInputStream in, Parameter parameter) throws IOException, MalformedModelException {
        Format format = readFormat(in, parameter);
        NDArray array = parameter.getArray();
        requireShared(format.type == array.getDataType(), parameter);
        ByteBuffer values = HostData.read(array, NDArray::toByteBuffer);
        while (values.hasRemaining()) {
            ByteBuffer piece = ArrayValues.readPiece(in, format.order, format.type, values.remaining());
            ByteBuffer own = values.slice(values.position(), piece.remaining());
            requireShared(own.equals(piece), parameter);
            values.position(values.position() + piece.remaining());
        }
    }

    /** Checks that the values of a parameter in two sections are the same. */
    void requireShared(boolean isSame, Parameter parameter) throws MalformedModelException {
        if (!isSame) {
            throw new MalformedModelException(file + " has other values for the parameter " + parameter.getName()
                    + " " + parameter.getShape() + " of " + block + " than in an earlier section: expected the same,"
                    + " since several blocks of this model share the parameter; build the model as it was saved, with"
                    + " a block of its own in each place");
        }
    }

    /** The error for a file that ends too soon, or holds values that cannot be decoded. */
    MalformedModelException damaged(Exception cause) {
        return new MalformedModelException(
                file + " ends or is damaged within " + block + " (" + cause
                        + "): expected a complete section; load a file that was saved completely, by a model with"
                        + " as many blocks",
                cause);
    }
}
