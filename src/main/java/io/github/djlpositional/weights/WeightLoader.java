package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Parameter;
import ai.djl.nn.ParameterList;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.PairLayout;
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
 * Shaw, a weight (out, in) of {@code Linear}. A layer normalization's {@code weight} and {@code bias} are {@code gamma}
 * and {@code beta} in DJL. A parameter must have an array, from {@code initialize} or from a model file. The numbers
 * are written into this array, so it keeps its device, its data type and its owner, and is trained, frozen and saved as
 * before.
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

    /** The names in an {@code nn.MultiheadAttention}: weights, biases, and those of forms that are not loaded. */
    private static final List<String> ATTENTION_NAMES = List.of(("in_proj_weight out_proj.weight in_proj_bias"
                    + " out_proj.bias q_proj_weight k_proj_weight v_proj_weight bias_k bias_v")
            .split(" "));

    private final WeightFile file;
    private final List<TableCopy> tables = new ArrayList<>();
    private final List<EncodingCheck> encodings = new ArrayList<>();
    private final Set<TensorPart> parts = new HashSet<>();

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
        return add(new TableCopy(TensorPart.whole(file.tensor(name)), parameter));
    }

    /**
     * Adds rows of a tensor, its parts along the first axis, for a parameter. The position tables of OPT, BART and
     * RoBERTa have two rows before position 0; {@code in_proj_weight} of {@code nn.MultiheadAttention} has the rows of
     * three weights. Several parameters may be given different rows of a tensor, which may overlap.
     *
     * @param name the tensor's name in the file
     * @param from the first row, at least 0
     * @param to one more than the last row, at most the tensor's number of rows
     * @param parameter the parameter to write to, (to - from, D) for a tensor (n, D); owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, the tensor has no such rows, or these rows or
     *     the parameter were added before
     */
    public WeightLoader rows(String name, long from, long to, Parameter parameter) {
        return add(new TableCopy(new TensorPart(file.tensor(name), false, from, to), parameter));
    }

    /**
     * Adds columns of a matrix for a parameter; each column becomes a row. This transposes: {@code Conv1D} of GPT-2
     * stores a weight as (in, out), {@code Linear} as (out, in).
     *
     * @param name the tensor's name in the file
     * @param from the first column, at least 0
     * @param to one more than the last column, at most the tensor's number of columns
     * @param parameter the parameter to write to, (to - from, in) for a tensor (in, out); owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, the tensor is not a matrix or has no such
     *     columns, or these columns or the parameter were added before
     */
    public WeightLoader columnsAsRows(String name, long from, long to, Parameter parameter) {
        return add(new TableCopy(new TensorPart(file.tensor(name), true, from, to), parameter));
    }

    /**
     * Adds the weight or the bias of a projection of queries or keys, whose rotated dimensions are written in another
     * layout than the file has. Meta's Llama has them {@linkplain PairLayout#INTERLEAVED interleaved}, Hugging Face's
     * {@linkplain PairLayout#CONCATENATED concatenated}; with permuted queries and keys, a rotary encoding of the other
     * layout gives the same scores. Usually the rotary encoding is built with the layout of the file instead, and
     * nothing is permuted. Values and results are never permuted.
     *
     * <p>The rows are those of N heads, and the first r rows of each head change places. To the concatenated layout,
     * this is {@code permute} in Hugging Face's {@code convert_llama_weights_to_hf.py}; to the interleaved layout it is
     * the inverse.
     *
     * @param name the tensor's name in the file
     * @param headCount N, the number of heads that the tensor has: that of the key heads for keys; a divisor of its
     *     number of rows
     * @param rotarySize r, the number of dimensions of a head that are rotated, from the first; even, from 2 to H
     * @param layout the layout of the rows in the parameter; the file has the other one
     * @param parameter the parameter to write to, (N · H, D) or (N · H), of the tensor's shape; owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, its rows are not those of such heads, or the
     *     tensor or the parameter was added before
     */
    public WeightLoader permutedHeads(
            String name, int headCount, int rotarySize, PairLayout layout, Parameter parameter) {
        TensorPart whole = TensorPart.whole(file.tensor(name));
        HeadPermutation heads = new HeadPermutation(headCount, rotarySize, Objects.requireNonNull(layout, "layout"));
        heads.requireFits(whole);
        return add(new TableCopy(whole, heads, parameter));
    }

    /**
     * Adds the tensors of an {@code nn.MultiheadAttention} of PyTorch: {@code in_proj_weight} (3D, D) and
     * {@code out_proj.weight} (D, D), and with biases {@code in_proj_bias} (3D) and {@code out_proj.bias} (D). The file
     * does not have the number of heads, so it is not compared.
     *
     * @param prefix the text before these names in the file, such as {@code layers.0.self_attn.}; may be empty
     * @param block the initialized block to write to, of the module's sizes; owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has other tensors than the block needs: it lacks one, only one of
     *     block and module has biases, or the module was built with {@code kdim}, {@code vdim} or {@code add_bias_kv};
     *     or if a tensor is too small, or one of these tensors or parameters was added before
     */
    public WeightLoader multiheadAttention(String prefix, MultiHeadAttentionBlock block) {
        // every module has this one: if there is none, the message suggests other prefixes
        file.tensor(Objects.requireNonNull(prefix, "prefix") + "out_proj.weight");
        ParameterList results = block.getResultProjection().getDirectParameters();
        List<String> expected = ATTENTION_NAMES.subList(0, 2 * results.size());
        List<String> found = ATTENTION_NAMES.stream()
                .filter(name -> file.getTensors().containsKey(prefix + name))
                .toList();
        Check.that(
                found.equals(expected),
                () -> "the attention " + InvalidFileException.quoted(prefix) + " of " + file.getPath() + " has " + found
                        + ": expected " + expected + "; build the block with optBias as in PyTorch, and the module"
                        + " without kdim, vdim and add_bias_kv");
        List<Linear> projections =
                List.of(block.getQueryProjection(), block.getKeyProjection(), block.getValueProjection());
        long size = block.getEmbeddingSize();
        for (String kind : results.keys()) {
            for (int i = 0; i < projections.size(); i++) {
                Parameter parameter = projections.get(i).getDirectParameters().get(kind);
                rows(prefix + "in_proj_" + kind, i * size, (i + 1) * size, parameter);
            }
            table(prefix + "out_proj." + kind, results.get(kind));
        }
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
        encodings.add(
                new EncodingCheck(unused(TensorPart.whole(file.tensor(name))).tensor(), encoding));
        return this;
    }

    private WeightLoader add(TableCopy copy) {
        Parameter parameter = copy.parameter();
        copy.part().requireExists();
        Check.that(
                tables.stream().noneMatch(table -> table.parameter().getId().equals(parameter.getId())),
                () -> "parameter " + InvalidFileException.quoted(parameter.getName()) + " was given before "
                        + copy.part() + ": expected one tensor for each parameter; add each parameter once");
        unused(copy.part());
        tables.add(copy);
        return this;
    }

    private TensorPart unused(TensorPart part) {
        Check.that(
                parts.add(part),
                () -> part + " were given twice: expected one use of each tensor or of the same part; add each once");
        return part;
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
                !parts.isEmpty(),
                () -> "nothing was added to load from " + file.getPath()
                        + ": expected one or more tensors; add them with table, rows or encodings");
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
