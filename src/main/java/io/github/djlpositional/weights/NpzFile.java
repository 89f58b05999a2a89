package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipException;

/** Reads the headers of the arrays in an npz file, a zip of files as {@code numpy.save} writes them. */
final class NpzFile {

    private static final String SUFFIX = ".npy";

    private NpzFile() {}

    static Map<String, StoredTensor> read(Path file, long fileSize) throws IOException, MalformedModelException {
        ZipDirectory directory = ZipDirectory.read(file, fileSize);
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        for (ZipDirectory.Entry entry : directory.entries().values()) {
            String name = entry.name();
            if (name.endsWith(SUFFIX)) {
                String tensor = name.substring(0, name.length() - SUFFIX.length());
                tensors.put(tensor, read(file, tensor, directory, entry));
            }
        }
        if (tensors.isEmpty() && !directory.entries().isEmpty()) {
            boolean isPickle = directory.entries().keySet().stream().anyMatch(name -> name.endsWith("data.pkl"));
            throw (isPickle ? ForeignFile.PICKLE : ForeignFile.ZIP).refused(file);
        }
        return tensors;
    }

    private static StoredTensor read(Path file, String name, ZipDirectory directory, ZipDirectory.Entry entry)
            throws IOException, MalformedModelException {
        NpyHeader header;
        try (InputStream in = directory.open(entry)) {
            header = NpyHeader.read(in);
        } catch (EOFException | ZipException e) {
            throw DamagedFile.because(file, "array " + Quoted.text(name) + ": " + e.getMessage(), e);
        }
        if (header.type() != null && !isWhole(header, entry.size())) {
            throw DamagedFile.because(
                    file,
                    "array " + Quoted.text(name) + " has " + (entry.size() - header.length()) + " bytes for its shape "
                            + header.shape() + " and type " + header.description());
        }
        return new StoredTensor(
                file,
                name,
                header.description(),
                header.type(),
                header.order(),
                header.shape(),
                header.isColumnMajor(),
                () -> data(directory, entry, header.length()));
    }

    private static boolean isWhole(NpyHeader header, long size) {
        try {
            long bytes = header.type().bytes();
            for (long axis : header.shape().getShape()) {
                bytes = Math.multiplyExact(bytes, axis);
            }
            return bytes == size - header.length();
        } catch (ArithmeticException e) {
            // more than any file has
            return false;
        }
    }

    private static InputStream data(ZipDirectory directory, ZipDirectory.Entry entry, long headerLength)
            throws IOException {
        InputStream in = directory.open(entry);
        try {
            in.skipNBytes(headerLength);
            return in;
        } catch (IOException e) {
            in.close();
            throw e;
        }
    }
}
