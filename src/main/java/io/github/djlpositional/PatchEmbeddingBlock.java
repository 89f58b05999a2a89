package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;

/**
 * Turns images into vectors of patches, the input of a vision transformer: Dosovitskiy et al., <em>An Image is Worth
 * 16x16 Words</em> (2021), section 3.1.
 *
 * <pre>{@code
 * PatchEmbeddingBlock input = PatchEmbeddingBlock.builder()
 *         .setPatchSize(16, 16)
 *         .setEmbeddingSize(768)
 *         .optClassToken(true)
 *         .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
 *                 .setEmbeddingSize(768)
 *                 .optGrid(1, 14, 14)     // a class token, and the patches of 224 x 224 pixels
 *                 .build())
 *         .build();                       // (B, 3, 224, 224) -> (B, 197, 768)
 * }</pre>
 *
 * <p>The input is (B, C, H, W), with sizes that are multiples of the patch size, in the data type of the parameters;
 * the output is (B, T, D): a class token, registers (Darcet et al., <em>Vision Transformers Need Registers</em>, 2024),
 * and the patches row by row. The class token and the patches have positions; registers have none. A patch is projected
 * as by a convolution with a stride of its size, with the parameters {@code weight}, (D, C · h · w), and {@code bias}
 * of {@link #getProjection()}. The class token and the registers are the parameters {@code classToken}, (1, D), and
 * {@code registers}, (R, D).
 *
 * @see <a href="https://arxiv.org/abs/2010.11929">An Image is Worth 16x16 Words: Transformers for Image Recognition at
 *     Scale</a>
 * @see <a href="https://arxiv.org/abs/2309.16588">Vision Transformers Need Registers</a>
 */
