package io.github.djlpositional.weights;

import io.github.djlpositional.internal.InvalidFileException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A format that is no safetensors, by the first bytes of its files.
 *
 * @param start matches the first bytes, as characters of ISO 8859-1
 * @param problem says what such a file is
 * @param remedy says what to do
 * @param isText whether the message quotes the beginning of the file
 */
record OtherFormat(Pattern start, String problem, String remedy, boolean isText) {

    /** The number of bytes that identify a format. */
    static final int START_BYTES = 4096;

    private static final String DOWNLOAD = "download the file itself";
    private static final String OF_MODEL =
            ", or use the safetensors file of the model, which most models on Hugging Face have";
    private static final String CONVERT =
            "convert it in Python as in docs/weights.md#files-in-other-formats, if you trust it";
    private static final String UNPACK = "unpack it, and pass the path of the safetensors file in it";

    /** The first match is used. */
    private static final List<OtherFormat> FORMATS = List.of(
            bytes("", "is empty", "copy, download or save it again"),
            bytes("\0{16}.*", "begins with zeros, as an interrupted download leaves it", "download it again"),
            text(
                    "version https://(git-lfs|hawser)\\.github\\.com/.*",
                    "is a pointer of Git LFS to the file, not the file",
                    "run git lfs install and git lfs pull in its folder, or " + DOWNLOAD
                            + ", on Hugging Face from /resolve/ instead of /raw/"),
            text(
                    "# xet version.*|\\s*\\{(?=.*\"hash\")(?=.*\"file_?size\").*",
                    "is a pointer of Xet to the file, not the file",
                    DOWNLOAD + ", for example with hf download, or on Hugging Face from /resolve/ instead of /raw/"),
            text(
                    "(?i)\\s*(<!doctype html|<html|<head|<!--).*",
                    "is an HTML page, such as an error, a login or a page about the file",
                    DOWNLOAD + ", on Hugging Face from /resolve/ instead of /blob/, and log in for a gated model"),
            text(
                    "\\s*<\\?xml.*|\\s*<Error>.*",
                    "is XML, as a storage service sends it for an error",
                    DOWNLOAD + " from a valid address that you may access"),
            text(
                    "\\s*\\{.*\"weight_map\".*",
                    "is the index of a model in several files",
                    "open each file that its \"weight_map\" names, in the same folder, and load them with"
                            + " WeightLoader.ofAll"),
            text(
                    "(?i)\\s*\\{\\s*\"(error|errors|message|detail|status|statusCode|code)\".*",
                    "is JSON, such as the error message of a server",
                    DOWNLOAD + " again, with a valid address, and log in for a gated model"),
            text(
                    "\\s*[{\\[].*",
                    "is JSON, as a configuration or a tokenizer",
                    "pass the path of the model's safetensors file"),
            bytes(
                    "GGUF.*|(lmgg|tjgg|fmgg|ggml|ggjt|ggmf).*",
                    "is GGUF or GGML, as llama.cpp uses it",
                    CONVERT + OF_MODEL),
            // the second byte is the version of the protocol
            bytes(
                    "\u0080[\0-\5].*",
                    "is a pickle, as torch.save writes it, which can run code when it is read",
                    CONVERT + OF_MODEL),
            bytes(
                    "PK\3\4.*(\\.pkl|/data/0).*",
                    "is a pickle in a zip, as torch.save writes it, which can run code when it is read",
                    CONVERT + OF_MODEL),
            bytes("PK\3\4.*\\.npy.*", "is an archive of arrays in a zip, as numpy.savez writes it", CONVERT),
            bytes("PK\3\4.*\\.onnx.*", "is a zip with an ONNX model", "unpack it; then " + CONVERT + OF_MODEL),
            bytes("PK\3\4.*\\.safetensors.*", "is a zip with a safetensors file", UNPACK),
            bytes("PK\3\4.*(\\.h5|metadata\\.json).*", "is a zip with HDF5, as Keras writes it", CONVERT),
            bytes(
                    "PK[\3\5].*",
                    "is a zip",
                    UNPACK + ", or, if it is from torch.save (a pickle, which can run code) or numpy.savez, "
                            + CONVERT),
            bytes("\u001f\u008b.*", "is compressed with gzip", "decompress it with gunzip, or tar xzf for a tar.gz"),
            bytes(
                    "(BZh|\u00fd7zXZ|\\(\u00b5/\u00fd|\u0004\"M\u0018|7z\u00bc\u00af|Rar!).*",
                    "is compressed, with bzip2, xz, zstd, lz4, 7-Zip or RAR",
                    UNPACK),
            bytes(".{257}ustar.*", "is a tar archive", UNPACK),
            bytes("\u0093NUMPY.*", "is an array of NumPy", CONVERT),
            bytes("\u0089HDF.*", "is HDF5, as Keras writes it", CONVERT),
            bytes("\b[\3-\u001f][\u0012:].*", "is an ONNX model", CONVERT + OF_MODEL),
            bytes("\b\1\u0012.*", "is a SavedModel of TensorFlow", CONVERT + OF_MODEL),
            bytes(".{4}TFL3.*", "is a model of TensorFlow Lite", CONVERT + OF_MODEL),
            bytes(
                    "([\u0081-\u008f]|\u00de..)[\u00a1-\u00bf][ -~].*",
                    "is MessagePack, as Flax writes it",
                    CONVERT + OF_MODEL),
            bytes(
                    "(PAR1|ARROW1).*",
                    "is a table of Apache Parquet or Arrow, as data sets are",
                    "pass the path of a safetensors file"),
            bytes("DJL@.*", "holds the parameters of a DJL model", "load it with Model.load(path, name)"),
            text("[\t\r\n -~\u0080-\u00ff]*", "is not safetensors but text", DOWNLOAD + " again, or " + CONVERT),
            bytes(
                    ".*",
                    "is not safetensors, or its first bytes are damaged",
                    "copy or download it again, or " + CONVERT));

    private static OtherFormat bytes(String start, String problem, String remedy) {
        return new OtherFormat(Pattern.compile(start, Pattern.DOTALL), problem, remedy, false);
    }

    /** Text may begin with a byte order mark. */
    private static OtherFormat text(String start, String problem, String remedy) {
        return new OtherFormat(
                Pattern.compile("(\u00ef\u00bb\u00bf)?(" + start + ")", Pattern.DOTALL), problem, remedy, true);
    }

    /** Returns the exception for a file of another format, with its first bytes. */
    static InvalidFileException of(byte... start) {
        String characters = new String(start, StandardCharsets.ISO_8859_1);
        OtherFormat format = FORMATS.stream()
                .filter(each -> each.start.matcher(characters).matches())
                .findFirst()
                .orElseThrow();
        String quote = format.isText
                ? " (" + InvalidFileException.quoted(new String(start, StandardCharsets.UTF_8)) + ")"
                : "";
        return InvalidFileException.another(format.problem + quote, format.remedy);
    }
}
