package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.InPlace;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Product;
import io.github.djlpositional.internal.RangeChecks;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;
import java.util.Objects;

/**
 * The input layer of a transformer: token ids become vectors that know their position.
 *
 * <p>Token embedding → optional × √D → positional encoding → dropout, as in Vaswani et al., <em>Attention Is All You
 * Need</em> (2017), sections 3.4, 3.5 and 5.4.
 *
 * <pre>{@code
 * InputEmbeddingBlock input = InputEmbeddingBlock.builder()
 *         .setVocabularySize(10_000)
 *         .setEmbeddingSize(512)
 *         .optMaxSequenceLength(500)
 *         .optPaddingIndex(0)
 *         .build();                       // (B, T) ids -> (B, T, 512)
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * B batch, T sequence length, D embedding size, V vocabulary size.
 *
 * <ul>
 *   <li>{@code [ids]}: (B, T), INT8, UINT8, INT32 or INT64, each 0 … V - 1; (T, B) where the positional encoding is time-major
 *       ({@code optSequenceAxis(0)}), and then the output is (T, B, D).
 *   <li>{@code [ids, positions]}: positions as the positional encoding takes them, for {@link PositionalEncodingBlock} (T)
 *       or (B, T).
 * </ul>
 *
 * The output is (B, T, D) in the data type of the token embedding (the model's), attached to the manager of the ids; it is
 * the caller's to close. Forward parameters, such as {@link PositionalEncodingBlock#START_POSITION}, go on to the
 * positional encoding. An empty sequence comes back empty.
 *
 * <p>A forward throws {@link IllegalArgumentException} for another number of inputs than one or two, ids of another rank, of
 * a type that is no integer, or out of range, positions or a start position beside
 * {@link Builder#optPositionsFromPadding}, a given block that answers in another shape, sparse gradients on MXNet, and
 * whatever the positional encoding refuses; {@link ai.djl.nn.UninitializedParameterException} in inference where the block was
 * neither initialized nor loaded. The range is checked on a CPU alone, unless {@link Builder#optRangeChecks} says otherwise:
 * the check reads the ids, and would wait for a GPU.
 *
 * <p>The token table starts as DJL's weights do, from N(0, 2 / D), unless {@link #setInitializer} says otherwise. DJL cannot save a
 * table of 2 GiB or more, V · D times the bytes of a number: keep it below, or train in FLOAT16.
 *
 * <h2>Padding</h2>
 *
 * With {@link Builder#optPaddingIndex} the padding token's row starts as zeros (a given token embedding's starts as that block
 * makes it), its vectors are zero whatever finite numbers
 * the row holds, and no gradient reaches the row through this block: it stays zero through training, unless an output layer
 * that shares the table trains it. Positions are added to padding as to any token, but for
 * {@link Builder#optPositionsFromPadding}.
 *
 * <h2>Weight tying</h2>
 *
 * {@link #getTokenTable} is the (V, D) parameter. In the forward of an output layer that shares it:
 *
 * <pre>{@code
 * NDArray table = parameterStore.getValue(input.getTokenTable(), hidden.getDevice(), training);
 * NDArray logits = hidden.matMul(table.transpose());
 * }</pre>
 */
public final class InputEmbeddingBlock extends ConfiguredBlock {

    private static final int NO_PADDING = -1;

    /** What DJL calls {@link Blocks#identityBlock()}. */
    private static final String IDENTITY = "identity";

    /** The type that stands for {@link Blocks#identityBlock()} in a map of arguments. */
    private static final String NO_POSITIONS = "none";

    /** Positions do not depend on padding. */
    private static final int ALL_POSITIONS = -1;

    private final int vocabularySize;
    private final int embeddingSize;
    private final boolean scaleEmbedding;
    private final int paddingIndex;
    private final int firstPosition;
    private final float dropoutRate;
    private final RangeChecks checks;

    private final Block tokenEmbedding;
    private final Block positionalEncoding;

