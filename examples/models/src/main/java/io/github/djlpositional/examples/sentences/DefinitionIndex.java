package io.github.djlpositional.examples.sentences;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.examples.Progress;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Definitions and a file of their vectors. The nearest to a text are those with the greatest scalar products, from one
 * product of matrices.
 */
final class DefinitionIndex {

    private static final String NAME = "definitions ";

    private final Path file;
    private final List<Definition> definitions;

    /** The name of the tensor says what the vectors were computed from. */
    private final String tensor;

    /**
     * Creates an index; only the other methods read or write its file.
     *
     * @param file a file of safetensors
     * @param definitions the definitions
     * @param checksum of the definitions and the encoder
     */
    DefinitionIndex(Path file, List<Definition> definitions, String checksum) {
        this.file = file;
        this.definitions = definitions;
        tensor = NAME + checksum;
    }

    /**
     * A definition that was found.
     *
     * @param similarity the cosine of the angle between its vector and the query's
     */
    record Hit(Definition definition, double similarity) {}

    /** Returns whether the file exists and has the vectors of these definitions and of this encoder. */
    boolean isCurrent() throws IOException {
        if (!Files.exists(file)) {
            return false;
        }
        try {
            Map<String, TensorInfo> found = WeightFile.open(file).getTensors();
            if (found.size() != 1 || !found.keySet().iterator().next().startsWith(NAME)) {
                throw unreadable(null);
            }
            return found.containsKey(tensor);
        } catch (MalformedModelException e) {
            throw unreadable(e);
        }
    }

    /** Computes the vectors, and replaces the file if it exists. */
    void write(SentenceEncoder encoder, NDManager manager) throws IOException {
        List<TokenBatch> batches =
                encoder.batches(definitions.stream().map(Definition::text).toList());
        Progress progress = new Progress(
                "Embedding", batches.stream().mapToLong(TokenBatch::tokens).sum());
        float[][] vectors = new float[definitions.size()][];
        for (TokenBatch batch : batches) {
            encoder.encode(batch, vectors);
            progress.add(batch.tokens());
        }
        try (NDArray all = manager.create(vectors)) {
            Safetensors.write(file, Map.of(tensor, all));
        }
    }

    /**
     * Finds definitions.
     *
     * @param queries unit vectors
     * @param count the number of definitions for each
     * @return the nearest to each, with the greatest similarity first
     */
    List<List<Hit>> nearest(float[][] queries, int count, NDManager manager) throws IOException {
        int found = Math.min(count, definitions.size());
        try (NDManager temporary = manager.newSubManager()) {
            NDArray similarities =
                    temporary.create(queries).matMul(vectors(temporary).transpose());
            NDList best = similarities.topK(found, 1);
            float[] values = best.get(0).toFloatArray();
            long[] rows = best.get(1).toType(DataType.INT64, false).toLongArray();
            return IntStream.range(0, queries.length)
                    .mapToObj(query -> IntStream.range(query * found, (query + 1) * found)
                            .mapToObj(i -> new Hit(definitions.get((int) rows[i]), values[i]))
                            .toList())
                    .toList();
        }
    }

    private NDArray vectors(NDManager manager) throws IOException {
        try {
            WeightFile stored = WeightFile.open(file);
            TensorInfo expected = new TensorInfo("F32", new Shape(definitions.size(), SentenceEncoder.SIZE));
            if (!expected.equals(stored.getTensors().get(tensor))) {
                throw unreadable(null);
            }
            NDArray vectors = stored.read(manager, tensor);
            float error = vectors.norm(new int[] {1}).sub(1).abs().max().toFloatArray()[0];
            if (!(error < 1e-3)) { // longer or shorter than 1, or NaN
                throw unreadable(null);
            }
            return vectors;
        } catch (MalformedModelException e) {
            throw unreadable(e);
        }
    }

    private UserError unreadable(Exception cause) {
        return new UserError(
                "'" + file + "' is damaged, or another program's: expected vectors that search has saved; delete it, or"
                        + " use another folder with --index",
                cause);
    }
}
