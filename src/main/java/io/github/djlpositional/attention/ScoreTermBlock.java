package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;

/**
 * A relative encoding that adds a term to the scores. Its forward returns that term, unscaled:
 *
 * <ul>
 *   <li>{@code [queries]}: for queries at positions s … s + T - 1 and keys at positions 0 … s + T - 1, where s is the
 *       forward parameter {@link Positions#START} (default: 0).
 *   <li>{@code [queries, keys]}: for keys at positions 0 … F - 1.
 * </ul>
 *
 * With the forward parameter {@link Positions#POSITIONS}, the queries have these positions, and without keys the keys
 * too.
 */
abstract class ScoreTermBlock extends ConfiguredBlock implements RelativeEncoding {

    private static final int INITIAL_LENGTH = 512;

    ScoreTermBlock(Record settings) {
        super(settings);
    }

    /** Checks the shape of the queries; -1 stands for an unknown size. */
    abstract void requireQueries(Shape queries);

    /** Returns the shape of the term for T queries and F keys. */
    abstract Shape outputShape(Shape queries, long length, long keyLength);

    /** Returns the term where positions are indices, so that it can be shifted instead of looked up. */
    abstract NDArray termOfIndices(AttentionCall call, NDArray queries);

    /**
     * Returns the term where positions were given.
     *
     * @param temporaries closes what is created here
     * @param indices (1 or B, T, F), INT32: where the key's position less the query's is among those of {@link #allOf}
     */
    abstract NDArray termOfPositions(Temporaries temporaries, AttentionCall call, NDArray queries, NDArray indices);

    /** Whether the term is all that the encoding adds, and no gradient is recorded for it. */
    boolean isConstant(AttentionCall call) {
        return getDirectParameters().isEmpty()
                || (!call.training()
                        && getDirectParameters().values().stream()
                                .noneMatch(parameter -> parameter.isInitialized()
                                        && parameter.getArray().hasGradient()));
    }

    @Override
    public final NDArray scoreTerm(AttentionCall call, NDArray queries) {
        if (!call.hasPositions()) {
            return termOfIndices(call, queries);
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray term = termOfPositions(temporaries, call, queries, indices(temporaries, call, queries));
            return temporaries.keep(term);
        }
    }

    /** A call that has all relative positions of another one: from -(n - 1) to n - 1. */
    static AttentionCall allOf(AttentionCall call) {
        Span all = Span.of(0, Math.max(call.queries().end(), call.keys().end()));
        return new AttentionCall(call.parameterStore(), call.training(), all, all, null, false, call.scale(), null);
    }

    /** The index of each key's relative position among those of {@link #allOf}. */
    static NDArray indices(Temporaries temporaries, AttentionCall call, NDArray like) {
        int zero = allOf(call).queries().length() - 1;
        NDArray queries = positions(temporaries, call.queries(), like);
        NDArray keys = positions(temporaries, call.keys(), like);
        NDArray relative =
                temporaries.add(temporaries.add(keys.expandDims(1)).sub(temporaries.add(queries.expandDims(2))));
        return temporaries.add(relative.add(zero));
    }

    private static NDArray positions(Temporaries temporaries, Span span, NDArray like) {
        if (span.positions() == null) {
            NDArray indices = temporaries.add(like.getManager()
                    .arange(span.first(), span.first() + span.length(), 1, DataType.INT32, like.getDevice()));
            return temporaries.add(indices.expandDims(0));
        }
        Check.that(
                span.positions().getShape().dimension() == 2 && span.positions().getDataType() == DataType.INT32,
                () -> Positions.POSITIONS + " of shape " + span.positions().getShape() + " are "
                        + (span.positions().getDataType() == DataType.INT32 ? "on several axes" : "real numbers")
                        + ": expected one integer for each token, (T) or (B, T), for an encoding of relative positions;"
                        + " use a RotaryEmbeddingBlock for others");
        return span.positions();
    }

