package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

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
 * <ul>
 *   <li>{@code [ids]}: (B, T), INT8, UINT8, INT32 or INT64, each from 0 to V - 1.
 *   <li>{@code [ids, positions]}: positions as the positional encoding expects them; for
 *       {@link PositionalEncodingBlock} (T) or (B, T). Any second array without the name of {@link #TOKEN_TYPES} is
 *       read as positions, even if it contains only 0 and 1. Pass masks to the attention.
 *   <li>Either of these followed by token types, with {@link Builder#optTokenTypes}.
 * </ul>
 *
 * The output is (B, T, D) in the data type of the token embedding, usually the model's. If the positional encoding is
 * time-major ({@code optSequenceAxis(0)}), ids are (T, B) and the output is (T, B, D). Forward parameters, such as
 * {@link PositionalEncodingBlock#START_POSITION}, are passed to the positional encoding.
 *
 * <p>On a GPU, a {@linkplain Builder#optTokenEmbedding custom token embedding} receives ids out of range unchanged. A
 * forward throws {@link IllegalArgumentException} if a custom block returns another shape, and propagates exceptions of
 * custom blocks.
 *
 * <p>The token table is initialized with N(0, 1 / D), or N(0, 1) with {@link Builder#optNoPositions} and without
 * {@link Builder#optScaleEmbedding}, unless {@link #setInitializer} replaces the initializer. With sinusoids, shorter
 * token vectors learn better: a small encoder reached an accuracy of 0.87, and of 0.81 with N(0, 1) (means of three
 * seeds). DJL cannot save a table of 2 GiB or more (V · D times the size of a number in bytes): use a smaller one, or
 * train in FLOAT16.
 *
 * <h2>Padding</h2>
 *
 * {@link Builder#optPaddingIndex} is {@code padding_idx} of PyTorch's {@code nn.Embedding}: the row of the padding
 * token is initialized with zeros (a custom token embedding initializes its own), and no gradient reaches it through
 * this block. A forward uses the values of the row, which are not zeros after loading weights, or if an output layer
 * that shares the table trains it. Positions are added to padding as to any other token, except with
 * {@link Builder#optPositionsFromPadding}.
 *
 * <p>If the padding token is also a real token, such as the end of a text, leave the padding index out and pass a mask
 * to the attention; otherwise that token is neither trained nor visible.
 *
 * <h2>Weight tying</h2>
 *
 * {@link #getTokenTable} is the (V, D) parameter. In the forward of an output layer that shares it:
 *
 * <pre>{@code
 * NDArray table = parameterStore.getValue(input.getTokenTable(), hidden.getDevice(), training);
 * NDArray logits = hidden.matMul(table.transpose());
 * }</pre>
 *
 * <p>The {@linkplain io.github.djlpositional package description} has the rules for all blocks.
 */
public final class InputEmbeddingBlock extends OptionsBlock {

    /**
     * The key of the forward parameter that gives each token a type, an NDArray of integers from 0 to one less than the
     * number of types: the shape of the ids, or a shape that broadcasts to it, such as (T). An input with this
     * {@linkplain NDArray#getName name}, or with the name {@code token_type_ids} of Hugging Face's tokenizers, means
     * the same. By default, all tokens have the type 0.
     */
    public static final String TOKEN_TYPES = ForwardParameters.TOKEN_TYPES;

    /** BERT's standard deviation of token types, its {@code initializer_range}. */
    private static final float DEVIATION_OF_TYPES = 0.02f;

    /** The name of DJL's identity block. */
    private static final String IDENTITY = "identity";

    record Options(
            @Range(min = 1) int vocabularySize,
            @Range(min = 1) int embeddingSize,
            @NotSaved Integer maxSequenceLength,
            @NotSaved Block positionalEncoding,
            @Default("false") boolean noPositions,
            Block tokenEmbedding,
            @Default("false") boolean scaleEmbedding,
            @Range(above = 0) Double tokenScale,
            Block norm,
            @Range(min = 1) Integer outputSize,
            @Range(min = 0) Integer paddingIndex,
            @Range(min = 0) Integer positionsFromPadding,
            Boolean returnMask,
            @Range(min = 1) Integer tokenTypes,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate) {

        Options {
            if (paddingIndex != null) {
                Check.between("paddingIndex", paddingIndex, 0, vocabularySize - 1L);
            }
            Check.that(
                    positionsFromPadding == null || (paddingIndex != null && !noPositions),
                    () -> "positionsFromPadding " + positionsFromPadding + " with paddingIndex " + paddingIndex
                            + " and noPositions " + noPositions
                            + ": expected a padding index and a positional encoding; set both");
            returnMask = Boolean.TRUE.equals(returnMask) ? true : null;
            Check.that(
                    returnMask == null || paddingIndex != null,
                    "returnMask true without a padding index: expected both; set optPaddingIndex, or leave it out");
            Check.that(
                    tokenScale == null || !scaleEmbedding,
                    "tokenScale " + tokenScale + " with scaleEmbedding true: expected one factor; leave one out");
            Check.that(
                    positionalEncoding == null || !noPositions,
                    () -> "positionalEncoding " + Settings.classOf(positionalEncoding)
                            + " with noPositions: expected one of them; leave one out");
            Check.that(
                    maxSequenceLength == null || (positionalEncoding == null && !noPositions),
                    () -> "maxSequenceLength " + maxSequenceLength
                            + " without the default positional encoding: expected it only with the default;"
                            + " leave it out, or set it in"
                            + " the custom positional encoding");
            requireFits(positionalEncoding, embeddingSize);
        }

        private static void requireFits(Block encoding, int embeddingSize) {
            Check.that(
                    !(encoding instanceof GridPositionalEncodingBlock),
                    "the positional encoding is a GridPositionalEncodingBlock, which would treat the batch as an axis:"
                            + " expected an encoding of sequences; use a PositionalEncodingBlock");
            if (encoding instanceof SequenceEncodingBlock<?> sequenceEncoding) {
                Check.that(
                        sequenceEncoding.embeddingSize() == embeddingSize,
                        () -> "the positional encoding has size " + sequenceEncoding.embeddingSize()
                                + ": expected embeddingSize " + embeddingSize + "; use the same size for both");
                Check.that(
                        sequenceEncoding.isAddedToInput(),
                        "the positional encoding has addToInput=false: expected a block that returns the shape of its"
                                + " input; build it with optAddToInput(true)");
            }
        }

        /** The factor of the token vectors. */
        double factor() {
            return scaleEmbedding ? Math.sqrt(embeddingSize) : tokenScale == null ? 1 : tokenScale;
        }

        private Block defaultEncoding() {
            PositionalEncodingBlock.Builder positions =
                    PositionalEncodingBlock.builder().setEmbeddingSize(embeddingSize);
            return maxSequenceLength == null
                    ? positions.build()
                    : positions.optMaxSequenceLength(maxSequenceLength).build();
        }
    }

    private final Options options;

    /** Null for none. */
    private final Block positionalEncoding;

    /** The custom token embedding; null if the table is used. */
    private final Block tokenEmbedding;

    /** The vectors of the tokens, (V, D); null with a custom token embedding. */
    private final Parameter table;

    /** The normalization after the positions; null for none. */
    private final Block norm;

    /** From D to the output size; null for none. */
    private final Linear projection;

    /** The vectors of the token types, (count, D); null for none. */
    private final Parameter types;

    private InputEmbeddingBlock(Options options) {
        super(options);
        this.options = options;
        Block encoding = hasDefaultPositions() ? options.defaultEncoding() : options.positionalEncoding;
        positionalEncoding = encoding == null ? null : addChild("positionalEncoding", encoding);
        tokenEmbedding = options.tokenEmbedding == null ? null : addChild("tokenEmbedding", options.tokenEmbedding);
        boolean isShort = options.factor() != 1 || !options.noPositions;
        float deviation = isShort ? (float) (1 / Math.sqrt(options.embeddingSize)) : 1;
        table = tokenEmbedding != null
                ? null
                : addParameter(Parameter.builder()
                        .setName("embedding")
                        .setType(Parameter.Type.WEIGHT)
                        .optShape(new Shape(options.vocabularySize, options.embeddingSize))
                        .optInitializer(new NormalInitializer(deviation))
                        .build());
        types = options.tokenTypes == null
                ? null
                : addParameter(
                        "tokenTypes",
                        new Shape(options.tokenTypes, options.embeddingSize),
                        new NormalInitializer(DEVIATION_OF_TYPES));
        norm = options.norm == null ? null : addChild("norm", options.norm);
        projection = options.outputSize == null
                ? null
                : addProjection("projection", options.embeddingSize, options.outputSize, true);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static InputEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return the number of dimensions of a token's vector, D} */
    public int getEmbeddingSize() {
        return options.embeddingSize;
    }

    /** {@return the number of dimensions of the output: that of {@link Builder#optOutputSize}, usually D} */
    public int getOutputSize() {
        return options.outputSize == null ? options.embeddingSize : options.outputSize;
    }

    /** {@return the normalization after the positions, a child of this block; null for none} */
    public Block getNorm() {
        return norm;
    }

    /** {@return the projection to another output size; null for none} */
    public Linear getProjection() {
        return projection;
    }

    /**
     * {@return the block that encodes the positions of vectors (B, T, D), a child of this block; null with
     * {@link Builder#optNoPositions}}
     */
    public Block getPositionalEncoding() {
        return positionalEncoding;
    }

    /**
     * {@return whether the positional encoding is the default, with neither {@link Builder#optPositionalEncoding} nor
     * {@link Builder#optNoPositions}}
     */
    public boolean hasDefaultPositions() {
        return options.positionalEncoding == null && !options.noPositions;
    }

    /**
     * {@return the table of token vectors, the parameter (V, D), for an output layer that shares it}
     *
     * @throws IllegalStateException if the token embedding was set with {@link Builder#optTokenEmbedding}
     */
    public Parameter getTokenTable() {
        if (table == null) {
            throw new IllegalStateException("the token embedding is the block "
                    + tokenEmbedding.getClass().getName()
                    + ": expected the default table; get the table from the parameters of that block");
        }
        return table;
    }

    /** {@return the table of the token types, the parameter (count, D); null without {@link Builder#optTokenTypes}} */
    public Parameter getTokenTypeTable() {
        return types;
    }

    /**
     * {@return a mask that hides padding in an attention: booleans in the shape of the ids, false for the padding
     * token; null without {@link Builder#optPaddingIndex}}
     *
     * @param ids the token ids of a forward
     */
    public NDArray mask(NDArray ids) {
        takeMaskOf(this);
        return options.paddingIndex == null ? null : isToken(ids);
    }

    private NDArray isToken(NDArray ids) {
        return Temporaries.result(() -> {
            // a padding index may be beyond the range of the ids' type
            NDArray indices = Indices.forLookUp(ids);
            return indices.neq(Arithmetic.number(indices, options.paddingIndex));
        });
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray typesOfInput = ForwardParameters.tokenTypes(inputs);
        requireInputCount(inputs.size(), typesOfInput == null ? 2 : 3, expectedInputs());
        NDArray ids = inputs.get(0);
        requireIdsShape(ids.getShape());
        Check.that(
                ids.getDataType().isInteger(),
                () -> "token ids " + ids.getShape() + " have data type " + ids.getDataType()
                        + ": expected an integer type; convert them with toType(DataType.INT64, false)");
        if (Indices.areChecked(ids)) {
            Indices.requireBelow(
                    ids,
                    options.vocabularySize,
                    "token id",
                    "pass ids below the vocabulary size, or build the block with a larger setVocabularySize(int)");
        }
        if (options.paddingIndex != null && options.returnMask == null && !isMaskTaken()) {
            InputMistakes.checkPadding(ids, options.paddingIndex);
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray indices = temporaries.addUnless(ids, Indices.forLookUp(ids));
            boolean skipsPadding = options.positionsFromPadding != null;
            NDArray mask = skipsPadding ? temporaries.add(isToken(indices)) : null;
            NDArray tokens = embed(temporaries, parameterStore, indices, training);
            tokens = addTypes(temporaries, parameterStore, tokens, ids, typesOf(typesOfInput, params), training);
            NDList toEncode = new NDList(inputs);
            toEncode.set(0, tokens);
            toEncode.removeIf(input -> input == typesOfInput);
            if (skipsPadding && toEncode.size() == 1 && Positions.explicit(null, params) == null) {
                Check.that(
                        Documents.of(params) == null,
                        () -> Documents.of(params) + " were given to a block with positionsFromPadding: expected"
                                + " positions of the tokens; add " + ForwardParameters.POSITIONS
                                + " to the forward parameters");
                Check.that(
                        ForwardParameters.start(params, ForwardParameters.UNLIMITED) == 0,
                        () -> "ids " + ids.getShape() + " at " + ForwardParameters.START + " "
                                + params.get(ForwardParameters.START)
                                + " were given to a block with positionsFromPadding, which cannot see the padding before"
                                + " them: expected positions that do not count padding; pass [ids, positions], or "
                                + ForwardParameters.POSITIONS + " among the forward parameters");
                toEncode.add(temporaries.addResult(() -> positionsOfTokens(mask)));
            }
            NDArray encoded = encode(temporaries, parameterStore, toEncode, training, params);
            if (norm != null) {
                encoded = applied(temporaries, norm, parameterStore, encoded, training);
            }
            if (skipsPadding) {
                encoded = temporaries.add(zeroAtPadding(encoded, mask));
            }
            if (training && options.dropoutRate > 0) {
                encoded = Dropout.dropout(encoded, options.dropoutRate, true).singletonOrThrow();
            }
            if (projection != null) {
                encoded = applied(temporaries, projection, parameterStore, encoded, training);
            }
            if (hasDefaultPositions()) {
                InputMistakes.markPositions(encoded);
            }
            NDList outputs = new NDList(temporaries.remove(encoded));
            if (options.returnMask != null) {
                outputs.add(isToken(ids));
            }
            return outputs;
        }
    }

    private static NDArray applied(
            Temporaries temporaries, Block block, ParameterStore parameterStore, NDArray x, boolean training) {
        return temporaries.add(
                block.forward(parameterStore, new NDList(x), training).singletonOrThrow());
    }

    /** The token vectors (B, T, D), scaled. */
    private NDArray embed(Temporaries temporaries, ParameterStore parameterStore, NDArray indices, boolean training) {
        NDArray vectors = table == null
                ? fromCustomBlock(parameterStore, indices, training)
                : temporaries.add(fromTable(parameterStore, indices, training));
        if (options.paddingIndex != null && areTrained(training)) {
            vectors = temporaries.add(withoutGradientOfPadding(vectors, indices));
        }
        double factor = options.factor();
        if (factor == 1) {
            return vectors;
        }
        return isOwn(vectors)
                ? Arithmetic.multiplyInPlace(vectors, factor)
                : temporaries.add(Arithmetic.multiply(vectors, factor));
    }

    /** Whether gradients of the token vectors may be recorded. */
    private boolean areTrained(boolean training) {
        return training
                || (table == null ? tokenEmbedding.getParameters().values() : List.of(table))
                        .stream()
                                .anyMatch(parameter -> parameter.isInitialized()
                                        && parameter.getArray().hasGradient());
    }

    /** The same vectors of tokens, through which no gradient flows to the vector of padding: a new array. */
    private NDArray withoutGradientOfPadding(NDArray vectors, NDArray indices) {
        return Temporaries.result(() -> {
            NDArray isToken = isToken(indices).expandDims(2);
            // MXNet cannot compute with booleans
            NDArray condition = Arithmetic.isPyTorch(isToken) ? isToken : Arithmetic.toType(isToken, DataType.INT32);
            return NDArrays.where(condition.broadcast(vectors.getShape()), vectors, vectors.stopGradient());
        });
    }

    /** The types of the tokens of a forward; null for none. */
    private NDArray typesOf(NDArray input, PairList<String, Object> params) {
        Object parameter = params == null ? null : params.get(TOKEN_TYPES);
        Check.that(
                parameter == null || parameter instanceof NDArray,
                () -> "the forward parameter " + TOKEN_TYPES + " is a " + Settings.classOf(parameter)
                        + ": expected an NDArray, (B, T) or (T); create it with the manager");
        Check.that(
                parameter == null || input == null,
                () -> "token types " + input.getShape() + " were given beside the forward parameter " + TOKEN_TYPES
                        + " " + ((NDArray) parameter).getShape() + ": expected one of them; leave one out");
        NDArray given = input == null ? (NDArray) parameter : input;
        Check.that(
                given == null || types != null,
                () -> "token types " + given.getShape() + " were given to a block without types: expected none; build"
                        + " the block with optTokenTypes(int), or leave them out");
        return given;
    }

    /** Adds the vectors of the types of tokens, the first type for null. */
    private NDArray addTypes(
            Temporaries temporaries,
            ParameterStore parameterStore,
            NDArray tokens,
            NDArray ids,
            NDArray given,
            boolean training) {
        if (types == null) {
            return tokens;
        }
        NDArray vectors = DataTypes.value(this, types, parameterStore, ids, training);
        DataTypes.requireSame(tokens, vectors, "token types");
        NDArray added = temporaries.addResult(() -> given == null
                ? vectors.get(ids.getManager(), NDIndex.sliceAxis(0, 0, 1))
                : Indices.lookUpOrNaN(Indices.forLookUp(requireTypes(given, ids)), vectors, ids.getManager()));
        return isOwn(tokens) ? tokens.addi(added) : temporaries.add(tokens.add(added));
    }

    private NDArray requireTypes(NDArray given, NDArray ids) {
        Shape shape = given.getShape();
        Shape expected = ids.getShape();
        int missing = 2 - shape.dimension();
        boolean fits = missing >= 0
                && shape.dimension() > 0
                && IntStream.range(0, shape.dimension())
                        .allMatch(axis -> shape.get(axis) == 1 || shape.get(axis) == expected.get(axis + missing));
        Check.that(
                fits && given.getDataType().isInteger(),
                () -> "token types " + shape + " " + given.getDataType() + " for ids " + expected
                        + ": expected the shape of the ids, or one that broadcasts to it, and an integer type; pass"
                        + " one type for each token");
        if (Indices.areChecked(given)) {
            Indices.requireBelow(
                    given,
                    options.tokenTypes,
                    "token type",
                    "pass types below the number of types, or build the block with a larger optTokenTypes(int)");
        }
        return given;
    }

    private String expectedInputs() {
        return "[ids] or [ids, positions]" + (types == null ? "" : ", and token types with the name " + TOKEN_TYPES);
    }

    private NDArray fromTable(ParameterStore parameterStore, NDArray indices, boolean training) {
        NDArray vectors = DataTypes.value(this, table, parameterStore, indices, training);
        DataTypes.requireSameEngine(indices, vectors, "token table");
        return Indices.lookUpOrNaN(indices, vectors, indices.getManager());
    }

    private NDArray fromCustomBlock(ParameterStore parameterStore, NDArray indices, boolean training) {
        NDArray vectors = tokenEmbedding
                .forward(parameterStore, new NDList(indices), training)
                .singletonOrThrow();
        Shape expected = indices.getShape().add(options.embeddingSize);
        Check.that(
                vectors.getShape().equals(expected),
                () -> "the token embedding " + Settings.classOf(tokenEmbedding) + " returned "
                        + vectors.getShape() + " for ids " + indices.getShape() + ": expected " + expected
                        + "; pass a block with this embedding size to optTokenEmbedding(Block)");
        return vectors;
    }

    private NDArray encode(
            Temporaries temporaries,
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params) {
        NDArray tokens = inputs.head();
        if (positionalEncoding == null) {
            Check.that(
                    inputs.size() == 1,
                    "2 arrays were given to an embedding without positions: expected [ids]; pass positions and masks to"
                            + " the attention");
            return tokens;
        }
        if (positionalEncoding instanceof SequenceEncodingBlock<?> sequenceEncoding && isOwn(tokens)) {
            return temporaries.addUnless(
                    tokens, sequenceEncoding.forwardInPlace(parameterStore, inputs, training, params));
        }
        NDList output = positionalEncoding.forward(parameterStore, inputs, training, params);
        String name = Settings.classOf(positionalEncoding);
        Check.that(
                output.size() == 1,
                () -> "the positional encoding " + name + " returned " + output.size()
                        + " arrays: expected one; pass positions only to an encoding that uses them, and a mask to the"
                        + " attention");
        NDArray encoded = output.head();
        if (positionalEncoding instanceof OptionsBlock) {
            temporaries.addUnless(tokens, encoded);
        }
        Check.that(
                encoded.getShape().equals(tokens.getShape()),
                () -> "the positional encoding " + name + " returned " + encoded.getShape() + " for "
                        + tokens.getShape()
                        + ": expected the same shape; pass another block to optPositionalEncoding(Block)");
        return encoded;
    }

    /** Whether vectors were created by this forward and may be written to. A custom block may reuse its result. */
    private boolean isOwn(NDArray vectors) {
        return table != null && Arithmetic.isInPlaceSafe(vectors);
    }

    private static NDArray zeroAtPadding(NDArray vectors, NDArray mask) {
        return Temporaries.result(
                () -> vectors.mul(Arithmetic.toType(mask, vectors.getDataType()).expandDims(2)));
    }

    /** The positions of the tokens, (B, T), without counting padding; 0 at padding. */
    private NDArray positionsOfTokens(NDArray mask) {
        NDArray isToken = Arithmetic.toType(mask, DataType.INT64);
        if (isToken.getShape().size() == 0) {
            return isToken;
        }
        boolean isTimeMajor = positionalEncoding instanceof SequenceEncodingBlock<?> sequenceEncoding
                && (sequenceEncoding.sequenceAxis() == 0 || sequenceEncoding.sequenceAxis() == -3);
        NDArray counts = isToken.cumSum(isTimeMajor ? 0 : 1);
        // the count of the first token is 1
        return Arithmetic.add(counts, options.positionsFromPadding - 1.0).mul(isToken);
    }

    private static void requireIdsShape(Shape shape) {
        Check.that(
                shape.dimension() == 2,
                () -> "token ids of shape " + shape + " have rank " + shape.dimension()
                        + ": expected (B, T); add the batch of a single sequence with expandDims(0)");
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireIdsShape(inputShapes[0]);
        Shape x = inputShapes[0].add(getOutputSize());
        return options.returnMask == null ? new Shape[] {x} : new Shape[] {x, inputShapes[0]};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, types == null ? 2 : 3, expectedInputs());
        requireIdsShape(inputShapes[0]);
        if (positionalEncoding instanceof SequenceEncodingBlock<?> sequenceEncoding) {
            // before the token table is created
            sequenceEncoding.requireShapes(encodingShapes(inputShapes));
        }
    }

    /** The shapes of the positional encoding's inputs. Shapes have no names: without types, two are with positions. */
    private Shape[] encodingShapes(Shape... inputShapes) {
        Shape[] shapes = Arrays.copyOf(inputShapes, types == null ? inputShapes.length : 1);
        shapes[0] = shapes[0].add(options.embeddingSize);
        return shapes;
    }

    @Override
    protected void prepare(Shape[] inputShapes) {
        if (table != null && options.paddingIndex != null && !(table.getInitializer() instanceof ZeroRow)) {
            table.setInitializer(new ZeroRow(table.getInitializer(), options.paddingIndex));
        }
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        initializeChild(positionalEncoding, manager, dataType, encodingShapes(inputShapes));
        initializeChild(tokenEmbedding, manager, dataType, inputShapes[0]);
        initializeChild(norm, manager, dataType, encodingShapes(inputShapes)[0]);
        initializeChild(projection, manager, dataType, new Shape(-1, options.embeddingSize));
    }

    /** Initializes with another initializer, then sets one row to zeros. */
    private record ZeroRow(Initializer initializer, int row) implements Initializer {
        @Override
        public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
            NDArray array = initializer.initialize(manager, shape, dataType);
            // not set(index, 0), for which DJL would leave an array open on the manager
            try (NDArray zeros = manager.zeros(new Shape(1, shape.get(1)), dataType)) {
                array.set(NDIndex.sliceAxis(0, row, row + 1L), zeros);
            }
            return array;
        }
    }

    /** Builds an {@link InputEmbeddingBlock}. */
    public static final class Builder extends BlockBuilder<InputEmbeddingBlock, Builder> {

        private Builder() {
            super(Options.class, InputEmbeddingBlock::new);
        }

        /** Sets V, the number of token ids, at least 1. */
        public Builder setVocabularySize(int vocabularySize) {
            return set("vocabularySize", vocabularySize);
        }

        /** Sets D, the number of dimensions of a token's vector, at least 1. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets the maximum sequence length of the default positional encoding, at least 1 (default: 5000). Not together
         * with {@link #optPositionalEncoding} or {@link #optNoPositions}.
         */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            return set("maxSequenceLength", maxSequenceLength);
        }

        /**
         * Sets the positional encoding: any block that maps (B, T, D) to the same shape (default: a
         * {@link PositionalEncodingBlock}). It becomes a child of this block, and may be shared with other blocks. Not
         * together with {@link #optMaxSequenceLength} or {@link #optNoPositions}.
         */
        public Builder optPositionalEncoding(Block positionalEncoding) {
            // DJL's identity block runs on arrays of zeros to compute its output shape, for example when it is printed
            boolean isIdentity = positionalEncoding instanceof LambdaBlock lambda && IDENTITY.equals(lambda.getName());
            return isIdentity ? optNoPositions() : set("positionalEncoding", positionalEncoding);
        }

        /**
         * Adds no positions, for a model whose attention encodes them, for example with rotary embeddings or ALiBi, or
         * in which a positional encoding follows this block, for example in a {@link ai.djl.nn.SequentialBlock}. With
         * the default, the positions would be encoded twice, which a {@code TransformerStackBlock} rejects. Not
         * together with {@link #optPositionalEncoding}, {@link #optMaxSequenceLength} or
         * {@link #optPositionsFromPadding}.
         */
        public Builder optNoPositions() {
            return set("noPositions", true);
        }

        /**
         * Sets the token embedding: any block that maps ids (B, T), INT32 or INT64, to vectors (B, T, D), and becomes a
         * child of this block (default: a table).
         */
        public Builder optTokenEmbedding(Block tokenEmbedding) {
            return setChild("tokenEmbedding", tokenEmbedding);
        }

        /**
         * Sets whether token vectors are multiplied by √D before the positions are added, as in <em>Attention Is All
         * You Need</em>, section 3.4 (default: false).
         */
        public Builder optScaleEmbedding(boolean scaleEmbedding) {
            return set("scaleEmbedding", scaleEmbedding);
        }

        /**
         * Multiplies token vectors by a number above 0 before the positions are added, {@code embedding_multiplier} of
         * Granite (default: 1). Not together with {@link #optScaleEmbedding}.
         */
        public Builder optTokenScale(double tokenScale) {
            return set("tokenScale", tokenScale);
        }

        /**
         * Normalizes the vectors, after the positions and types, as in BERT and BLOOM: a {@link LayerNormBlock} or an
         * {@link RmsNormBlock} of size D (default: none).
         */
        public Builder optNorm(Block norm) {
            return setChild("norm", norm);
        }

        /**
         * Projects the output, after dropout, to another size, with a bias: the layers of ALBERT and ELECTRA are wider
         * than their tokens (default: D, without projection).
         */
        public Builder optOutputSize(int outputSize) {
            return set("outputSize", outputSize);
        }

        /**
         * Sets the id of the padding token, from 0 to V - 1, whose row in the table is initialized with zeros and not
         * trained (default: none). Leave it out if the id is also that of a token, such as the end of a text.
         */
        public Builder optPaddingIndex(int paddingIndex) {
            return set("paddingIndex", paddingIndex);
        }

        /**
         * Counts positions from the first token that is not padding, which has the position {@code firstPosition}, at
         * least 0; fairseq uses the padding index + 1. Padding is not counted, and its output vector is zero: no
         * position is added to it. By default, every token is counted, and positions are added to padding too.
         *
         * <p>This needs {@link #optPaddingIndex} and a positional encoding with explicit positions; a time-major one
         * must be a block of this library. A step of a decoder cannot see the padding of earlier steps: pass it
         * {@code [ids, positions]}. Explicit positions are used as they are.
         */
        public Builder optPositionsFromPadding(int firstPosition) {
            return set("positionsFromPadding", firstPosition);
        }

        /**
         * Returns the {@link #mask} of padding after the output, {@code [x, mask]}, for the layers of a
         * {@link ai.djl.nn.SequentialBlock} that
         * {@linkplain io.github.djlpositional.transformer.TransformerLayerBlock.Builder#optReturnMask pass it on}
         * (default: false). This needs {@link #optPaddingIndex}. A {@code TransformerStackBlock} needs no such option.
         */
        public Builder optReturnMask(boolean returnMask) {
            return set("returnMask", returnMask);
        }

        /**
         * Adds the vector of a type to each token, as BERT does: a table (count, D), initialized with N(0, 0.02²), is
         * added before the positions (default: no types). The types are an input or a forward parameter
         * {@link #TOKEN_TYPES}.
         *
         * @param count the number of types, at least 1
         */
        public Builder optTokenTypes(int count) {
            return set("tokenTypes", count);
        }

        /** Sets the dropout rate of the output in training, at least 0 and below 1 (default: 0). */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
