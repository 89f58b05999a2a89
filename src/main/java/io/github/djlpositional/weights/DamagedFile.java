package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import java.nio.file.Path;

/** What is said of a weight file that is not as its format has it. */
final class DamagedFile {

    private DamagedFile() {}

    static MalformedModelException because(Path file, String what) {
        return because(file, what, null);
    }

    static MalformedModelException because(Path file, String what, Exception cause) {
        return new MalformedModelException(
                "the weight file " + file + " is damaged or cut off, " + what
                        + ": allowed is a whole safetensors or npz file; copy, download or save it again",
                cause);
    }
}
