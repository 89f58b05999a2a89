package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.ModelFile.NotCompared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.GridEncoding;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Adds a fixed sinusoidal encoding of their place to the cells of a grid: images, feature maps, volumes. The
 * {@link GridEncoding} is the convention of tensor2tensor, multidim-positional-encoding, vision transformers, DETR, or
 * any other.
 *
 * <pre>{@code
 * Block places = GridPositionalEncodingBlock.builder()
 *         .setEncoding(GridEncoding.visionTransformer(768))
 *         .build();                       // (B, H, W, 768) -> the same
 * }</pre>
 *
 * <p>B batch, D depth, H height, W width, C channels. The input is (…, H, W, C) or (…, D, H, W, C), with any leading
 * dimensions, FLOAT16, FLOAT32 or FLOAT64; with {@code optChannelsFirst(true)} it is (…, C, H, W) or (…, C, D, H, W).
 * The output has its shape, device and data type, is attached to its manager, and is the caller's to close. With
 * {@code optAddToInput(false)} it is the encodings without the input: (1, H, W, C) and so on. The input is never
 * written to. An empty grid gives an empty output.
 *
 * <p>With {@code optGrid(1, 14, 14)} the input is a sequence of tokens, (…, P + H · W, C): P tokens to which nothing is
 * added, and the cells row by row. An input of another grid has the forward parameter {@link #GRID_SIZES}.
 *
 * <p>A second input (B, H, W) or (B, D, H, W), of any data type, is 0 for the padding of a batch of images of different
 * sizes and any other number for cells, the reverse of DETR's own mask: x is then (B, H, W, C) and so on, and
 * coordinates count the cells only. An image without cells gets zeros. The mask is read, which waits for its device,
 * and each forward computes the encodings. Without the input they are (B, H, W, C).
 *
 * <p>The block keeps a table for each of the first {@value #TABLES} grid sizes, on each device and in each data type
 * that it is used with; the encodings of further sizes are computed by each forward. The table of a known size is
 * created when the block is initialized. The tables are not parameters. They live as the table of
 * {@link PositionalEncodingBlock} does.
 *
 * <p>A forward throws {@link IllegalArgumentException} for more than two inputs, an input of too low a rank, of another
 * number of channels or tokens or of another data type, a mask of another shape, a grid of more than 2³¹ - 1 values,
 * and a table that the machine has no memory for.
 *
 * @see <a href="https://arxiv.org/abs/2005.12872">End-to-End Object Detection with Transformers</a>
 * @see <a href="https://arxiv.org/abs/2111.06377">Masked Autoencoders Are Scalable Vision Learners</a>
 */
public final class GridPositionalEncodingBlock extends ConfiguredBlock {

    /**
     * The key of the forward parameter that gives the sizes of a sequence's grid, a {@link Shape} with one size for
     * each axis. By default they are those that the block was built with.
     */
    public static final String GRID_SIZES = Positions.GRID_SIZES;

    private static final int TABLES = 8;

    record Settings(
            GridEncoding encoding,
            Boolean channelsFirst,
            Boolean addToInput,
            TokenGrid grid,
            @NotCompared Float dropoutRate) {

        Settings {
            Check.given("encoding", encoding);
            channelsFirst = Objects.requireNonNullElse(channelsFirst, false);
            addToInput = Objects.requireNonNullElse(addToInput, true);
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            Check.rate("dropoutRate", dropoutRate);
            Check.that(
                    grid == null || (grid.sizes().size() == encoding.getAxes() && !channelsFirst),
                    grid + " with channelsFirst " + channelsFirst + " and " + encoding
                            + ": expected one size for each axis, and the channels last; change the grid, or leave it out");
        }
    }

    private final Settings settings;

    /** By the sizes of the grid. */
    private final Map<Shape, ConstantTable> tables = new HashMap<>();

    private GridPositionalEncodingBlock(Settings settings) {
        super(settings);
        this.settings = settings;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static GridPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return new GridPositionalEncodingBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the function from place to vector} */
    public GridEncoding getEncoding() {
        return settings.encoding;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireInputs(inputs.getShapes());
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        Shape grid = requireGrid(x.getShape(), params);
        Shape output = settings.addToInput ? x.getShape() : returnedShape(grid, inputs.getShapes());
        if (output.size() == 0) {
            return new NDList(
                    settings.addToInput
                            ? x.duplicate()
                            : x.getManager().create(output, x.getDataType(), x.getDevice()));
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray encodings =
                    inputs.size() == 1 ? encodings(temporaries, x, grid) : masked(temporaries, x, grid, inputs.get(1));
            if (settings.addToInput) {
                return dropOut(x.add(encodings), settings.dropoutRate, training);
            }
            NDArray copy = temporaries.add(encodings.reshape(output)).duplicate();
            copy.attach(x.getManager());
            return dropOut(copy, settings.dropoutRate, training);
        }
    }

    /** The encodings of a grid, in a shape that broadcasts over the input. */
    private NDArray encodings(Temporaries temporaries, NDArray x, Shape grid) {
        ConstantTable table = table(grid, x.getDataType(), x.getDevice());
        return table != null
                ? table.table(0, x, x.getDataType())
                : temporaries.add(HostData.computed(
                        x.getManager(), x.getDevice(), arrayShape(grid), x.getDataType(), rowsOfGrid(grid)));
    }

    /** The encodings of the visible cells of a batch, in the shape of the input. */
    private NDArray masked(Temporaries temporaries, NDArray x, Shape grid, NDArray mask) {
        double[] numbers = HostData.doubles(mask);
        boolean[] isVisible = new boolean[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            isVisible[i] = numbers[i] != 0;
        }
        HostData.Rows rows = rowsOfCells(x.getShape(), grid, settings.encoding.cells(ints(grid), isVisible));
        return temporaries.add(HostData.computed(x.getManager(), x.getDevice(), x.getShape(), x.getDataType(), rows));
    }

    /** The table of a grid; null if enough other tables are kept. */
    private synchronized ConstantTable table(Shape grid, DataType type, Device device) {
        if (!tables.containsKey(grid) && tables.size() < TABLES) {
            Shape shape = arrayShape(grid);
            HostData.requireRoomFor(shape, type, device);
            int height = Math.toIntExact(shape.get(0));
            tables.put(grid, addTable(ConstantTable.ofPositions(shape.slice(1), height, height, rowsOfGrid(grid))));
        }
        return tables.get(grid);
    }

    /** The rows of a grid without padding, which are computed after the memory for them was checked. */
    private HostData.Rows rowsOfGrid(Shape grid) {
        return (first, count, format, out) -> rowsOfCells(arrayShape(grid), grid, settings.encoding.cells(ints(grid)))
                .write(first, count, format, out);
    }

    /** The rows of an array (T, C), or of (…, H, W, C) or (…, C, H, W) with a batch or without. */
    private HostData.Rows rowsOfCells(Shape shape, Shape grid, GridEncoding.Cells cells) {
        int channels = settings.encoding.getEmbeddingSize();
        int ofImage = Math.toIntExact(grid.size());
        int prefix = settings.grid == null ? 0 : settings.grid.prefixTokens();
        int width = settings.channelsFirst ? ofImage : channels;
        HostData.Rows lines = HostData.Rows.of(
                width,
                settings.channelsFirst
                        ? (line, cell) -> cells.value(line / channels * ofImage + cell, line % channels)
                        : (token, channel) -> token < prefix ? 0 : cells.value(token - prefix, channel));
        int linesPerRow = Math.toIntExact(shape.slice(1).size() / width);
        return (first, count, format, out) -> lines.write(first * linesPerRow, count * linesPerRow, format, out);
    }

    private static int[] ints(Shape grid) {
        return Arrays.stream(grid.getShape()).mapToInt(Math::toIntExact).toArray();
    }

    /** The shape of the encodings of a grid: (H, W, C) and so on, or (T, C) of tokens. */
    private Shape arrayShape(Shape grid) {
        Shape channels = new Shape(settings.encoding.getEmbeddingSize());
        if (settings.grid != null) {
            return new Shape(settings.grid.tokens(ints(grid))).addAll(channels);
        }
        return settings.channelsFirst ? channels.addAll(grid) : grid.addAll(channels);
    }

    /** The sizes of an input's grid, (H, W) or (D, H, W). */
    private Shape requireGrid(Shape shape, PairList<String, Object> params) {
        int axes = settings.encoding.getAxes();
        int rank = shape.dimension();
        if (settings.grid != null) {
            int channels = settings.encoding.getEmbeddingSize();
            Check.that(
                    rank >= 2 && (shape.get(rank - 1) == -1 || shape.get(rank - 1) == channels),
                    () -> "input of shape " + shape + ": expected (…, T, " + channels
                            + "); give such an input, or use an encoding with as many channels");
            int[] sizes = settings.grid.sizes(params);
            long length = shape.get(rank - 2);
            settings.grid.requireTokens(length == -1 || length == settings.grid.tokens(sizes), length, sizes);
            return new Shape(Arrays.stream(sizes).asLongStream().toArray());
        }
        String sizes = axes == 2 ? "H, W" : "D, H, W";
        String expected = settings.channelsFirst ? "(…, C, " + sizes + ")" : "(…, " + sizes + ", C)";
        Check.that(
                rank > axes,
                () -> "input of shape " + shape + " has rank " + rank + ": expected " + expected + ", rank "
                        + (axes + 1) + " or more; add the missing dimensions with expandDims");
        Shape image = shape.slice(rank - axes - 1);
        long channels = image.get(settings.channelsFirst ? 0 : axes);
        Check.that(
                channels == -1 || channels == settings.encoding.getEmbeddingSize(),
                () -> "input of shape " + shape + " has " + channels + " channels: expected " + expected + " with "
                        + settings.encoding.getEmbeddingSize()
                        + "; give such an input, use an encoding with as many channels, or change"
                        + " optChannelsFirst(boolean)");
        Check.that(
                image.size() <= Integer.MAX_VALUE,
                () -> "the grid of input " + shape + " has " + image.size() + " values: expected at most "
                        + Integer.MAX_VALUE + "; encode it in parts");
        return settings.channelsFirst ? image.slice(1) : image.slice(0, axes);
    }

    /** The shape of the encodings if they are not added to the input. */
    private Shape returnedShape(Shape grid, Shape... inputs) {
        return new Shape(inputs.length == 2 ? inputs[0].get(0) : 1).addAll(arrayShape(grid));
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if the shape has too low a rank or another number of channels or tokens
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape grid = requireGrid(inputShapes[0], null);
        return new Shape[] {settings.addToInput ? inputShapes[0] : returnedShape(grid, inputShapes)};
    }

    private void requireInputs(Shape... shapes) {
        boolean isSequence = settings.grid != null;
        requireInputCount(
                shapes.length,
                isSequence ? 1 : 2,
                isSequence ? "[x], the tokens of a grid" : "[x] or [x, mask], whose shapes give the places");
        if (shapes.length == 2) {
            Shape grid = requireGrid(shapes[0], null);
            Shape expected = new Shape(shapes[0].get(0)).addAll(grid);
            Check.that(
                    shapes[0].dimension() == settings.encoding.getAxes() + 2 && shapes[1].equals(expected),
                    () -> "mask of shape " + shapes[1] + " for input " + shapes[0] + ": expected " + expected
                            + ", and an input of one dimension more; give one number for each cell of each image");
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
    public static final class Builder extends OptionsBuilder<GridPositionalEncodingBlock, Builder> {

        private Builder() {
            super(Settings.class, GridPositionalEncodingBlock::new);
        }

        /**
         * Sets the function from place to vector, and with it the number of axes and channels.
         *
         * @param encoding the encoding
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder setEncoding(GridEncoding encoding) {
            return set("encoding", encoding);
        }

        /**
         * Sets whether the channels come before the grid (default: false).
         *
         * @param channelsFirst true for (…, C, H, W), false for (…, H, W, C)
         * @return this builder
         */
        public Builder optChannelsFirst(boolean channelsFirst) {
            return set("channelsFirst", channelsFirst);
        }

        /**
         * Sets whether a forward adds the encodings to its input (default: true).
         *
         * @param addToInput false to return the encodings, with a leading axis of size 1
         * @return this builder
         */
        public Builder optAddToInput(boolean addToInput) {
            return set("addToInput", addToInput);
        }

        /**
         * Lets the input be a sequence: tokens without a place, followed by the cells of a grid, row by row. By default
         * the axes of the input are the axes of the grid.
         *
         * @param prefixTokens the number of tokens before the grid, 0 or more
         * @param sizes one size for each axis of the encoding; each at least 1
         * @return this builder
         */
        public Builder optGrid(int prefixTokens, int... sizes) {
            return set("grid", new TokenGrid(prefixTokens, sizes));
        }

        /**
         * Sets the rate of the dropout that follows, in training only (default: 0).
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
