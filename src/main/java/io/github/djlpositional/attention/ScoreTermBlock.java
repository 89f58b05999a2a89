package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.UniformInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;
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

    private final int headCount;
    private final int headSize;

    /**
     * Creates a block for heads of a number and a size.
     *
     * @param headCount N, or -1 for any
     * @param headSize H, or -1 for a bias: a term that does not depend on the content of the queries
     */
    ScoreTermBlock(Record settings, int headCount, int headSize) {
        super(settings);
        this.headCount = headCount;
        this.headSize = headSize;
    }

    @Override
    public final void requireFits(int attentionHeads, int attentionHeadSize) {
        String heads = "setHeadCount(" + attentionHeads + ")";
        String remedy = headSize == -1
                ? heads
                : headCount == -1
                        ? "setHeadSize(" + attentionHeadSize + ")"
                        : heads + " and setEmbeddingSize(" + attentionHeads * attentionHeadSize + ")";
        Check.that(
                !differs(attentionHeads, headCount) && !differs(attentionHeadSize, headSize),
                () -> this + " does not fit an attention with heads " + attentionHeads + " of size " + attentionHeadSize
                        + ": expected the same sizes; build it with " + remedy);
    }

    private void requireQueries(Shape queries) {
        if (headSize == -1) {
            requireSequence("queries", queries);
        } else {
            requireHeads(queries, "queries", headCount, headSize);
        }
    }

    /** Returns the shape of the term for T queries and F keys. */
    private Shape outputShape(Shape queries, long length, long keyLength) {
        return headSize == -1
                ? new Shape(1, headCount, length, keyLength)
                : new Shape(queries.get(0), queries.get(1), length, keyLength);
    }

    /** Whether the term is all that the encoding adds, and no gradient is recorded for it. */
    boolean isConstant(AttentionCall call) {
        return getDirectParameters().isEmpty()
                || (!call.training()
                        && getDirectParameters().values().stream()
                                .noneMatch(parameter -> parameter.isInitialized()
                                        && parameter.getArray().hasGradient()));
    }

    /** {@return the positions of tokens, (1 or B, n), INT32; closed by temporaries or the caller's} */
    static NDArray positions(Temporaries temporaries, Span span, NDArray like) {
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

    /**
     * {@return how many numbers the term is computed from for each query and key, if more than it has itself} A forward
     * of many queries is processed in parts that are small enough for these.
     */
    long numbersOfQueryAndKey(AttentionCall call) {
        return 0;
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
            return new NDList(scoreTerm(call, queries, inputs.get(inputs.size() - 1)));
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

    /** Adds a parameter of a fully connected layer, with the initial values of PyTorch's {@code nn.Linear}. */
    final Parameter addWeights(String name, int inputs, Shape shape) {
        return addParameter(name, shape, new UniformInitializer((float) (1 / Math.sqrt(inputs))));
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

    /**
     * {@return the products of each query and the vector of its relation to each key, (B, T, F, N); closed by
     * temporaries}
     *
     * @param products those of each query and all vectors, (B, N, T, R)
     * @param vectors the number of the vector for each query and key, (1 or B, T, F), INT32
     */
    static NDArray selected(Temporaries temporaries, NDArray products, NDArray vectors) {
        NDManager manager = products.getManager();
        Shape shape = products.getShape();
        int queries = Math.toIntExact(shape.get(0) * shape.get(2));
        NDArray table =
                temporaries.add(temporaries.add(products.transpose(0, 2, 3, 1)).reshape(-1, shape.get(1)));
        NDArray number = temporaries.add(manager.arange(0, queries, 1, DataType.INT32, products.getDevice()));
        NDArray zero = temporaries.add(manager.zeros(new Shape(1), DataType.INT32, products.getDevice()));
        NDArray first = temporaries.add(number.mul(temporaries.add(zero.add(Math.toIntExact(shape.get(3))))));
        NDArray indices = temporaries.add(
                temporaries.add(first.reshape(shape.get(0), shape.get(2), 1)).add(vectors));
        return temporaries.add(Indices.lookUp(indices, table, manager));
    }

    /** Returns an array multiplied by the scale of the scores. */
    static NDArray scaled(Temporaries temporaries, AttentionCall call, NDArray array) {
        return call.scale() == 1 ? array : temporaries.add(Arithmetic.multiply(array, call.scale()));
    }
}
