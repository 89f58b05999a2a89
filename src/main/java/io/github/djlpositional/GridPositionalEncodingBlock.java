package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.GridEncoding;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Adds a fixed sinusoidal encoding of their place to the cells of a grid: pictures, feature maps, volumes. The convention is
 * a {@link GridEncoding}: tensor2tensor's, multidim-positional-encoding's, or that of vision transformers.
 *
 * <pre>{@code
 * Block places = GridPositionalEncodingBlock.builder()
 *         .setEncoding(GridEncoding.visionTransformer(768))
 *         .build();                       // (B, H, W, 768) -> the same
 * }</pre>
 *
 * <p>B batch, D depth, H height, W width, C channels. The input is (…, H, W, C) or (…, D, H, W, C), with any leading
 * dimensions, FLOAT16, FLOAT32 or FLOAT64; with {@code optChannelsFirst(true)} (…, C, H, W) or (…, C, D, H, W). The output
 * has its shape, device and data type, is attached to its manager and is the caller's to close; with
 * {@code optAddToInput(false)} it is the encodings alone, (1, H, W, C) and so on. The input is never written to. An empty
 * grid comes back empty.
 *
 * <p>The block keeps one table for each of the last {@value #TABLES} grid sizes, on each device and in each data type that
 * asked for it. They are no parameters, and live as {@link PositionalEncodingBlock}'s table does.
 *
 * <p>A forward throws {@link IllegalArgumentException} for more than one input, an input of too low a rank, of another number of
 * channels or of another data type, a grid of more than 2³¹ - 1 values, and a table that the machine has no memory for.
 */
public final class GridPositionalEncodingBlock extends ConfiguredBlock {

    private static final int TABLES = 8;

    private final GridEncoding encoding;
    private final boolean channelsFirst;
    private final boolean addToInput;
    private final float dropoutRate;

    /** By the grid's sizes; the one that was used longest ago goes first. */
    private final Map<List<Integer>, ConstantArray> tables = new LinkedHashMap<>(TABLES, 0.75f, true);

    private NDManager owner;

    private GridPositionalEncodingBlock(Builder builder) {
        super(new BlockSettings(GridPositionalEncodingBlock.class)
                .with("encoding", builder.encoding)
                .with("channelsFirst", builder.channelsFirst)
                .with("addToInput", builder.addToInput)
                .withUnsaved("dropoutRate", builder.dropoutRate));
        encoding = builder.encoding;
        channelsFirst = builder.channelsFirst;
        addToInput = builder.addToInput;
        dropoutRate = builder.dropoutRate;
    }

    /**
     * Returns a builder.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Makes a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static GridPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(GridPositionalEncodingBlock.class, arguments);
        Builder builder = builder();
        builder.setEncoding(GridEncoding.fromArguments(given.getMap("encoding")));
        given.optFlag("channelsFirst").ifPresent(builder::optChannelsFirst);
        given.optFlag("addToInput").ifPresent(builder::optAddToInput);
        given.optFloat("dropoutRate").ifPresent(builder::optDropoutRate);
        given.requireNoOthers();
        return builder.build();
    }

    /**
     * Returns the function from place to vector.
     *
     * @return the encoding
     */
    public GridEncoding getEncoding() {
        return encoding;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        if (inputs.size() != 1) {
            throw new IllegalArgumentException(
                    inputs.size() + " inputs were given: allowed is [x]; the places in a grid follow from its shape");
        }
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        Shape grid = requireGrid(x.getShape());
        NDArray encoded = encode(x, grid);
        return dropOut(encoded, dropoutRate, training);
    }

    private NDArray encode(NDArray x, Shape grid) {
        NDManager manager = x.getManager();
        if (addToInput && x.getShape().size() == 0) {
            return x.duplicate();
        }
        if (grid.size() == 0) {
            return manager.create(new Shape(1).addAll(grid), x.getDataType(), x.getDevice());
        }
        ConstantArray table = retained(grid);
        try {
            NDArray cells = table.on(manager.getEngine(), x.getDevice(), x.getDataType());
            if (addToInput) {
                return x.add(cells);
            }
            try (NDArray batched = cells.expandDims(0)) {
                NDArray alone = batched.duplicate();
                alone.attach(manager);
                return alone;
            }
        } finally {
            table.release();
        }
    }

    /** The table of a grid. The caller releases it. */
    private ConstantArray retained(Shape grid) {
        synchronized (tables) {
            int[] sizes = gridSizes(grid);
            ConstantArray table =
                    tables.computeIfAbsent(Arrays.stream(sizes).boxed().toList(), key -> newTable(grid, sizes));
            table.retain();
            if (tables.size() > TABLES) {
                List<Integer> oldest = tables.keySet().iterator().next();
                tables.remove(oldest).drop();
            }
            return table;
        }
    }

    private ConstantArray newTable(Shape grid, int... sizes) {
        ConstantArray table = new ConstantArray(
                grid, (first, count, format, out) -> encoding.write(sizes, channelsFirst, first, count, format, out));
        if (owner != null) {
            table.ownedBy(owner);
        }
        return table;
    }

    private int[] gridSizes(Shape grid) {
        int from = channelsFirst ? 1 : 0;
        int[] sizes = new int[encoding.getAxes()];
        for (int axis = 0; axis < sizes.length; axis++) {
            sizes[axis] = Math.toIntExact(grid.get(from + axis));
        }
        return sizes;
    }

    /** The part of an input's shape that the encoding has: (H, W, C), (D, H, W, C), or with the channels first. */
    private Shape requireGrid(Shape shape) {
        int axes = encoding.getAxes();
        int rank = shape.dimension();
        String allowed = channelsFirst
                ? (axes == 2 ? "(…, C, H, W)" : "(…, C, D, H, W)")
                : (axes == 2 ? "(…, H, W, C)" : "(…, D, H, W, C)");
        if (rank < axes + 1) {
            throw new IllegalArgumentException("input of shape " + shape + " has rank " + rank + ": allowed is "
                    + allowed + ", rank " + (axes + 1) + " or more; add the missing dimensions with expandDims");
        }
        Shape grid = shape.slice(rank - axes - 1);
        long channels = grid.get(channelsFirst ? 0 : axes);
        if (channels != -1 && channels != encoding.getEmbeddingSize()) {
            throw new IllegalArgumentException("input of shape " + shape + " has " + channels + " channels: allowed is "
                    + allowed + " with " + encoding.getEmbeddingSize()
                    + "; give such an input, or an encoding of as many channels, or change optChannelsFirst(boolean)");
        }
        if (grid.size() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("the grid of input " + shape + " has " + grid.size()
                    + " values: allowed are " + Integer.MAX_VALUE + "; encode it in parts");
        }
        return grid;
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if the shape is of too low a rank or has another number of channels
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape grid = requireGrid(inputShapes[0]);
        return new Shape[] {addToInput ? inputShapes[0] : new Shape(1).addAll(grid)};
    }

    /**
     * {@inheritDoc}
     *
     * <p>Makes the table where the grid's size is known.
     *
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes one, of the input; a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another, the shape cannot be encoded, or the machine has no memory
     *     for the table; the block is then left as it was
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, toString());
        if (inputShapes.length != 1) {
            throw new IllegalArgumentException(
                    inputShapes.length + " input shapes were given: allowed is one; give the shape of x");
        }
        Shape grid = requireGrid(inputShapes[0]);
        if (Arrays.stream(grid.getShape()).allMatch(size -> size > 0)) {
            ConstantArray table = retained(grid);
            try {
                table.moveTo(manager, dataType);
            } finally {
                table.release();
            }
        }
        ownedBy(manager);
        super.initialize(manager, dataType, inputShapes);
    }

    private void ownedBy(NDManager manager) {
        synchronized (tables) {
            owner = manager;
            tables.values().forEach(table -> table.ownedBy(manager));
        }
    }

    /** {@inheritDoc} Frees the tables too; a later forward makes them anew. */
    @Override
    public void clear() {
        super.clear();
        synchronized (tables) {
            new ArrayList<>(tables.values()).forEach(ConstantArray::close);
            tables.clear();
        }
    }

    @Override
    protected void loaded(NDManager manager) {
        ownedBy(manager);
    }

    /** Builds a {@link GridPositionalEncodingBlock}. */
    public static final class Builder {

        private GridEncoding encoding;
        private boolean channelsFirst;
        private boolean addToInput = true;
        private float dropoutRate;

        private Builder() {}

        /**
         * Sets the function from place to vector, and with it the number of axes and channels.
         *
         * @param encoding the encoding
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder setEncoding(GridEncoding encoding) {
            this.encoding = Objects.requireNonNull(encoding, "encoding");
            return this;
        }

        /**
         * Sets whether the channels come before the grid; false without it.
         *
         * @param channelsFirst true for (…, C, H, W), false for (…, H, W, C)
         * @return this builder
         */
        public Builder optChannelsFirst(boolean channelsFirst) {
            this.channelsFirst = channelsFirst;
            return this;
        }

        /**
         * Sets whether a forward adds the encodings to its input; true without it.
         *
         * @param addToInput false for the encodings alone, with a leading axis of size 1
         * @return this builder
         */
        public Builder optAddToInput(boolean addToInput) {
            this.addToInput = addToInput;
            return this;
        }

        /**
         * Sets the rate of the dropout that follows, in training alone; 0 without it.
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            this.dropoutRate = dropoutRate;
            return this;
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if there is no encoding, or the dropout rate is outside its range
         */
        public GridPositionalEncodingBlock build() {
            if (encoding == null) {
                throw new IllegalArgumentException("no encoding was given: allowed is any GridEncoding;"
                        + " set one with setEncoding(GridEncoding)");
            }
            BuilderChecks.requireDropoutRate(dropoutRate);
            return new GridPositionalEncodingBlock(this);
        }
    }
}
