package io.github.djlpositional.attention;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import io.github.djlpositional.internal.ArrayValues;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.internal.ModelFile;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TokenColumn;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32C;
import java.util.zip.CheckedInputStream;
import java.util.zip.CheckedOutputStream;

/**
 * The file of a {@link KeyValueCache}: the format, the header as JSON after its number of bytes, a checksum, the arrays
 * of each attention, and a checksum of everything.
 *
 * <p>The header describes the sequences and all attentions of the model: their names, their options and those of the
 * blocks within them, and the {@link CachedTokens.State} of their tokens. A file is not trusted: options are compared
 * with those of the model, and memory is allocated only if the file has as many bytes as the header says.
 */
final class CacheFile {

    /** "KVCACHE", and the version. */
    private static final long FORMAT = 0x4b56_4341_4348_4501L;

    /** The format, the length of the header, and two checksums. */
    private static final int FIXED_BYTES = 3 * Long.BYTES + Integer.BYTES;

    private static final int LONGEST_HEADER = 64 << 20;

    private static final String SEQUENCES = "sequences";
    private static final String ATTENTIONS = "attentions";
    private static final String NAME = "name";
    private static final String OPTIONS = "options";
    private static final String IS_CACHED = "isCached";
    private static final String TOKENS = "tokens";
    private static final String HAD_MEMORY_POSITIONS = "hadMemoryPositions";

    /**
     * The sequences of a cache.
     *
     * @param length the number of tokens
     * @param batch the number of sequences
     * @param starts the index of the first token of each sequence; null unless rows were joined
     */
    record Sequences(
            @Range(min = 1) int length,
            @Range(min = 1) long batch,
            @Range(min = 0) List<Integer> starts) {

        Sequences {
            boolean fit = starts == null
                    || (starts.size() == batch
                            && starts.stream().mapToInt(start -> start).max().orElse(0) < length);
            Check.that(
                    fit,
                    "starts " + Settings.shown(starts) + ": expected an index below " + length + " for each of "
                            + batch);
        }
    }

    /**
     * What a file has.
     *
     * @param attentions those that have processed the tokens
     * @param tokens the tokens of the self-attentions among them
     * @param forgotten the cross-attentions among them whose memory had positions
     */
    record Contents(
            Sequences sequences,
            List<Block> attentions,
            IdentityHashMap<Block, CachedTokens> tokens,
            Set<Block> forgotten) {}

    /** The tokens of an attention that are to be read. */
    private record Planned(
            MultiHeadAttentionBlock attention, CachedTokens.State state, List<CachedTokens.Form> forms) {}

    private final Path file;

    /** The attentions of the model by the names of the children that lead to them. */
    private final Map<String, MultiHeadAttentionBlock> attentions = new LinkedHashMap<>();

    CacheFile(Path file, Block model) {
        this.file = file;
        addAttentions("", model);
    }

    private void addAttentions(String name, Block block) {
        if (block instanceof MultiHeadAttentionBlock attention) {
            if (!attentions.containsValue(attention)) {
                attentions.put(name, attention);
            }
            return;
        }
        block.getChildren()
                .forEach(child ->
                        addAttentions(name.isEmpty() ? child.getKey() : name + "/" + child.getKey(), child.getValue()));
    }

