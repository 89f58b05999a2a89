package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.ModelFile.NotCompared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * The input layer of a transformer: turns token ids into vectors that encode the token and its position.
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
 *   <li>{@code [ids]}: (B, T), INT8, UINT8, INT32 or INT64, each from 0 to V - 1. If the positional encoding is
 *       time-major ({@code optSequenceAxis(0)}), ids are (T, B) and the output is (T, B, D).
 *   <li>{@code [ids, positions]}: positions as the positional encoding expects them; for
 *       {@link PositionalEncodingBlock} (T) or (B, T). A mask belongs to the attention.
 * </ul>
 *
 * The output is (B, T, D) in the data type of the token embedding (the model's), attached to the manager of the ids,
 * and the caller's to close. Forward parameters, such as {@link PositionalEncodingBlock#START_POSITION}, are passed to
 * the positional encoding. An empty sequence gives an empty output.
 *
 * <p>A forward throws {@link IllegalArgumentException} for more than two inputs; for ids of another rank, of a data
 * type that is not an integer, or out of range; for a start position without positions in a block with
 * {@link Builder#optPositionsFromPadding}; for a given block whose output has another shape; and for anything the
 * positional encoding rejects. It throws {@link ai.djl.nn.UninitializedParameterException} in inference if the block
 * was neither initialized nor loaded. An id out of range is an error on a CPU only. On a GPU, where ids are not read,
 * its vector is NaN; a {@linkplain Builder#optTokenEmbedding given token embedding} gets the ids as they are.
 *
 * <p>The token table is initialized with N(0, 1), or N(0, 1 / D) with {@link Builder#optScaleEmbedding}, unless
 * {@link #setInitializer} says otherwise. A token's vector is then √2 times as long as a sinusoidal one. DJL cannot
 * save a table of 2 GiB or more (V · D times the bytes of a number): use a smaller one, or train in FLOAT16.
 *
 * <h2>Padding</h2>
 *
 * With {@link Builder#optPaddingIndex} the vectors of the padding token are zero, and no gradient reaches its row
 * through this block. The row is initialized with zeros (a given token embedding initializes its own), and stays zero
 * in training unless an output layer that shares the table trains it. Positions are added to padding as to any token,
 * except with {@link Builder#optPositionsFromPadding}.
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

    /** The name of DJL's identity block. */
    private static final String IDENTITY = "identity";

    /** The positional encodings that a map of arguments may have. */
    private static final Map<String, Function<Map<?, ?>, ? extends Block>> ENCODINGS = Map.of(
            "PositionalEncodingBlock",
            PositionalEncodingBlock::fromArguments,
            "LearnedPositionalEncodingBlock",
            LearnedPositionalEncodingBlock::fromArguments,
            "NoPositions",
            NoPositions::fromArguments);

    record Settings(
            int vocabularySize,
            int embeddingSize,
            Boolean scaleEmbedding,
            Integer paddingIndex,
            Integer positionsFromPadding,
            @NotCompared Float dropoutRate) {

        Settings {
            scaleEmbedding = Objects.requireNonNullElse(scaleEmbedding, false);
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            Check.positive("vocabularySize", vocabularySize);
            Check.positive("embeddingSize", embeddingSize);
            Check.rate("dropoutRate", dropoutRate);
            if (paddingIndex != null) {
                Check.between("paddingIndex", paddingIndex, 0, vocabularySize - 1L);
            }
            Check.that(
                    positionsFromPadding == null || (positionsFromPadding >= 0 && paddingIndex != null),
                    () -> "positionsFromPadding " + positionsFromPadding + " with paddingIndex " + paddingIndex
                            + ": expected a first position of 0 or more, and a padding index; set both");
        }
    }

    private final Settings settings;
    private final Block positionalEncoding;
    private final boolean hasDefaultPositions;

    /** The block that was given; null if the table is used. */
    private final Block tokenEmbedding;

    /** The vectors of the tokens, (V, D); null if a block was given. */
    private final Parameter table;

    private InputEmbeddingBlock(
            Settings settings, Block positionalEncoding, boolean hasDefaultPositions, Block tokenEmbedding) {
        super(settings);
        this.settings = settings;
        this.hasDefaultPositions = hasDefaultPositions;
        this.positionalEncoding = addConfiguredChild("positionalEncoding", positionalEncoding);
        this.tokenEmbedding = tokenEmbedding == null ? null : addConfiguredChild("tokenEmbedding", tokenEmbedding);
        float deviation = settings.scaleEmbedding ? (float) (1 / Math.sqrt(settings.embeddingSize)) : 1;
        table = tokenEmbedding != null
                ? null
                : addParameter(Parameter.builder()
                        .setName("embedding")
                        .setType(Parameter.Type.WEIGHT)
                        .optShape(new Shape(settings.vocabularySize, settings.embeddingSize))
                        .optInitializer(new NormalInitializer(deviation))
                        .build());
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values. The value of
     *     {@code positionalEncoding} is a map with the block's simple class name as its {@code type}, and the block's
     *     arguments; the type {@code NoPositions} is that of {@link Builder#optNoPositions}. It may also be the block
     *     itself.
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static InputEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        return of(Records.options(Settings.class, arguments, "maxSequenceLength", "positionalEncoding"));
    }

    private static InputEmbeddingBlock of(Map<String, Object> options) {
        Class<?> type = InputEmbeddingBlock.class;
        String positions = "positionalEncoding";
        Settings settings = Records.create(Settings.class, options);
        Integer length = Records.value(type, options, "maxSequenceLength", Integer.class);
        Block given = Records.child(
                type, options, positions, Block.class, values -> Records.ofType(positions, values, ENCODINGS));
        Block none = (Block) options.get("noPositions");
        Check.that(
                given == null || none == null,
                () -> "the positional encoding " + given.getClass().getSimpleName()
                        + " and optNoPositions() were given: expected one of them; leave one out");
        Block encoding = positions(settings, length, given == null ? none : given);
        Check.that(
                settings.positionsFromPadding == null || !(encoding instanceof NoPositions),
                () -> "positionsFromPadding " + settings.positionsFromPadding
                        + " without a positional encoding: expected an encoding of these positions; leave"
                        + " optPositionsFromPadding(int) out, or set an encoding");
        boolean isDefault = given == null && none == null;
        return new InputEmbeddingBlock(settings, encoding, isDefault, (Block) options.get("tokenEmbedding"));
    }

    private static Block positions(Settings settings, Integer maxSequenceLength, Block encoding) {
        if (encoding == null) {
            PositionalEncodingBlock.Builder positions =
                    PositionalEncodingBlock.builder().setEmbeddingSize(settings.embeddingSize);
            return maxSequenceLength == null
                    ? positions.build()
                    : positions.optMaxSequenceLength(maxSequenceLength).build();
        }
        Check.that(
                maxSequenceLength == null,
                () -> "maxSequenceLength " + maxSequenceLength + " and the positional encoding "
                        + encoding.getClass().getSimpleName()
                        + " were given: expected one of them; the length belongs to the default encoding, leave it out or"
                        + " set it in the given block");
        if (encoding instanceof LambdaBlock lambda && IDENTITY.equals(lambda.getName())) {
            return new NoPositions();
        }
        Check.that(
                !(encoding instanceof GridPositionalEncodingBlock),
                "the positional encoding is a GridPositionalEncodingBlock, which would use the batch as an axis: expected an"
                        + " encoding of sequences; use a PositionalEncodingBlock");
        if (encoding instanceof SequenceEncodingBlock<?> own) {
            Check.that(
                    own.getEmbeddingSize() == settings.embeddingSize,
                    () -> "the positional encoding has size " + own.getEmbeddingSize() + ": expected embeddingSize "
                            + settings.embeddingSize + "; give both the same size");
            Check.that(
                    own.isAddedToInput(),
                    "the positional encoding has addToInput=false: expected a block that keeps the shape of its input; build it"
                            + " with optAddToInput(true)");
        }
        return encoding;
    }

    /** {@return the number of token ids, V} */
    public int getVocabularySize() {
        return settings.vocabularySize;
    }

    /** {@return the number of dimensions of a token's vector, D} */
    public int getEmbeddingSize() {
        return settings.embeddingSize;
    }

    /**
     * {@return the block that maps vectors (B, T, D) to vectors that encode their position too, a child of this block}
     */
    public Block getPositionalEncoding() {
        return positionalEncoding;
    }

    /**
     * {@return whether the positional encoding is the default: the block was built with neither
     * {@link Builder#optPositionalEncoding} nor {@link Builder#optNoPositions}}
     */
    public boolean hasDefaultPositions() {
        return hasDefaultPositions;
    }

    /**
     * Returns the table of token vectors, for an output layer that shares it.
     *
     * @return the parameter (V, D), in the model's data type; a parameter of this block
     * @throws IllegalStateException if the token embedding was given with {@link Builder#optTokenEmbedding}
     */
    public Parameter getTokenTable() {
        if (table == null) {
            throw new IllegalStateException("the token embedding is the given block "
                    + tokenEmbedding.getClass().getName()
                    + ": expected the default table; find the table among the parameters of that block");
        }
        return table;
    }

    /**
     * Returns which tokens are not padding, as a mask for an attention.
     *
     * @param ids the token ids of a forward; not closed here
     * @return booleans of the same shape, false for the padding token; on the device and the manager of the ids, the
     *     caller's to close; null if this block was built without {@link Builder#optPaddingIndex}
     */
    public NDArray mask(NDArray ids) {
        if (settings.paddingIndex == null) {
            return null;
        }
        try (Temporaries own = new Temporaries()) {
            // a padding index may be beyond the range of the ids' type
            NDArray indices = own.addUnless(ids, Indices.forLookUp(ids));
            return indices.neq(own.add(Arithmetic.number(indices, settings.paddingIndex)));
        }
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireInputCount(inputs.size(), 2, "[ids] or [ids, positions]");
        NDArray ids = inputs.get(0);
        requireIdsShape(ids.getShape());
        Check.that(
                ids.getDataType().isInteger(),
                () -> "token ids " + ids.getShape() + " have data type " + ids.getDataType()
                        + ": expected an integer type; convert them with toType(DataType.INT64, false)");
        if (Indices.areChecked(ids)) {
            Indices.requireBelow(
                    ids,
                    settings.vocabularySize,
                    "token id",
                    "give ids below the vocabulary size, or build the block with a greater setVocabularySize(int)");
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray indices = temporaries.addUnless(ids, Indices.forLookUp(ids));
            NDArray mask = settings.paddingIndex == null ? null : temporaries.add(mask(indices));
            boolean countsTokens = settings.positionsFromPadding != null;
            NDArray tokens = embed(temporaries, parameterStore, indices, training);
            if (mask != null && !countsTokens) {
                tokens = zeroAtPadding(temporaries, tokens, mask);
            }
            NDList toEncode = new NDList(inputs);
            toEncode.set(0, tokens);
            if (countsTokens && inputs.size() == 1 && Positions.given(null, params) == null) {
                Check.that(
                        Positions.start(params, Positions.UNLIMITED) == 0,
                        () -> "ids " + ids.getShape() + " at " + Positions.START + " " + params.get(Positions.START)
                                + " were given to a block with positionsFromPadding, which cannot see the padding before"
                                + " them: expected positions, which do not count padding; give [ids, positions], or "
                                + Positions.POSITIONS + " among the forward parameters");
                toEncode.add(positionsOfTokens(temporaries, mask));
            }
            NDArray encoded = encode(temporaries, parameterStore, toEncode, training, params);
            if (countsTokens) {
                encoded = zeroAtPadding(temporaries, encoded, mask);
            }
            if (training && settings.dropoutRate > 0) {
                encoded = Dropout.dropout(encoded, settings.dropoutRate, true).singletonOrThrow();
            }
            return new NDList(temporaries.keep(encoded));
        }
    }

    /** The token vectors (B, T, D), scaled. */
    private NDArray embed(Temporaries temporaries, ParameterStore parameterStore, NDArray indices, boolean training) {
        NDArray vectors = table == null
                ? fromGivenBlock(parameterStore, indices, training)
                : temporaries.add(fromTable(parameterStore, indices, training));
        if (!settings.scaleEmbedding) {
            return vectors;
        }
        double factor = Math.sqrt(settings.embeddingSize);
        return isOwn(vectors)
                ? Arithmetic.multiplyInPlace(vectors, factor)
                : temporaries.add(Arithmetic.multiply(vectors, factor));
    }

    private NDArray fromTable(ParameterStore parameterStore, NDArray indices, boolean training) {
        NDArray vectors = DataTypes.value(this, table, parameterStore, indices, training);
        DataTypes.requireSameEngine(indices, vectors, "token table");
        return Indices.lookUpGiven(indices, vectors, indices.getManager());
    }

    private NDArray fromGivenBlock(ParameterStore parameterStore, NDArray indices, boolean training) {
        NDArray vectors = tokenEmbedding
                .forward(parameterStore, new NDList(indices), training)
                .singletonOrThrow();
        Shape expected = indices.getShape().add(settings.embeddingSize);
        Check.that(
                vectors.getShape().equals(expected),
                () -> "the token embedding " + tokenEmbedding.getClass().getSimpleName() + " returned "
                        + vectors.getShape() + " for ids " + indices.getShape() + ": expected " + expected
                        + "; give a block of the same embedding size with optTokenEmbedding(Block)");
        return vectors;
    }

    private NDArray encode(
            Temporaries temporaries,
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params) {
        NDArray tokens = inputs.head();
        if (positionalEncoding instanceof SequenceEncodingBlock<?> own && isOwn(tokens)) {
            return temporaries.addUnless(tokens, own.forwardInPlace(parameterStore, inputs, training, params));
        }
        NDList output = positionalEncoding.forward(parameterStore, inputs, training, params);
        String name = positionalEncoding.getClass().getSimpleName();
        Check.that(
                output.size() == 1,
                () -> "the positional encoding " + name + " returned " + output.size()
                        + " arrays: expected one; give positions only to an encoding that uses them, and a mask to the attention");
        NDArray encoded = output.head();
        if (positionalEncoding instanceof ConfiguredBlock) {
            temporaries.addUnless(tokens, encoded);
        }
        Check.that(
                encoded.getShape().equals(tokens.getShape()),
                () -> "the positional encoding " + name + " returned " + encoded.getShape() + " for "
                        + tokens.getShape()
                        + ": expected the same shape; give another block with optPositionalEncoding(Block)");
        return encoded;
    }

    /** Whether vectors were created by this forward and may be written to. A given block may keep what it returns. */
    private boolean isOwn(NDArray vectors) {
        return table != null && Arithmetic.isInPlaceSafe(vectors);
    }

    private static NDArray zeroAtPadding(Temporaries temporaries, NDArray vectors, NDArray mask) {
        NDArray factors = temporaries.add(Arithmetic.toType(mask, vectors.getDataType()));
        return temporaries.add(vectors.mul(temporaries.add(factors.expandDims(2))));
    }

    /** The positions (B, T) of the tokens, which do not count padding; 0 at padding. */
    private NDArray positionsOfTokens(Temporaries temporaries, NDArray mask) {
        NDArray isToken = temporaries.add(Arithmetic.toType(mask, DataType.INT64));
        if (isToken.getShape().size() == 0) {
            return isToken;
        }
        boolean isTimeMajor = positionalEncoding instanceof SequenceEncodingBlock<?> own
                && (own.getSequenceAxis() == 0 || own.getSequenceAxis() == -3);
        NDArray counts = temporaries.add(isToken.cumSum(isTimeMajor ? 0 : 1));
        // the first token, which is counted as 1, has the first position
        NDArray positions = temporaries.add(Arithmetic.add(counts, settings.positionsFromPadding - 1.0));
        return temporaries.add(positions.mul(isToken));
    }

    private static void requireIdsShape(Shape shape) {
        Check.that(
                shape.dimension() == 2,
                () -> "token ids of shape " + shape + " have rank " + shape.dimension()
                        + ": expected (B, T); add the batch of a single sequence with expandDims(0)");
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes (B, T), and the shape of the positions if they are given
     * @return (B, T, D)
     * @throws IllegalArgumentException if the first does not have rank 2
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireIdsShape(inputShapes[0]);
        return new Shape[] {inputShapes[0].add(settings.embeddingSize)};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 2, "[ids] or [ids, positions]");
        requireIdsShape(inputShapes[0]);
        if (positionalEncoding instanceof SequenceEncodingBlock<?> own) {
            // before the token table is created
            own.requireShapes(encodingShapes(inputShapes));
        }
    }

    /** The shapes of the positional encoding's inputs. */
    private Shape[] encodingShapes(Shape... inputShapes) {
        Shape[] shapes = inputShapes.clone();
        shapes[0] = shapes[0].add(settings.embeddingSize);
        return shapes;
    }

    @Override
    protected void prepare(Shape[] inputShapes) {
        if (table != null && settings.paddingIndex != null && !(table.getInitializer() instanceof ZeroRow)) {
            table.setInitializer(new ZeroRow(table.getInitializer(), settings.paddingIndex));
        }
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        positionalEncoding.initialize(manager, dataType, encodingShapes(inputShapes));
        if (tokenEmbedding != null) {
            tokenEmbedding.initialize(manager, dataType, inputShapes[0]);
        }
    }

    /** Another initializer, followed by zeros in one row. */
    private record ZeroRow(Initializer others, int row) implements Initializer {
        @Override
        public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
            NDArray array = others.initialize(manager, shape, dataType);
            // not set(index, 0): DJL would leave the number open, as an array of the manager
            try (NDArray zeros = manager.zeros(new Shape(1, shape.get(1)), dataType)) {
                array.set(NDIndex.sliceAxis(0, row, row + 1L), zeros);
            }
            return array;
        }
    }

    /** Returns its input. DJL's identity block computes with arrays of zeros whenever it is described. */
    private static final class NoPositions extends ConfiguredBlock {

        private record Nothing() {}

        NoPositions() {
            super(new Nothing());
        }

        static NoPositions fromArguments(Map<?, ?> arguments) {
            Records.read(Nothing.class, arguments);
            return new NoPositions();
        }

        @Override
        protected NDList compute(
                ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
            return inputs;
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }

        @Override
        protected void requireShapes(Shape... inputShapes) {
            requireInputCount(inputShapes.length, 1, "[x]");
        }
    }

    /** Builds an {@link InputEmbeddingBlock}. */
    public static final class Builder extends OptionsBuilder<InputEmbeddingBlock, Builder> {

        private Builder() {
            super(
                    Settings.class,
                    InputEmbeddingBlock::of,
                    "maxSequenceLength",
                    "positionalEncoding",
                    "noPositions",
                    "tokenEmbedding");
        }

        /**
         * Sets V, the number of token ids.
         *
         * @param vocabularySize at least 1
         * @return this builder
         */
        public Builder setVocabularySize(int vocabularySize) {
            return set("vocabularySize", vocabularySize);
        }

        /**
         * Sets D, the number of dimensions of a token's vector.
         *
         * @param embeddingSize at least 1
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets the maximum sequence length of the default positional encoding (default: 5000). Not together with
         * {@link #optPositionalEncoding}.
         *
         * @param maxSequenceLength at least 1
         * @return this builder
         */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            return set("maxSequenceLength", maxSequenceLength);
        }

        /**
         * Sets the positional encoding: any block that maps (B, T, D) to the same shape (default: a
         * {@link PositionalEncodingBlock}). It may be shared with other blocks. Not together with
         * {@link #optMaxSequenceLength} or {@link #optNoPositions}.
         *
         * @param positionalEncoding the block, which becomes a child of this one
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optPositionalEncoding(Block positionalEncoding) {
            return set("positionalEncoding", positionalEncoding);
        }

        /**
         * Adds no positions, for a model whose attention encodes them, for example with rotary embeddings or ALiBi.
         * With the default, the positions would be encoded twice, which a {@code TransformerStackBlock} rejects. Not
         * together with {@link #optPositionalEncoding}, {@link #optMaxSequenceLength} or
         * {@link #optPositionsFromPadding}.
         *
         * @return this builder
         */
        public Builder optNoPositions() {
            return set("noPositions", new NoPositions());
        }

        /**
         * Sets the token embedding: any block that maps ids (B, T), INT32 or INT64, to vectors (B, T, D) (default: a
         * table).
         *
         * @param tokenEmbedding the block, which becomes a child of this one
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optTokenEmbedding(Block tokenEmbedding) {
            return setChild("tokenEmbedding", tokenEmbedding);
        }

        /**
         * Sets whether token vectors are multiplied by √D before the positions are added, as in the paper's section 3.4
         * (default: false).
         *
         * @param scaleEmbedding true to multiply
         * @return this builder
         */
        public Builder optScaleEmbedding(boolean scaleEmbedding) {
            return set("scaleEmbedding", scaleEmbedding);
        }

        /**
         * Sets the id of the padding token, whose vector is zero and stays zero in training. By default there is none.
         *
         * @param paddingIndex from 0 to V - 1
         * @return this builder
         */
        public Builder optPaddingIndex(int paddingIndex) {
            return set("paddingIndex", paddingIndex);
        }

        /**
         * Counts positions from the first token that is not padding, as fairseq does: the first token of each sequence
         * has the given position, wherever the padding is, padding is not counted, and the vector of a padding token is
         * zero, its position included. By default every step is counted, and positions are added to padding too. This
         * needs {@link #optPaddingIndex} and a positional encoding with explicit positions; a time-major one must be a
         * block of this library.
         *
         * <p>A step of a decoder cannot see the padding of earlier steps: give it {@code [ids, positions]}. Explicit
         * positions are used as they are.
         *
         * @param firstPosition the first token's position, at least 0; fairseq uses the padding index + 1
         * @return this builder
         */
        public Builder optPositionsFromPadding(int firstPosition) {
            return set("positionsFromPadding", firstPosition);
        }

        /**
         * Sets the rate of the dropout that comes last, in training only (default: 0).
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
