package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.MachineMemory;
import io.github.djlpositional.internal.ModelFile.Compared;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.GridEncoding;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Adds a fixed sinusoidal encoding of their place to the cells of a grid: images, feature maps, volumes. The convention
 * is a {@link GridEncoding}: tensor2tensor's, multidim-positional-encoding's, or that of vision transformers.
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
 * <p>The block keeps a table for each of the first {@value #TABLES} grid sizes, on each device and in each data type
 * that it is used with; the encodings of further sizes are computed by each forward. The table of a known size is
 * created when the block is initialized. The tables are not parameters. They live as the table of
 * {@link PositionalEncodingBlock} does.
 *
 * <p>A forward throws {@link IllegalArgumentException} for more than one input, an input of too low a rank, of another
 * number of channels or of another data type, a grid of more than 2³¹ - 1 values, and a table that the machine has no
 * memory for.
 */
public final class GridPositionalEncodingBlock extends ConfiguredBlock {

    private static final int TABLES = 8;

    record Settings(
            GridEncoding encoding,
            Boolean channelsFirst,
            Boolean addToInput,
            @Compared(Compared.Rule.NOT) Float dropoutRate) {

        Settings {
            Check.given("encoding", encoding);
            channelsFirst = Objects.requireNonNullElse(channelsFirst, false);
            addToInput = Objects.requireNonNullElse(addToInput, true);
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            Check.rate("dropoutRate", dropoutRate);
        }
    }

    private final Settings settings;

    /** By the shape of the grid. */
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
     * Creates a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
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
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireInputCount(inputs.size(), 1, "[x], whose shape gives the places");
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        return dropOut(encoded(x, requireGrid(x.getShape())), settings.dropoutRate, training);
    }

    private NDArray encoded(NDArray x, Shape grid) {
        if (settings.addToInput && x.getShape().size() == 0) {
            return x.duplicate();
        }
        if (grid.size() == 0) {
            return x.getManager().create(new Shape(1).addAll(grid), x.getDataType(), x.getDevice());
        }
        try (Temporaries temporaries = new Temporaries()) {
            ConstantTable table = table(grid, x.getDataType(), x.getDevice());
            NDArray cells = table != null
                    ? table.table(0, x, x.getDataType())
                    : temporaries.add(
                            HostData.computed(x.getManager(), x.getDevice(), grid, x.getDataType(), rows(grid)));
            if (settings.addToInput) {
                return x.add(cells);
            }
            NDArray copy = temporaries.add(cells.expandDims(0)).duplicate();
            copy.attach(x.getManager());
            return copy;
        }
    }

    /** The table of a grid; null if enough other tables are kept. */
    private synchronized ConstantTable table(Shape grid, DataType type, Device device) {
        if (!tables.containsKey(grid) && tables.size() < TABLES) {
            MachineMemory.requireRoomFor(grid, type, device);
            int height = Math.toIntExact(grid.get(0));
            tables.put(grid, addTable(ConstantTable.ofPositions(grid.slice(1), height, height, rows(grid))));
        }
        return tables.get(grid);
    }

    private HostData.Rows rows(Shape grid) {
        int[] sizes = Arrays.stream(grid.getShape())
                .skip(settings.channelsFirst ? 1 : 0)
                .limit(settings.encoding.getAxes())
                .mapToInt(Math::toIntExact)
                .toArray();
        return (first, count, format, out) ->
                settings.encoding.write(sizes, settings.channelsFirst, first, count, format, out);
    }

    /** The part of an input's shape that the encoding has: (H, W, C), (D, H, W, C), or with the channels first. */
    private Shape requireGrid(Shape shape) {
        int axes = settings.encoding.getAxes();
        int rank = shape.dimension();
        String sizes = axes == 2 ? "H, W" : "D, H, W";
        String expected = settings.channelsFirst ? "(…, C, " + sizes + ")" : "(…, " + sizes + ", C)";
        Check.that(
                rank > axes,
                () -> "input of shape " + shape + " has rank " + rank + ": expected " + expected + ", rank "
                        + (axes + 1) + " or more; add the missing dimensions with expandDims");
        Shape grid = shape.slice(rank - axes - 1);
        long channels = grid.get(settings.channelsFirst ? 0 : axes);
        Check.that(
                channels == -1 || channels == settings.encoding.getEmbeddingSize(),
                () -> "input of shape " + shape + " has " + channels + " channels: expected " + expected + " with "
                        + settings.encoding.getEmbeddingSize()
                        + "; give such an input, use an encoding with as many channels, or change"
                        + " optChannelsFirst(boolean)");
        Check.that(
                grid.size() <= Integer.MAX_VALUE,
                () -> "the grid of input " + shape + " has " + grid.size() + " values: expected at most "
                        + Integer.MAX_VALUE + "; encode it in parts");
        return grid;
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if the shape has too low a rank or another number of channels
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape grid = requireGrid(inputShapes[0]);
        return new Shape[] {settings.addToInput ? inputShapes[0] : new Shape(1).addAll(grid)};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 1, "[x], whose shape gives the places");
        requireGrid(inputShapes[0]);
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape grid = requireGrid(inputShapes[0]);
        if (Arrays.stream(grid.getShape()).allMatch(size -> size > 0)) {
            ConstantTable table = table(grid, dataType, manager.getDevice());
            if (table != null) {
                table.moveTo(manager, dataType);
            }
        }
    }

    /** Builds a {@link GridPositionalEncodingBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets the function from place to vector, and with it the number of axes and channels.
         *
         * @param encoding the encoding
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder setEncoding(GridEncoding encoding) {
            return options.set("encoding", encoding);
        }

        /**
         * Sets whether the channels come before the grid (default: false).
         *
         * @param channelsFirst true for (…, C, H, W), false for (…, H, W, C)
         * @return this builder
         */
        public Builder optChannelsFirst(boolean channelsFirst) {
            return options.set("channelsFirst", channelsFirst);
        }

        /**
         * Sets whether a forward adds the encodings to its input (default: true).
         *
         * @param addToInput false to return the encodings, with a leading axis of size 1
         * @return this builder
         */
        public Builder optAddToInput(boolean addToInput) {
            return options.set("addToInput", addToInput);
        }

        /**
         * Sets the rate of the dropout that follows, in training only (default: 0).
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            return options.set("dropoutRate", dropoutRate);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if there is no encoding, or the dropout rate is out of range
         */
        public GridPositionalEncodingBlock build() {
            return new GridPositionalEncodingBlock(options.build());
        }
    }
}
