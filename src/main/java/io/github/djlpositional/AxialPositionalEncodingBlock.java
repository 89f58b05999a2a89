package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;

/**
 * Adds a learned positional encoding with a table for each axis: the vectors of a token's coordinates are added, or
 * concatenated. The tables of a grid of 64 by 64 cells have 128 rows, where a {@link LearnedPositionalEncodingBlock}
 * has 4096. NaViT (Dehghani et al., <em>Patch n' Pack</em>, 2023) calls such encodings factorized, and Reformer (Kitaev
 * et al., 2020) axial.
 *
 * <pre>{@code
 * Block positions = AxialPositionalEncodingBlock.builder()
 *         .setEmbeddingSize(768)
 *         .setAxes(14, 14)                // tables of rows and of columns
 *         .build();                       // (B, 14 * 14, 768) -> the same
 * }</pre>
 *
 * <table>
 * <caption>Published models</caption>
 * <tr><th>model</th><th>options</th></tr>
 * <tr><td>timm's NaFlexViT, {@code factorized}</td><td>{@code setAxes(24, 24)}, {@code optResampling(BILINEAR)}; for
 *     {@code pos_embed_ar_preserving}, {@code optAspectRatioKept(true)}</td></tr>
 * <tr><td>Pix2Struct, Gemma 4's vision tower</td><td>{@code setAxes(4096, 4096)}, positions</td></tr>
 * <tr><td>DETR, learned</td><td>{@code setAxes(50, 50)}, {@code optConcatenated(128, 128)}, {@code optOrder(1,
 *     0)}</td></tr>
 * <tr><td>Reformer</td><td>{@code setAxes(512, 1024)}, {@code optConcatenated(256, 768)},
 *     {@code optSequence(true)}</td></tr>
 * <tr><td>LayoutLM: left, top, right, bottom, height and width of a box</td><td>{@code setAxes(1024, 1024, 1024, 1024,
 *     1024, 1024)}, {@code optTables(0, 1, 0, 1, 2, 3)}, positions; LayoutLMv3 also {@code optConcatenated(128, 128,
 *     128, 128, 128, 128)}</td></tr>
 * </table>
 *
 * <h2>Positions</h2>
 *
 * <ul>
 *   <li>Without explicit positions, the tokens are the cells of a grid, row by row, after the
 *       {@linkplain Builder#optPrefixTokens prefix tokens}. The sizes of the grid are those of the axes, or the forward
 *       parameter {@link #GRID_SIZES}: the first rows of each table, unless {@link Builder#optResampling} resamples it.
 *   <li>Explicit positions (axes, B, T) or (axes, 1, T), of an integer type, are the coordinates of each token, none of
 *       which is a prefix token.
 *   <li>Explicit positions (T) or (B, T) are the indices of tokens in such a sequence, including prefix tokens.
 * </ul>
 *
 * If several axes share a table, there is no grid: pass the coordinates.
 *
 * <p>Inputs and output are otherwise as for {@link PositionalEncodingBlock}. A table is resampled in each forward that
 * needs it (FLOAT16 in FLOAT32, with gradients). Gradients reach only the rows that were used.
 *
 * <p>The {@linkplain io.github.djlpositional package description} has the rules for all blocks.
 *
 * @see <a href="https://arxiv.org/abs/2307.06304">Patch n' Pack: NaViT, a Vision Transformer for any Aspect Ratio and
 *     Resolution</a>
 * @see <a href="https://arxiv.org/abs/2001.04451">Reformer: The Efficient Transformer</a>
 * @see <a href="https://arxiv.org/abs/1912.13318">LayoutLM: Pre-training of Text and Layout for Document Image
 *     Understanding</a>
 * @see <a href="https://arxiv.org/abs/2210.03347">Pix2Struct: Screenshot Parsing as Pretraining for Visual Language
 *     Understanding</a>
 */
public final class AxialPositionalEncodingBlock extends SequenceEncodingBlock<AxialPositionalEncodingBlock.Options> {

    /**
     * The key of the forward parameter that gives the sizes of the input's grid, a {@link Shape} with one size for each
     * axis. By default, these are the sizes of the axes.
     */
    public static final String GRID_SIZES = ForwardParameters.GRID_SIZES;

