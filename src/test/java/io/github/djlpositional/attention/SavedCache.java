package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.zip.CRC32C;

/** Saves caches to memory and loads them from there, and changes their headers. */
public final class SavedCache {

    /** A file begins with the format and the length of the header. */
    private static final int HEADER = Long.BYTES + Integer.BYTES;

    private SavedCache() {}

    /** A model of attentions, which has nothing but their names. */
    public static Block model(Collection<MultiHeadAttentionBlock> attentions) {
        SequentialBlock model = new SequentialBlock();
        attentions.forEach(model::add);
        return model;
    }

    static Block model(MultiHeadAttentionBlock... attentions) {
        return model(List.of(attentions));
    }

    static byte[] saved(KeyValueCache cache, Block model) {
        try {
            Path file = Files.createTempFile("cache", ".bin");
            try {
                cache.save(file, model);
                return Files.readAllBytes(file);
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static KeyValueCache loaded(byte[] bytes, Block model, NDManager manager)
            throws IOException, MalformedModelException {
        Path file = Files.createTempFile("cache", ".bin");
        try {
            Files.write(file, bytes);
            return KeyValueCache.load(file, model, manager);
        } finally {
            Files.delete(file);
        }
    }

    /** A cache that was saved and loaded. */
    static KeyValueCache reloaded(NDManager manager, KeyValueCache cache, Collection<MultiHeadAttentionBlock> all) {
        try {
            return loaded(saved(cache, model(all)), model(all), manager);
        } catch (IOException | MalformedModelException e) {
            throw new AssertionError(e);
        }
    }

    static String header(byte... file) {
        return new String(file, HEADER, ByteBuffer.wrap(file).getInt(Long.BYTES), StandardCharsets.UTF_8);
    }

    /** A file with a replaced text in its header, and valid checksums. */
    public static byte[] withHeader(byte[] file, String text, String other) {
        String header = header(file);
        assertThat(header).contains(text);
        return withHeader(file, header.replace(text, other));
    }

    static byte[] withHeader(byte[] file, String header) {
        byte[] json = header.getBytes(StandardCharsets.UTF_8);
        int values = HEADER + ByteBuffer.wrap(file).getInt(Long.BYTES) + Long.BYTES;
        ByteBuffer changed = ByteBuffer.allocate(HEADER + json.length + Long.BYTES + file.length - values);
        changed.put(file, 0, Long.BYTES).putInt(json.length).put(json);
        changed.putLong(sum(changed.array(), changed.position()));
        return withSum(changed.put(file, values, file.length - values).array());
    }

    /** A file with a valid checksum of everything. */
    static byte[] withSum(byte... file) {
        int end = file.length - Long.BYTES;
        byte[] changed = Arrays.copyOf(file, file.length);
        ByteBuffer.wrap(changed).putLong(end, sum(file, end));
        return changed;
    }

    private static long sum(byte[] file, int end) {
        CRC32C sum = new CRC32C();
        sum.update(file, 0, end);
        return sum.getValue();
    }
}
