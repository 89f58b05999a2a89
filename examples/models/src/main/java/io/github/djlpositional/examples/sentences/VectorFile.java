package io.github.djlpositional.examples.sentences;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.weights.WeightFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * A file of unit vectors, in safetensors.
 *
 * @param path the file, which may not exist
 * @param checksum of what the vectors are computed from; in the file, it is a part of the tensor's name
 */
record VectorFile(Path path, String checksum) {

    private static final String PREFIX = "definitions ";

    /** Reads the vectors; null if there is no file, or its vectors were computed from something else. */
    NDArray read(NDManager manager) throws IOException {
        if (!Files.exists(path)) {
            return null;
        }
        try {
            WeightFile file = WeightFile.open(path);
            String stored = String.join("", file.getTensors().keySet());
            if (stored.startsWith(PREFIX) && !stored.equals(PREFIX + checksum)) {
                return null;
            }
            if (stored.equals(PREFIX + checksum)
                    && file.getTensors().get(stored).shape().dimension() == 2) {
                NDArray vectors = file.read(manager, stored);
                // a comparison with NaN is false
                if (vectors.norm(new int[] {1}).sub(1).abs().max().toFloatArray()[0] < 1e-3) {
                    return vectors;
                }
            }
            throw unreadable(null);
        } catch (MalformedModelException e) {
            throw unreadable(e);
        }
    }

    /** Writes the vectors, and replaces the file if it exists. */
    void write(NDArray vectors) throws IOException {
        Safetensors.write(path, Map.of(PREFIX + checksum, vectors));
    }

    private UserError unreadable(Exception cause) {
        return new UserError(
                "'" + path + "' is damaged, or another program's: expected vectors that search has saved; delete it, or"
                        + " use another folder with --index",
                cause);
    }
}