    private static final int MAX_AXES = 16;

    /** The {@code initializer_range} of BERT and LayoutLM, also in timm. */
    private static final float STANDARD_DEVIATION = 0.02f;

    record Options(
            @Range(min = 1) int embeddingSize,

            @Range(min = 1, max = ForwardParameters.UNLIMITED)
            List<Integer> axes,

            @Range(min = 0) List<Integer> tables,
            @Range(min = 1) List<Integer> concatenated,
            @Range(min = 0) List<Integer> order,

            @Default("0") @Range(min = 0, max = ForwardParameters.UNLIMITED)
            int prefixTokens,

            @Default("false") boolean sequence,
            GridResampling resampling,
            @Default("false") boolean aspectRatioKept,
            @Default("true") boolean addToInput,
            @Default("-2") int sequenceAxis,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate)
            implements Common {

        Options {
            axes = List.copyOf(Check.present("axes", axes));
            int count = axes.size();
            Check.between("number of axes", count, 1, MAX_AXES);
            tables = tables == null ? null : List.copyOf(tables);
            concatenated = concatenated == null ? null : List.copyOf(concatenated);
            order = order == null ? null : List.copyOf(order);
            Check.that(
                    concatenated == null || (concatenated.size() == count && sum(concatenated) == embeddingSize),
                    "concatenated " + concatenated + " with embeddingSize " + embeddingSize + ": expected " + count
                            + " sizes, one for each axis, with the sum " + embeddingSize + "; correct the sizes");
            Check.that(
                    order == null
                            || (concatenated != null
                                    && order.stream().sorted().toList().equals(upTo(count))),
                    "order " + order + " with concatenated " + concatenated + ": expected each of " + count
                            + " axes once, counted from 0, and concatenated vectors; correct the order, or leave it out");
            requireTables(axes, tables, concatenated);
            Check.that(
                    !isShared(tables) || (prefixTokens == 0 && !sequence && resampling == null),
                    "tables " + tables + " with prefixTokens " + prefixTokens + ", sequence " + sequence
                            + " and resampling " + resampling + ": expected none of these, since tables that axes share"
                            + " have no grid; leave them out");
            Check.that(
                    !sequence || resampling == null,
                    "resampling " + resampling
                            + " of a sequence: expected none; leave optResampling or optSequence out");
            Check.that(
                    !aspectRatioKept || resampling != null,
                    "aspectRatioKept true without resampling: expected both; set optResampling, or leave it out");
            LearnedPositionalEncodingBlock.Options.requireOfCells(resampling);
            requireAxis(sequenceAxis);
        }

        private static long sum(List<Integer> sizes) {
            return sizes.stream().mapToLong(size -> size).sum();
        }

        private static List<Integer> upTo(int count) {
            return IntStream.range(0, count).boxed().toList();
        }

        /** Tables are counted from 0 in the order of their first axes; axes that share one have the same sizes. */
        private static void requireTables(List<Integer> axes, List<Integer> tables, List<Integer> concatenated) {
            if (tables == null) {
                return;
            }
            int found = 0;
            boolean fits = tables.size() == axes.size();
            for (int axis = 0; fits && axis < axes.size(); axis++) {
                int first = tables.indexOf(tables.get(axis));
                fits = tables.get(axis) == (first == axis ? found++ : tables.get(first))
                        && axes.get(axis).equals(axes.get(first))
                        && (concatenated == null || concatenated.get(axis).equals(concatenated.get(first)));
            }
            Check.that(
                    fits,
                    "tables " + tables + " for axes " + axes + " and concatenated " + concatenated
                            + ": expected one number for each axis, counted from 0 in the order of the axes, and the"
                            + " same sizes for axes with the same table; correct the numbers or the sizes");
        }

        private static boolean isShared(List<Integer> tables) {
            return tables != null && tables.stream().distinct().count() < tables.size();
        }

        int table(int axis) {
            return tables == null ? axis : tables.get(axis);
        }

        int tableCount() {
            return 1 + IntStream.range(0, axes.size()).map(this::table).max().orElseThrow();
        }

        /** The first axis with a table. */
        int axisOf(int table) {
            return tables == null ? table : tables.indexOf(table);
        }

        int width(int axis) {
            return concatenated == null ? embeddingSize : concatenated.get(axis);
        }

        /** Whether a token has a place in a grid without coordinates. */
        boolean hasGrid() {
            double cells = axes.stream().mapToDouble(size -> size).reduce(1, (product, size) -> product * size);
            return !isShared(tables) && cells + prefixTokens <= ForwardParameters.UNLIMITED;
        }

        int[] sizes() {
            return axes.stream().mapToInt(size -> size).toArray();
        }
    }