    @Override
    protected final NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Shape[] shapes = inputs.getShapes();
        requireShapes(shapes);
        NDArray queries = inputs.head();
        DataTypes.requireEmbedding(queries, "queries");
        long length = lengthOf(shapes[0]);
        NDArray given = Positions.given(null, params);
        int start = given == null ? Positions.start(params, length, Positions.UNLIMITED) : 0;
        long keys = shapes.length == 1 ? start + length : lengthOf(shapes[1]);
        Check.that(
                length > 0 && keys > 0,
                () -> length + " queries and " + keys
                        + " keys: expected 1 or more of both; skip the call if there are none");
        Shape output = outputShape(shapes[0], length, keys);
        if (output.size() == 0) {
            // an empty batch: MXNet cannot slice an empty array
            return new NDList(queries.getManager().create(output, queries.getDataType(), queries.getDevice()));
        }
        for (Parameter parameter : getDirectParameters().values()) {
            DataTypes.requireSame(
                    queries, value(this, parameter, parameterStore, queries, training), "encoding's parameters");
        }
        try (Temporaries temporaries = new Temporaries()) {
            Span span = Span.given(temporaries, params, start, queries, Math.toIntExact(length), true);
            boolean isSelf = given != null && shapes.length == 1;
            AttentionCall call = new AttentionCall(
                    parameterStore,
                    training,
                    span,
                    isSelf ? span : Span.of(0, Math.toIntExact(keys)),
                    null,
                    false,
                    1,
                    null);
            return new NDList(scoreTerm(call, queries));
        }
    }

    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        Shape keys = inputShapes[inputShapes.length - 1];
        return new Shape[] {outputShape(inputShapes[0], lengthOf(inputShapes[0]), lengthOf(keys))};
    }

    @Override
    protected final void requireShapes(Shape... inputShapes) {
        Check.that(
                inputShapes.length == 1 || inputShapes.length == 2,
                () -> inputShapes.length
                        + " inputs were given: expected [queries] or [queries, keys]; pass one or two arrays");
        requireQueries(inputShapes[0]);
        if (inputShapes.length == 2) {
            requireSequence("keys", inputShapes[1]);
        }
    }

    /** Checks that a shape is (…, T, D). */
    static void requireSequence(String what, Shape shape) {
        Check.that(
                shape.dimension() >= 2,
                () -> what + " of shape " + shape
                        + ": expected (…, length, D), rank 2 or more; add the missing dimensions with expandDims");
    }

    /**
     * Checks that a shape is (B, N, T, H) with the given sizes; -1 stands for any size, and for one that is not known
     * yet.
     */
    static void requireHeads(Shape shape, String what, long heads, long headSize) {
        if (shape.dimension() != 4 || differs(shape.get(1), heads) || differs(shape.get(3), headSize)) {
            throw new IllegalArgumentException(what + " of shape " + shape + ": expected (B, "
                    + (heads < 0 ? "N" : heads) + ", T, " + (headSize < 0 ? "H" : headSize)
                    + "); split the embeddings into heads first, as MultiHeadAttentionBlock does");
        }
    }

    private static boolean differs(long size, long expected) {
        return size != -1 && expected != -1 && size != expected;
    }

    private static long lengthOf(Shape shape) {
        return shape.get(shape.dimension() - 2);
    }

    /**
     * Adds a table by relative position, which is the key's position less the query's. It grows with the longest
     * sequence.
     *
     * @param row the shape of a row
     * @param rows computes the rows of consecutive relative positions
     */
    final ConstantTable addTable(Shape row, HostData.Rows rows) {
        return addTable(ConstantTable.ofDistances(row, INITIAL_LENGTH, Positions.UNLIMITED, rows));
    }

    /**
     * {@return the rows of all relative positions of a call, as {@link RelativeShift} orders them: (1, W, …), a view of
     * the table, on the device of the queries and the manager of the table; not the caller's to close}
     */
    static NDArray rows(
            Temporaries temporaries, ConstantTable table, AttentionCall call, NDArray queries, DataType type) {
        return table.rows(temporaries, RelativeShift.least(call), RelativeShift.columns(call), queries, type);
    }

    /** Returns the value of a parameter on the device of an input, in the data type of the input. */
    final NDArray value(Temporaries temporaries, Parameter parameter, AttentionCall call, NDArray input) {
        NDArray value = value(this, parameter, call.parameterStore(), input, call.training());
        if (input.getDataType() == DataType.FLOAT32 && value.getDataType() == DataType.FLOAT16) {
            // an attention computes its scores in FLOAT32
            return temporaries.add(value.toType(DataType.FLOAT32, true));
        }
        DataTypes.requireSame(input, value, "encoding's parameters");
        return value;
    }

    /** Returns an array multiplied by the scale of the scores. */
    static NDArray scaled(Temporaries temporaries, AttentionCall call, NDArray array) {
        return call.scale() == 1 ? array : temporaries.add(Arithmetic.multiply(array, call.scale()));
    }
}
