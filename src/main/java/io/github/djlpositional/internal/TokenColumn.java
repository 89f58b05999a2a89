package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.options.Check;

/**
 * One property of the tokens in a cache, such as their keys: an array with the batch as its first axis, and an axis of
 * tokens with room for further ones.
 */
public final class TokenColumn implements AutoCloseable {

    private final NDManager manager;
    private final int axis;

    /** Null until the first tokens. */
    private NDArray array;

    /** The index of the first token in the array; those before it were dropped. */
    private int origin;

    /** One more than the index of the last token. */
    private int end;

    /**
     * Creates an empty column.
     *
     * @param manager the array is attached to it
     * @param axis the axis of the tokens
     */
    public TokenColumn(NDManager manager, int axis) {
        this.manager = manager;
        this.axis = axis;
    }

    /**
     * Creates a column of tokens.
     *
     * @param array the tokens, and any further ones; it belongs to the column
     * @param first the index of the first token
     * @param end one more than the index of the last
     */
    public TokenColumn(NDManager manager, int axis, NDArray array, int first, int end) {
        this(manager, axis);
        this.array = array;
        origin = first;
        this.end = end;
    }

    /** Returns whether no token was added yet. */
    public boolean isEmpty() {
        return array == null;
    }

    /** Returns one more than the index of the last token. */
    public int end() {
        return end;
    }

    /** Returns the array, whose first token has the index {@link #origin}; it belongs to this object. */
    public NDArray array() {
        return array;
    }

    /** Returns the index of the first token in the array. */
    public int origin() {
        return origin;
    }

    /**
     * Makes room for further tokens. The tokens before an index may be dropped.
     *
     * @param added the shape of the tokens
     * @param like an array of their data type and device
     * @param first the index of the first token that is needed
     * @param room the initial room in tokens
     */
    public void reserve(Shape added, NDArray like, int first, int room) {
        requireFits(added, like);
        int count = (int) added.get(axis);
        int needed = end + count - first;
        if (array == null || end + count - origin > room()) {
            long size = Math.max(needed, array == null ? room : Math.min(2L * room(), 2L * needed));
            NDArray larger = manager.create(Shape.update(added, axis, size), like.getDataType(), like.getDevice());
            NDScope.unregister(larger);
            try {
                if (end > first) {
                    try (NDArray held = view(manager, first)) {
                        larger.set(NDIndex.sliceAxis(axis, 0, end - first), held);
                    }
                }
            } catch (RuntimeException | Error e) {
                larger.close();
                throw e;
            }
            close();
            array = larger;
            origin = first;
        }
        end += count;
    }

    /** Drops all tokens; the next one has the specified index. */
    public void restart(int index) {
        close();
        origin = index;
        end = index;
    }

    /** Writes the last tokens, for which there is room, or in place of others. */
    public void write(NDArray added) {
        int at = end - origin - (int) added.getShape().get(axis);
        // without its gradient: otherwise each step would extend a graph that is never used
        try (NDArray plain = added.stopGradient()) {
            array.set(NDIndex.sliceAxis(axis, at, end - origin), plain);
        }
    }

    /**
     * Removes tokens; the later ones follow those before.
     *
     * @param from the index of the first of them
     * @param to one more than the index of the last, less than {@link #end}
     */
    public void remove(int from, int to) {
        int begin = Math.max(to, origin);
        int next = Math.max(begin - (to - from), from);
        int newOrigin = origin <= from ? origin : Math.max(from, origin - (to - from));
        if (begin - origin != next - newOrigin) {
            try (NDArray view = view(manager, begin);
                    NDArray later = view.duplicate()) {
                array.set(
                        NDIndex.sliceAxis(axis, (long) next - newOrigin, (long) next - newOrigin + end - begin), later);
            }
        }
        origin = newOrigin;
        end -= to - from;
    }

    /** Checks that tokens have the batch size, data type and device of the previous ones. */
    public void requireFits(Shape added, NDArray like) {
        Check.that(
                array == null
                        || (added.get(0) == batch()
                                && like.getDataType() == array.getDataType()
                                && like.getDevice().equals(array.getDevice())),
                () -> "a step with batch size " + added.get(0) + ", " + like.getDataType() + " on "
                        + like.getDevice() + " does not fit the cache's " + batch() + ", " + array.getDataType()
                        + " on " + array.getDevice()
                        + ": expected the same throughout a sequence; start another one with clear()");
    }

