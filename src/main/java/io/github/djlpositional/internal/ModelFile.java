package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import com.google.gson.Gson;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.math.RotaryScaling;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The section of a block in a model file: a version, the settings as JSON, the shapes of the inputs, and the
 * parameters.
 *
 * <p>A file is not trusted. Settings are parsed into plain values and compared with the settings of the block; no
 * object is created from them. Every size that the file states is compared with what the block needs before memory is
 * allocated for it.
 */
public final class ModelFile {

    /**
     * No block of DJL has such a version: DJL would take the settings after a version that it knows for shapes, and
     * allocate gigabytes.
     */
    private static final byte VERSION = 100;

    /** Of files that were saved earlier, otherwise the same. */
    private static final byte FIRST_VERSION = 1;

    /** Stands in place of the version where a section refers to a block that was saved before. */
    private static final byte REFERENCE = 0;

    /**
     * The bytes that the settings in a file may have beyond what the block needs, in case a later version writes more.
     */
    private static final int SETTINGS_MARGIN = 64 << 10;

    private static final int MAX_SHAPES = 8;
    private static final int MAX_DIMENSIONS = 32;

    /** The longest part of a file that a message quotes. */
    private static final int MAX_TEXT = 200;

    private static final int BUFFER_BYTES = 1 << 16;

    /** A setting that does not change an output of the saved model: it is not in the file. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface NotCompared {}

    private final String block;
    private final Record settings;
    private final Map<String, String> children;

    /** Describes the section of a block, with the simple class names of the configured blocks within it. */
    ModelFile(String block, Record settings, Map<String, String> children) {
        this.block = block;
        this.settings = settings;
        this.children = children;
    }

    /** Writes everything but the parameters. */
    void write(DataOutputStream out, Shape... inputShapes) throws IOException {
        out.writeByte(VERSION);
        byte[] json = json();
        out.writeInt(json.length);
        out.write(json);
        out.writeInt(inputShapes.length);
        for (Shape shape : inputShapes) {
            write(out, shape);
        }
    }

    /** Writes that a block was saved before, as the one of this number in the stream. */
    static void writeReference(DataOutputStream out, int number) throws IOException {
        out.writeByte(REFERENCE);
        out.writeInt(number);
    }

    /**
     * Reads whether a block was loaded before: a reference to it, which ends its section.
     *
     * @param number the number of the block among those that were loaded from the stream; -1 for none
     */
    boolean readReference(DataInputStream in, int number) throws IOException, MalformedModelException {
        byte version = in.readByte();
        require(
                version == VERSION || version == FIRST_VERSION || version == REFERENCE,
                "version " + version,
                "version " + VERSION);
        if (version == REFERENCE) {
            int saved = in.readInt();
            require(
                    saved == number && number >= 0,
                    "a block that several others share",
                    "a block that is shared as it was");
            return true;
        }
        require(number < 0, "several blocks", "one block that several others share");
        return false;
    }

    private static void write(DataOutputStream out, Shape shape) throws IOException {
        out.writeInt(shape.dimension());
        for (long size : shape.getShape()) {
            out.writeLong(size);
        }
    }

    /** The settings that a file has, and the classes of the blocks within this one. */
    private Map<String, Object> saved() {
        Map<String, Object> saved = new LinkedHashMap<>(Records.write(settings));
        for (RecordComponent component : settings.getClass().getRecordComponents()) {
            if (component.isAnnotationPresent(NotCompared.class)) {
                saved.remove(component.getName());
            }
        }
        saved.putAll(children);
        return saved;
    }

