package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Takes tensors of a {@link WeightFile} into parameters: each is named, its shape and type are checked, and nothing is written
 * before all has been read.
 *
 * <pre>{@code
 * input.initialize(manager, DataType.FLOAT32, new Shape(1, 1));       // or a model that was loaded
 * WeightLoader.of(WeightFile.open(Path.of("model.safetensors")))
 *         .table("embeddings.word_embeddings.weight", input.getTokenTable())
 *         .table("embeddings.position_embeddings.weight", learned.getTable())
 *         .load();
 * }</pre>
 *
 * <p>Any parameter will do, of this library's blocks or of others: a bias (buckets, N) of T5, vectors (2k + 1, H) after Shaw, a
 * weight (out, in) of {@code Linear}. A parameter must have its array, from {@code initialize} or from a model file. The
 * numbers are written into this very array, so it stays where it is: on its device, in its data type, trained, frozen and
 * saved as before.
 *
 * <h2>Types</h2>
 *
 * Numbers arrive exactly as they are in the file. A parameter takes tensors of its own type and of narrower ones:
 *
 * <ul>
 *   <li>{@code FLOAT16}: F16
 *   <li>{@code FLOAT32}: F32, F16, BF16
 *   <li>{@code FLOAT64}: F64, F32, F16, BF16
 * </ul>
 *
 * In npz F16, F32 and F64 are {@code <f2}, {@code <f4} and {@code <f8}, or with {@code >} for the other byte order; it has no
 * BF16. Anything else is refused, integers and whatever would have to be rounded.
 *
 * <h2>Several devices</h2>
 *
 * A trainer copies parameters to its devices when it is initialized, and a predictor on another device than the model when it
 * is made: load before. While a tensor is loaded, no other thread may use the block, and no {@code GradientCollector} of this
 * thread may be open. The loader itself is not for several threads.
 *
 * <p>V vocabulary size, D embedding size, T sequence length, n positions, N heads, H head size.
 */
public final class WeightLoader {

    private final WeightFile file;
    private final List<Table> tables = new ArrayList<>();
    private final List<EncodingCheck> encodings = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private final Set<String> parameters = new HashSet<>();

    private WeightLoader(WeightFile file) {
        this.file = file;
    }

    /** What goes where. */
    private record Table(StoredTensor tensor, Parameter parameter, int skippedRows) {}

    /**
     * Begins with a file; nothing is read yet.
     *
     * @param file where the tensors are
     * @return a loader without tensors
     * @throws NullPointerException if it is null
     */
    public static WeightLoader of(WeightFile file) {
        return new WeightLoader(Objects.requireNonNull(file, "file"));
    }

    /**
     * Names the tensor for a parameter.
     *
     * @param name the tensor's name in the file
     * @param parameter where its numbers go, of the same shape, such as (V, D); the caller's
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, or tensor or parameter were given before
     * @throws NullPointerException if the parameter is null
     */
    public WeightLoader table(String name, Parameter parameter) {
        return table(name, parameter, 0);
    }

    /**
     * Names the tensor for a parameter, and how many of its rows in front are left out: OPT's, BART's and RoBERTa's tables of
     * positions have two, which stand before position 0.
     *
     * @param name the tensor's name in the file
     * @param parameter where its numbers go, for a tensor (skippedRows + T, D) a parameter (T, D); the caller's
     * @param skippedRows the rows that are left out, at least 0
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, tensor or parameter were given before, or the number of
     *     rows is negative
     * @throws NullPointerException if the parameter is null
     */
    public WeightLoader table(String name, Parameter parameter, int skippedRows) {
        Objects.requireNonNull(parameter, "parameter");
        if (skippedRows < 0) {
            throw new IllegalArgumentException("the rows to skip of tensor " + Quoted.text(name) + " are " + skippedRows
                    + ": allowed is 0 or more; give the rows before position 0, mostly 0 or 2");
        }
        if (parameters.contains(parameter.getId())) {
            throw new IllegalArgumentException("parameter " + Quoted.text(parameter.getName())
                    + " was given twice, now for " + file.tensor(name)
                    + ": allowed is one tensor for each parameter; name each parameter once");
        }
        StoredTensor tensor = name(name);
        parameters.add(parameter.getId());
        tables.add(new Table(tensor, parameter, skippedRows));
        return this;
    }

