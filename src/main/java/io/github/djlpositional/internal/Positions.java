package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Settings;
import java.nio.DoubleBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Consecutive tokens of a sequence, and their positions: explicit positions of a forward, or else their indices. A
 * forward creates and validates this object once, from its parameters.
 *
 * @param first the index of the first token, from 0
 * @param length the number of tokens, n
 * @param positions the explicit positions; null if each token's position is its index. In an attention they are (1 or
 *     B, n), or (axes, 1 or B, n), INT32 or FLOAT64, on the device of the tokens, and the attention closes them
 * @param end one more than the largest position, or a greater number; negative positions count as positive ones
 * @param reals floating-point positions that were read, row-major; otherwise null
 */
public record Positions(int first, int length, NDArray positions, int end, DoubleBuffer reals) {

    /** The key of the forward parameter that gives the position of the first step. */
    public static final String START = "startPosition";

    /** The key of the forward parameter that holds a cache of keys and values. */
    public static final String CACHE = "keyValueCache";

    /** The key of the forward parameter that gives the position of every step. */
    public static final String POSITIONS = "positions";

    /** The key of the forward parameter with the sizes of another grid, a Shape. */
    public static final String GRID_SIZES = "gridSizes";

    private static final List<String> PARAMETERS = List.of(START, CACHE, POSITIONS, GRID_SIZES);

    private static final String MASK_REMEDY =
            "a second input is an array of positions: pass the mask to the attention, [x, mask]; see docs/using.md#masks";

    /** The limit where no table limits the positions: small enough that the lengths of two sequences can be added. */
    public static final int UNLIMITED = 1 << 29;

    /** Creates tokens whose positions are integers, or were not read. */
    public Positions(int first, int length, NDArray positions, int end) {
        this(first, length, positions, end, null);
    }

    /** Returns tokens whose positions are their indices. */
    public static Positions of(int first, int length) {
        return new Positions(first, length, null, first + length);
    }

    /**
     * Returns the tokens of a forward. Positions are (T), or (1 or B, T) for an input (B, …, T, …) and (T, B) for (T,
     * B, D); positions of a rotary embedding may have a leading axis for several coordinates, and may be negative
     * floating-point numbers. Throws {@link IllegalArgumentException} for positions that are not valid.
     *
     * @param x the tokens, whose axis {@code axis} is T
     * @param positions the {@linkplain #explicit explicit positions} of the forward; null for the indices
     * @param first the index of the first token
     * @param limit one more than the largest position
     * @param isRead whether the largest position must be known, for which positions are read on a GPU too
     * @param isRotary whether positions may have several axes, and may be negative
     */
    public static Positions of(
            NDArray x, int axis, NDArray positions, int first, int limit, boolean isRead, boolean isRotary) {
        int length = Math.toIntExact(x.getShape().get(axis));
        if (positions == null) {
            return of(first, length).below(limit, isRead);
        }
        requireFits(x, axis, positions, isRotary);
        Positions tokens = new Positions(first, length, positions, UNLIMITED).checked(limit, isRead);
        return isRotary ? tokens : tokens.withoutNegative();
    }

    /**
     * Returns these tokens with positions in the form that an attention needs: (1 or B, n), or (axes, 1 or B, n), INT32
     * or FLOAT64, on the device of x.
     */
    public Positions like(Temporaries temporaries, NDArray x) {
        if (positions == null) {
            return this;
        }
        DataType type = positions.getDataType().isInteger() ? DataType.INT32 : DataType.FLOAT64;
        NDArray same = temporaries.addResult(positions, () -> {
            NDArray moved = Arithmetic.toType(positions, type).toDevice(x.getDevice(), false);
            return positions.getShape().dimension() == 1 ? moved.expandDims(0) : moved;
        });
        return new Positions(first, length, same, end, reals);
    }

    private static void requireFits(NDArray x, int axis, NDArray positions, boolean isRotary) {
        DataTypes.requireSameEngine(positions, x, "embeddings");
        Shape input = x.getShape();
        Shape shape = positions.getShape();
        long length = input.get(axis);
        Shape all = new Shape(length);
        Shape perSequence = axis > 0
                ? new Shape(input.get(0), length)
                : input.dimension() == 3 ? new Shape(length, input.get(1)) : all;
        Shape onAxis = isRotary && shape.dimension() == 3 ? shape.slice(1) : shape;
        boolean isShared =
                (axis > 0 || isRotary) && onAxis.dimension() == 2 && onAxis.get(0) == 1 && onAxis.get(1) == length;
        Check.that(
                isShared || shape.equals(all) || onAxis.equals(perSequence),
                () -> POSITIONS + " of shape " + shape + " do not fit input " + input
                        + (isRotary ? ", " + input.get(0) + " sequences of " + length + " tokens" : "") + ": expected "
                        + all + (perSequence.equals(all) ? "" : " or " + perSequence)
                        + (isRotary ? ", also for each axis" : "")
                        + "; pass one position for each token");
    }