    /** Writes a file as a whole, or not at all. */
    void write(Contents contents) throws IOException {
        List<Block> unknown = contents.attentions.stream()
                .filter(attention -> !attentions.containsValue(attention))
                .toList();
        Check.that(
                unknown.isEmpty(),
                () -> "the cache has " + unknown.size() + " attentions that are not among the " + attentions.size()
                        + " of the model: expected all; pass the model that has processed the tokens; attention: "
                        + unknown.get(0));
        byte[] header = Json.write(header(contents));
        // not a temporary file of Java's, which other users cannot read
        Path partial = file.resolveSibling("." + file.getFileName() + ".partial");
        try {
            if (Files.isDirectory(file)) {
                throw new IOException("it is a folder");
            }
            try {
                write(partial, header, contents);
                Files.move(partial, file, StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(partial);
            }
        } catch (IOException e) {
            throw new IOException(
                    "the cache file " + file + " cannot be written (" + e
                            + "): expected a file in a folder that exists and may be written to; choose another",
                    e);
        }
    }

    private void write(Path partial, byte[] header, Contents contents) throws IOException {
        CRC32C sum = new CRC32C();
        try (DataOutputStream out = new DataOutputStream(
                new CheckedOutputStream(new BufferedOutputStream(Files.newOutputStream(partial)), sum))) {
            out.writeLong(FORMAT);
            out.writeInt(header.length);
            out.write(header);
            out.writeLong(sum.getValue());
            for (Block attention : attentions.values()) {
                if (contents.tokens.containsKey(attention)) {
                    write(out, contents.tokens.get(attention));
                }
            }
            out.writeLong(sum.getValue());
        }
    }

    private static void write(DataOutputStream out, CachedTokens tokens) throws IOException {
        try (Temporaries temporaries = new Temporaries()) {
            for (NDArray array : tokens.arrays(temporaries)) {
                ArrayValues.write(out, array);
            }
        }
    }

    private Map<String, Object> header(Contents contents) {
        List<Map<String, Object>> all = new ArrayList<>();
        attentions.forEach((name, attention) -> {
            Map<String, Object> described = new LinkedHashMap<>();
            described.put(NAME, name);
            described.put(
                    OPTIONS,
                    sections(attention).stream().map(ModelFile::options).toList());
            described.put(IS_CACHED, contents.attentions.contains(attention));
            described.put(HAD_MEMORY_POSITIONS, contents.forgotten.contains(attention));
            CachedTokens cached = contents.tokens.get(attention);
            if (cached != null) {
                described.put(TOKENS, Settings.toMap(cached.state()));
            }
            all.add(described);
        });
        return Map.of(SEQUENCES, Settings.toMap(contents.sequences), ATTENTIONS, all);
    }

    private List<ModelFile> sections(MultiHeadAttentionBlock attention) {
        return ModelFile.sections("the cache file " + file, attention);
    }

    /** Reads arrays of a manager, which the caller closes if this fails. */
    Contents read(NDManager manager, int capacity) throws IOException, MalformedModelException {
        CRC32C sum = new CRC32C();
        long size = Files.size(file);
        try (DataInputStream in =
                new DataInputStream(new CheckedInputStream(new BufferedInputStream(Files.newInputStream(file)), sum))) {
            require(size >= FIXED_BYTES, size + " bytes", "at least " + FIXED_BYTES);
            long format = in.readLong();
            require(format == FORMAT, "the format " + format, String.valueOf(FORMAT));
            int length = in.readInt();
            long rest = size - FIXED_BYTES - length;
            require(
                    length >= 0 && length <= LONGEST_HEADER && rest >= 0,
                    "a header of " + length + " bytes in " + size,
                    "at most " + LONGEST_HEADER);
            byte[] header = new byte[length];
            in.readFully(header);
            requireSum(in, sum);
            Sequences sequences;
            List<Block> cached = new ArrayList<>();
            Set<Block> forgotten = new HashSet<>();
            List<Planned> planned;
            try {
                Map<String, Object> described = Json.read(header);
                sequences = Settings.create(Sequences.class, typed(Map.class, described, SEQUENCES));
                planned = plan(typed(List.class, described, ATTENTIONS), sequences, cached, forgotten);
            } catch (IOException | IllegalArgumentException e) {
                throw damaged(e);
            }
            requireSize(planned, rest, manager);
            IdentityHashMap<Block, CachedTokens> tokens = new IdentityHashMap<>();
            for (Planned each : planned) {
                Iterator<NDArray> arrays = readArrays(in, each, manager).iterator();
                try {
                    tokens.put(
                            each.attention,
                            new CachedTokens(manager, each.attention, capacity, each.state, sequences.length, arrays));
                } catch (IllegalArgumentException e) {
                    throw damaged(e);
                }
            }
            requireSum(in, sum);
            return new Contents(sequences, cached, tokens, forgotten);
        }
    }

    /** Compares the attentions of a file with those of the model. */
    private List<Planned> plan(List<?> described, Sequences sequences, List<Block> cached, Set<Block> forgotten)
            throws MalformedModelException {
        List<Map<?, ?>> all = new ArrayList<>();
        for (Object each : described) {
            Check.that(each instanceof Map, () -> ATTENTIONS + " " + Settings.shown(each) + ": expected maps");
            all.add((Map<?, ?>) each);
        }
        List<String> names =
                all.stream().map(each -> typed(String.class, each, NAME)).toList();
        if (!names.equals(List.copyOf(attentions.keySet()))) {
            throw new MalformedModelException("the cache file " + file + " has " + names.size() + " attentions, "
                    + Settings.shown(names) + ": expected " + attentions.size() + " as in the model, "
                    + Settings.shown(attentions.keySet()) + "; load it with the model that processed the tokens");
        }
        List<Planned> planned = new ArrayList<>();
        for (Map<?, ?> saved : all) {
            MultiHeadAttentionBlock attention = attentions.get(saved.get(NAME));
            Iterator<?> options = typed(List.class, saved, OPTIONS).iterator();
            for (ModelFile section : sections(attention)) {
                section.requireEqual(options.hasNext() && options.next() instanceof Map<?, ?> map ? map : Map.of());
            }
            if (typed(Boolean.class, saved, IS_CACHED)) {
                cached.add(attention);
            }
            if (typed(Boolean.class, saved, HAD_MEMORY_POSITIONS)) {
                forgotten.add(attention);
            }
            if (saved.containsKey(TOKENS)) {
                CachedTokens.State state = Settings.create(CachedTokens.State.class, typed(Map.class, saved, TOKENS));
                state.requireFits(attention, sequences.batch, sequences.length);
                planned.add(new Planned(attention, state, state.forms(attention, sequences.batch, sequences.length)));
            }
        }
        Check.that(!planned.isEmpty(), "no tokens: expected those of a self-attention");
        return planned;
    }

    private static <T> T typed(Class<T> type, Map<?, ?> values, String key) {
        Object value = values.get(key);
        Check.that(
                type.isInstance(value),
                () -> key + " " + Settings.shown(value) + ": expected a value of type " + type.getSimpleName());
        return type.cast(value);
    }

    /** Checks that the file has all arrays and nothing else, and that there is memory for them. */
    private void requireSize(List<Planned> planned, long bytes, NDManager manager) throws MalformedModelException {
        long needed = 0;
        for (Planned each : planned) {
            for (CachedTokens.Form form : each.forms) {
                // at most so many, and the sum of two cannot overflow
                needed = Math.min(needed, Long.MAX_VALUE / 2)
                        + Math.min(1 + HostData.bytes(form.shape(), form.type()), Long.MAX_VALUE / 2);
            }
        }
        require(needed == bytes, bytes + " bytes of keys and values", String.valueOf(needed));
        HostData.requireRoomFor(bytes, manager.getDevice(), () -> "the cache file " + file);
    }

    private static List<NDArray> readArrays(DataInputStream in, Planned planned, NDManager manager) throws IOException {
        List<NDArray> arrays = new ArrayList<>();
        for (CachedTokens.Form form : planned.forms) {
            arrays.add(TokenColumn.owned(manager, ArrayValues.read(in, form.shape(), form.type(), manager)));
        }
        return arrays;
    }

    private void requireSum(DataInputStream in, CRC32C sum) throws IOException, MalformedModelException {
        long expected = sum.getValue();
        long found = in.readLong();
        require(found == expected, "the checksum " + found, String.valueOf(expected));
    }

    private void require(boolean holds, String found, String expected) throws MalformedModelException {
        if (!holds) {
            throw new MalformedModelException("the cache file " + file + " has " + found + ": expected " + expected
                    + "; it is damaged, was not saved completely, or is no file of a KeyValueCache: process the tokens"
                    + " again, and save them");
        }
    }

    /** The error for a header of a valid checksum that does not describe a cache. */
    private MalformedModelException damaged(Exception cause) {
        return new MalformedModelException(
                "the cache file " + file + " does not describe a cache (" + cause.getMessage()
                        + "): expected a file that KeyValueCache.save has written; process the tokens again, and save"
                        + " them",
                cause);
    }
}