    private InputEmbeddingBlock(Builder builder, Block positionalEncoding) {
        super(settings(builder, positionalEncoding));
        vocabularySize = builder.vocabularySize;
        embeddingSize = builder.embeddingSize;
        scaleEmbedding = builder.scaleEmbedding;
        paddingIndex = builder.paddingIndex == null ? NO_PADDING : builder.paddingIndex;
        firstPosition = builder.firstPosition == null ? ALL_POSITIONS : builder.firstPosition;
        dropoutRate = builder.dropoutRate;
        checks = RangeChecks.of(builder.rangeChecks);
        Block token = builder.tokenEmbedding != null
                ? builder.tokenEmbedding
                : new TokenEmbedding(vocabularySize, embeddingSize, paddingIndex, builder.sparseGradients);
        // the positional encoding first: a model file of other settings is then refused before the token table is read
        this.positionalEncoding = addChildBlock("positionalEncoding", positionalEncoding);
        tokenEmbedding = addChildBlock("tokenEmbedding", token);
    }

    private static BlockSettings settings(Builder builder, Block positionalEncoding) {
        BlockSettings settings = new BlockSettings(InputEmbeddingBlock.class)
                .with("vocabularySize", builder.vocabularySize)
                .with("embeddingSize", builder.embeddingSize)
                .with("scaleEmbedding", builder.scaleEmbedding)
                .with("paddingIndex", builder.paddingIndex)
                .with("positionsFromPadding", builder.firstPosition);
        if (positionalEncoding instanceof LambdaBlock lambda && IDENTITY.equals(lambda.getName())) {
            settings.with("positionalEncoding", "LambdaBlock", () -> Map.of(BlockSettings.TYPE, NO_POSITIONS));
        } else {
            settings.withChild("positionalEncoding", positionalEncoding);
        }
        if (builder.tokenEmbedding == null) {
            settings.with("tokenEmbedding", TokenEmbedding.class.getSimpleName(), () -> null);
        } else {
            settings.withForeignChild("tokenEmbedding", builder.tokenEmbedding);
        }
        return settings.withUnsaved("sparseGradients", builder.sparseGradients)
                .withUnsaved("rangeChecks", builder.rangeChecks)
                .withUnsaved("dropoutRate", builder.dropoutRate);
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
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values; that of
     *     {@code positionalEncoding} is a map with the block's simple class name as its {@code type}, and the block's
     *     arguments, or of the type {@code none}: a {@link LambdaBlock} of the name {@code identity}, as
     *     {@link Blocks#identityBlock()} is
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static InputEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(InputEmbeddingBlock.class, arguments);
        Builder builder = builder();
        builder.setVocabularySize(given.getInt("vocabularySize"));
        builder.setEmbeddingSize(given.getInt("embeddingSize"));
        given.optInt("maxSequenceLength").ifPresent(builder::optMaxSequenceLength);
        given.optFlag("scaleEmbedding").ifPresent(builder::optScaleEmbedding);
        given.optInt("paddingIndex").ifPresent(builder::optPaddingIndex);
        given.optInt("positionsFromPadding").ifPresent(builder::optPositionsFromPadding);
        given.optMap("positionalEncoding")
                .map(InputEmbeddingBlock::positionsFrom)
                .ifPresent(builder::optPositionalEncoding);
        given.optFlag("sparseGradients").ifPresent(builder::optSparseGradients);
        given.optFlag("rangeChecks").ifPresent(builder::optRangeChecks);
        given.optFloat("dropoutRate").ifPresent(builder::optDropoutRate);
        given.requireNoOthers();
        return builder.build();
    }

    private static Block positionsFrom(Map<?, ?> arguments) {
        Arguments given = Arguments.of("positionalEncoding of InputEmbeddingBlock", arguments);
        Map<String, Object> own = given.without(BlockSettings.TYPE);
        return switch (given.getText(BlockSettings.TYPE)) {
            case "PositionalEncodingBlock" -> PositionalEncodingBlock.fromArguments(own);
            case "LearnedPositionalEncodingBlock" -> LearnedPositionalEncodingBlock.fromArguments(own);
            case NO_POSITIONS -> {
                given.requireNoOthers();
                yield Blocks.identityBlock();
            }
            default ->
                throw given.refused(
                        BlockSettings.TYPE, "PositionalEncodingBlock, LearnedPositionalEncodingBlock or none");
        };
    }

    /**
     * Returns the number of token ids.
     *
     * @return V
     */
    public int getVocabularySize() {
        return vocabularySize;
    }

    /**
     * Returns the number of dimensions of a token's vector.
     *
     * @return D
     */
    public int getEmbeddingSize() {
        return embeddingSize;
    }

    /**
     * Returns the block that maps ids (B, T) to vectors (B, T, D).
     *
     * @return a child of this block
     */
    public Block getTokenEmbedding() {
        return tokenEmbedding;
    }

    /**
     * Returns the block that maps vectors (B, T, D) to vectors that know their position.
     *
     * @return a child of this block
     */
    public Block getPositionalEncoding() {
        return positionalEncoding;
    }

    /**
     * Returns the table of token vectors, for an output layer that shares it.
     *
     * @return the parameter (V, D), in the model's data type; a parameter of this block
     * @throws IllegalStateException if the token embedding was given with {@link Builder#optTokenEmbedding}
     */
    public Parameter getTokenTable() {
        if (tokenEmbedding instanceof TokenEmbedding own) {
            return own.table();
        }
        throw new IllegalStateException("the token embedding is the given block "
                + tokenEmbedding.getClass().getName()
                + ", whose parameters only it knows: reach them through getTokenEmbedding()");
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        if (inputs.isEmpty() || inputs.size() > 2) {
            throw new IllegalArgumentException(inputs.size()
                    + " inputs were given: allowed are [ids] or [ids, positions]; pass one or two arrays");
        }
        NDArray ids = inputs.get(0);
        requireIds(ids);
        try (Temporaries temporaries = new Temporaries()) {
            NDArray indices = temporaries.addUnless(ids, Indices.forLookUp(ids));
            NDArray mask = paddingIndex == NO_PADDING ? null : temporaries.add(indices.neq(paddingIndex));
            NDArray tokens = embed(temporaries, parameterStore, indices, mask, training);
            NDList toEncode = new NDList(inputs);
            toEncode.set(0, tokens);
            if (firstPosition != ALL_POSITIONS) {
                requireNoPositions(inputs, params);
                toEncode.add(positionsOfTokens(temporaries, mask));
            }
            NDArray encoded = encode(temporaries, parameterStore, toEncode, training, params);
            if (firstPosition != ALL_POSITIONS) {
                encoded = zeroAtPadding(temporaries, encoded, mask);
            }
            if (training && dropoutRate > 0) {
                encoded = Dropout.dropout(encoded, dropoutRate, true).singletonOrThrow();
            }
            return new NDList(temporaries.keep(encoded));
        }
    }

    /** Token vectors (B, T, D), scaled, and zero for padding. */
    private NDArray embed(
            Temporaries temporaries, ParameterStore parameterStore, NDArray indices, NDArray mask, boolean training) {
        NDArray vectors = tokenEmbedding
                .forward(parameterStore, new NDList(indices), training)
                .singletonOrThrow();
        if (tokenEmbedding instanceof TokenEmbedding) {
            temporaries.add(vectors);
        }
        Shape expected = indices.getShape().add(embeddingSize);
        if (!vectors.getShape().equals(expected)) {
            throw new IllegalArgumentException("the token embedding "
                    + tokenEmbedding.getClass().getSimpleName() + " turned ids " + indices.getShape() + " into "
                    + vectors.getShape() + ": allowed is " + expected
                    + "; give a block of the same embedding size with optTokenEmbedding(Block)");
        }
        if (scaleEmbedding) {
            double factor = Math.sqrt(embeddingSize);
            vectors = isOwn(vectors) ? Product.inPlace(vectors, factor) : temporaries.add(Product.of(vectors, factor));
        }
        return mask == null ? vectors : zeroAtPadding(temporaries, vectors, mask);
    }

    private NDArray encode(
            Temporaries temporaries,
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params) {
        NDArray tokens = inputs.head();
        if (positionalEncoding instanceof PositionalEncodingBlock block
                && isOwn(tokens)
                && block.addInPlace(inputs, training, params)) {
            return tokens;
        }
        NDList answer = positionalEncoding.forward(parameterStore, inputs, training, params);
        if (answer.size() != 1) {
            throw new IllegalArgumentException("the positional encoding "
                    + positionalEncoding.getClass().getSimpleName() + " answered with " + answer.size()
                    + " arrays: allowed is one; give positions to an encoding that takes them alone");
        }
        NDArray encoded = answer.head();
        if (positionalEncoding instanceof ConfiguredBlock) {
            temporaries.add(encoded);
        }
        if (!encoded.getShape().equals(tokens.getShape())) {
            throw new IllegalArgumentException("the positional encoding "
                    + positionalEncoding.getClass().getSimpleName() + " turned " + tokens.getShape() + " into "
                    + encoded.getShape() + ": allowed is a block that keeps the shape (B, T, D); give another with"
                    + " optPositionalEncoding(Block)");
        }
        return encoded;
    }

    /** Whether token vectors were made within this forward, and may be written to: a given block may hold what it returns. */
    private boolean isOwn(NDArray vectors) {
        return tokenEmbedding instanceof TokenEmbedding && InPlace.isSafe(vectors);
    }

    private static NDArray zeroAtPadding(Temporaries temporaries, NDArray vectors, NDArray mask) {
        NDArray factors = temporaries.add(mask.toType(vectors.getDataType(), true));
        return temporaries.add(vectors.mul(temporaries.add(factors.expandDims(2))));
    }

    /** The positions (B, T) of tokens counted without the padding between and before them; 0 at padding. */
    private NDArray positionsOfTokens(Temporaries temporaries, NDArray mask) {
        NDArray isToken = temporaries.add(mask.toType(DataType.INT64, true));
        if (isToken.getShape().size() == 0) {
            return isToken;
        }
        // counts from 1; moved so that the first token is at firstPosition
        NDArray counts = temporaries.add(isToken.cumSum(timeAxis()));
        NDArray positions = temporaries.add(counts.add(firstPosition - 1L));
        return temporaries.add(positions.mul(isToken));
    }

    /** The axis of the sequence in the ids: 1, or 0 where the positional encoding is time-major. */
    private int timeAxis() {
        if (positionalEncoding instanceof SequenceEncoding own) {
            int axis = own.getSequenceAxis();
            return axis == 0 || axis == -3 ? 0 : 1;
        }
        return 1;
    }

    private static void requireNoPositions(NDList inputs, PairList<String, Object> params) {
        if (inputs.size() == 2 || (params != null && params.contains(PositionalEncodingBlock.START_POSITION))) {
            throw new IllegalArgumentException(
                    "positions or a start position were given to a block that takes positions"
                            + " from padding: give the ids alone, or build the block without optPositionsFromPadding(int)");
        }
    }

    private void requireIds(NDArray ids) {
        if (!ids.getDataType().isInteger()) {
            throw new IllegalArgumentException("token ids " + ids.getShape() + " have data type " + ids.getDataType()
                    + ": allowed is any integer type; convert them with toType(DataType.INT64, false)");
        }
        requireIdsShape(ids.getShape());
        if (checks.readValuesOf(ids)) {
            Indices.requireBelow(
                    ids,
                    vocabularySize,
                    "token id",
                    id ->
                            "give ids below the vocabulary size, or build the block with a greater setVocabularySize(int)");
        }
    }

    private static void requireIdsShape(Shape shape) {
        if (shape.dimension() != 2) {
            throw new IllegalArgumentException("token ids of shape " + shape + " have rank " + shape.dimension()
                    + ": allowed is (B, T); give a batch, for a single sequence with expandDims(0)");
        }
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes (B, T), and where positions are given their shape
     * @return (B, T, D)
     * @throws IllegalArgumentException if the first is not of rank 2
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireIdsShape(inputShapes[0]);
        return new Shape[] {inputShapes[0].add(embeddingSize)};
    }

    /**
     * {@inheritDoc}
     *
     * @param dataType the data type of the token vectors: FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes (B, T), and where positions are given their shape; a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another, the first shape is not of rank 2, the positional encoding
     *     refuses it, or the machine has no memory for the token table; no array is then made
     * @throws UnsupportedOperationException if the engine cannot make the token table in the data type: MXNet in FLOAT16
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, toString());
        if (inputShapes.length < 1 || inputShapes.length > 2) {
            throw new IllegalArgumentException(
                    inputShapes.length
                            + " input shapes were given: allowed are one for the ids, or two for ids and positions; give (B, T)");
        }
        requireIdsShape(inputShapes[0]);
        super.initialize(manager, dataType, inputShapes);
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        // positions first: they refuse a sequence that is too long before the token table is made
        Shape[] shapes = inputShapes.clone();
        shapes[0] = shapes[0].add(embeddingSize);
        positionalEncoding.initialize(manager, dataType, shapes);
        tokenEmbedding.initialize(manager, dataType, inputShapes[0]);
    }

    /** Returns the block's settings and those of the positional encoding. */
    @Override
    public String toString() {
        return super.toString() + " with " + positionalEncoding;
    }

    /** Builds an {@link InputEmbeddingBlock}. */
    public static final class Builder {

        private int vocabularySize;
        private int embeddingSize;
        private Integer maxSequenceLength;
        private Block positionalEncoding;
        private Block tokenEmbedding;
        private boolean scaleEmbedding;
        private Integer paddingIndex;
        private Integer firstPosition;
        private boolean sparseGradients;
        private Boolean rangeChecks;
        private float dropoutRate;

        private Builder() {}

        /**
         * Sets V, the number of token ids.
         *
         * @param vocabularySize at least 1
         * @return this builder
         */
        public Builder setVocabularySize(int vocabularySize) {
            this.vocabularySize = vocabularySize;
            return this;
        }

        /**
         * Sets D, the number of dimensions of a token's vector.
         *
         * @param embeddingSize at least 1
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            this.embeddingSize = embeddingSize;
            return this;
        }

        /**
         * Sets one more than the greatest position of the default positional encoding; 5000 without it. Not together with
         * {@link #optPositionalEncoding}.
         *
         * @param maxSequenceLength at least 1
         * @return this builder
         */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            this.maxSequenceLength = maxSequenceLength;
            return this;
        }

        /**
         * Sets another positional encoding than the paper's: any block that maps (B, T, D) to the same. For none at all give
         * {@link ai.djl.nn.Blocks#identityBlock()}. It may be shared with other blocks.
         *
         * @param positionalEncoding the block, which becomes a child of this one
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optPositionalEncoding(Block positionalEncoding) {
            this.positionalEncoding = Objects.requireNonNull(positionalEncoding, "positionalEncoding");
            return this;
        }

        /**
         * Sets another token embedding than DJL's: any block that maps ids (B, T), INT32 or INT64, to vectors (B, T, D).
         *
         * @param tokenEmbedding the block, which becomes a child of this one
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optTokenEmbedding(Block tokenEmbedding) {
            this.tokenEmbedding = Objects.requireNonNull(tokenEmbedding, "tokenEmbedding");
            return this;
        }

        /**
         * Sets whether token vectors are multiplied by √D before the positions are added, as in the paper's section 3.4;
         * false without it.
         *
         * @param scaleEmbedding true to multiply
         * @return this builder
         */
        public Builder optScaleEmbedding(boolean scaleEmbedding) {
            this.scaleEmbedding = scaleEmbedding;
            return this;
        }

        /**
         * Sets the id of the padding token, whose vector is zero and stays zero through training; none without it.
         *
         * @param paddingIndex 0 … V - 1
         * @return this builder
         */
        public Builder optPaddingIndex(int paddingIndex) {
            this.paddingIndex = paddingIndex;
            return this;
        }

        /**
         * Makes positions count the tokens that are no padding, as fairseq does: the first token of each sequence has the
         * given position, wherever the padding is, and the whole vector of a padding token is zero. Without it every step
         * counts, and positions are added to padding too. Needs {@link #optPaddingIndex}, and a positional encoding that
         * takes explicit positions. A time-major one must be this library's own block, not within another.
         *
         * @param firstPosition the first token's position, at least 0; fairseq's is the padding index + 1
         * @return this builder
         */
        public Builder optPositionsFromPadding(int firstPosition) {
            this.firstPosition = firstPosition;
            return this;
        }

        /**
         * Sets whether the token table's gradients hold the rows in use alone, in the COO format; false without it. PyTorch
         * gives them, for an optimizer of your own: DJL's SGD and Adam add the weights to the gradient and fail on a sparse
         * one. DJL's MXNet has none, and a forward says so.
         *
         * @param sparseGradients true for sparse gradients
         * @return this builder
         */
        public Builder optSparseGradients(boolean sparseGradients) {
            this.sparseGradients = sparseGradients;
            return this;
        }

        /**
         * Sets whether token ids are checked before they are looked up; without it on a CPU alone. See
         * {@link PositionalEncodingBlock.Builder#optRangeChecks}.
         *
         * @param rangeChecks true to check on every device, false on none
         * @return this builder
         */
        public Builder optRangeChecks(boolean rangeChecks) {
            this.rangeChecks = rangeChecks;
            return this;
        }

        /**
         * Sets the rate of the dropout that comes last, in training alone; 0 without it.
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
         * @throws IllegalArgumentException if a setting is outside its range, or two settings contradict each other
         */
        public InputEmbeddingBlock build() {
            BuilderChecks.requirePositive("vocabulary size", vocabularySize, "setVocabularySize(int)");
            BuilderChecks.requirePositive("embedding size", embeddingSize, "setEmbeddingSize(int)");
            BuilderChecks.requireDropoutRate(dropoutRate);
            if (paddingIndex != null && (paddingIndex < 0 || paddingIndex >= vocabularySize)) {
                throw new IllegalArgumentException("padding index " + paddingIndex + " is outside 0 to "
                        + (vocabularySize - 1) + ": give the id of the padding token with optPaddingIndex(int)");
            }
            if (firstPosition != null && (firstPosition < 0 || paddingIndex == null)) {
                throw new IllegalArgumentException("positions from padding with first position " + firstPosition
                        + " and padding index " + paddingIndex
                        + ": allowed are a first position of 0 or more and a padding index; set both with"
                        + " optPositionsFromPadding(int) and optPaddingIndex(int)");
            }
            if (tokenEmbedding != null && sparseGradients) {
                throw new IllegalArgumentException(
                        "both a token embedding and sparse gradients were given: the gradients"
                                + " belong to the default token embedding; choose them in the given block");
            }
            return new InputEmbeddingBlock(this, positions());
        }

        private Block positions() {
            if (positionalEncoding == null) {
                PositionalEncodingBlock.Builder positions =
                        PositionalEncodingBlock.builder().setEmbeddingSize(embeddingSize);
                if (maxSequenceLength != null) {
                    positions.optMaxSequenceLength(maxSequenceLength);
                }
                return positions.build();
            }
            if (maxSequenceLength != null) {
                throw new IllegalArgumentException("both a positional encoding and the maximum sequence length "
                        + maxSequenceLength
                        + " were given: the length belongs to the default positional encoding; set it"
                        + " in the given block");
            }
            if (positionalEncoding instanceof GridPositionalEncodingBlock) {
                throw new IllegalArgumentException(
                        "the positional encoding is one of grids, which would take the batch for"
                                + " an axis: allowed is one of sequences; give a PositionalEncodingBlock");
            }
            if (positionalEncoding instanceof SequenceEncoding own) {
                if (own.getEmbeddingSize() != embeddingSize) {
                    throw new IllegalArgumentException("positional encoding of size " + own.getEmbeddingSize()
                            + " does not fit embedding size " + embeddingSize + ": give both the same size");
                }
                if (!own.isAddedToInput()) {
                    throw new IllegalArgumentException("the positional encoding returns the encodings alone: allowed is"
                            + " a block that keeps its input's shape; build it with optAddToInput(true)");
                }
            }
            return positionalEncoding;
        }
    }
}
