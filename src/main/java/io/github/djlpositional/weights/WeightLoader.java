package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.ParameterList;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;

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

    /** The names in an {@code nn.MultiheadAttention}: weights, biases, and parameters of forms that are not loaded. */
    private static final List<String> ATTENTION_NAMES = List.of(("in_proj_weight out_proj.weight in_proj_bias"
                    + " out_proj.bias q_proj_weight k_proj_weight v_proj_weight bias_k bias_v")
            .split(" "));

    private final WeightFile file;
    private final List<Copy> copies = new ArrayList<>();
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
        return add(TensorPart.whole(file.tensor(name)), parameter, UnaryOperator.identity());
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
        return add(new TensorPart(file.tensor(name), false, from, to), parameter, UnaryOperator.identity());
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
        return add(new TensorPart(file.tensor(name), true, from, to), parameter, UnaryOperator.identity());
    }

    /**
     * Adds the weight or the bias of a projection of queries or keys, whose rotated dimensions are written in another
     * layout than the file has. Meta's Llama has them {@linkplain PairLayout#INTERLEAVED interleaved}, Hugging Face's
     * {@linkplain PairLayout#CONCATENATED concatenated}; with permuted queries and keys, a rotary encoding of the other
     * layout gives the same scores. Usually the rotary encoding is built with the layout of the file instead, and
     * nothing is permuted. Values and results are never permuted.
     *
     * <p>The tensor has the rows of N heads, and the first r rows of each head change places. To the concatenated
     * layout, this is {@code permute} in Hugging Face's {@code convert_llama_weights_to_hf.py}; to the interleaved
     * layout it is the inverse.
     *
     * @param name the tensor's name in the file
     * @param headCount N, the number of heads of the tensor, which is the number of key heads for keys; a divisor of
     *     its number of rows
     * @param rotarySize r, the number of dimensions of a head that are rotated, from the first; even, from 2 to H
     * @param layout the layout of the rows in the parameter; the file has the other one
     * @param parameter the parameter to write to, (N · H, D) or (N · H), of the tensor's shape; owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, it does not have the rows of such heads, or the
     *     tensor or the parameter was added before
     */
    public WeightLoader permutedHeads(
            String name, int headCount, int rotarySize, PairLayout layout, Parameter parameter) {
        TensorPart whole = TensorPart.whole(file.tensor(name));
        Objects.requireNonNull(layout, "layout");
        Check.positive("headCount", headCount);
        long rowCount = whole.shape().get(0);
        Check.that(
                rowCount > 0 && rowCount % headCount == 0,
                () -> whole + " has " + rowCount + " rows: expected a multiple of headCount " + headCount
                        + "; give the number of heads that it has");
        long headSize = rowCount / headCount;
        Check.that(
                rotarySize >= 2 && rotarySize % 2 == 0 && rotarySize <= headSize,
                () -> "rotarySize " + rotarySize + " of heads of size " + headSize + " in " + whole
                        + ": expected an even number from 2 to the head size; give the rotary size of the model");
        return add(whole, parameter, rows -> permuted(rows, headCount, rotarySize, layout));
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

    private WeightLoader add(TensorPart part, Parameter parameter, UnaryOperator<NDArray> order) {
        Objects.requireNonNull(parameter, "parameter");
        part.requireExists();
        Check.that(
                copies.stream().noneMatch(copy -> copy.parameter().getId().equals(parameter.getId())),
                () -> "parameter " + InvalidFileException.quoted(parameter.getName()) + " was added before " + part
                        + ": expected one tensor for each parameter; add each parameter once");
        copies.add(new Copy(unused(part), parameter, order));
        return this;
    }

    private TensorPart unused(TensorPart part) {
        Check.that(
                parts.add(part),
                () -> part + " were added twice: expected one use of each tensor or of the same part; add each once");
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
        copies.forEach(Copy::requireFits);
        encodings.forEach(EncodingCheck::requireTable);
        file.requireUnchanged();
        for (EncodingCheck check : encodings) {
            check.requireValues();
        }
        try (NDManager staging = copies.isEmpty() ? null : copies.get(0).newStaging()) {
            List<Runnable> writes = new ArrayList<>();
            for (Copy copy : copies) {
                writes.add(copy.read(staging));
            }
            file.requireUnchanged();
            writes.forEach(Runnable::run);
        }
    }

    /** Rows for a parameter, which are read completely before any of them is written. */
    private record Copy(TensorPart part, Parameter parameter, UnaryOperator<NDArray> order) {

        /** Checks that the parameter has an array of the part's shape, and of a type as wide or wider. */
        void requireFits() {
            StoredTensor tensor = part.tensor();
            String target = "parameter " + InvalidFileException.quoted(parameter.getName()) + " for " + part;
            Check.that(
                    parameter.isInitialized() && !parameter.getArray().isReleased(),
                    () -> target + " has no array: expected an initialized parameter; initialize its block first");
            NDArray array = parameter.getArray();
            DataTypes.requireEmbedding(array, target);
            DataType type = array.getDataType();
            boolean hasType = tensor.type() != null && tensor.type().fitsInto(type);
            Check.that(
                    hasType && tensor.shape().dimension() > 0 && part.shape().equals(array.getShape()),
                    () -> target + " of shape " + array.getShape() + " and type " + type + " has type "
                            + InvalidFileException.quoted(tensor.typeName()) + " and shape " + part.shape()
                            + ": expected the parameter's type or a narrower float, its shape, and at least one axis;"
                            + " convert the tensor where the file is created, build the block with the tensor's sizes"
                            + " and a wider type, or give other rows or another name");
        }

        NDManager newStaging() {
            return parameter.getArray().getManager().newSubManager(Device.cpu());
        }

        /** Reads the rows into an array of a manager on the CPU, and returns the action that writes the parameter. */
        Runnable read(NDManager staging) throws IOException, MalformedModelException {
            NDArray target = parameter.getArray();
            if (target.size() == 0) {
                return () -> {};
            }
            NDArray rows = order.apply(part.read(staging, target.getDataType()));
            return () -> write(rows);
        }

        /**
         * Writes rows into the parameter's array, which stays the same array. PyTorch rejects writing in place to an
         * array that gradients are recorded for; so recording is switched off in the meantime.
         */
        private void write(NDArray rows) {
            NDArray target = parameter.getArray();
            boolean hadGradient = target.hasGradient();
            if (hadGradient) {
                target.setRequiresGradient(false);
            }
            try {
                target.set(NDIndex.sliceAxis(0, 0, rows.getShape().get(0)), rows);
            } finally {
                if (hadGradient) {
                    target.setRequiresGradient(true);
                }
            }
        }
    }

    /** Returns the permuted rows, (N · H, …), and closes the rows of the file. */
    private static NDArray permuted(NDArray rows, int headCount, int rotarySize, PairLayout layout) {
        Shape shape = rows.getShape();
        long headSize = shape.get(0) / headCount;
        long width = shape.size() / shape.get(0);
        boolean isConcatenated = layout == PairLayout.CONCATENATED;
        long pairs = rotarySize / 2L;
        try (rows) {
            return Temporaries.result(() -> {
                NDArray heads = rows.reshape(headCount, headSize, width);
                NDArray rotated = heads.get(NDIndex.sliceAxis(1, 0, rotarySize))
                        .reshape(headCount, isConcatenated ? pairs : 2, isConcatenated ? 2 : pairs, width)
                        .transpose(0, 2, 1, 3)
                        .reshape(headCount, rotarySize, width);
                NDArray others = heads.get(NDIndex.sliceAxis(1, rotarySize, headSize));
                NDArray all = rotarySize == headSize ? rotated : NDArrays.concat(new NDList(rotated, others), 1);
                return all.reshape(shape);
            });
        }
    }

    /** Compares a saved sinusoidal table with the exact one. */
    private record EncodingCheck(StoredTensor tensor, SinusoidalEncoding encoding) {

        private static final int VALUES_AT_ONCE = 1 << 16;

        /** Checks that the tensor is a table of real numbers of the encoding's size. */
        void requireTable() {
            Check.that(
                    tensor.type() != null && tensor.type().isReal(),
                    () -> tensor + " has type " + InvalidFileException.quoted(tensor.typeName())
                            + ": expected F16, BF16, F32 or F64; give the name of a sinusoidal table");
            Shape shape = tensor.shape();
            int width = encoding.getEmbeddingSize();
            int rank = shape.dimension();
            boolean isTable = rank == 2 || (rank == 3 && (shape.get(0) == 1 || shape.get(1) == 1));
            Check.that(
                    isTable && shape.get(rank - 1) == width && shape.size() > 0,
                    () -> tensor + " has shape " + shape + ": expected (n, " + width + "), (1, n, " + width
                            + ") or (n, 1, " + width + ") for " + encoding
                            + "; give the name of a sinusoidal table, or an encoding of its size");
        }

        /** Checks that the tensor has the encoding's values from position 0. */
        void requireValues() throws IOException, MalformedModelException {
            tensor.read(0, tensor.shape().size(), VALUES_AT_ONCE, (first, count, raw) -> {
                for (int i = 0; i < count; i++) {
                    requireValue(first + i, tensor.type().get(raw, i));
                }
            });
        }

        private void requireValue(long index, double found) {
            int width = encoding.getEmbeddingSize();
            long height = tensor.shape().size() / width;
            long position = tensor.isColumnMajor() ? index % height : index / width;
            int dimension = (int) (tensor.isColumnMajor() ? index / height : index % width);
            double expected = encoding.value((double) position, dimension);
            // also false for NaN
            if (!(Math.abs(found - expected) <= tolerance(position, dimension))) {
                throw new IllegalArgumentException(
                        tensor + " has " + found + " at position " + position
                                + ", dimension " + dimension + ": expected " + expected + " as in " + encoding
                                + ", within the error of float arithmetic; give the encoding of the tensor, or load it as a learned table");
            }
        }

        /**
         * Returns the greatest error of published code that computes sin(p·θ) or cos(p·θ) in {@code float} on a CPU,
         * where each rounding has a relative error of up to 2⁻²⁴:
         *
         * <ul>
         *   <li>θ = exp(k · c), as in PyTorch's tutorial and tensor2tensor: c and k · c are rounded, so θ has a
         *       relative error of |ln θ| · 2⁻²³; exp itself adds up to one ulp, 2⁻²³. θ = 1 / base^(2k/d) has a smaller
         *       error. If frequencies are multiplied by a factor, as in diffusion models, the exponent is of θ / θ₀,
         *       where θ₀ is the first frequency: the greater of the two counts.
         *   <li>p · θ is rounded, 2⁻²⁴ more. So the error of the angle is up to p·θ · (|ln θ| · 2⁻²³ + 2⁻²²), and so is
         *       the error of the sine, whose slope is 1 at most.
         *   <li>The sine itself adds up to one ulp, 2⁻²⁴ below 1; storing it adds half an ulp of the stored type.
         * </ul>
         */
        private double tolerance(long position, int dimension) {
            double rounding = 0x1p-24 + tensor.type().halfUlp();
            double frequency = Math.abs(encoding.frequency(dimension));
            double first = Math.abs(encoding.frequency(0));
            if (frequency == 0) {
                return rounding;
            }
            double unscaled = first == 0 ? 0 : Math.abs(Math.log(frequency / first));
            double exponent = Math.max(Math.abs(Math.log(frequency)), unscaled);
            return position * frequency * (exponent * 0x1p-23 + 0x1p-22) + rounding;
        }
    }
}