    /** Returns B. */
    public long batch() {
        return array.getShape().get(0);
    }

    private int room() {
        return (int) array.getShape().get(axis);
    }

    /** Returns the tokens from an index on, a new array on a manager. */
    public NDArray view(NDManager receiver, int first) {
        return array.get(receiver, NDIndex.sliceAxis(axis, first - origin, end - origin));
    }

    /** Returns the tokens from an index on, or one of zeros if there are none, a new array on a manager. */
    public NDArray viewOrZeros(NDManager receiver, int first) {
        return first < end
                ? view(receiver, first)
                : receiver.zeros(Shape.update(array.getShape(), axis, 1), array.getDataType(), array.getDevice());
    }

    /** Drops the tokens from an index on. */
    public void truncate(int length) {
        end = Math.min(end, length);
    }

    /** Selects rows of the batch, in their order. */
    public void select(NDArray rows) {
        if (array != null) {
            NDArray before = array;
            array = selected(manager, before, rows);
            before.close();
        }
    }

    /** Returns the selected rows of an array: a new array. */
    public static NDArray selected(NDManager manager, NDArray array, NDArray rows) {
        Shape others = array.getShape().slice(1);
        return owned(manager, Temporaries.result(() -> {
            NDArray flat = array.reshape(array.getShape().get(0), others.size());
            return Indices.lookUp(rows, flat, manager).reshape(new Shape(rows.size()).addAll(others));
        }));
    }

    /**
     * Returns a copy of this column.
     *
     * @param receiver the array is attached to it
     * @param rows the rows of the batch that are copied, in their order; null for all
     */
    public TokenColumn copy(NDManager receiver, NDArray rows) {
        TokenColumn copy = new TokenColumn(receiver, axis);
        copy.array = array == null
                ? null
                : rows == null ? owned(receiver, array.duplicate()) : selected(receiver, array, rows);
        copy.origin = origin;
        copy.end = end;
        return copy;
    }

    /** Counts tokens from a later one on, whose index becomes 0; those before it are dropped. */
    public void moveBack(int count) {
        origin -= count;
        end -= count;
    }

    /**
     * Returns the rows of this column, then those of another, whose last tokens have the same index. Tokens that one of
     * them does not have are zeros.
     *
     * @param other a column of the same data type, device and sizes, except those of the batch and the tokens
     * @param first the index of the first token of the result
     * @param last one more than the index of the last token of both
     */
    public TokenColumn followedByRows(TokenColumn other, int first, int last) {
        TokenColumn joined = new TokenColumn(manager, axis);
        Shape shape = Shape.update(
                Shape.update(array.getShape(), 0, batch() + other.batch()),
                axis,
                Math.max(last - first, Math.min(Math.max(room(), other.room()), 2L * (last - first))));
        joined.array = owned(manager, manager.zeros(shape, array.getDataType(), array.getDevice()));
        joined.origin = first;
        joined.end = last;
        joined.setRows(0, this, last - end);
        joined.setRows(batch(), other, last - other.end);
        return joined;
    }

    /** Copies the tokens of another column, whose indices grow by a number, to rows from one on. */
    private void setRows(long row, TokenColumn rows, int added) {
        int from = Math.max(rows.origin + added, origin);
        NDIndex place = new NDIndex().addSliceDim(row, row + rows.batch());
        for (int before = 1; before < axis; before++) {
            place.addAllDim();
        }
        try (NDArray held = rows.view(manager, from - added)) {
            array.set(place.addSliceDim((long) from - origin, (long) end - origin), held);
        }
    }

    /** Attaches an array that was just created to a manager, so that no scope closes it. */
    public static NDArray owned(NDManager manager, NDArray created) {
        NDScope.unregister(created);
        created.attach(manager);
        return created;
    }

    @Override
    public void close() {
        if (array != null) {
            array.close();
            array = null;
        }
    }
}