    /** The tables, (rows, size). */
    private final List<Parameter> tables = new ArrayList<>();

    private AxialPositionalEncodingBlock(Options options, List<Initializer> initializers) {
        super(options);
        for (int table = 0; table < options.tableCount(); table++) {
            int axis = options.axisOf(table);
            tables.add(addParameter(
                    "table" + table,
                    new Shape(options.axes.get(axis), options.width(axis)),
                    initializers.isEmpty() ? new NormalInitializer(STANDARD_DEVIATION) : initializers.get(table)));
        }
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes, without initial encodings} */
    public static AxialPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /**
     * {@return the trained tables, parameters (n, size) of the axes, in their order; size is D, or that of the axis in
     * the concatenation; unmodifiable}
     */
    public List<Parameter> getTables() {
        return Collections.unmodifiableList(tables);
    }

    @Override
    boolean hasGrid() {
        return options.hasGrid() && !options.sequence;
    }

    @Override
    int maxSequenceLength() {
        return options.hasGrid() ? tokens(options.sizes()) : ForwardParameters.UNLIMITED;
    }

    private int tokens(int... sizes) {
        return options.prefixTokens + inner(0, sizes);
    }

    /** The number of cells from one index on an axis to the next. */
    private static int inner(int first, int... sizes) {
        return IntStream.range(first, sizes.length)
                .map(axis -> sizes[axis])
                .reduce(1, (product, size) -> product * size);
    }

    /** The sizes of the grid of a forward. */
    private int[] sizes(PairList<String, Object> params) {
        int[] built = options.sizes();
        Object parameter = params == null ? null : params.get(GRID_SIZES);
        if (parameter == null) {
            return built;
        }
        boolean isFree = options.resampling != null;
        Check.that(
                hasGrid()
                        && parameter instanceof Shape shape
                        && shape.dimension() == built.length
                        && IntStream.range(0, built.length)
                                .allMatch(axis -> shape.get(axis) > 0 && (isFree || shape.get(axis) <= built[axis]))
                        && Arrays.stream(shape.getShape()).asDoubleStream().reduce(1, (all, size) -> all * size)
                                        + options.prefixTokens
                                <= ForwardParameters.UNLIMITED,
                () -> GRID_SIZES + " " + Settings.shown(parameter) + " for axes " + options.axes + ": expected "
                        + (hasGrid()
                                ? "a Shape of " + built.length + " sizes"
                                        + (isFree ? "" : ", each at most the size of its axis")
                                        + "; pass one for each axis"
                                        + (isFree ? "" : ", or build the block with optResampling(GridResampling)")
                                : "none for " + (options.sequence ? "a sequence" : "axes that do not form a grid")
                                        + "; leave them out"));
        return Arrays.stream(((Shape) parameter).getShape())
                .mapToInt(Math::toIntExact)
                .toArray();
    }

    /** The number of cells is checked where the positions are known. */
    @Override
    int limit(long length, PairList<String, Object> params) {
        return ForwardParameters.UNLIMITED;
    }

    @Override
    int[] limitsOfAxes(PairList<String, Object> params) {
        return sizes(params);
    }

