package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A file that is no weight file, told by its first bytes, and what to do about it. */
enum ForeignFile {
    EMPTY("is empty", "copy, download or save it again"),
    PICKLE(
            "is a pickle, as torch.save writes it, which can run code when it is read",
            "convert it in Python, if you trust it, with"
                    + " weights = torch.load(\"model.pt\", map_location=\"cpu\", weights_only=True) and"
                    + " numpy.savez(\"model.npz\", **{name: tensor.float().numpy() for name, tensor in weights.items()})"),
    NPY(
            "is a single array of NumPy, which has no name",
            "save it in Python with numpy.savez(\"model.npz\", name=array)"),
    INDEX(
            "is JSON, as the index of a checkpoint in several files",
            "open the file beside it that its \"weight_map\" has for the tensor"),
    HDF5("is HDF5, as Keras writes it", "save the arrays in Python with numpy.savez(\"model.npz\", name=array, …)"),
    DJL_PARAMETERS("holds the parameters of a DJL model", "load it with Model.load(path, name)"),
    ZIP(
            "is a zip without .npy arrays in it",
            "save the arrays in Python with numpy.savez(\"model.npz\", name=array, …)"),
    UNKNOWN(
            "is neither npz nor safetensors, or its first bytes are damaged",
            "save the arrays in Python with numpy.savez(\"model.npz\", name=array, …)");

    /** The greatest protocol number behind a pickle's first byte. */
    private static final int NEWEST_PICKLE = 5;

    private final String given;
    private final String remedy;

    ForeignFile(String given, String remedy) {
        this.given = given;
        this.remedy = remedy;
    }

    /** Tells a file by its first bytes. */
    static ForeignFile of(byte[] start) {
        if (start.length == 0) {
            return EMPTY;
        }
        if (NpyHeader.isOne(start)) {
            return NPY;
        }
        String text = new String(start, StandardCharsets.ISO_8859_1);
        if (text.startsWith("\u0080") && text.length() > 1 && text.charAt(1) <= NEWEST_PICKLE) {
            return PICKLE;
        }
        if (text.startsWith("\u0089HDF")) {
            return HDF5;
        }
        if (text.startsWith("DJL@")) {
            return DJL_PARAMETERS;
        }
        return text.startsWith("{") ? INDEX : UNKNOWN;
    }

    MalformedModelException refused(Path file) {
        return new MalformedModelException(
                "the weight file " + file + " " + given + ": allowed are safetensors and npz; " + remedy);
    }
}