public final class PatchEmbeddingBlock extends OptionsBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    /** Far above any published model. */
    private static final int MOST_NUMBERS = 1 << 24;

    record Options(
            @Range(min = 1) List<Integer> patchSize,
            @Range(min = 1) int embeddingSize,
            @Default("3") @Range(min = 1) int channels,
            @Default("false") boolean classToken,
            @Default("0") @Range(min = 0) int registers,
            Block positionalEncoding,
            Block norm,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate) {

        Options {
            Check.present("patchSize", patchSize);
            Check.that(
                    patchSize.size() == 2,
                    "patchSize " + patchSize + ": expected rows and columns of pixels; set it with"
                            + " setPatchSize(int, int)");
            patchSize = List.copyOf(patchSize);
            double numbers = (double) channels * patchSize.get(0) * patchSize.get(1);
            Check.that(
                    numbers <= MOST_NUMBERS,
                    "patchSize " + patchSize + " with channels " + channels + ": expected at most " + MOST_NUMBERS
                            + " numbers in a patch; use smaller patches");
        }
    }

    private final Options options;
    private final Linear projection;

    /** Null for none, as are the others. */
    private final Parameter classToken;

    private final Parameter registers;
    private final Block positionalEncoding;
    private final Block norm;

    private PatchEmbeddingBlock(Options options) {
        super(options);
        this.options = options;
        projection = addProjection("projection", projectionSize(), options.embeddingSize, true);
        classToken = options.classToken ? addTokens("classToken", 1) : null;
        registers = options.registers == 0 ? null : addTokens("registers", options.registers);
        positionalEncoding =
                options.positionalEncoding == null ? null : addChild("positionalEncoding", options.positionalEncoding);
        norm = options.norm == null ? null : addChild("norm", options.norm);
    }

    private Parameter addTokens(String name, int count) {
        return addParameter(name, new Shape(count, options.embeddingSize), new NormalInitializer(STANDARD_DEVIATION));
    }

    private int height() {
        return options.patchSize.get(0);
    }

    private int width() {
        return options.patchSize.get(1);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static PatchEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return D, the size of the vectors} */
    public int getEmbeddingSize() {
        return options.embeddingSize;
    }

    /** {@return the number of tokens before the patches} */
    public int getPrefixTokens() {
        return (options.classToken ? 1 : 0) + options.registers;
    }

    /** {@return the linear layer of a patch, from C · h · w numbers, a channel after the other, to D} */
    public Linear getProjection() {
        return projection;
    }

    /** {@return the class token, the parameter (1, D); null for none} */
    public Parameter getClassToken() {
        return classToken;
    }

    /** {@return the registers, the parameter (R, D); null for none} */
    public Parameter getRegisters() {
        return registers;
    }

    /** {@return the block that adds positions to the class token and the patches; null for none} */
    public Block getPositionalEncoding() {
        return positionalEncoding;
    }

    /** {@return the norm, with parameters of (D); null for none} */
    public Block getNorm() {
        return norm;
    }

    /**
     * {@return the number of rows of patches, and of columns}
     *
     * @param pictures the shape of pictures, (B, C, H, W)
     * @throws IllegalArgumentException if it does not fit this block
     */
    public Shape getGrid(Shape pictures) {
        requireShapes(pictures);
        return new Shape(patches(pictures.get(2), height()), patches(pictures.get(3), width()));
    }

    private static long patches(long pixels, int size) {
        return pixels == -1 ? -1 : pixels / size;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray pictures = inputs.head();
        NDArray weight = DataTypes.value(
                this, projection.getDirectParameters().get("weight"), parameterStore, pictures, training);
        DataTypes.requireSame(pictures, weight, "projection of patches");
        if (pictures.getShape().size() == 0) {
            Shape shape = getOutputShapes(inputs.getShapes())[0];
            return new NDList(pictures.getManager().create(shape, pictures.getDataType(), pictures.getDevice()));
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray patches = temporaries.addResult(pictures, () -> patches(pictures));
            NDArray x = temporaries.add(projection
                    .forward(parameterStore, new NDList(patches), training)
                    .singletonOrThrow());
            NDArray first = tokens(temporaries, classToken, parameterStore, pictures, training);
            x = first == null ? x : temporaries.add(first.concat(x, 1));
            x = temporaries.addUnless(x, positioned(x, getGrid(pictures.getShape()), parameterStore, training));
            NDArray added = tokens(temporaries, registers, parameterStore, pictures, training);
            x = added == null ? x : withRegisters(temporaries, x, added);
            if (norm != null) {
                x = temporaries.add(
                        norm.forward(parameterStore, new NDList(x), training).singletonOrThrow());
            }
            return dropOut(temporaries.remove(x), options.dropoutRate, training);
        }
    }

    /** The numbers of each patch, (B, h · w, C · patch). */
    private NDArray patches(NDArray pictures) {
        Shape shape = pictures.getShape();
        Shape grid = getGrid(shape);
        return pictures.reshape(shape.get(0), shape.get(1), grid.get(0), height(), grid.get(1), width())
                .transpose(0, 2, 4, 1, 3, 5)
                .reshape(shape.get(0), grid.size(), -1);
    }

    /** The vectors of a parameter for each picture, (B, n, D); null for none. */
    private NDArray tokens(
            Temporaries temporaries, Parameter tokens, ParameterStore store, NDArray pictures, boolean training) {
        if (tokens == null) {
            return null;
        }
        NDArray values = DataTypes.value(this, tokens, store, pictures, training);
        NDArray repeated = temporaries.addResult(
                () -> values.expandDims(0).repeat(0, pictures.getShape().get(0)));
        repeated.attach(pictures.getManager());
        return repeated;
    }

    private NDArray positioned(NDArray x, Shape grid, ParameterStore parameterStore, boolean training) {
        if (positionalEncoding == null) {
            return x;
        }
        PairList<String, Object> params = new PairList<>();
        if (hasGrid()) {
            params.add(LearnedPositionalEncodingBlock.GRID_SIZES, grid);
        }
        return positionalEncoding
                .forward(parameterStore, new NDList(x), training, params)
                .head();
    }

    private NDArray withRegisters(Temporaries temporaries, NDArray x, NDArray added) {
        if (classToken == null) {
            return temporaries.add(added.concat(x, 1));
        }
        return temporaries.addResult(() -> NDArrays.concat(
                new NDList(
                        x.get(NDIndex.sliceAxis(1, 0, 1)),
                        added,
                        x.get(NDIndex.sliceAxis(1, 1, x.getShape().get(1)))),
                1));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        Shape grid = getGrid(inputShapes[0]);
        boolean isKnown = grid.get(0) != -1 && grid.get(1) != -1;
        long tokens = isKnown ? getPrefixTokens() + grid.size() : -1;
        return new Shape[] {new Shape(inputShapes[0].get(0), tokens, options.embeddingSize)};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 1, "[pictures]");
        Shape shape = inputShapes[0];
        Check.that(
                shape.dimension() == 4
                        && (shape.get(1) == -1 || shape.get(1) == options.channels)
                        && isMultiple(shape.get(2), height())
                        && isMultiple(shape.get(3), width()),
                () -> "pictures of shape " + shape + ": expected (B, " + options.channels + ", H, W) with H a multiple"
                        + " of " + height() + " and W of " + width() + "; " + advice(shape));
    }

    private String advice(Shape shape) {
        boolean hasOtherChannels = shape.dimension() == 4 && shape.get(1) != -1 && shape.get(1) != options.channels;
        return hasOtherChannels
                ? "put the channels first, or build it with optChannels(" + shape.get(1) + ")"
                : "resize or crop them, and put the channels first";
    }

    private static boolean isMultiple(long size, int divisor) {
        return size == -1 || (size > 0 && size % divisor == 0);
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape tokens = getOutputShapes(inputShapes)[0];
        initializeChild(projection, manager, dataType, new Shape(-1, projectionSize()));
        // a table for a grid takes other grids with a forward parameter only
        initializeChild(
                positionalEncoding, manager, dataType, hasGrid() ? Shape.update(tokens, 1, -1) : positioned(tokens));
        initializeChild(norm, manager, dataType, tokens);
    }

    private int projectionSize() {
        return options.channels * height() * width();
    }

    private boolean hasGrid() {
        return positionalEncoding instanceof SequenceEncodingBlock<?> encoding && encoding.hasGrid();
    }

    /** The tokens that have positions. */
    private Shape positioned(Shape tokens) {
        long count = tokens.get(1);
        return Shape.update(tokens, 1, count == -1 ? -1 : count - options.registers);
    }

    /** Builds a {@link PatchEmbeddingBlock}. */
    public static final class Builder extends BlockBuilder<PatchEmbeddingBlock, Builder> {

        private Builder() {
            super(Options.class, PatchEmbeddingBlock::new);
        }

        /** Sets the size of a patch in pixels, each at least 1. */
        public Builder setPatchSize(int height, int width) {
            return set("patchSize", List.of(height, width));
        }

        /** Sets D, the size of the vectors, at least 1. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /** Sets C, the number of channels, at least 1 (default: 3). */
        public Builder optChannels(int channels) {
            return set("channels", channels);
        }

        /** Puts a learned token before the patches, of which classifiers take the result (default: false). */
        public Builder optClassToken(boolean classToken) {
            return set("classToken", classToken);
        }

        /** Puts R learned tokens without positions between class token and patches (default: 0). */
        public Builder optRegisters(int registers) {
            return set("registers", registers);
        }

        /**
         * Sets a block that adds positions to the class token and the patches, (B, T, D) to the same shape (default:
         * none). A {@link LearnedPositionalEncodingBlock} with a grid gets the grid of the pictures, and so accepts
         * pictures of other sizes; an {@link AxialPositionalEncodingBlock} too.
         */
        public Builder optPositionalEncoding(Block positionalEncoding) {
            return setChild("positionalEncoding", positionalEncoding);
        }

        /** Sets a norm of the result, a block (…, D) to the same shape, as in Swin (default: none). */
        public Builder optNorm(Block norm) {
            return setChild("norm", norm);
        }

        /** Sets the dropout rate of the result in training, at least 0 and below 1 (default: 0). */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