    private Positions withoutNegative() {
        for (double position : reals == null ? new double[0] : reals.array()) {
            Check.that(
                    position >= 0,
                    () -> "position " + position + " of " + positions.getShape()
                            + ": expected 0 or more; count positions from 0, or use a RotaryEmbeddingBlock for others");
        }
        return this;
    }

    /**
     * Returns the explicit positions of a forward, from an input or from the forward parameter {@value #POSITIONS};
     * null for none. Throws {@link IllegalArgumentException} if there are both, or if there is also a start position,
     * unless a cache set it.
     */
    public static NDArray explicit(NDArray input, PairList<String, Object> params) {
        Object parameter = params == null ? null : params.get(POSITIONS);
        Check.that(
                parameter == null || parameter instanceof NDArray,
                () -> "the forward parameter " + POSITIONS + " is a "
                        + Settings.classOf(parameter)
                        + ": expected an NDArray, (T), (B, T) or (axes, B, T); create one with the manager");
        Check.that(
                parameter == null || input == null,
                () -> "positions of shape " + input.getShape() + " were given beside the forward parameter " + POSITIONS
                        + " of shape " + ((NDArray) parameter).getShape() + ": expected one of them; leave one out");
        NDArray positions = input == null ? (NDArray) parameter : input;
        Check.that(
                positions == null || start(params, UNLIMITED) == 0 || params.contains(CACHE),
                () -> "both positions and " + START + "=" + params.get(START)
                        + " were given: expected one of them; pass the positions of all steps, or the start");
        return positions;
    }

    /**
     * Returns the start position (default: 0). Throws {@link IllegalArgumentException} unless it is from 0 to the
     * limit.
     */
    public static int start(PairList<String, Object> params, int limit) {
        Object start = params == null ? null : params.get(START);
        if (start == null) {
            return 0;
        }
        long number = ((Number) start).longValue();
        Check.that(
                number >= 0 && number <= limit,
                () -> START + " " + number + ": expected 0 to " + limit + "; " + remedy(limit));
        return (int) number;
    }

    /** Checks that no forward parameter of this library occurs twice, and the type of the start position. */
    static void requireParameters(PairList<String, Object> params) {
        for (String name : PARAMETERS) {
            Check.that(
                    Collections.frequency(params.keys(), name) < 2,
                    () -> "the forward parameter " + name
                            + " was given twice: expected it once; create a new list of parameters for each forward");
        }
        Object start = params.get(START);
        Check.that(
                start == null || start instanceof Integer || start instanceof Long,
                () -> START + " is the " + Settings.classOf(start) + " " + Settings.shown(start)
                        + ": expected an Integer or a Long; pass the number of the first position");
    }

    /** Checks that a sequence ends below the limit. */
    public static void requireLength(long length, long start, int limit) {
        if (start + length > limit) {
            throw new IllegalArgumentException("sequence length " + length + " at start position " + start
                    + " exceeds the maximum " + limit
                    + (limit >= UNLIMITED || start + length > Integer.MAX_VALUE
                            ? ": split the sequence"
                            : ": build the block with optMaxSequenceLength(" + (start + length) + ") or more"));
        }
    }

    private static String remedy(int limit) {
        return limit >= UNLIMITED
                ? "count positions from 0"
                : "count positions from 0; for longer sequences, build the block with a greater"
                        + " optMaxSequenceLength(int) or optAutoExtend(int)";
    }

    /**
     * Checks that these positions are below a limit. Floating-point positions have none, since they are not looked up
     * in a table.
     */
    public Positions below(int limit, boolean isRead) {
        if (positions == null) {
            requireLength(length, first, limit);
        }
        boolean isFloating = positions != null && positions.getDataType().isFloating();
        return positions == null || isFloating || end < limit ? this : checked(limit, isRead);
    }

    /** Checks positions, and determines their end: the limit if they are not read. */
    private Positions checked(int limit, boolean isRead) {
        if (positions.getDataType().isInteger()) {
            boolean isKnown = isRead || Indices.areChecked(positions);
            int known = isKnown ? 1 + Indices.requireBelow(positions, limit, "position", remedy(limit)) : limit;
            return new Positions(first, length, positions, known);
        }
        Check.that(
                positions.getDataType() != DataType.BOOLEAN,
                () -> POSITIONS + " of shape " + positions.getShape()
                        + " have data type boolean: expected integers or floating-point numbers; " + MASK_REMEDY);
        DataTypes.requireEmbedding(positions, "the array of positions");
        double[] numbers = values();
        double largest = -1;
        for (int i = 0; i < numbers.length; i++) {
            int index = i;
            Check.that(
                    Double.isFinite(numbers[i]),
                    () -> "position " + numbers[index] + " at index " + index + " of " + positions.getShape()
                            + ": expected a finite number; check how it was computed");
            largest = Math.max(largest, Math.abs(numbers[i]));
        }
        return new Positions(first, length, positions, (int) (Math.floor(largest) + 1), DoubleBuffer.wrap(numbers));
    }