    @Override
    NDArray encodings(
            NDArray x,
            Positions positions,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params) {
        int[] sizes = sizes(params);
        NDArray explicit = positions.array();
        int axes = sizes.length;
        boolean areCoordinates = isOnAxes(explicit);
        requirePositions(areCoordinates, x);
        List<NDArray> tablesOfAxes = new ArrayList<>();
        for (int axis = 0; axis < axes; axis++) {
            NDArray table = DataTypes.value(this, tables.get(options.table(axis)), parameterStore, x, training);
            DataTypes.requireSame(x, table, "learned table");
            tablesOfAxes.add(options.resampling == null ? table : resampled(table, axis, sizes));
        }
        if (explicit == null) {
            return ofGrid(tablesOfAxes, positions, sizes, x);
        }
        Check.that(
                explicit.getDataType().isInteger(),
                () -> "floating-point positions " + explicit.getShape()
                        + " were given to learned tables: expected an integer type; convert them with"
                        + " toType(DataType.INT64, false)");
        if (!areCoordinates) {
            positions.requireBelow(
                    tokens(sizes), "pass the indices of tokens, or coordinates (" + axes + ", B, T) of each token");
        }
        NDArray tokens =
                areCoordinates ? null : Arithmetic.toType(explicit.toDevice(x.getDevice(), false), DataType.FLOAT64);
        boolean havePrefix = !areCoordinates && options.prefixTokens > 0;
        NDArray cells = havePrefix ? Arithmetic.add(tokens, -options.prefixTokens) : tokens;
        // a negative index, which is not checked on a GPU, stays negative: its vector is NaN
        NDArray placed = havePrefix ? cells.maximum(tokens.minimum(Arithmetic.number(tokens, 0))) : cells;
        List<NDArray> vectors = new ArrayList<>();
        for (int axis = 0; axis < axes; axis++) {
            NDArray coordinates = areCoordinates ? positions.onAxis(axis).array() : coordinates(placed, axis, sizes);
            vectors.add(Indices.lookUpOrNaN(coordinates, tablesOfAxes.get(axis), x.getManager()));
        }
        NDArray encodings = combined(vectors);
        if (!havePrefix) {
            return encodings;
        }
        NDArray isCell = cells.gte(Arithmetic.number(cells, 0)).expandDims(-1);
        return encodings.mul(Arithmetic.toType(isCell, encodings.getDataType()));
    }

    /** Whether positions are the coordinates of tokens, (axes, 1 or B, T), or time-major (axes, T, B). */
    private static boolean isOnAxes(NDArray positions) {
        return positions != null && positions.getShape().dimension() == 3;
    }

    private void requirePositions(boolean areCoordinates, NDArray x) {
        Check.that(
                areCoordinates || options.hasGrid(),
                () -> "input of shape " + x.getShape() + " without coordinates for axes " + options.axes
                        + " with tables "
                        + (options.tables == null ? "of their own" : options.tables)
                        + ", which do not form a grid: expected ("
                        + options.axes.size() + ", B, T); pass the coordinates of each token as the second input or as"
                        + " the forward parameter " + ForwardParameters.POSITIONS);
    }

    private NDArray resampled(NDArray table, int axis, int... sizes) {
        int from = options.axes.get(axis);
        int to = options.aspectRatioKept ? IntStream.of(sizes).max().orElseThrow() : sizes[axis];
        return from == to
                ? table
                : LearnedPositionalEncodingBlock.resampled(options.resampling, table, new int[] {from}, to);
    }

