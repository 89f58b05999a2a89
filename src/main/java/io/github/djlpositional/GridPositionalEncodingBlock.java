package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.Rows;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Adds a sinusoidal encoding to each cell of a grid: images, feature maps, volumes. The {@link GridEncoding} may follow
 * tensor2tensor, multidim-positional-encoding, vision transformers, DETR, or any other convention.
 *
 * <pre>{@code
 * Block positions = GridPositionalEncodingBlock.builder()
 *         .setEncoding(GridEncoding.visionTransformer(768))
 *         .build();                       // (B, H, W, 768) -> the same
 * }</pre>
 *
 * <p>B batch, D depth, H height, W width, C channels. The input is (…, H, W, C) or (…, D, H, W, C), with any leading
 * dimensions; with {@code optChannelsFirst(true)} it is (…, C, H, W) or (…, C, D, H, W). The output has the shape of
 * the input. With {@code optAddToInput(false)} the output is the encodings only, such as (1, H, W, C). The last axes
 * are the grid: if an input lacks the batch, or another axis that the block was initialized with, a warning is logged.
 *
 * <p>With {@code optGrid(1, 14, 14)} the input is a sequence of tokens, (…, P + H · W, C): P prefix tokens, to which
 * nothing is added, followed by the cells row by row. For an input with another grid, pass the forward parameter
 * {@link #GRID_SIZES}.
 *
 * <p>A second input is a mask for images of different sizes, (B, H, W) or (B, D, H, W), of any data type: 0 for
 * padding, and any other number for cells, the reverse of DETR's own mask. The first input is then (B, H, W, C) or (B,
 * D, H, W, C), and coordinates do not count padding. An image without cells gets zeros. Each forward reads the mask,
 * which waits for its device, and computes the encodings. With {@code optAddToInput(false)} they are (B, H, W, C).
 *
 * <p>A grid has at most 2³¹ - 1 values. The encodings of the first {@value #MAX_TABLES} grid sizes are constants; for
 * further sizes, each forward computes the encodings again.
 *
 * <p>The {@linkplain io.github.djlpositional package description} has the rules for all blocks.
 *
 * @see <a href="https://arxiv.org/abs/2005.12872">End-to-End Object Detection with Transformers</a>
 * @see <a href="https://arxiv.org/abs/2111.06377">Masked Autoencoders Are Scalable Vision Learners</a>
 */
public final class GridPositionalEncodingBlock extends OptionsBlock {

    /**
     * The key of the forward parameter that gives the sizes of a sequence's grid, a {@link Shape} with one size for
     * each axis. By default, these are the sizes that the block was built with.
     */
    public static final String GRID_SIZES = ForwardParameters.GRID_SIZES;

    private static final int MAX_TABLES = 8;

    record Options(
            GridEncoding encoding,
            @Default("false") boolean channelsFirst,
            @Default("true") boolean addToInput,
            TokenGrid grid,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate) {

        Options {
            Check.present("encoding", encoding);
            Check.that(
                    grid == null || (grid.sizes().size() == encoding.getAxes() && !channelsFirst),
                    () -> "grid " + grid.sizes() + " with channelsFirst " + channelsFirst + ": expected "
                            + encoding.getAxes() + " sizes, one for each axis of the encoding, and the channels last;"
                            + " change the grid, or leave it out; encoding: " + encoding);
        }
    }

    private final Options options;

    /** The table of each grid, by its sizes. */
    private final Map<Shape, ConstantTable> tables = new HashMap<>();

    private GridPositionalEncodingBlock(Options options) {
        super(options);
        this.options = options;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static GridPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireInputs(inputs.getShapes());
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        Shape grid = requireGrid(x.getShape(), params);
        if (options.grid == null) {
            InputMistakes.checkAxes(x.getShape(), inputShapes);
        }
        Shape output = options.addToInput ? x.getShape() : returnedShape(grid, inputs.getShapes());
        if (output.size() == 0) {
            return new NDList(
                    options.addToInput ? x.duplicate() : x.getManager().create(output, x.getDataType(), x.getDevice()));
        }
        NDArray encoded = Temporaries.result(() -> {
            NDArray encodings = inputs.size() == 1 ? encodings(x, grid) : maskedEncodings(x, grid, inputs.get(1));
            if (options.addToInput) {
                return x.add(encodings);
            }
            NDArray copy = encodings.reshape(output).duplicate();
            copy.attach(x.getManager());
            return copy;
        });
        return dropOut(encoded, options.dropoutRate, training);
    }

    /** The encodings of a grid, in a shape that broadcasts over the input. */
    private NDArray encodings(NDArray x, Shape grid) {
        Shape shape = arrayShape(grid);
        ConstantTable table = table(grid, x.getDataType(), x.getDevice());
        return table != null
                ? table.array(x, x.getDataType()).reshape(shape)
                : HostData.computed(x.getManager(), x.getDevice(), shape, x.getDataType(), rowsOfGrid(grid));
    }

    /** The encodings of the visible cells of a batch, in the shape of the input. */
    private NDArray maskedEncodings(NDArray x, Shape grid, NDArray mask) {
        double[] values = HostData.doubles(mask);
        boolean[] isVisible = new boolean[values.length];
        for (int i = 0; i < values.length; i++) {
            isVisible[i] = values[i] != 0;
        }
        Rows rows = rowsOfCells(grid, options.encoding.cells(ints(grid), isVisible));
        return HostData.computed(x.getManager(), x.getDevice(), x.getShape(), x.getDataType(), rows);
    }

    /** The table of a grid; null if the block already has the maximum number of tables. */
    private synchronized ConstantTable table(Shape grid, DataType type, Device device) {
        if (!tables.containsKey(grid) && tables.size() < MAX_TABLES) {
            Shape shape = arrayShape(grid);
            HostData.requireRoomFor(shape, type, device);
            Rows rows = rowsOfGrid(grid);
            int height = Math.toIntExact(shape.size() / rows.width());
            tables.put(grid, addTable(ConstantTable.ofPositions(rows, height, height)));
        }
        return tables.get(grid);
    }

    /** The rows of a grid without padding, computed lazily so that the memory is checked first. */
    private Rows rowsOfGrid(Shape grid) {
        return new Rows() {
            @Override
            public int width() {
                return options.channelsFirst ? Math.toIntExact(grid.size()) : options.encoding.getEmbeddingSize();
            }

            @Override
            public void write(double[] positions, FloatFormat format, ByteBuffer out) {
                rowsOfCells(grid, options.encoding.cells(ints(grid))).write(positions, format, out);
            }
        };
    }

    /** A row of channels for each token or cell; with the channels first, a row of cells for each channel. */
    private Rows rowsOfCells(Shape grid, Rows.Value cells) {
        int channels = options.encoding.getEmbeddingSize();
        int cellsPerImage = Math.toIntExact(grid.size());
        int prefix = options.grid == null ? 0 : options.grid.prefixTokens();
        return options.channelsFirst
                ? Rows.of(cellsPerImage, (row, cell) -> {
                    int image = ((int) row) / channels;
                    return cells.at(image * cellsPerImage + cell, ((int) row) % channels);
                })
                : Rows.of(channels, (token, channel) -> token < prefix ? 0 : cells.at(token - prefix, channel));
    }

    private static int[] ints(Shape grid) {
        return Arrays.stream(grid.getShape()).mapToInt(Math::toIntExact).toArray();
    }

    /** The shape of the encodings of a grid: for example (H, W, C), or (T, C) for tokens. */
    private Shape arrayShape(Shape grid) {
        Shape channels = new Shape(options.encoding.getEmbeddingSize());
        if (options.grid != null) {
            return new Shape(options.grid.tokens(ints(grid))).addAll(channels);
        }
        return options.channelsFirst ? channels.addAll(grid) : grid.addAll(channels);
    }

    /** The sizes of an input's grid, (H, W) or (D, H, W). */
    private Shape requireGrid(Shape shape, PairList<String, Object> params) {
        int axes = options.encoding.getAxes();
        int rank = shape.dimension();
        if (options.grid != null) {
            int channels = options.encoding.getEmbeddingSize();
            Check.that(
                    rank >= 2 && (shape.get(rank - 1) == -1 || shape.get(rank - 1) == channels),
                    () -> "input of shape " + shape + ": expected (…, T, " + channels
                            + "); pass an input of this shape, or use an encoding with this number of channels");
            int[] sizes = options.grid.sizes(params);
            long length = shape.get(rank - 2);
            options.grid.requireTokens(length == -1 || length == options.grid.tokens(sizes), length, sizes);
            return new Shape(Arrays.stream(sizes).asLongStream().toArray());
        }
        String sizes = axes == 2 ? "H, W" : "D, H, W";
        String expected = options.channelsFirst ? "(…, C, " + sizes + ")" : "(…, " + sizes + ", C)";
        Check.that(
                rank > axes,
                () -> "input of shape " + shape + " has rank " + rank + ": expected " + expected + ", rank "
                        + (axes + 1) + " or more; add the missing dimensions with expandDims");
        Shape image = shape.slice(rank - axes - 1);
        long channels = image.get(options.channelsFirst ? 0 : axes);
        Check.that(
                channels == -1 || channels == options.encoding.getEmbeddingSize(),
                () -> "input of shape " + shape + " has " + channels + " channels: expected " + expected + " with "
                        + options.encoding.getEmbeddingSize()
                        + "; pass an input of this shape, use an encoding with this number of channels, or change"
                        + " optChannelsFirst(boolean)");
        Check.that(
                image.size() <= Integer.MAX_VALUE,
                () -> "the grid of input " + shape + " has " + image.size() + " values: expected at most "
                        + Integer.MAX_VALUE + "; encode slices of it");
        return options.channelsFirst ? image.slice(1) : image.slice(0, axes);
    }

    /** The shape of the encodings if they are not added to the input. */
    private Shape returnedShape(Shape grid, Shape... inputs) {
        return new Shape(inputs.length == 2 ? inputs[0].get(0) : 1).addAll(arrayShape(grid));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape grid = requireGrid(inputShapes[0], null);
        return new Shape[] {options.addToInput ? inputShapes[0] : returnedShape(grid, inputShapes)};
    }

    private void requireInputs(Shape... shapes) {
        boolean isSequence = options.grid != null;
        requireInputCount(
                shapes.length,
                isSequence ? 1 : 2,
                isSequence ? "[x], the tokens of a grid" : "[x] or [x, mask], whose shapes determine the positions");
        if (shapes.length == 2) {
            Shape grid = requireGrid(shapes[0], null);
            Shape expected = new Shape(shapes[0].get(0)).addAll(grid);
            Check.that(
                    shapes[0].dimension() == options.encoding.getAxes() + 2 && shapes[1].equals(expected),
                    () -> "mask of shape " + shapes[1] + " for input " + shapes[0] + ": expected " + expected
                            + ", and an input with one more dimension; pass one number for each cell of each image");
        }
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputs(inputShapes);
        requireGrid(inputShapes[0], null);
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape grid = requireGrid(inputShapes[0], null);
        if (inputShapes.length == 1 && Arrays.stream(grid.getShape()).allMatch(size -> size > 0)) {
            ConstantTable table = table(grid, dataType, manager.getDevice());
            if (table != null) {
                table.moveTo(manager, dataType);
            }
        }
    }

    /** Builds a {@link GridPositionalEncodingBlock}. */
    public static final class Builder extends BlockBuilder<GridPositionalEncodingBlock, Builder> {

        private Builder() {
            super(Options.class, GridPositionalEncodingBlock::new);
        }

        /**
         * Sets the function from the coordinates of a cell to a vector, which also determines the number of axes and
         * channels.
         */
        public Builder setEncoding(GridEncoding encoding) {
            return set("encoding", encoding);
        }

        /** Sets whether an input is (…, C, H, W) rather than (…, H, W, C) (default: false). */
        public Builder optChannelsFirst(boolean channelsFirst) {
            return set("channelsFirst", channelsFirst);
        }

        /** Sets whether a forward adds the encodings to its input (default: true) or returns them, (1, H, W, C). */
        public Builder optAddToInput(boolean addToInput) {
            return set("addToInput", addToInput);
        }

        /**
         * Accepts a sequence as input: {@code prefixTokens} tokens before the grid, 0 or more, followed by the cells of
         * the grid, row by row. There is one size for each axis, at least 1 (default: the axes of the input are the
         * axes of the grid).
         */
        public Builder optGrid(int prefixTokens, int... sizes) {
            return set("grid", new TokenGrid(prefixTokens, sizes));
        }

        /** Sets the dropout rate of the output in training, at least 0 and below 1 (default: 0). */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
