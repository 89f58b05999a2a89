package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
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
 * A file of named tensors: safetensors, as Hugging Face and PyTorch users write it, or npz, as {@code numpy.savez} and
 * {@code numpy.savez_compressed} do. Which of them it is, is told by what is in it, not by its name.
 *
 * <pre>{@code
 * WeightFile file = WeightFile.open(Path.of("model.safetensors"));
 * file.getTensors().forEach((name, info) -> System.out.println(name + " " + info.type() + " " + info.shape()));
 * }</pre>
 *
 * <p>Opening reads the headers alone. {@link WeightLoader} reads the tensors that it is asked for. No file is held open, so
 * there is nothing to close; the file must stay as it is until it is loaded.
 *
 * <h2>Files from strangers</h2>
 *
 * Each length, offset and shape is compared with the file's size before it is used, and nothing is allocated by what a header
 * claims. Pickles, which can run code, are never read: neither a {@code .pt} or {@code .bin} file of PyTorch nor an array of
 * objects within an npz. Names of tensors are names, never paths.
 *
 * <p>Immutable, and safe to share among threads.
 */
public final class WeightFile {

    /** More than any checkpoint has in one file; without a limit, a header of 100 MB could ask for ten times its size. */
    static final int MOST_TENSORS = 1 << 17;

    /** Enough of a file's start to tell what it is. */
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

    /** What tells a file from one that has taken its place. */
    private record State(long size, FileTime modified, Object key) {
        static State of(BasicFileAttributes attributes) {
            return new State(attributes.size(), attributes.lastModifiedTime(), attributes.fileKey());
        }
    }

    /**
     * Reads what a file holds.
     *
     * @param path a safetensors or npz file
     * @return the file's tensors, not yet read
     * @throws IllegalArgumentException if the path is that of a folder or device
     * @throws MalformedModelException if the file is damaged, cut off, a pickle, or anything else than safetensors or npz
     * @throws IOException if the file is not there or cannot be read
     */
    public static WeightFile open(Path path) throws IOException, MalformedModelException {
        BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
        // to open a pipe would wait for its other end
        if (!attributes.isRegularFile()) {
            throw new IllegalArgumentException("the path " + path
                    + " is that of a folder or device: allowed is a safetensors or npz file; give the path of a file");
        }
        long size = attributes.size();
        byte[] start = FileRange.read(path, 0, (int) Math.min(size, START));
        WeightFile file =
                new WeightFile(path, Collections.unmodifiableMap(read(path, start, size)), State.of(attributes));
        file.requireUnchanged();
        return file;
    }

    /** Refuses a file that is another than when it was opened: what was read of its header would be believed of the other. */
    void requireUnchanged() throws IOException, MalformedModelException {
        if (!State.of(Files.readAttributes(path, BasicFileAttributes.class)).equals(state)) {
            throw new MalformedModelException(
                    "the weight file " + path
                            + " has changed since it was opened: allowed is the file as it was; open it again with WeightFile.open");
        }
    }

    private static Map<String, StoredTensor> read(Path path, byte[] start, long size)
            throws IOException, MalformedModelException {
        if (SafetensorsFile.isOne(start)) {
            return SafetensorsFile.read(path, start, size);
        }
        if (ZipDirectory.isOne(start)) {
            return NpzFile.read(path, size);
        }
        throw ForeignFile.of(start).refused(path);
    }

    /** {@return where the file is: the path that was given} */
    public Path getPath() {
        return path;
    }

    /** {@return what the file holds: the tensors by name, in the order of the file; cannot be changed} */
    public Map<String, TensorInfo> getTensors() {
        Map<String, TensorInfo> infos = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> infos.put(name, tensor.info()));
        return Collections.unmodifiableMap(infos);
    }

    /** Returns a tensor, or refuses its name. */
    StoredTensor tensor(String name) {
        StoredTensor tensor = tensors.get(name);
        if (tensor == null) {
            throw new IllegalArgumentException("no tensor " + Quoted.text(name) + " is in " + path + ": allowed are "
                    + nearest(name) + "; give one of the names that getTensors() has");
        }
        return tensor;
    }

    /** Some names of the file, those that end most like the wanted one first: mostly it is a prefix that differs. */
    private String nearest(String wanted) {
        List<String> names = new ArrayList<>(tensors.keySet());
        names.sort(Comparator.comparingInt((String name) -> commonEnd(name, wanted))
                .reversed());
        String shown = names.stream().limit(NAMES_SHOWN).map(Quoted::text).collect(Collectors.joining(", "));
        int others = names.size() - NAMES_SHOWN;
        return names.isEmpty() ? "none, for it holds none" : shown + (others > 0 ? " and " + others + " others" : "");
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