    /** The encodings of consecutive tokens of a grid, (1, T, D). */
    private NDArray ofGrid(List<NDArray> tablesOfAxes, Positions positions, int[] sizes, NDArray x) {
        int prefix = options.prefixTokens;
        int length = positions.count();
        int end = positions.first() + length;
        Check.that(
                options.sequence ? end <= tokens(sizes) : end == length && length == tokens(sizes),
                () -> "sequence length " + length + " from position " + positions.first() + " for the grid "
                        + Arrays.toString(sizes) + " after " + prefix + " tokens: expected "
                        + (options.sequence ? "at most " : "") + tokens(sizes)
                        + "; pass the sizes of the input's grid as the forward"
                        + " parameter " + GRID_SIZES + ", the coordinates of each token, (" + sizes.length
                        + ", B, T)"
                        + (options.sequence
                                ? ", or build the block with more on an axis: setAxes"
                                : ", or build the block with optSequence(true)"));
        NDManager manager = x.getManager();
        int firstCell = Math.max(0, positions.first() - prefix);
        int endCell = end - prefix;
        int before = Math.min(length, Math.max(0, prefix - positions.first()));
        NDArray zeros = before == 0
                ? null
                : manager.zeros(new Shape(before, options.embeddingSize), x.getDataType(), x.getDevice());
        if (endCell <= firstCell) {
            return zeros.expandDims(0);
        }
        // the slices of the first axis that have these cells
        int inner = inner(1, sizes);
        int firstRow = firstCell / inner;
        int endRow = (endCell - 1) / inner + 1;
        List<NDArray> vectors = new ArrayList<>();
        long[] grid = IntStream.of(sizes).asLongStream().toArray();
        grid[0] = (long) endRow - firstRow;
        for (int axis = 0; axis < sizes.length; axis++) {
            NDArray table = tablesOfAxes.get(axis);
            int first = axis == 0 ? firstRow : 0;
            NDArray rows = first == 0 && grid[axis] == table.getShape().get(0)
                    ? table
                    : table.get(manager, NDIndex.sliceAxis(0, first, first + grid[axis]));
            long[] shape = new long[sizes.length + 1];
            Arrays.fill(shape, 1);
            shape[axis] = grid[axis];
            shape[sizes.length] = options.width(axis);
            NDArray ofAxis = rows.reshape(shape);
            vectors.add(
                    options.concatenated == null ? ofAxis : ofAxis.broadcast(new Shape(grid).add(options.width(axis))));
        }
        NDArray cells = combined(vectors).reshape(-1, options.embeddingSize);
        int skipped = firstCell - firstRow * inner;
        NDArray ofTokens = endCell - firstCell == cells.getShape().get(0)
                ? cells
                : cells.get(manager, NDIndex.sliceAxis(0, skipped, (long) skipped + endCell - firstCell));
        return (zeros == null ? ofTokens : zeros.concat(ofTokens)).expandDims(0);
    }

    private NDArray combined(List<NDArray> vectors) {
        if (options.concatenated == null) {
            return vectors.stream().reduce(NDArray::add).orElseThrow();
        }
        NDList ordered = new NDList();
        for (int i = 0; i < vectors.size(); i++) {
            ordered.add(vectors.get(options.order == null ? i : options.order.get(i)));
        }
        return NDArrays.concat(ordered, -1);
    }

    /** The coordinates of cells, FLOAT64, on an axis, INT32. */
    private static NDArray coordinates(NDArray cells, int axis, int... sizes) {
        NDArray quotient = divided(cells, inner(axis + 1, sizes));
        // on the first axis, an index out of range stays out of range
        NDArray coordinates =
                axis == 0 ? quotient : quotient.sub(Arithmetic.multiply(divided(quotient, sizes[axis]), sizes[axis]));
        return Arithmetic.toType(coordinates, DataType.INT32);
    }

    /** The quotients of whole numbers, rounded down. */
    private static NDArray divided(NDArray whole, int divisor) {
        return Arithmetic.multiply(Arithmetic.add(whole, 0.5), 1.0 / divisor).floor();
    }

    /** Builds an {@link AxialPositionalEncodingBlock}. */
    public static final class Builder extends BaseBuilder<AxialPositionalEncodingBlock, Builder> {

        /** The vectors of each table, row-major. */
        private final List<IntToDoubleFunction> initialEncodings = new ArrayList<>();

        private final List<Shape> initialShapes = new ArrayList<>();

        private Builder() {
            super(Options.class, options -> new AxialPositionalEncodingBlock(options, List.of()));
        }

        /**
         * Sets the number of coordinates on each axis, the rows of its table, at least 1: for pictures rows, then
         * columns. There are one to 16 axes.
         */
        public Builder setAxes(int... sizes) {
            return set("axes", list("axes", sizes));
        }

        /**
         * Sets the table of each axis, counted from 0 in the order of the axes, for axes that share one, such as left
         * and right (default: each axis has its own).
         */
        public Builder optTables(int... tables) {
            return set("tables", list("tables", tables));
        }

