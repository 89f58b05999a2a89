package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.UniformInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.Rows;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;
import java.util.stream.Stream;

/** A relative encoding that adds a term to the scores. The block's own forward returns the term. */
abstract class ScoreTermBlock extends OptionsBlock implements RelativeEncoding {

    /** The initial number of distances in each direction of a table. */
    private static final int INITIAL_DISTANCES = 512;

    private final int headCount;
    private final int headSize;
    private final int embeddingSize;

    /** Creates a bias, which does not depend on the content of the queries, for a number of heads. */
    ScoreTermBlock(Record options, int headCount) {
        this(options, headCount, -1);
    }

    /**
     * Creates a block for a number of heads and a head size.
     *
     * @param headCount N, or -1 for any
     * @param headSize H, or -1 for a bias: a term that does not depend on the content of the queries
     */
    ScoreTermBlock(Record options, int headCount, int headSize) {
        this(options, headCount, headSize, -1);
    }

    /**
     * Creates a block for a number of heads, and a head size or an embedding size.
     *
     * @param embeddingSize D if the term depends on the attention's input, which the block's own forward takes instead
     *     of queries and keys; otherwise -1
     */
    ScoreTermBlock(Record options, int headCount, int headSize, int embeddingSize) {
        super(options);
        this.headCount = headCount;
        this.headSize = headSize;
        this.embeddingSize = embeddingSize;
    }

    @Override
    public final void requireFits(int attentionHeads, int keyValueHeads, int attentionHeadSize, int attentionSize) {
        String heads = "setHeadCount(" + attentionHeads + ")";
        int size = embeddingSize == -1 ? attentionHeads * attentionHeadSize : attentionSize;
        String remedy = headCount == -1
                ? "setHeadSize(" + attentionHeadSize + ")"
                : headSize == -1 && embeddingSize == -1 ? heads : heads + " and " + sizeMethod() + "(" + size + ")";
        Check.that(
                !differs(attentionHeads, headCount)
                        && !differs(attentionHeadSize, headSize)
                        && !differs(attentionSize, embeddingSize),
                () -> "the attention has " + attentionHeads + " heads of size " + attentionHeadSize
                        + " for embeddings of size " + attentionSize
                        + ": expected the sizes of its relative encoding; build the encoding with " + remedy
                        + "; block: " + this);
    }

    /** The builder's method that sets the embedding size. */
    String sizeMethod() {
        return "setEmbeddingSize";
    }

    private void requireQueries(Shape queries) {
        if (embeddingSize != -1) {
            // an attention initializes the block with the shape of its heads
            requireInput(queries, queries.dimension() == 4 && !differs(queries.get(1), headCount));
        } else if (headSize == -1) {
            requireSequence("queries", queries);
        } else {
            requireHeads(queries, "queries", headCount, headSize);
        }
    }

    private void requireInput(Shape shape, boolean fits) {
        Check.that(
                fits || (shape.dimension() == 3 && !differs(shape.get(2), embeddingSize)),
                () -> "input of shape " + shape + ": expected (B, T, " + embeddingSize
                        + "), the input of the attention;"
                        + " pass it, or build the encoding with another " + sizeMethod() + "(int); block: " + this);
    }

    /** Returns the shape of the term for T queries and F keys. */
    private Shape outputShape(Shape queries, long length, long keyLength) {
        return embeddingSize != -1
                ? new Shape(queries.get(0), headCount, length, keyLength)
                : headSize == -1
                        ? new Shape(1, headCount, length, keyLength)
                        : new Shape(queries.get(0), queries.get(1), length, keyLength);
    }

