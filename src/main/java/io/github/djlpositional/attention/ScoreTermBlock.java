package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.GrowingTable;
import io.github.djlpositional.internal.StartPosition;
import java.util.function.IntFunction;

/**
 * A relative encoding that adds a term to the scores. Its forward gives that term, unscaled:
 *
 * <ul>
 *   <li>{@code [queries]}: for keys at positions 0 … s + T - 1 and queries at s … s + T - 1, where s is the forward parameter
 *       {@link StartPosition#KEY}, 0 without it.
 *   <li>{@code [queries, keys]}: for keys at positions 0 … F - 1.
 * </ul>
 */
abstract class ScoreTermBlock extends ConfiguredBlock implements RelativeEncoding {

    private static final int FIRST_LENGTH = 512;

    ScoreTermBlock(BlockSettings settings) {
        super(settings);
    }

    /** Refuses queries of a shape that this encoding cannot serve. */
    abstract void requireQueries(Shape queries);

    /** Refuses anything but (B, N, T, H) with the given sizes; -1 stands for any, and passes where it is not known yet. */
    static void requireHeads(Shape shape, String what, long heads, long headSize) {
        String allowed = "(B, " + (heads < 0 ? "N" : heads) + ", T, " + (headSize < 0 ? "H" : headSize) + ")";
        if (shape.dimension() != 4 || differs(shape.get(1), heads) || differs(shape.get(3), headSize)) {
            throw new IllegalArgumentException(what + " of shape " + shape + ": allowed is " + allowed
                    + "; split the embeddings into heads first, as MultiHeadAttentionBlock does");
        }
    }

    private static boolean differs(long size, long wanted) {
        return size != -1 && wanted != -1 && size != wanted;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Shape[] shapes = inputs.getShapes();
        requireInputs(shapes);
        NDArray queries = inputs.get(0);
        DataTypes.requireEmbedding(queries, "queries");
        long length = shapes[0].get(shapes[0].dimension() - 2);
        int start = StartPosition.of(params, length, StartPosition.UNLIMITED);
        long keys = shapes.length == 1 ? start + length : shapes[1].get(shapes[1].dimension() - 2);
        if (length == 0 || keys == 0) {
            throw new IllegalArgumentException(length + " queries and " + keys
                    + " keys: allowed is 1 or more of both; there are no scores without them");
        }
        Shape answer = outputShape(shapes[0], length, keys);
        if (answer.size() == 0) {
            // an empty batch: MXNet does not slice what is empty
            return new NDList(queries.getManager().create(answer, queries.getDataType(), queries.getDevice()));
        }
        AttentionCall call = new AttentionCall(
                parameterStore, training, start, Math.toIntExact(length), Math.toIntExact(keys), false, 1, null);
        return new NDList(scoreTerm(call, queries));
    }

    private void requireInputs(Shape[] shapes) {
        if (shapes.length < 1 || shapes.length > 2) {
            throw new IllegalArgumentException(shapes.length
                    + " inputs were given: allowed are [queries] or [queries, keys]; pass one or two arrays");
        }
        requireQueries(shapes[0]);
        if (shapes.length == 2 && shapes[1].dimension() < 2) {
            throw new IllegalArgumentException("keys of shape " + shapes[1]
                    + ": allowed is (…, F, D), rank 2 or more; give the keys, of which the length is taken");
        }
    }

    /** Refuses queries of a rank that has no sequence. */
    static void requireSequence(Shape queries) {
        if (queries.dimension() < 2) {
            throw new IllegalArgumentException("queries of shape " + queries
                    + ": allowed is (…, T, D), rank 2 or more; give the array whose sequence is to be attended");
        }
    }

    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes) {
        requireInputs(inputShapes);
        Shape queries = inputShapes[0];
        Shape keys = inputShapes[inputShapes.length - 1];
        long length = queries.get(queries.dimension() - 2);
        return new Shape[] {outputShape(queries, length, keys.get(keys.dimension() - 2))};
    }

    /** The shape of the term for T queries and F keys. */
    abstract Shape outputShape(Shape queries, long length, long keyLength);

    /**
     * {@inheritDoc}
     *
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes those of queries and, where they are given, keys; a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another or the shapes do not fit; the block is then left as it was
     */
    @Override
    public final void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, toString());
        requireInputs(inputShapes);
        DataTypes.initializing(
                "parameters of " + this, manager, dataType, () -> super.initialize(manager, dataType, inputShapes));
        ownTable(manager);
    }

    /** What a table by distance begins as: it grows with the longest sequence. */
    static GrowingTable tableOf(IntFunction<ConstantArray> maker) {
        return new GrowingTable(FIRST_LENGTH, StartPosition.UNLIMITED, maker);
    }

    /** The table by distance, which lives with the manager that the block was initialized or loaded with; null for none. */
    GrowingTable table() {
        return null;
    }

    @Override
    protected final void loaded(NDManager manager) {
        ownTable(manager);
    }

    private void ownTable(NDManager manager) {
        if (table() != null) {
            table().current().ownedBy(manager);
        }
    }

    /** {@inheritDoc} Frees the table by distance too, where there is one; a later forward makes it anew. */
    @Override
    public final void clear() {
        super.clear();
        if (table() != null) {
            table().current().close();
        }
    }
}
