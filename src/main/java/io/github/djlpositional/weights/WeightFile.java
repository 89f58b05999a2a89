package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import io.github.djlpositional.arguments.Check;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A file of named tensors: safetensors, the format of Hugging Face, or npz, as {@code numpy.savez} and
 * {@code numpy.savez_compressed} write it. The format is detected from the content, not from the file's name.
 *
 * <pre>{@code
 * WeightFile file = WeightFile.open(Path.of("model.safetensors"));
 * file.getTensors().forEach((name, info) -> System.out.println(name + " " + info.type() + " " + info.shape()));
 * }</pre>
 *
 * <p>Opening a file reads only its headers. {@link WeightLoader} reads the tensors that are loaded. No file is kept open, so there
 * is nothing to close; the file must not change until it is loaded. An npz file must be in the default file system.
 *
 * <h2>Untrusted files</h2>
 *
 * Each length, offset and shape is compared with the file's size before it is used; memory is never allocated for a size that only
 * a header claims. Pickles, which can run code, are never read: neither a {@code .pt} or {@code .bin} file of PyTorch nor an array
 * of objects in an npz. The names of tensors are never used as paths.
 *
 * <p>Immutable and thread-safe.
 */
public final class WeightFile {

    /** More than any published checkpoint has in one file; bounds the memory that the names of a header take. */
    static final int MOST_TENSORS = 1 << 17;

    /** The number of bytes at a file's start that identify its format. */
    private static final int START = 16;

    private static final int NAMES_SHOWN = 8;

    private final Path path;
    private final Map<String, StoredTensor> tensors;
    private final State state;

    private WeightFile(Path path, Map<String, StoredTensor> tensors, State state) {
        this.path = path;
        this.tensors = tensors;
        this.state = state;
    }

    /** Distinguishes a file from one that has replaced it. */
    private record State(long size, FileTime modified, Object key) {
        static State of(BasicFileAttributes attributes) {
            return new State(attributes.size(), attributes.lastModifiedTime(), attributes.fileKey());
        }
    }

    /**
     * Reads the headers of a file.
     *
     * @param path a safetensors or npz file
     * @return the file with its list of tensors
     * @throws IllegalArgumentException if the path is a directory or a device, or an npz file is not in the default file system
     * @throws MalformedModelException if the file is damaged, truncated, a pickle, or has another format
     * @throws IOException if the file does not exist or cannot be read
     */
    public static WeightFile open(Path path) throws IOException, MalformedModelException {
        BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
        // opening a pipe would wait for its other end
        Check.that(
                attributes.isRegularFile(),
                "the path %s is a directory or a device: expected a safetensors or npz file; give the path of a file",
                path);
        try {
            WeightFile file = new WeightFile(path, read(path, attributes.size()), State.of(attributes));
            file.requireUnchanged();
            return file;
        } catch (InvalidFileException e) {
            throw e.of(path);
        }
    }

    private static Map<String, StoredTensor> read(Path path, long size) throws IOException {
        byte[] start = FileRange.read(path, 0, (int) Math.min(size, START));
        if (SafetensorsFile.isOne(start)) {
            return SafetensorsFile.read(path, start, size);
        }
        if (NpzFile.isOne(start)) {
            return NpzFile.read(path);
        }
        throw InvalidFileException.otherFormat(start);
    }

    /** Checks that the file has not been replaced or written to: its headers would not describe the new content. */
    void requireUnchanged() throws IOException, MalformedModelException {
        if (!State.of(Files.readAttributes(path, BasicFileAttributes.class)).equals(state)) {
            throw new MalformedModelException("the weight file " + path
                    + " has changed since it was opened: expected the same file; open it again with WeightFile.open");
        }
    }

    /**
     * Returns the file's path.
     *
     * @return the path that was given
     */
    public Path getPath() {
        return path;
    }

    /**
     * Returns the tensors of the file.
     *
     * @return an unmodifiable map of types and shapes by name, in the order of the file
     */
    public Map<String, TensorInfo> getTensors() {
        Map<String, TensorInfo> infos = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> infos.put(name, new TensorInfo(tensor.typeName(), tensor.shape())));
        return Collections.unmodifiableMap(infos);
    }

    /** Returns the tensor with a name, which must exist. */
    StoredTensor tensor(String name) {
        StoredTensor tensor = tensors.get(name);
        if (tensor == null) {
            throw new IllegalArgumentException("no tensor " + InvalidFileException.quoted(name) + " is in " + path
                    + ": expected " + mostSimilar(name) + "; give one of the names in getTensors()");
        }
        return tensor;
    }

    /** Returns some names of the file, first those with the longest common end: usually only a prefix differs. */
    private String mostSimilar(String wanted) {
        List<String> names = new ArrayList<>(tensors.keySet());
        names.sort(Comparator.comparingInt((String name) -> commonEnd(name, wanted))
                .reversed());
        String shown = names.stream()
                .limit(NAMES_SHOWN)
                .map(InvalidFileException::quoted)
                .collect(Collectors.joining(", "));
        int others = names.size() - NAMES_SHOWN;
        return names.isEmpty() ? "a file with tensors" : shown + (others > 0 ? " or " + others + " others" : "");
    }

    private static int commonEnd(String name, String wanted) {
        int length = 0;
        while (length < Math.min(name.length(), wanted.length())
                && name.charAt(name.length() - 1 - length) == wanted.charAt(wanted.length() - 1 - length)) {
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