    @Override
    protected final NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Shape[] shapes = inputs.getShapes();
        requireShapes(shapes);
        NDArray queries = inputs.head();
        DataTypes.requireEmbedding(queries, "queries");
        long length = lengthOf(shapes[0]);
        PairList<String, Object> shared = Positions.once(params);
        Positions positions = Positions.of(queries, shapes[0].dimension() - 2, null, shared);
        long keys = shapes.length == 1 ? positions.first() + length : lengthOf(shapes[1]);
        Check.that(
                length > 0 && keys > 0,
                () -> length + " queries and " + keys
                        + " keys: expected at least one of each; skip the call if there are none");
        Shape output = outputShape(shapes[0], length, keys);
        if (output.size() == 0) {
            // an empty batch: MXNet cannot slice an empty array
            return new NDList(queries.getManager().create(output, queries.getDataType(), queries.getDevice()));
        }
        for (Parameter parameter : getDirectParameters().values()) {
            DataTypes.requireSame(
                    queries,
                    DataTypes.value(this, parameter, parameterStore, queries, training),
                    "encoding's parameters");
        }
        mistakes.checkPositions(positions);
        NDArray term =
                RelativeEncoding.term(this, parameterStore, queries, inputs.get(inputs.size() - 1), training, shared);
        if (term.getShape().get(2) == length) {
            return new NDList(term);
        }
        try (term) {
            return new NDList(term.repeat(2, length));
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

    /** Checks that a shape is (B, N, T, H) with these sizes; -1 stands for any size, and for an unknown one. */
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
     * A fully connected layer, with the initial values of PyTorch's {@code nn.Linear}.
     *
     * @param weight (outputs, inputs)
     * @param bias (outputs); null for none
     */
    record Layer(Parameter weight, Parameter bias) {}

    final Layer addLayer(String weight, String bias, int inputs, long outputs) {
        Initializer initializer = new UniformInitializer((float) (1 / Math.sqrt(inputs)));
        return new Layer(
                addParameter(weight, new Shape(outputs, inputs), initializer),
                bias == null ? null : addParameter(bias, new Shape(outputs), initializer));
    }

    /** Adds constants by distance, which grow with the longest sequence. */
    final ConstantTable addDistances(Rows rows) {
        return addTable(ConstantTable.ofDistances(rows, INITIAL_DISTANCES, ForwardParameters.UNLIMITED));
    }

    /** Adds constants by distance, up to a largest one. */
    final ConstantTable addDistances(Rows rows, int largest) {
        return addTable(ConstantTable.ofDistances(rows, largest + 1, largest + 1));
    }

    /** Adds a column of constants, (count, 1). */
    final ConstantTable addColumn(int count, IntToDoubleFunction value) {
        Rows rows = Rows.of(1, (row, column) -> value.applyAsDouble((int) row));
        return addTable(ConstantTable.ofPositions(rows, count, count));
    }

    /** Adds the scale and the offset of a normalization. */
    final Layer addNorm(String scale, String offset, int size) {
        return new Layer(
                addParameter(scale, new Shape(size), Initializer.ONES),
                addParameter(offset, new Shape(size), Initializer.ZEROS));
    }

    /** {@return vectors (…, size) after a layer normalization} */
    static NDArray normalized(Layer norm, AttentionCall call, NDArray x, float epsilon) {
        NDArray scale = call.value(norm.weight, x);
        NDArray offset = call.value(norm.bias, x);
        return LayerNorm.layerNorm(x, scale.getShape(), scale, offset, epsilon).singletonOrThrow();
    }

    /** {@return the outputs of a layer for the input of an attention, (B, n, outputs)} */
    final NDArray linearOfInput(Layer layer, AttentionCall call, NDArray input) {
        requireInput(input);
        return linear(layer, call, input);
    }

    /** Checks that an array is the input of the attention, (B, n, D). */
    final void requireInput(NDArray input) {
        requireInput(input.getShape(), false);
    }

    final NDArray linear(Layer layer, AttentionCall call, NDArray input) {
        NDArray bias = layer.bias == null ? null : call.value(layer.bias, input);
        return Linear.linear(input, call.value(layer.weight, input), bias).singletonOrThrow();
    }

    /** Checks the keys of a term that depends on them: (B, K, F, H), one for each position of the call. */
    static void requireKeys(AttentionCall call, NDArray queries, NDArray keys) {
        Shape shape = keys.getShape();
        Shape ofQueries = queries.getShape();
        requireHeads(shape, "keys", -1, ofQueries.get(3));
        Check.that(
                shape.get(0) == ofQueries.get(0) && shape.get(1) > 0 && ofQueries.get(1) % shape.get(1) == 0,
                () -> "keys of shape " + shape + " for queries " + ofQueries
                        + ": expected the same batch size, and a number of heads that divides " + ofQueries.get(1)
                        + "; pass the keys that belong to these queries");
        Check.that(
                shape.get(2) == call.keys().count(),
                () -> "keys of shape " + shape + " for " + call.keys().count()
                        + " positions from 0: expected one key for each; pass [queries, keys]");
    }

    /** The keys of each query head, (B, N, F, H), in the data type of the queries. */
    static NDArray ofHeads(NDArray queries, NDArray keys) {
        NDArray typed = Arithmetic.toType(keys, queries.getDataType());
        long group = queries.getShape().get(1) / keys.getShape().get(1);
        return group == 1 ? typed : typed.repeat(1, group);
    }

    /** {@return rows, (n, W), between two rows of zeros, (n + 2, W), on the manager of another array} */
    static NDArray betweenZeros(NDArray rows, NDArray like) {
        Shape shape = new Shape(1, rows.getShape().get(1));
        NDArray zeros = like.getManager().zeros(shape, rows.getDataType(), rows.getDevice());
        return zeros.concat(rows, 0).concat(zeros, 0);
    }

    /**
     * {@return the product of each query and the vector for the query and each key, (B, N, T, F)}
     *
     * @param products the products of each query and all vectors, (B, N, T, R)
     * @param vectors the index of the vector for each query and key, (1 or B, T, F), INT32
     */
    static NDArray selected(NDArray products, NDArray vectors) {
        NDManager manager = products.getManager();
        Shape shape = products.getShape();
        if (Arithmetic.isPyTorch(products)) {
            NDArray indices = Arithmetic.toType(vectors, DataType.INT64).expandDims(1);
            return products.gather(
                    indices.broadcast(Shape.update(shape, 3, vectors.getShape().get(2))), 3);
        }
        // MXNet has no such operation
        int queries = Math.toIntExact(shape.get(0) * shape.get(2));
        NDArray table = products.transpose(0, 2, 3, 1).reshape(-1, shape.get(1));
        NDArray number = manager.arange(0, queries, 1, DataType.INT32, products.getDevice());
        NDArray first = Arithmetic.multiply(number, Math.toIntExact(shape.get(3)));
        NDArray indices = first.reshape(shape.get(0), shape.get(2), 1).add(vectors);
        return Indices.lookUp(indices, table, manager).transpose(0, 3, 1, 2);
    }

    /**
     * The constant biases of the heads, (N, size): of consecutive distances from a table, and of others by a formula.
     *
     * @param formula computes the biases of distances that are not consecutive, in FLOAT64, (N, size)
     */
    static NDArray biases(ConstantTable table, Distances distances, Function<Distances, NDArray> formula) {
        DataType type = distances.like().getDataType();
        return distances.areConsecutive()
                ? constants(table, distances, ForwardParameters.UNLIMITED, type).transpose(1, 0)
                : Arithmetic.toType(formula.apply(distances), type);
    }

    /**
     * The constants of distances, (size, W).
     *
     * @param limit the distance from which all rows are the same
     */
    static NDArray constants(ConstantTable table, Distances distances, int limit, DataType type) {
        int first = distances.first();
        boolean isSlice =
                distances.areConsecutive() && first > -table.limit() && first + distances.size() <= table.limit();
        return isSlice
                ? table.slice(first, distances.size(), distances.like(), type).squeeze(0)
                : constants(table, distances.toArray(DataType.INT32), limit, type);
    }

    /** The constants of distances, INT32: their shape + (W). From the limit on, all rows are the same. */
    static NDArray constants(ConstantTable table, NDArray distances, int limit, DataType type) {
        NDArray rows = table.slice(-limit, 2 * limit + 1, distances, type).squeeze(0);
        NDArray within =
                distances.maximum(Arithmetic.number(distances, -limit)).minimum(Arithmetic.number(distances, limit));
        return Indices.lookUp(Arithmetic.add(within, limit), rows, distances.getManager());
    }

    /** The learned biases in some rows of a table, (N, size). */
    static NDArray lookUp(NDArray biases, NDArray rows) {
        return Indices.lookUpColumns(Arithmetic.toType(rows, DataType.INT32), biases.transpose(1, 0));
    }

    /** The number of sequences that have positions of their own. */
    static long sequences(AttentionCall call) {
        return Stream.of(call.queries().array(), call.keys().array())
                .filter(Objects::nonNull)
                .mapToLong(positions ->
                        positions.getShape().get(positions.getShape().dimension() - 2))
                .max()
                .orElse(1);
    }

    /** Returns an array multiplied by the scale of the scores. */
    static NDArray scaled(AttentionCall call, NDArray array) {
        return call.scale() == 1 ? array : Arithmetic.multiply(array, call.scale());
    }

    /**
     * The builder methods of the terms that have a number of heads.
     *
     * @param <T> the block
     * @param <B> the builder
     */
    abstract static class HeadsBuilder<T, B extends HeadsBuilder<T, B>> extends BlockBuilder<T, B> {

        <R extends Record> HeadsBuilder(Class<R> options, Function<R, T> create) {
            super(options, create);
        }

        /** Sets N, the number of heads, at least 1. */
        public B setHeadCount(int headCount) {
            return set("headCount", headCount);
        }
    }
}
