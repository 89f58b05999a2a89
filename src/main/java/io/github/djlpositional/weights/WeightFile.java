package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.options.Check;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * A file of named tensors in safetensors, the format of Hugging Face. The format is detected from the content, not from
 * the file's name.
 *
 * <pre>{@code
 * WeightFile file = WeightFile.open(Path.of("model.safetensors"));
 * file.getTensors().forEach((name, info) -> System.out.println(name + " " + info.type() + " " + info.shape()));
 * }</pre>
 *
 * <p>Opening a file reads only its headers. {@link WeightLoader} copies tensors into parameters, {@link #read} returns
 * one as an array. No file stays open, so there is nothing to close; the file must not change until it is loaded.
 *
 * <h2>Untrusted files</h2>
 *
 * Each length, offset and shape is compared with the file's size before it is used; memory is never allocated for a
 * size that only a header claims. Pickles such as {@code .pt} and {@code .bin} files of PyTorch, which can run code,
 * are never read. The names of tensors are never used as paths.
 *
 * <p>Immutable and thread-safe.
 */
public final class WeightFile {

    /**
     * The type and shape of a tensor.
     *
     * @param type the type as the file names it: {@code F32} or {@code BF16}
     * @param shape the tensor's shape
     */
    public record TensorInfo(String type, Shape shape) {}

    /** More than any published file has; bounds the memory for the names of a header. */
    static final int MOST_TENSORS = 1 << 17;

    private final Path path;
    private final Map<String, StoredTensor> tensors;
    private final BasicFileAttributes attributes;

    private WeightFile(Path path, Map<String, StoredTensor> tensors, BasicFileAttributes attributes) {
        this.path = path;
        this.tensors = tensors;
        this.attributes = attributes;
    }

    /**
     * Reads the headers of a file.
     *
     * @param path a safetensors file
     * @return the file with its list of tensors
     * @throws IllegalArgumentException if the path is a folder or a device
     * @throws MalformedModelException if the file is damaged, truncated, a pickle, or has another format
     * @throws IOException if the file does not exist or cannot be read
     */
    public static WeightFile open(Path path) throws IOException, MalformedModelException {
        BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
        // opening a pipe would wait for its other end
        Check.that(
                attributes.isRegularFile(),
                () -> "the path " + path + (attributes.isDirectory() ? " is a folder" : " is a device")
                        + ": expected a safetensors file; pass the path of a file, such as "
                        + path.resolve("model.safetensors"));
        try {
            byte[] start = read(path, 0, OtherFormat.START_BYTES);
            if (!SafetensorsFile.isOne(start)) {
                throw OtherFormat.of(start);
            }
            Map<String, StoredTensor> tensors = SafetensorsFile.read(path, start, attributes.size());
            WeightFile file = new WeightFile(path, tensors, attributes);
            file.requireUnchanged();
            return file;
        } catch (InvalidFileException e) {
            throw e.of(path);
        }
    }

    /** Opens a file at an offset. It is not mapped into memory: the JVM would crash if another process truncated it. */
    static InputStream stream(Path path, long start) throws IOException {
        return Channels.newInputStream(FileChannel.open(path).position(start));
    }

    /** Reads up to {@code length} bytes of a file, fewer if it ends before. */
    static byte[] read(Path path, long start, int length) throws IOException {
        try (InputStream in = stream(path, start)) {
            return in.readNBytes(length);
        }
    }

    /** Checks that the file was neither replaced nor written to: its headers would not describe the new content. */
    void requireUnchanged() throws IOException, MalformedModelException {
        BasicFileAttributes now = Files.readAttributes(path, BasicFileAttributes.class);
        // the key is null on Windows
        if (now.size() != attributes.size()
                || !now.lastModifiedTime().equals(attributes.lastModifiedTime())
                || !Objects.equals(now.fileKey(), attributes.fileKey())) {
            throw new MalformedModelException("the weight file " + path
                    + " has changed since it was opened: expected the same file; open it again with WeightFile.open");
        }
    }

    /** Returns the path that the file was opened with. */
    Path path() {
        return path;
    }

    /** {@return the tensors of the file: an unmodifiable map of types and shapes by name, in the order of the file} */
    public Map<String, TensorInfo> getTensors() {
        Map<String, TensorInfo> infos = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> infos.put(name, new TensorInfo(tensor.typeName(), tensor.shape())));
        return Collections.unmodifiableMap(infos);
    }

    /**
     * Reads a tensor into a new array. F16, F32 and F64 become FLOAT16, FLOAT32 and FLOAT64; BF16 becomes FLOAT32;
     * BOOL, U8, I8, I32 and I64 become BOOLEAN, UINT8, INT8, INT32 and INT64. The engines have no arrays of other
     * integers (I16, U16, U32, U64).
     *
     * @param manager the manager of the new array
     * @param name the tensor's name
     * @return the tensor, of its shape, on the manager's device, attached to the manager; the caller closes it
     * @throws IllegalArgumentException if the file has no such tensor, it has another type, a row is larger than 1 GiB,
     *     or the machine has no memory for it
     * @throws EngineException if the engine cannot create an array of this shape
     * @throws MalformedModelException if the file is damaged, or has changed since it was opened
     * @throws IOException if the file cannot be read
     */
    public NDArray read(NDManager manager, String name) throws IOException, MalformedModelException {
        StoredTensor tensor = tensor(tensors, name, path.toString(), () -> "an array");
        Check.that(
                tensor.type() != null,
                () -> tensor + " has type " + InvalidFileException.quoted(tensor.typeName()) + ": expected one of "
                        + List.of(StoredType.values()) + "; convert it where the file is created");
        DataType type = tensor.type().dataType();
        HostData.requireRoomFor(tensor.shape(), type, manager.getDevice());
        requireUnchanged();
        try (NDManager temporary = manager.newSubManager()) {
            NDArray read = TensorSlice.whole(tensor).read(temporary, type).reshape(tensor.shape());
            requireUnchanged();
            NDArray array = tensor.type() == StoredType.BOOL ? read.toType(DataType.BOOLEAN, false) : read;
            array.attach(manager);
            return array;
        }
    }

    Map<String, StoredTensor> stored() {
        return tensors;
    }

    /** Returns the tensor with a name, which must exist; messages name the target and the origin of the tensors. */
    static StoredTensor tensor(Map<String, StoredTensor> tensors, String name, String origin, Supplier<String> target) {
        StoredTensor tensor = tensors.get(name);
        Check.that(tensor != null, () -> {
            // usually only a prefix differs
            List<String> names = tensors.keySet().stream()
                    .sorted(Comparator.comparingInt(other -> -commonEnd(other, name)))
                    .toList();
            return "no tensor " + InvalidFileException.quoted(name) + " for " + target.get() + " is in " + origin
                    + ": expected one of the " + names.size() + " tensors, such as "
                    + InvalidFileException.listed(names)
                    + "; pass one of the names in getTensors(), or, if the tensor is stored under the name of a tied one, name"
                    + " both with WeightLoader.tied";
        });
        return tensor;
    }

    private static int commonEnd(String first, String second) {
        int length = 0;
        while (first.regionMatches(first.length() - 1 - length, second, second.length() - 1 - length, 1)) {
            length++;
        }
        return length;
    }

    /** Returns the path and the number of tensors. */
    @Override
    public String toString() {
        return "WeightFile(" + path + ", " + tensors.size() + " tensors)";
    }
}
