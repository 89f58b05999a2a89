package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.internal.options.WithoutOption;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.Rows;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntToDoubleFunction;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Adds a learned positional encoding to its input: a table of trained vectors, one for each position, as in BERT and
 * GPT-2 and in Vaswani et al., <em>Attention Is All You Need</em> (2017), table 3 row (E).
 *
 * <pre>{@code
 * Block positions = LearnedPositionalEncodingBlock.builder()
 *         .setEmbeddingSize(768)
 *         .optMaxSequenceLength(512)
 *         .build();                       // (B, T, 768) -> the same, T up to 512
 * }</pre>
 *
 * <p>The tokens may be the cells of a grid, row by row, after tokens that belong to no cell, as in Dosovitskiy et al.,
 * <em>An Image is Worth 16x16 Words</em> (2021), section 3.1:
 *
 * <pre>{@code
 * LearnedPositionalEncodingBlock.builder()
 *         .setEmbeddingSize(768)
 *         .optGrid(1, 24, 24)                         // a class token, and 24 x 24 patches
 *         .optInitialEncodings(weights, 14, 14)       // (1, 197, 768), resampled
 *         .build();                                   // (B, 577, 768) -> the same
 * }</pre>
 *
 * <p>For an input with another grid, h by w, pass the forward parameter {@link #GRID_SIZES}. Each forward then
 * resamples the table (FLOAT16 in FLOAT32, with gradients) and copies the resampling weights to the device. Explicit
 * positions are token indices, which include the tokens before the grid; a masked autoencoder passes those of its
 * visible patches. Without explicit positions, a forward throws {@link IllegalArgumentException} unless the number of
 * tokens in and before the grid is the sequence length.
 *
 * <p>Inputs and output are as for {@link PositionalEncodingBlock}, except that explicit positions must be integers.
 * Gradients reach only the rows that were used. DJL cannot save a table of 2 GiB or more (maxSequenceLength · D times
 * the size of a number in bytes).
 *
 * <p>The {@linkplain io.github.djlpositional package description} has the rules for all blocks.
 *
 * @see <a href="https://arxiv.org/abs/1810.04805">BERT: Pre-training of Deep Bidirectional Transformers for Language
 *     Understanding</a>
 * @see <a href="https://arxiv.org/abs/2010.11929">An Image is Worth 16x16 Words: Transformers for Image Recognition at
 *     Scale</a>
 */
public final class LearnedPositionalEncodingBlock
        extends SequenceEncodingBlock<LearnedPositionalEncodingBlock.Options> {

    /**
     * The key of the forward parameter that gives the sizes of the input's grid, a {@link Shape} with one size for each
     * axis. By default, these are the sizes that the block was built with.
     */
    public static final String GRID_SIZES = ForwardParameters.GRID_SIZES;

    /** BERT's standard deviation, its {@code initializer_range}; GPT-2's code has 0.01 for positions. */
    private static final float STANDARD_DEVIATION = 0.02f;

    record Options(
            @Range(min = 1) int embeddingSize,
            @Range(min = 1) Integer maxSequenceLength,
            @Default("true") boolean addToInput,
            @Default("-2") int sequenceAxis,
            TokenGrid grid,
            Boolean prefixEncoded,
            GridResampling resampling,
            @NotSaved SinusoidalEncoding encoding,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate)
            implements Common {

        Options {
            // without a grid, the default is BERT's
            int tokens = grid == null ? 512 : grid.tokens(grid.builtSizes());
            maxSequenceLength = Objects.requireNonNullElse(maxSequenceLength, tokens);
            if (grid == null) {
                Check.that(
                        prefixEncoded == null && resampling == null,
                        "prefixEncoded " + prefixEncoded + " and resampling " + resampling
                                + " without a grid: expected neither; set optGrid(int, int...), or leave them out");
            } else {
                prefixEncoded = Objects.requireNonNullElse(prefixEncoded, true);
                resampling = Objects.requireNonNullElse(resampling, GridResampling.BICUBIC_ANTIALIASED);
                requireOfCells(resampling);
                Check.that(
                        maxSequenceLength == tokens,
                        "maxSequenceLength " + maxSequenceLength + " with a grid: expected " + tokens
                                + ", the number of tokens before and in the grid " + grid.sizes() + "; leave it out");
            }
            requireAxis(sequenceAxis);
            if (encoding != null) {
                requireSize(encoding, embeddingSize);
            }
        }

        static void requireOfCells(GridResampling resampling) {
            Check.that(
                    resampling != GridResampling.GEOMETRIC,
                    "resampling GEOMETRIC: expected a method for cells, such as BICUBIC; GEOMETRIC is for the differences"
                            + " of cells, WindowBiasBlock.resample");
        }
    }

    private final Parameter table;

    /** Creates a block whose table is initialized with these rows; null for random or sinusoidal values. */
    private LearnedPositionalEncodingBlock(Options options, Supplier<Rows> initialEncodings) {
        super(options);
        Supplier<Rows> rows =
                initialEncodings == null && options.encoding != null ? () -> options.encoding : initialEncodings;
        Initializer initializer = rows == null
                ? new NormalInitializer(STANDARD_DEVIATION)
                : (manager, shape, type) -> HostData.computed(manager, manager.getDevice(), shape, type, rows.get());
        int height = options.maxSequenceLength - (isPrefixEncoded() ? 0 : options.grid.prefixTokens());
        table = addParameter("encodings", new Shape(height, options.embeddingSize), initializer);
    }

    @Override
    boolean hasGrid() {
        return options.grid != null;
    }

    private boolean isPrefixEncoded() {
        return options.grid == null || options.prefixEncoded;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes, without initial encodings from an array} */
    public static LearnedPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    int maxSequenceLength() {
        return options.maxSequenceLength;
    }

    /**
     * {@return the trained table: the parameter (maxSequenceLength, D), without the rows of prefix tokens that have no
     * encodings}
     */
    public Parameter getTable() {
        return table;
    }

    @Override
    int limit(long length, PairList<String, Object> params) {
        TokenGrid grid = options.grid;
        Check.that(
                grid != null || params == null || params.get(GRID_SIZES) == null,
                "the forward parameter " + GRID_SIZES
                        + " was given to a block without a grid: expected none; build the block with optGrid(int, int...)");
        if (grid == null) {
            return options.maxSequenceLength;
        }
        int[] sizes = grid.sizes(params);
        grid.requireTokens(length <= grid.tokens(sizes), length, sizes);
        return grid.tokens(sizes);
    }

    @Override
    NDArray encodings(
            NDArray x,
            Positions positions,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params) {
        NDArray values = DataTypes.value(this, table, parameterStore, x, training);
        DataTypes.requireSame(x, values, "learned table");
        NDManager manager = x.getManager();
        NDArray all = options.grid == null ? values : gridEncodings(values, manager, positions, params);
        NDArray explicit = positions.array();
        if (explicit == null) {
            int first = positions.first();
            NDIndex range = NDIndex.sliceAxis(0, first, (long) first + positions.count());
            return all.get(manager, range).expandDims(0);
        }
        Check.that(
                explicit.getDataType().isInteger(),
                () -> "floating-point positions " + explicit.getShape()
                        + " were given to a learned table: expected an integer type; convert them with"
                        + " toType(DataType.INT64, false)");
        return Indices.lookUpOrNaN(explicit, all, manager);
    }

    /** The encodings of all tokens of a grid. */
    private NDArray gridEncodings(
            NDArray values, NDManager manager, Positions positions, PairList<String, Object> params) {
        int[] to = options.grid.sizes(params);
        int length = positions.count();
        options.grid.requireTokens(positions.array() != null || length == options.grid.tokens(to), length, to);
        int prefix = options.grid.prefixTokens();
        int[] from = options.grid.builtSizes();
        if (Arrays.equals(from, to) && isPrefixEncoded()) {
            return values;
        }
        Shape shape = values.getShape();
        int encodedPrefix = isPrefixEncoded() ? prefix : 0;
        NDArray cells = values.get(manager, NDIndex.sliceAxis(0, encodedPrefix, shape.get(0)));
        NDArray resampled = Arrays.equals(from, to) ? cells : resampled(options.resampling, cells, from, to);
        if (prefix == 0) {
            return resampled;
        }
        NDArray first = isPrefixEncoded()
                ? values.get(manager, NDIndex.sliceAxis(0, 0, prefix))
                : manager.zeros(new Shape(prefix, shape.get(1)), values.getDataType(), values.getDevice());
        return first.concat(resampled);
    }

    /** Resamples the cells to another grid: a product with a matrix for each axis, through which gradients pass. */
    static NDArray resampled(GridResampling method, NDArray cells, int[] from, int... to) {
        DataType type = cells.getDataType() == DataType.FLOAT16 ? DataType.FLOAT32 : cells.getDataType();
        NDArray result = Arithmetic.toType(cells, type);
        long outer = 1;
        for (int axis = 0; axis < from.length; axis++) {
            double[][] weights = method.weights(from[axis], to[axis]);
            NDArray matrix = HostData.computed(
                    cells.getManager(),
                    cells.getDevice(),
                    new Shape(1, to[axis], from[axis]),
                    type,
                    Rows.of(from[axis], (row, column) -> weights[(int) row][column]));
            result = matrix.matMul(result.reshape(outer, from[axis], -1));
            outer *= to[axis];
        }
        return Arithmetic.toType(result.reshape(outer, -1), cells.getDataType());
    }

    /** Checks that an array has vectors, (n, size) or (1, n, size). Returns (n, size). */
    static Shape requireVectors(NDArray encodings) {
        Shape shape = encodings.getShape();
        boolean isBatched = shape.dimension() == 3 && shape.get(0) == 1;
        Check.that(
                (shape.dimension() == 2 || isBatched)
                        && shape.size() > 0
                        && DataTypes.isEmbedding(encodings.getDataType()),
                () -> "initial encodings of shape " + shape + " and data type " + encodings.getDataType()
                        + ": expected (n, D) or (1, n, D) of float16, float32 or float64; pass one vector for each"
                        + " position");
        return shape.slice(shape.dimension() - 2);
    }

    /** Builds a {@link LearnedPositionalEncodingBlock}. */
    public static final class Builder extends TableBuilder<LearnedPositionalEncodingBlock, Builder> {

        /** The vectors by the index of a number, row-major; null for none. */
        private IntToDoubleFunction initialEncodings;

        private int initialCount;
        private int initialWidth;
        private int[] initialGrid = {};

        private Builder() {
            super(Options.class, options -> new LearnedPositionalEncodingBlock(options, null));
        }

        /**
         * Treats the sequence as {@code prefixTokens} tokens before a grid, 0 or more, such as a class token and
         * registers, followed by the cells of the grid, row by row (default: positions on one axis). A grid has one to
         * three sizes of at least 1, such as height and width in patches. The total number of tokens is the maximum
         * sequence length.
         */
        public Builder optGrid(int prefixTokens, int... sizes) {
            return set("grid", new TokenGrid(prefixTokens, sizes));
        }

        /**
         * Sets whether the tokens before the grid have encodings of their own, the first rows of the table (default:
         * true); timm calls the opposite {@code no_embed_class}.
         */
        public Builder optPrefixEncoded(boolean prefixEncoded) {
            return set("prefixEncoded", prefixEncoded);
        }

        /**
         * Sets how the table of a grid is resampled for another grid (default:
         * {@link GridResampling#BICUBIC_ANTIALIASED}), or how the initial encodings of a sequence are resampled to the
         * maximum sequence length (default: they must have this length); not {@link GridResampling#GEOMETRIC}.
         */
        public Builder optResampling(GridResampling resampling) {
            return set("resampling", resampling);
        }

        /**
         * Initializes the table with copies of vectors, for example from another model. The vectors of a sequence need
         * {@link #optResampling} if their number is not the maximum sequence length. The vectors of another grid are
         * always resampled, in double; the rows of prefix tokens are not.
         *
         * @param encodings (n, D) or (1, n, D), n at least 1, FLOAT16, FLOAT32 or FLOAT64; the caller closes it
         * @param grid the grid sizes of these vectors; empty for the grid of the block
         */
        @WithoutOption
        public Builder optInitialEncodings(NDArray encodings, int... grid) {
            Check.notNull("initialEncodings", encodings, "an array of vectors");
            Check.notNull("grid", grid, "the sizes of the grid, or none");
            Shape shape = requireVectors(encodings);
            initialWidth = Math.toIntExact(shape.get(1));
            initialCount = Math.toIntExact(shape.get(0));
            initialEncodings = HostData.copied(encodings);
            initialGrid = grid.clone();
            return this;
        }

        @Override
        public LearnedPositionalEncodingBlock build() {
            if (initialEncodings == null) {
                return super.build();
            }
            Map<String, Object> all = new HashMap<>(options());
            if (!all.containsKey("grid")) {
                all.remove("resampling"); // for the initial encodings only
                all.putIfAbsent("maxSequenceLength", initialCount);
            }
            Options options = Settings.create(Options.class, all);
            Check.that(
                    options.encoding == null && initialWidth == options.embeddingSize,
                    () -> "initial encodings of size " + initialWidth + " were set with embeddingSize "
                            + options.embeddingSize + " and " + (options.encoding == null ? "no" : "an")
                            + " encoding: expected the same size and no encoding; use the same size, and set either"
                            + " initial encodings or an encoding"
                            + (options.encoding == null ? "" : "; encoding: " + options.encoding));
            return new LearnedPositionalEncodingBlock(options, initialRows(options));
        }

        /** The rows of the table, which are resampled whenever it is initialized: the block keeps the given vectors. */
        private Supplier<Rows> initialRows(Options options) {
            IntToDoubleFunction given = initialEncodings;
            int width = initialWidth;
            int vectors = initialCount;
            if (options.grid == null) {
                Check.that(
                        initialGrid.length == 0,
                        () -> "initial encodings of the grid " + Arrays.toString(initialGrid)
                                + " for a block without a grid: expected no grid; build the block with optGrid(int, int...)");
                GridResampling resampling = (GridResampling) options().get("resampling");
                Options.requireOfCells(resampling);
                Check.that(
                        vectors == options.maxSequenceLength || resampling != null,
                        () -> vectors + " initial encodings with maxSequenceLength " + options.maxSequenceLength
                                + ": expected one for each position; leave the length out, or resample them with"
                                + " optResampling(GridResampling)");
                int[] from = {vectors};
                int[] to = {options.maxSequenceLength};
                return resampling == null
                        ? () -> Rows.of(width, (row, column) -> given.applyAsDouble(((int) row) * width + column))
                        : () -> Rows.of(width, resampling.resample(doubles(given, 0, vectors * width), from, to));
            }
            int[] to = options.grid.builtSizes();
            int[] from = initialGrid.length == 0 ? to : initialGrid;
            int prefix = options.prefixEncoded ? options.grid.prefixTokens() : 0;
            long cellCount = IntStream.of(from).asLongStream().reduce(1, (product, size) -> product * size);
            Check.that(
                    prefix + cellCount == vectors,
                    () -> vectors + " initial encodings for " + prefix + " tokens before the grid "
                            + Arrays.toString(from) + ": expected " + (prefix + cellCount)
                            + "; pass the sizes of their grid, and optPrefixEncoded(false) if the first tokens have"
                            + " none");
            Check.that(
                    from.length == to.length && IntStream.of(from).allMatch(size -> size > 0),
                    () -> "initial encodings of the grid " + Arrays.toString(from) + " for the grid "
                            + Arrays.toString(to) + ": expected sizes of at least 1 on as many axes; pass the sizes of"
                            + " their grid");
            int first = prefix * width;
            return () -> {
                double[] cells = options.resampling.resample(doubles(given, first, vectors * width), from, to);
                return Rows.of(
                        width,
                        DoubleStream.concat(Arrays.stream(doubles(given, 0, first)), Arrays.stream(cells))
                                .toArray());
            };
        }

        private static double[] doubles(IntToDoubleFunction values, int from, int to) {
            return IntStream.range(from, to).mapToDouble(values).toArray();
        }
    }
}
