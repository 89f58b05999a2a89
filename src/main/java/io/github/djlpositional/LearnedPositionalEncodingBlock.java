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
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.ModelFile.NotCompared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
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
 * <p>An input of another grid, h by w, has the forward parameter {@link #GRID_SIZES}. Each forward then resamples the
 * table, FLOAT16 in FLOAT32, with gradients, and copies the weights of the resampling to the device. Explicit positions
 * count the tokens of the grid; a masked autoencoder gives the positions of the patches that it sees. Without them, a
 * forward throws {@link IllegalArgumentException} for another number of tokens than the grid's.
 *
 * <p>Inputs, output and errors are those of {@link PositionalEncodingBlock}, with two differences: explicit positions
 * must be integers, and x must have the data type of the table. Gradients reach only the rows that were used. A forward
 * throws {@link ai.djl.nn.UninitializedParameterException} in inference if the block was neither initialized nor
 * loaded.
 *
 * <p>DJL cannot save a table of 2 GiB or more (maxSequenceLength · D times the bytes of a number).
 *
 * <p>B batch, T sequence length, D embedding size.
 *
 * @see <a href="https://arxiv.org/abs/1810.04805">BERT: Pre-training of Deep Bidirectional Transformers for Language
 *     Understanding</a>
 * @see <a href="https://arxiv.org/abs/2010.11929">An Image is Worth 16x16 Words: Transformers for Image Recognition at
 *     Scale</a>
 */
public final class LearnedPositionalEncodingBlock
        extends SequenceEncodingBlock<LearnedPositionalEncodingBlock.Settings> {

    /**
     * The key of the forward parameter that gives the sizes of the input's grid, a {@link Shape} with one size for each
     * axis. By default they are those that the block was built with.
     */
    public static final String GRID_SIZES = Positions.GRID_SIZES;

    /** BERT's standard deviation, its {@code initializer_range}; GPT-2's code has 0.01 for positions. */
    private static final float STANDARD_DEVIATION = 0.02f;

    record Settings(
            int embeddingSize,
            Integer maxSequenceLength,
            Boolean addToInput,
            Integer sequenceAxis,
            TokenGrid grid,
            Boolean prefixEncoded,
            GridResampling resampling,
            @NotCompared SinusoidalEncoding encoding,
            @NotCompared Float dropoutRate)
            implements Common {

        Settings {
            // without a grid, the default is BERT's
            int tokens = grid == null ? 512 : grid.tokens(grid.builtSizes());
            maxSequenceLength = Objects.requireNonNullElse(maxSequenceLength, tokens);
            if (grid == null) {
                Check.that(
                        prefixEncoded == null && resampling == null,
                        "prefixEncoded " + prefixEncoded + " and resampling " + resampling
                                + " without a grid: expected none; set optGrid(int, int...), or leave them out");
            } else {
                prefixEncoded = Objects.requireNonNullElse(prefixEncoded, true);
                resampling = Objects.requireNonNullElse(resampling, GridResampling.BICUBIC_ANTIALIASED);
                Check.that(
                        maxSequenceLength == tokens,
                        "maxSequenceLength " + maxSequenceLength + " with " + grid + ": expected " + tokens
                                + "; leave it out");
            }
            addToInput = Objects.requireNonNullElse(addToInput, true);
            sequenceAxis = Objects.requireNonNullElse(sequenceAxis, DEFAULT_AXIS);
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            check(embeddingSize, sequenceAxis, dropoutRate);
            Check.positive("maxSequenceLength", maxSequenceLength);
            if (encoding != null) {
                requireSize(encoding, embeddingSize);
            }
        }
    }

    private final Parameter table;

    /** Creates a block whose table begins with the values of all rows, or null for random or sinusoidal ones. */
    private LearnedPositionalEncodingBlock(Settings settings, double[] initialEncodings) {
        super(settings);
        HostData.Rows rows = initialEncodings != null
                ? rows(initialEncodings, settings.embeddingSize)
                : settings.encoding != null
                        ? new Positions.Computed(settings.encoding::write, settings.embeddingSize)
                        : null;
        Initializer initializer = rows == null
                ? new NormalInitializer(STANDARD_DEVIATION)
                : (manager, shape, type) -> HostData.computed(manager, manager.getDevice(), shape, type, rows);
        int height = settings.maxSequenceLength - (isPrefixEncoded() ? 0 : settings.grid.prefixTokens());
        table = addParameter("encodings", new Shape(height, settings.embeddingSize), initializer);
    }

    private static HostData.Rows rows(double[] values, int width) {
        return HostData.Rows.of(width, (row, column) -> values[row * width + column]);
    }

    private boolean isPrefixEncoded() {
        return settings.grid == null || settings.prefixEncoded;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values; initial
     *     encodings that were given as an array are not plain values, and are not among them
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static LearnedPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return new LearnedPositionalEncodingBlock(Records.read(Settings.class, arguments), null);
    }

    @Override
    public int getMaxSequenceLength() {
        return settings.maxSequenceLength;
    }

    /**
     * {@return the trained table: the parameter (maxSequenceLength, D), without the rows of prefix tokens that have no
     * encodings, in the model's data type; it belongs to this block}
     */
    public Parameter getTable() {
        return table;
    }

    @Override
    int limit(long length, PairList<String, Object> params) {
        TokenGrid grid = settings.grid;
        Check.that(
                grid != null || params == null || params.get(GRID_SIZES) == null,
                "the forward parameter " + GRID_SIZES
                        + " was given to a block without a grid: expected none; build the block with optGrid(int, int...)");
        if (grid == null) {
            return settings.maxSequenceLength;
        }
        int[] sizes = grid.sizes(params);
        grid.requireTokens(length <= grid.tokens(sizes), length, sizes);
        return grid.tokens(sizes);
    }

    @Override
    NDArray encodings(
            Temporaries temporaries,
            NDArray x,
            Positions positions,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params) {
        NDArray values = DataTypes.value(this, table, parameterStore, x, training);
        DataTypes.requireSame(x, values, "learned table");
        NDManager manager = x.getManager();
        NDArray all = settings.grid == null ? values : ofGrid(temporaries, values, manager, positions, params);
        NDArray explicit = positions.positions();
        if (explicit == null) {
            int first = positions.first();
            NDIndex range = NDIndex.sliceAxis(0, first, (long) first + positions.length());
            return temporaries.add(temporaries.add(all.get(manager, range)).expandDims(0));
        }
        Check.that(
                explicit.getDataType().isInteger(),
                () -> "real positions " + explicit.getShape()
                        + " were given to a learned table: expected an integer type; convert them with"
                        + " toType(DataType.INT64, false)");
        return temporaries.add(Indices.lookUpGiven(explicit, all, manager));
    }

    /** The encodings of all tokens of a grid. */
    private NDArray ofGrid(
            Temporaries temporaries,
            NDArray values,
            NDManager manager,
            Positions positions,
            PairList<String, Object> params) {
        int[] to = settings.grid.sizes(params);
        int length = positions.length();
        settings.grid.requireTokens(positions.positions() != null || length == settings.grid.tokens(to), length, to);
        int prefix = settings.grid.prefixTokens();
        int[] from = settings.grid.builtSizes();
        if (Arrays.equals(from, to) && isPrefixEncoded()) {
            return values;
        }
        Shape shape = values.getShape();
        int encoded = isPrefixEncoded() ? prefix : 0;
        NDArray cells = temporaries.add(values.get(manager, NDIndex.sliceAxis(0, encoded, shape.get(0))));
        NDArray resampled = Arrays.equals(from, to) ? cells : resampled(temporaries, cells, from, to);
        if (prefix == 0) {
            return resampled;
        }
        NDArray first = temporaries.add(
                isPrefixEncoded()
                        ? values.get(manager, NDIndex.sliceAxis(0, 0, prefix))
                        : manager.zeros(new Shape(prefix, shape.get(1)), values.getDataType(), values.getDevice()));
        return temporaries.add(first.concat(resampled));
    }

    /** The cells of another grid, by one product for each axis: {@link GridResampling} for the values of a forward. */
    private NDArray resampled(Temporaries temporaries, NDArray cells, int[] from, int... to) {
        DataType type = cells.getDataType() == DataType.FLOAT16 ? DataType.FLOAT32 : cells.getDataType();
        NDArray result = temporaries.addUnless(cells, Arithmetic.toType(cells, type));
        long outer = 1;
        for (int axis = 0; axis < from.length; axis++) {
            double[] weights = Arrays.stream(settings.resampling.weights(from[axis], to[axis]))
                    .flatMapToDouble(Arrays::stream)
                    .toArray();
            NDArray matrix = temporaries.add(HostData.computed(
                    cells.getManager(),
                    cells.getDevice(),
                    new Shape(1, to[axis], from[axis]),
                    type,
                    rows(weights, weights.length)));
            NDArray split = temporaries.add(result.reshape(outer, from[axis], -1));
            result = temporaries.add(matrix.matMul(split));
            outer *= to[axis];
        }
        NDArray rows = temporaries.add(result.reshape(outer, -1));
        return temporaries.addUnless(rows, Arithmetic.toType(rows, cells.getDataType()));
    }

    /** Builds a {@link LearnedPositionalEncodingBlock}. */
    public static final class Builder extends BaseBuilder<LearnedPositionalEncodingBlock, Builder> {

        private double[] initialEncodings;
        private int initialWidth;
        private int[] initialGrid = {};

        private Builder() {
            super(Settings.class, settings -> new LearnedPositionalEncodingBlock(settings, null));
        }

        /**
         * Lets the sequence be tokens without a place, followed by the cells of a grid, row by row. Their number is the
         * maximum sequence length. By default, positions are on one axis.
         *
         * @param prefixTokens the number of tokens before the grid, such as a class token and registers, 0 or more
         * @param sizes one to three sizes, for example height and width in patches; each at least 1
         * @return this builder
         */
        public Builder optGrid(int prefixTokens, int... sizes) {
            return set("grid", new TokenGrid(prefixTokens, sizes));
        }

        /**
         * Sets whether the tokens before the grid have encodings of their own, the first rows of the table (default:
         * true). timm calls the opposite {@code no_embed_class}.
         *
         * @param prefixEncoded false if nothing is added to these tokens
         * @return this builder
         */
        public Builder optPrefixEncoded(boolean prefixEncoded) {
            return set("prefixEncoded", prefixEncoded);
        }

        /**
         * Sets how the table of a grid is resampled for another grid (default:
         * {@link GridResampling#BICUBIC_ANTIALIASED}), or how the initial encodings of a sequence are resampled to the
         * maximum sequence length (default: they must have this length).
         *
         * @param resampling the method
         * @return this builder
         */
        public Builder optResampling(GridResampling resampling) {
            return set("resampling", resampling);
        }

        /**
         * Initializes the table with vectors, for example from another model. Those of a sequence need
         * {@link #optResampling} if their number is not the maximum sequence length. Those of another grid are always
         * resampled, in double; the rows of prefix tokens are kept.
         *
         * @param encodings (n, D) or (1, n, D), n at least 1, FLOAT16, FLOAT32 or FLOAT64; the caller's, copied here
         * @param grid the sizes of the grid of these vectors; none for that of the block
         * @return this builder
         * @throws IllegalArgumentException if the array has another rank or data type, or is empty
         */
        @WithoutOption
        public Builder optInitialEncodings(NDArray encodings, int... grid) {
            Shape shape = encodings.getShape();
            boolean isBatched = shape.dimension() == 3 && shape.get(0) == 1;
            Check.that(
                    (shape.dimension() == 2 || isBatched)
                            && shape.size() > 0
                            && DataTypes.isEmbedding(encodings.getDataType()),
                    () -> "initial encodings of shape " + shape + " and data type " + encodings.getDataType()
                            + ": expected (n, D) or (1, n, D) of float16, float32 or float64; give one vector for each"
                            + " position");
            initialWidth = Math.toIntExact(shape.get(shape.dimension() - 1));
            initialEncodings = HostData.doubles(encodings);
            initialGrid = grid.clone();
            return this;
        }

        /**
         * {@inheritDoc}
         *
         * @throws IllegalArgumentException if an option is out of range, or the initial encodings have another size or
         *     another number than their grid or sequence, or are given twice
         */
        @Override
        public LearnedPositionalEncodingBlock build() {
            if (initialEncodings == null) {
                return super.build();
            }
            Map<String, Object> all = new HashMap<>(options());
            if (!all.containsKey("grid")) {
                all.remove("resampling"); // only of the initial encodings
                all.putIfAbsent("maxSequenceLength", initialEncodings.length / initialWidth);
            }
            Settings settings = Records.create(Settings.class, all);
            Check.that(
                    settings.encoding == null && initialWidth == settings.embeddingSize,
                    () -> "initial encodings of size " + initialWidth + " were given with embeddingSize "
                            + settings.embeddingSize + " and encoding " + settings.encoding
                            + ": expected the same size and no encoding; give both the same size, and one of both");
            return new LearnedPositionalEncodingBlock(settings, resampled(settings));
        }

        private double[] resampled(Settings settings) {
            int vectors = initialEncodings.length / initialWidth;
            if (settings.grid == null) {
                Check.that(
                        initialGrid.length == 0,
                        () -> "initial encodings of the grid " + Arrays.toString(initialGrid)
                                + " for a block without a grid: expected no grid; build the block with optGrid(int, int...)");
                GridResampling resampling = (GridResampling) options().get("resampling");
                Check.that(
                        vectors == settings.maxSequenceLength || resampling != null,
                        () -> vectors + " initial encodings with maxSequenceLength " + settings.maxSequenceLength
                                + ": expected one for each position; leave the length out, or resample them with"
                                + " optResampling(GridResampling)");
                return resampling == null
                        ? initialEncodings
                        : resampling.resample(
                                initialEncodings, new int[] {vectors}, new int[] {settings.maxSequenceLength});
            }
            int[] to = settings.grid.builtSizes();
            int[] from = initialGrid.length == 0 ? to : initialGrid;
            int prefix = settings.prefixEncoded ? settings.grid.prefixTokens() : 0;
            long cells = IntStream.of(from).asLongStream().reduce(1, (product, size) -> product * size);
            Check.that(
                    prefix + cells == vectors,
                    () -> vectors + " initial encodings for " + prefix + " tokens before the grid "
                            + Arrays.toString(from) + ": expected " + (prefix + cells)
                            + "; give the sizes of their grid, and optPrefixEncoded(false) if the first tokens have none");
            int first = prefix * initialWidth;
            double[] ofCells = Arrays.copyOfRange(initialEncodings, first, initialEncodings.length);
            double[] resampled = settings.resampling.resample(ofCells, from, to);
            double[] all = Arrays.copyOf(initialEncodings, first + resampled.length);
            System.arraycopy(resampled, 0, all, first, resampled.length);
            return all;
        }
    }
}
