package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Parameter;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Loads tensors of a {@link WeightFile} into parameters. Tensors are selected by name, their shapes and types are
 * checked, and no parameter is written before everything has been read.
 *
 * <pre>{@code
 * input.initialize(manager, DataType.FLOAT32, new Shape(1, 1)); // or load a model
 * WeightLoader.of(WeightFile.open(Path.of("model.safetensors")))
 *         .table("embeddings.word_embeddings.weight", input.getTokenTable())
 *         .table("embeddings.position_embeddings.weight", learned.getTable())
 *         .load();
 * }</pre>
 *
 * <p>A parameter may be of any block, not only of this library's: a bias (buckets, N) of T5, vectors (2k + 1, H) of
 * Shaw, a weight (out, in) of {@code Linear}. It must have an array, from {@code initialize} or from a model file. The
 * numbers are written into this array, so it keeps its device, its data type and its owner, and is trained, frozen and
 * saved as before.
 *
 * <p>Numbers are never rounded. A {@code FLOAT16} parameter accepts F16; {@code FLOAT32} accepts F32, F16 and BF16;
 * {@code FLOAT64} accepts F64 and all of these. In npz, F16, F32 and F64 are {@code <f2}, {@code <f4} and {@code <f8},
 * or with {@code >} in the other byte order; npz has no BF16. Integers and all other types are rejected.
 *
 * <p>Load before a trainer is initialized and before a predictor on another device is created: they copy parameters to
 * their devices. During {@link #load}, no other thread may use the block, and this thread may have no open
 * {@code GradientCollector}. A loader is not thread-safe.
 *
 * <p>V vocabulary size, D embedding size, T sequence length, n positions, N heads, H head size.
 */
public final class WeightLoader {

    private final WeightFile file;
    private final List<TableCopy> tables = new ArrayList<>();
    private final List<EncodingCheck> encodings = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private final Set<String> parameters = new HashSet<>();

    private WeightLoader(WeightFile file) {
        this.file = file;
    }

    /**
     * Creates a loader; it reads nothing yet.
     *
     * @param file the file with the tensors
     * @return a loader without tensors
     */
    public static WeightLoader of(WeightFile file) {
        return new WeightLoader(Objects.requireNonNull(file, "file"));
    }

    /**
     * Adds a tensor for a parameter.
     *
     * @param name the tensor's name in the file
     * @param parameter the parameter to write to, of the tensor's shape, such as (V, D); owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, or the tensor or the parameter was added before
     */
    public WeightLoader table(String name, Parameter parameter) {
        return table(name, parameter, 0);
    }

    /**
     * Adds a tensor for a parameter, without the tensor's first rows: the position tables of OPT, BART and RoBERTa have
     * two rows before position 0.
     *
     * @param name the tensor's name in the file
     * @param parameter the parameter to write to, (T, D) for a tensor (skippedRows + T, D); owned by the caller
     * @param skippedRows the number of rows to skip, at least 0
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, the tensor or the parameter was added before, or
     *     the number of rows is negative
     */
    public WeightLoader table(String name, Parameter parameter, int skippedRows) {
        Objects.requireNonNull(parameter, "parameter");
        String quoted = InvalidFileException.quoted(name);
        Check.that(
                skippedRows >= 0,
                () -> skippedRows + " rows to skip in tensor " + quoted
                        + ": expected 0 or more; give the number of rows before position 0, usually 0 or 2");
        Check.that(
                !parameters.contains(parameter.getId()),
                () -> "parameter " + InvalidFileException.quoted(parameter.getName()) + " was given before tensor "
                        + quoted + ": expected one tensor for each parameter; add each parameter once");
        tables.add(new TableCopy(unused(name), parameter, skippedRows));
        parameters.add(parameter.getId());
        return this;
    }

    /**
     * Adds a saved sinusoidal table, which models store although it can be computed. It is compared with the exact
     * table and not loaded: a {@link io.github.djlpositional.PositionalEncodingBlock} computes its own. If the
     * difference is larger than the error of {@code float} arithmetic, the model uses another encoding, and
     * {@link #load} throws.
     *
     * @param name the tensor's name in the file, such as {@code pos_encoder.pe}; its shape is (n, D), (1, n, D) or (n,
     *     1, D) for any n
     * @param encoding the expected encoding from position 0, such as {@code block.getEncoding()}
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, or it was added before
     */
    public WeightLoader encodings(String name, SinusoidalEncoding encoding) {
        Objects.requireNonNull(encoding, "encoding");
        encodings.add(new EncodingCheck(unused(name), encoding));
        return this;
    }

    private StoredTensor unused(String name) {
        StoredTensor tensor = file.tensor(name);
        Check.that(
                names.add(name),
                () -> tensor + " was given twice: expected one use of each tensor; add each tensor once");
        return tensor;
    }

    /**
     * Reads all tensors that were added, compares the sinusoidal tables, and then writes the parameters. If anything is
     * rejected or cannot be read, no parameter has changed. Until this method returns, the tables are in the engine's
     * memory twice.
     *
     * @throws IllegalArgumentException if a tensor's shape or type does not fit its parameter, a parameter has no
     *     array, a saved sinusoidal table differs from its encoding, a row is larger than 1 GiB, or no tensor was added
     * @throws MalformedModelException if the file is damaged, or has changed since it was opened
     * @throws IOException if the file cannot be read
     */
    public void load() throws IOException, MalformedModelException {
        Check.that(
                !names.isEmpty(),
                () -> "nothing was added to load from " + file.getPath()
                        + ": expected one or more tensors; add them with table or encodings");
        tables.forEach(TableCopy::requireFits);
        encodings.forEach(EncodingCheck::requireTable);
        file.requireUnchanged();
        for (EncodingCheck check : encodings) {
            check.requireValues();
        }
        if (tables.isEmpty()) {
            file.requireUnchanged();
            return;
        }
        NDManager manager = tables.get(0).parameter().getArray().getManager();
        try (NDManager staging = manager.newSubManager(Device.cpu())) {
            List<Runnable> writes = new ArrayList<>();
            for (TableCopy table : tables) {
                writes.add(table.read(staging));
            }
            file.requireUnchanged();
            writes.forEach(Runnable::run);
        }
    }
}