    private byte[] json() {
        return new Gson().toJson(saved()).getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Reads what {@link #write(DataOutputStream, Shape...)} has written after the version, and returns the shapes of
     * the inputs.
     */
    Shape[] read(DataInputStream in) throws IOException, MalformedModelException {
        byte[] json = new byte[count(in, json().length + SETTINGS_MARGIN, "bytes of settings")];
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
        Map<String, Object> own = saved();
        Set<String> names = new LinkedHashSet<>(own.keySet());
        names.addAll(file.keySet());
        for (String name : names) {
            Object shared = shared(own.get(name), file.get(name));
            boolean isSame = children.containsKey(name)
                    ? shared != null
                    : (shared != null || file.get(name) == null) && hasDefaultsBeyond(name, shared);
            if (!isSame) {
                throw new MalformedModelException("the model file was saved with " + name + "="
                        + shortened(file.get(name)) + ", this " + block + " has " + name + "="
                        + shortened(own.get(name))
                        + ": build the block with the settings of the file, or load the file that belongs to it");
            }
        }
    }

    private static String shortened(Object value) {
        String text = String.valueOf(value);
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "…";
    }

    /** Returns a plain value without the settings in it that a file does not have; null if the file has another. */
    private static Object shared(Object own, Object file) {
        if (own instanceof Map<?, ?> values && file instanceof Map<?, ?> others) {
            if (values.containsKey(Records.KIND)
                    && others.equals(RotaryScaling.none().getArguments())) {
                // any scaling extends a model that was trained without one
                return own;
            }
            Map<Object, Object> shared = new LinkedHashMap<>();
            others.forEach((name, other) -> shared.put(name, shared(values.get(name), other)));
            return shared.containsValue(null) ? null : shared;
        }
        if (own instanceof List<?> values && file instanceof List<?> others) {
            if (values.size() != others.size()) {
                return null;
            }
            List<Object> shared = new ArrayList<>();
            for (int i = 0; i < values.size(); i++) {
                shared.add(shared(values.get(i), others.get(i)));
            }
            return shared.contains(null) ? null : shared;
        }
        if (own instanceof Number && file instanceof BigDecimal number) {
            return Double.parseDouble(own.toString()) == number.doubleValue() ? own : null;
        }
        return own != null && own.equals(file) ? own : null;
    }

    /**
     * Whether the settings are the same if one has only a part of its value, or none. A file that was saved before
     * there was a setting has its default.
     */
    private boolean hasDefaultsBeyond(String name, Object part) {
        Map<String, Object> values = new LinkedHashMap<>(Records.write(settings));
        if (Objects.equals(values.get(name), part)) {
            return true;
        }
        values.compute(name, (key, own) -> part);
        try {
            return Records.read(settings.getClass(), values).equals(settings);
        } catch (IllegalArgumentException e) {
            // a required setting is missing
            return false;
        }
    }

    /** Writes a parameter: its name, data type, shape, and values. */
    void write(DataOutputStream out, Parameter parameter) throws IOException {
        NDArray array = parameter.getArray();
        out.writeUTF(parameter.getName());
        out.writeUTF(array.getDataType().name());
        write(out, array.getShape());
        ByteBuffer values = HostData.read(array, NDArray::toByteBuffer);
        byte[] piece = new byte[BUFFER_BYTES];
        while (values.hasRemaining()) {
            int count = Math.min(piece.length, values.remaining());
            values.get(piece, 0, count);
            out.write(piece, 0, count);
        }
    }

    /** Reads the values of a parameter whose shape is known into a new array, which no scope closes. */
    NDArray read(DataInputStream in, Parameter parameter, NDManager manager)
            throws IOException, MalformedModelException {
        String name = in.readUTF();
        String type = in.readUTF();
        Shape shape = readShape(in);
        DataType dataType = Stream.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64)
                .filter(each -> each.name().equals(type))
                .findFirst()
                .orElse(null);
        Shape expected = parameter.getShape();
        require(
                name.equals(parameter.getName()) && shape.equals(expected) && dataType != null,
                "the parameter " + shortened(name) + " " + shape + " " + shortened(type),
                parameter.getName() + " " + expected + " FLOAT16, FLOAT32 or FLOAT64");
        ByteBuffer values = HostData.bufferFor(manager, shape, dataType);
        byte[] piece = new byte[BUFFER_BYTES];
        while (values.hasRemaining()) {
            int count = Math.min(piece.length, values.remaining());
            in.readFully(piece, 0, count);
            values.put(piece, 0, count);
        }
        NDArray array = HostData.toArray(manager, manager.getDevice(), values.rewind(), shape, dataType);
        NDScope.unregister(array);
        return array;
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
