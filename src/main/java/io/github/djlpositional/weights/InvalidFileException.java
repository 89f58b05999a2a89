package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A weight file is damaged, or has another format. */
final class InvalidFileException extends IOException {

    private static final int LONGEST_QUOTE = 100;

    /** Characters that would break a line, reverse the text around them, or not be visible. */
    private static final Pattern HIDDEN = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Cn}\\p{Zl}\\p{Zp}]");

    private static final String SAVE_NPZ = "save the arrays in Python with numpy.savez(\"model.npz\", name=array, …)";
    private static final String SAVE_AGAIN = "copy, download or save it again";

    private final String remedy;

    private InvalidFileException(String given, String remedy, Exception cause) {
        super(given, cause);
        this.remedy = remedy;
    }

    static InvalidFileException damaged(String what, Exception cause) {
        return new InvalidFileException("is damaged or truncated, " + what, SAVE_AGAIN, cause);
    }

    /**
     * Checks the content of a file.
     *
     * @param holds the condition
     * @param message what is wrong if it does not hold, in the syntax of {@link String#format}
     * @param values the values in the message; strings come from the file and are {@linkplain #quoted quoted}
     */
    static void check(boolean holds, String message, Object... values) throws InvalidFileException {
        if (!holds) {
            Object[] shown = Stream.of(values)
                    .map(value -> value instanceof String text ? quoted(text) : value)
                    .toArray();
            throw damaged(String.format(Locale.ROOT, message, shown), null);
        }
    }

    /** Returns text from a file as messages show it: visible, on one line, and not too long. */
    static String quoted(String text) {
        boolean isLong = text.codePointCount(0, text.length()) > LONGEST_QUOTE;
        String shown = isLong ? text.substring(0, text.offsetByCodePoints(0, LONGEST_QUOTE)) + "…" : text;
        return HIDDEN.matcher('"' + shown + '"').replaceAll(found -> {
            return String.format("\\\\u%04x", found.group().codePointAt(0));
        });
    }

    /** Returns the exception for a zip without arrays. */
    static InvalidFileException zip(boolean isPickle) {
        return isPickle ? pickle() : otherFormat("is a zip without .npy arrays in it", SAVE_NPZ);
    }

    private static InvalidFileException pickle() {
        return otherFormat(
                "is a pickle, as torch.save writes it, which can run code when it is read",
                "convert it in Python, if you trust it, with"
                        + " weights = torch.load(\"model.pt\", map_location=\"cpu\", weights_only=True) and"
                        + " numpy.savez(\"model.npz\", **{name: tensor.float().numpy() for name, tensor in weights.items()})");
    }

    private static InvalidFileException otherFormat(String given, String remedy) {
        return new InvalidFileException(given, remedy, null);
    }

    /** Identifies another format by the first bytes of a file. */
    static InvalidFileException otherFormat(byte... start) {
        String text = new String(start, StandardCharsets.ISO_8859_1);
        if (text.isEmpty()) {
            return otherFormat("is empty", SAVE_AGAIN);
        } else if (text.startsWith(NpyHeader.MAGIC)) {
            return otherFormat(
                    "is a single array of NumPy, which has no name",
                    "save it in Python with numpy.savez(\"model.npz\", name=array)");
        } else if (text.matches("(?s)\u0080[\0-\5].*")) { // a pickle's protocol number
            return pickle();
        } else if (text.startsWith("\u0089HDF")) {
            return otherFormat("is HDF5, as Keras writes it", SAVE_NPZ);
        } else if (text.startsWith("DJL@")) {
            return otherFormat("holds the parameters of a DJL model", "load it with Model.load(path, name)");
        } else if (text.startsWith("{")) {
            return otherFormat(
                    "is JSON, as the index of a checkpoint in several files",
                    "open the file in the same folder that its \"weight_map\" names for the tensor");
        }
        return otherFormat("is neither npz nor safetensors, or its first bytes are damaged", SAVE_NPZ);
    }

    /** Returns the exception that the caller gets. */
    MalformedModelException of(Path file) {
        return new MalformedModelException(
                "the weight file " + file + " " + getMessage() + ": expected a complete safetensors or npz file; "
                        + remedy,
                this);
    }
}
