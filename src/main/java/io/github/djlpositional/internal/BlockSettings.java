package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.nn.Block;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.arguments.HasArguments;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What a block was built with, as names and plain values: shown by {@code toString}, written to the model file,
 * and compared with what a model file was saved with.
 */
public final class BlockSettings {

    /** More than any block has; a larger count in a file is damage, not settings. */
    private static final int MAX_SETTINGS = 64;

    /** The argument of a block within a block that says which it is. */
    public static final String TYPE = "type";

    /** What stands for a setting that was not set and has no default. */
    private static final String NONE = "none";

    private final String block;
    private final Map<String, String> saved = new LinkedHashMap<>();
    private final Map<String, String> usuals = new LinkedHashMap<>();
    private final Map<String, String> unsaved = new LinkedHashMap<>();
    private final Map<String, Supplier<Object>> arguments = new LinkedHashMap<>();

    /**
     * Begins the settings of a block.
     *
     * @param block the block's class
     */
    public BlockSettings(Class<?> block) {
        this.block = block.getSimpleName();
    }

    /**
     * Adds a setting that decides the block's answers: a model file belongs to blocks of the same value alone.
     *
     * @param name the setting's name, which is that of the builder's method
     * @param value a plain value, an enum's constant, or what has arguments; null where it was not set
     */
    public BlockSettings with(String name, Object value) {
        return with(name, text(value), () -> value);
    }

    /**
     * Adds a setting that decides the block's answers, of which the model file says less than the arguments.
     *
     * @param name the setting's name
     * @param text what the model file says
     * @param argument the value, asked for when the arguments are; null where it was not set
     */
    public BlockSettings with(String name, String text, Supplier<Object> argument) {
        saved.put(name, text);
        arguments.put(name, argument);
        return this;
    }

    /**
     * Adds a setting that decides the block's answers, but may be another than the model file's where that is the usual one: a
     * block that builds on what was trained without.
     */
    public BlockSettings withBeyond(String name, Object usual, Object value) {
        usuals.put(name, text(usual));
        return with(name, value);
    }

    /**
     * Adds a setting that changes no answer, such as a dropout rate: it is shown where it was set, but no part of a model
     * file.
     */
    public BlockSettings withUnsaved(String name, Object value) {
        if (value != null) {
            unsaved.put(name, text(value));
        }
        arguments.put(name, () -> value);
        return this;
    }

    /** Adds a setting that is neither shown nor part of a model file: what a block starts from, or what another setting says. */
    public BlockSettings withStart(String name, Object value) {
        arguments.put(name, () -> value);
        return this;
    }

    private static String text(Object value) {
        if (value == null) {
            return NONE;
        }
        return value.toString();
    }

    /** The settings as plain values; see {@link HasArguments#getArguments}. */
    Map<String, Object> arguments() {
        Map<String, Object> plain = new LinkedHashMap<>();
        arguments.forEach((name, argument) -> {
            Object value = argument.get();
            if (value != null) {
                plain.put(name, Arguments.plain(value));
            }
        });
        return Collections.unmodifiableMap(plain);
    }

    /**
     * Adds a block within the block, which the model file names by its class.
     *
     * @param name the setting's name
     * @param child the block, null for none; its arguments are its own, with its class' simple name as {@link #TYPE}
     */
    public BlockSettings withChild(String name, Block child) {
        return child == null
                ? with(name, null)
                : with(name, child.getClass().getSimpleName(), () -> argumentsOf(child));
    }

    /**
     * Adds a block within the block that no map of arguments can tell of.
     *
     * @param name the setting's name
     * @param child the block, which is a user's
     */
    public BlockSettings withForeignChild(String name, Block child) {
        return with(name, child.getClass().getSimpleName(), () -> {
            throw withoutArguments(child);
        });
    }

    private UnsupportedOperationException withoutArguments(Block child) {
        return new UnsupportedOperationException("the block " + child.getClass().getName() + " within " + block
                + " has no arguments: allowed in a map are this library's blocks; make the outer block with its"
                + " builder, in a BlockFactory of your own");
    }

    private Map<String, Object> argumentsOf(Block child) {
        if (!(child instanceof ConfiguredBlock described)) {
            throw withoutArguments(child);
        }
        Map<String, Object> plain = new LinkedHashMap<>();
        plain.put(TYPE, child.getClass().getSimpleName());
        plain.putAll(described.getArguments());
        return Collections.unmodifiableMap(plain);
    }

    /** Writes the settings that are part of a model file. */
    public void write(DataOutputStream os) throws IOException {
        os.writeInt(saved.size());
        for (Map.Entry<String, String> setting : saved.entrySet()) {
            os.writeUTF(setting.getKey());
            os.writeUTF(setting.getValue());
        }
    }

    /**
     * Reads the settings that a file was saved with and refuses others than these.
     *
     * @param is the file, at the settings
     * @throws MalformedModelException if they differ, or are none at all
     * @throws IOException if the file ends or cannot be read
     */
    public void requireSame(DataInputStream is) throws IOException, MalformedModelException {
        int count = StoredCount.read(is, MAX_SETTINGS, "settings");
        Map<String, String> found = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            String name = is.readUTF();
            found.put(name, is.readUTF());
        }
        Map<String, String> expected = new LinkedHashMap<>(saved);
        usuals.forEach((name, usual) -> {
            if (usual.equals(found.get(name))) {
                expected.put(name, usual);
            }
        });
        if (!found.equals(expected)) {
            throw new MalformedModelException(
                    "the model file was saved with " + describe(found) + ", this block is " + describe(saved)
                            + ": build the block with the saved settings, or load the file that belongs to it");
        }
    }

    /**
     * Refuses a file of another version.
     *
     * @param found the file's
     * @param known this library's
     * @throws MalformedModelException if they differ
     */
    public void requireVersion(byte found, byte known) throws MalformedModelException {
        if (found != known) {
            throw new MalformedModelException("the model file has version " + found + " of " + block
                    + ", this library reads version " + known
                    + ": load the file that belongs to this block, or use the library's version that saved it");
        }
    }

    /** A file that ends too soon, or holds what cannot be decoded. */
    public MalformedModelException damaged(Exception cause) {
        return new MalformedModelException(
                "the model file ends or is damaged within " + block + " (" + cause
                        + "): it was not written to its end, or belongs to another model; load another",
                cause);
    }

    private String describe(Map<String, String> settings) {
        return settings.entrySet().stream()
                .map(setting -> setting.getKey() + "=" + setting.getValue())
                .collect(Collectors.joining(", ", block + "(", ")"));
    }

    @Override
    public String toString() {
        Map<String, String> all = new LinkedHashMap<>(saved);
        all.putAll(unsaved);
        return describe(all);
    }
}
