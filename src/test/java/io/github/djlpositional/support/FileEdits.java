package io.github.djlpositional.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Copies of a block's model file that differ in one place. */
public final class FileEdits {

    /** A file begins with a version and the length of the options. */
    private static final int OPTIONS = 1 + Integer.BYTES;

    private FileEdits() {}

    public static byte[] withByte(byte[] file, int index, int value) {
        byte[] changed = file.clone();
        changed[index] = (byte) value;
        return changed;
    }

    /** Replaces four bytes; an index from the end is negative. */
    public static byte[] withInt(byte[] file, int index, int value) {
        byte[] changed = file.clone();
        ByteBuffer.wrap(changed).putInt(index < 0 ? file.length + index : index, value);
        return changed;
    }

    /** Replaces eight bytes; an index from the end is negative. */
    public static byte[] withLong(byte[] file, int index, long value) {
        byte[] changed = file.clone();
        ByteBuffer.wrap(changed).putLong(index < 0 ? file.length + index : index, value);
        return changed;
    }

    /** Replaces a text by one of the same length. */
    public static byte[] withText(byte[] file, String text, String other) {
        String characters = new String(file, StandardCharsets.ISO_8859_1);
        assertThat(characters).contains(text);
        return characters.replace(text, other).getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Replaces the number of rows of the first parameter, which follows its data type and number of axes. */
    public static byte[] withRows(byte[] file, long rows) {
        int type = new String(file, StandardCharsets.ISO_8859_1).indexOf("FLOAT32");
        return withLong(file, type + "FLOAT32".length() + Integer.BYTES, rows);
    }

    /** Replaces a part of the options. */
    public static byte[] withOptions(byte[] file, String json, String other) {
        String options = new String(file, OPTIONS, ByteBuffer.wrap(file).getInt(1), StandardCharsets.UTF_8);
        assertThat(options).contains(json);
        return withOptions(file, options.replace(json, other));
    }

    /** Replaces the options, and their length. */
    public static byte[] withOptions(byte[] file, String options) {
        byte[] json = options.getBytes(StandardCharsets.UTF_8);
        int end = OPTIONS + ByteBuffer.wrap(file).getInt(1);
        return ByteBuffer.allocate(OPTIONS + json.length + file.length - end)
                .put(file[0])
                .putInt(json.length)
                .put(json)
                .put(file, end, file.length - end)
                .array();
    }
}