    /**
     * Names a saved table of sinusoids, which models keep although it can be computed. It is compared with the exact one, and
     * then left out: a {@link io.github.djlpositional.PositionalEncodingBlock} has its own. Where it differs by more than
     * {@code float} arithmetic explains, the model was made with another encoding, and {@link #load} says so.
     *
     * @param name the tensor's name in the file, such as {@code pos_encoder.pe}
     * @param encoding what it should hold from position 0 on, such as {@code block.getEncoding()}; the tensor is (n, D),
     *     (1, n, D) or (n, 1, D), for any n
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, or it was given before
     * @throws NullPointerException if the encoding is null
     */
    public WeightLoader encodings(String name, SinusoidalEncoding encoding) {
        Objects.requireNonNull(encoding, "encoding");
        encodings.add(new EncodingCheck(name(name), encoding));
        return this;
    }

    private StoredTensor name(String name) {
        StoredTensor tensor = file.tensor(name);
        if (!names.add(name)) {
            throw new IllegalArgumentException(
                    tensor + " was given twice: allowed is one use of each tensor; name each tensor once");
        }
        return tensor;
    }

    /**
     * Reads all that was named, compares it, and then writes it into the parameters. If anything is refused or cannot be read, no
     * parameter has changed. Until the end, what is read stands in the engine's memory beside the parameters.
     *
     * @throws IllegalArgumentException if a tensor's shape or type does not fit its parameter, a parameter has no array, a saved
     *     table of sinusoids is not that of its encoding, a row is longer than 1 GiB, or nothing was named
     * @throws MalformedModelException if the file turns out to be damaged, or is another than when it was opened
     * @throws IOException if the file cannot be read
     */
    public void load() throws IOException, MalformedModelException {
        if (names.isEmpty()) {
            throw new IllegalArgumentException("nothing was named to load from " + file.getPath()
                    + ": allowed are one or more tensors; name them with table or encodings");
        }
        for (Table table : tables) {
            requireFits(table);
        }
        for (EncodingCheck check : encodings) {
            check.requireTable();
        }
        file.requireUnchanged();
        for (EncodingCheck check : encodings) {
            check.requireValues();
        }
        if (tables.isEmpty()) {
            file.requireUnchanged();
        } else {
            loadTables();
        }
    }

    private void loadTables() throws IOException, MalformedModelException {
        NDArray first = tables.get(0).parameter().getArray();
        try (NDManager staging = first.getManager().newSubManager(Device.cpu())) {
            List<StagedTable> staged = new ArrayList<>();
            for (Table table : tables) {
                NDArray target = table.parameter().getArray();
                if (target.size() > 0) {
                    staged.add(new StagedTable(table.tensor(), table.skippedRows(), target));
                }
            }
            for (StagedTable table : staged) {
                table.read(staging);
            }
            file.requireUnchanged();
            staged.forEach(StagedTable::write);
        }
    }

    private static void requireFits(Table table) {
        StoredTensor tensor = table.tensor();
        Parameter parameter = table.parameter();
        String what = "parameter " + Quoted.text(parameter.getName());
        if (!parameter.isInitialized() || parameter.getArray().isReleased()) {
            throw new IllegalArgumentException(what + " for " + tensor
                    + " has no array: allowed is one that was initialized or loaded; initialize its block first");
        }
        NDArray array = parameter.getArray();
        if (!DataTypes.isEmbedding(array.getDataType())) {
            throw new IllegalArgumentException(what + " for " + tensor + " is of type " + array.getDataType()
                    + ": allowed are float16, float32 and float64; load parameters of these types alone");
        }
        if (tensor.type() == null || !tensor.type().fitsInto(DataTypes.formatOf(array.getDataType()))) {
            throw new IllegalArgumentException(
                    tensor + " has type " + Quoted.text(tensor.typeName()) + ": allowed for " + what + " of type "
                            + array.getDataType()
                            + " is that type or a narrower float; convert the tensor where the file is made, or"
                            + " initialize the block with a wider type");
        }
        Shape shape = array.getShape();
        long[] expected = shape.getShape().clone();
        if (expected.length > 0) {
            expected[0] += table.skippedRows();
        }
        if (expected.length == 0 || !tensor.shape().equals(new Shape(expected))) {
            throw new IllegalArgumentException(
                    tensor + " has shape " + tensor.shape() + ": allowed for " + what + " of "
                            + shape + " with " + table.skippedRows() + " rows skipped is " + new Shape(expected)
                            + " of one axis or more; build the block with the tensor's sizes, or give another name");
        }
    }
}