    private double[] values() {
        return reals == null ? HostData.doubles(positions) : reals.array();
    }

    /** Returns a part of these tokens, counted from the first. */
    public Positions part(Temporaries temporaries, int from, int count) {
        // MXNet cannot slice nothing
        return positions == null || count == 0
                ? of(first + from, count)
                : new Positions(first + from, count, slice(temporaries, from, count), end);
    }

    private NDArray slice(Temporaries temporaries, int from, int count) {
        int axis = positions.getShape().dimension() - 1;
        return length == count
                ? positions
                : temporaries.add(positions.get(NDIndex.sliceAxis(axis, from, (long) from + count)));
    }

    /** Appends tokens, which must have positions if these tokens have. The array is a new one. */
    public Positions followedBy(Temporaries temporaries, Positions next) {
        NDArray later = next.positions;
        if (later == null || length == 0) {
            NDArray copy = later == null ? null : temporaries.add(later.duplicate());
            return new Positions(first, length + next.length, copy, next.end);
        }
        NDArray both = temporaries.addResult(() -> {
            NDArray earlier = positions == null ? indices(later) : positions;
            DataType type = earlier.getDataType() == later.getDataType() ? later.getDataType() : DataType.FLOAT64;
            NDArray typed = Arithmetic.toType(earlier, type);
            NDArray added = Arithmetic.toType(later, type);
            return NDArrays.concat(new NDList(fitted(typed, added), fitted(added, typed)), -1);
        });
        return new Positions(first, length + next.length, both, Math.max(end, next.end));
    }

    private NDArray indices(NDArray like) {
        return Indices.range(like, first, length, DataType.INT32).reshape(1, length);
    }

    /** Broadcasts positions to the axes and the batch of others. */
    private static NDArray fitted(NDArray positions, NDArray others) {
        int last = others.getShape().dimension() - 1;
        Shape steps = Shape.update(others.getShape(), last, positions.getShape().getLastDimension());
        if (steps.equals(positions.getShape())) {
            return positions;
        }
        NDArray column = others.get(NDIndex.sliceAxis(last, 0, 1));
        return positions.add(column.sub(column));
    }

    /**
     * Returns the rows of these tokens, for use with an array: (1, n, W) of indices, or else the shape of the positions
     * + (W). It is called in {@link Temporaries#result}.
     */
    public NDArray rows(ConstantTable table, NDArray like, DataType type) {
        if (positions == null) {
            return table.slice(first, length, like, type);
        }
        Shape shape = positions.getShape().add(table.width());
        if (shape.size() == 0) {
            return like.getManager().create(shape, type, like.getDevice());
        }
        return positions.getDataType().isInteger()
                ? table.lookUp(positions, end, like, type)
                : table.compute(values(), like, type).reshape(shape);
    }

    /**
     * Returns the rows of these tokens, in the data type of an array (…, T, …, W) and in a shape that broadcasts over
     * it.
     *
     * @param axis the axis of T
     */
    public NDArray broadcastRows(NDArray x, int axis, ConstantTable table) {
        Check.that(
                positions == null || positions.getShape().dimension() < 3,
                () -> POSITIONS + " of shape " + positions.getShape()
                        + ": expected (T) or (B, T); pass one position for each token");
        return broadcast(rows(table, x, x.getDataType()), x, axis);
    }

    /** Returns rows (T, W), (1 or B, T, W) or (T, B, W) with axes of size 1 for all others of an array. */
    public static NDArray broadcast(NDArray rows, NDArray x, int axis) {
        Shape shape = rows.getShape();
        Shape input = x.getShape();
        int rank = input.dimension();
        long batch = shape.dimension() == 3 ? shape.get(0) : 1;
        boolean fits = axis == rank - 2 && (shape.dimension() == 2 || (batch == 1 && rank > 2));
        boolean isSame = rank == 3 && shape.dimension() == 3 && batch == input.get(0) && shape.get(1) == input.get(1);
        if (fits || isSame) {
            return rows;
        }
        long[] sizes = new long[rank];
        Arrays.fill(sizes, 1);
        sizes[0] = batch;
        sizes[axis] = input.get(axis);
        sizes[rank - 1] = shape.getLastDimension();
        return rows.reshape(sizes);
    }

    /**
     * Returns the rows of an array of positions that need not belong to a sequence. The result is a new array, the
     * shape of the positions + (W), on their device and manager. Throws {@link IllegalArgumentException} for a position
     * that is not valid.
     */
    public static NDArray lookUp(NDArray positions, int limit, boolean isRead, ConstantTable table, DataType type) {
        int count = Math.toIntExact(positions.size());
        Positions tokens = new Positions(0, count, positions, UNLIMITED)
                .checked(limit, isRead)
                .withoutNegative();
        return Temporaries.result(() -> tokens.rows(table, positions, type));
    }
}