        /**
         * Concatenates the vectors of the axes, whose sizes have the sum D, each at least 1 (default: adds vectors of
         * size D).
         */
        public Builder optConcatenated(int... sizes) {
            return set("concatenated", list("concatenated", sizes));
        }

        /** Sets the order in which the vectors of the axes are concatenated (default: 0, 1, …). */
        public Builder optOrder(int... axes) {
            return set("order", list("order", axes));
        }

        /** Sets the number of tokens before the grid, to which nothing is added, such as a class token (default: 0). */
        public Builder optPrefixTokens(int prefixTokens) {
            return set("prefixTokens", prefixTokens);
        }

        /**
         * Takes sequences that may be shorter than the grid and begin at a start position, as in Reformer (default:
         * false: without positions, the tokens are all cells).
         */
        public Builder optSequence(boolean sequence) {
            return set("sequence", sequence);
        }

        /**
         * Resamples each table to the size of the grid, and initial encodings to the size of their axis (default: a
         * smaller grid has the first rows of each table).
         */
        public Builder optResampling(GridResampling resampling) {
            return set("resampling", resampling);
        }

        /**
         * Resamples all tables to the largest size of the grid, of which the other axes have the first rows (default:
         * false).
         */
        public Builder optAspectRatioKept(boolean aspectRatioKept) {
            return set("aspectRatioKept", aspectRatioKept);
        }

        /**
         * Initializes the tables with copies of vectors, for example from another model (default: N(0, 0.02²)). With
         * {@link #optResampling}, they may have another number of rows.
         *
         * @param tables one for each table, (n, size) or (1, n, size), FLOAT16, FLOAT32 or FLOAT64; the caller closes
         *     them
         */
        @WithoutOption
        public Builder optInitialEncodings(NDArray... tables) {
            Check.notNull("initialEncodings", tables, "arrays of vectors");
            initialEncodings.clear();
            initialShapes.clear();
            for (NDArray table : tables) {
                Check.notNull("initialEncodings", table, "an array of vectors");
                initialShapes.add(LearnedPositionalEncodingBlock.requireVectors(table));
                initialEncodings.add(HostData.copied(table));
            }
            return this;
        }

        private static List<Integer> list(String name, int... numbers) {
            return Arrays.stream(Check.notNull(name, numbers, "a number for each axis"))
                    .boxed()
                    .toList();
        }

        @Override
        public AxialPositionalEncodingBlock build() {
            if (initialEncodings.isEmpty()) {
                return super.build();
            }
            Options options = Settings.create(Options.class, options());
            Check.that(
                    initialEncodings.size() == options.tableCount(),
                    () -> initialEncodings.size() + " initial encodings for " + options.tableCount()
                            + " tables: expected one array for each; pass as many");
            List<Initializer> initializers = new ArrayList<>();
            for (int table = 0; table < initialEncodings.size(); table++) {
                int axis = options.axisOf(table);
                initializers.add(initializer(table, options.axes.get(axis), options.width(axis), options.resampling));
            }
            return new AxialPositionalEncodingBlock(options, initializers);
        }

        private Initializer initializer(int table, int rows, int width, GridResampling resampling) {
            Shape shape = initialShapes.get(table);
            Check.that(
                    shape.get(1) == width && (shape.get(0) == rows || resampling != null),
                    () -> "initial encodings " + shape + " of table " + table + ": expected "
                            + new Shape(rows, width) + "; pass vectors of this size, and as many, or resample them with"
                            + " optResampling(GridResampling)");
            IntToDoubleFunction values = initialEncodings.get(table);
            int count = Math.toIntExact(shape.get(0));
            return (manager, target, type) -> {
                Rows initial = count == rows
                        ? Rows.of(width, (row, column) -> values.applyAsDouble(((int) row) * width + column))
                        : Rows.of(
                                width,
                                resampling.resample(
                                        IntStream.range(0, count * width)
                                                .mapToDouble(values)
                                                .toArray(),
                                        new int[] {count},
                                        new int[] {rows}));
                return HostData.computed(manager, manager.getDevice(), target, type, initial);
            };
        }
    }
}
