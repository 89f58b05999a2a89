package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.options.Check;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Consecutive tokens of a sequence, and their positions: explicit positions of a forward, or else their indices. A
 * forward creates and validates this object once, from its parameters.
 *
 * @param first the index of the first token, from 0
 * @param length the number of tokens, n
 * @param positions the positions that were given; null if each token's position is its index. In an attention they are
 *     (1 or B, n), or (axes, 1 or B, n), INT32 or FLOAT64, on the device of the tokens, and the attention closes them
 * @param end one more than the greatest position, or a greater number; negative positions count as positive ones
 * @param reals real positions that were read, row-major; otherwise null
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
            "a second input is positions here: give the mask to the attention, [x, mask]; see docs/using.md#padding";

    /** The limit where no table limits the positions: small enough that the lengths of two sequences can be added. */
    public static final int UNLIMITED = 1 << 29;

    /** The rows of positions, of W values each. */
    @FunctionalInterface
    public interface Source {
        /**
         * Returns the rows of tokens, for use with an array: (1, n, W) of indices, or else the shape of the positions +
         * (W). Temporaries closes rows that the source does not keep.
         */
        NDArray rows(Temporaries temporaries, Positions tokens, NDArray like, DataType type);
    }

    /** Computes the rows of any positions. */
    @FunctionalInterface
    public interface RealRows {
        /** Writes the rows, row-major, from the start of the buffer. */
        void write(double[] positions, FloatFormat format, ByteBuffer out);
    }

    /** Rows of a width that each forward computes. */
    public record Computed(RealRows rows, int width) implements Source, HostData.Rows {

        @Override
        public void write(int first, int count, FloatFormat format, ByteBuffer out) {
            rows.write(of(first, count).values(), format, out);
        }

        @Override
        public NDArray rows(Temporaries temporaries, Positions tokens, NDArray like, DataType type) {
            NDManager manager = like.getManager();
            double[] positions = tokens.values();
            Shape steps = tokens.positions == null ? new Shape(1, tokens.length) : tokens.positions.getShape();
            Shape shape = steps.add(width);
            if (shape.size() == 0) {
                return temporaries.add(manager.create(shape, type, like.getDevice()));
            }
            HostData.Rows each = (first, count, format, out) ->
                    rows.write(Arrays.copyOfRange(positions, first, first + count), format, out);
            Shape flat = new Shape(positions.length, width);
            NDArray computed = temporaries.add(HostData.computed(manager, like.getDevice(), flat, type, each));
            return temporaries.add(computed.reshape(shape));
        }
    }

    /** Tokens with positions that were not read, or are integers. */
    public Positions(int first, int length, NDArray positions, int end) {
        this(first, length, positions, end, null);
    }

    /** Returns tokens whose positions are their indices. */
    public static Positions of(int first, int length) {
        return new Positions(first, length, null, first + length);
    }

    /**
     * Returns the tokens of a block's own forward. Positions are (T), or (B, T) for an input (B, …, T, …) and (T, B)
     * for (T, B, D), where B may be 1. Throws {@link IllegalArgumentException} for positions that are not valid, or
     * that are given together with a start position, unless that is where a cache stands.
     *
     * @param input the forward's second input; null for none
     * @param limit one more than the greatest position
     * @param isRead whether the greatest position must be known, for which positions are read on a GPU too
     * @param isRotary whether positions may be on several axes, (axes, B, T)
     */
    public static Positions of(
            NDArray x,
            int axis,
            NDArray input,
            PairList<String, Object> params,
            int limit,
            boolean isRead,
            boolean isRotary) {
        NDArray positions = given(input, params);
        if (positions == null) {
            return of(start(params, limit), Math.toIntExact(x.getShape().get(axis)))
                    .below(limit, isRead);
        }
        Check.that(
                start(params, UNLIMITED) == 0 || params.contains(CACHE),
                () -> "both positions and " + START + "=" + params.get(START)
                        + " were given: expected one of them; give the positions of all steps, or the start");
        return fitting(x, axis, positions, 0, isRotary).checked(limit, isRead);
    }

    /**
     * Returns the tokens of an attention, from an index on.
     *
     * @param temporaries closes what is created here
     * @param x an array on the device of the tokens
     * @param positions the positions that the forward was {@linkplain #given given}; null for the indices
     */
    public static Positions ofTokens(
            Temporaries temporaries, NDArray x, int axis, NDArray positions, int first, boolean isRead) {
        if (positions == null) {
            return of(first, Math.toIntExact(x.getShape().get(axis))).below(UNLIMITED, isRead);
        }
        Positions checked = fitting(x, axis, positions, first, true).checked(UNLIMITED, isRead);
        DataType type = positions.getDataType().isInteger() ? DataType.INT32 : DataType.FLOAT64;
        NDArray typed = temporaries.addUnless(positions, Arithmetic.toType(positions, type));
        NDArray moved = temporaries.addUnless(typed, typed.toDevice(x.getDevice(), false));
        boolean isShared = positions.getShape().dimension() == 1;
        NDArray same = isShared ? temporaries.add(moved.expandDims(0)) : moved;
        return new Positions(first, checked.length, same, checked.end, checked.reals);
    }

    private static Positions fitting(NDArray x, int axis, NDArray positions, int first, boolean isRotary) {
        DataTypes.requireSameEngine(positions, x, "embeddings");
        Shape input = x.getShape();
        Shape shape = positions.getShape();
        long length = input.get(axis);
        Shape all = new Shape(length);
        Shape each = axis > 0
                ? new Shape(input.get(0), length)
                : input.dimension() == 3 ? new Shape(length, input.get(1)) : all;
        Shape onAxis = isRotary && shape.dimension() == 3 ? shape.slice(1) : shape;
        boolean isShared =
                (axis > 0 || isRotary) && onAxis.dimension() == 2 && onAxis.get(0) == 1 && onAxis.get(1) == length;
        Check.that(
                isShared || shape.equals(all) || onAxis.equals(each),
                () -> POSITIONS + " of shape " + shape + " do not fit input " + input
                        + (isRotary ? ", " + input.get(0) + " sequences of " + length + " tokens" : "") + ": expected "
                        + all + (each.equals(all) ? "" : " or " + each) + (isRotary ? ", also for each axis" : "")
                        + "; give one position for each token");
        return new Positions(first, Math.toIntExact(length), positions, UNLIMITED);
    }

    /**
     * Returns the positions that a forward is given for its steps, as an input or as the forward parameter
     * {@value #POSITIONS}; null for none. Throws {@link IllegalArgumentException} for both.
     */
    public static NDArray given(NDArray input, PairList<String, Object> params) {
        Object parameter = params == null ? null : params.get(POSITIONS);
        Check.that(
                parameter == null || parameter instanceof NDArray,
                () -> "the forward parameter " + POSITIONS + " is a "
                        + parameter.getClass().getSimpleName()
                        + ": expected an NDArray, (T), (B, T) or (axes, B, T); create one with the manager");
        Check.that(
                parameter == null || input == null,
                () -> "positions of shape " + input.getShape() + " were given beside the forward parameter " + POSITIONS
                        + " of shape " + ((NDArray) parameter).getShape() + ": expected one of them; leave one out");
        return input == null ? (NDArray) parameter : input;
    }

    /**
     * Returns the start position, 0 if none is given. Throws {@link IllegalArgumentException} if it is not from 0 to
     * the limit.
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

    /** Checks that each forward parameter of this library is given once, and the type of the start position. */
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
                () -> START + " is the " + start.getClass().getSimpleName() + " " + start
                        + ": expected an Integer or a Long; give the number of the first position");
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

    /** Checks that these positions are below a limit, which real ones do not have: no table is looked up for them. */
    public Positions below(int limit, boolean isRead) {
        if (positions == null) {
            requireLength(length, first, limit);
        }
        boolean isReal = positions != null && positions.getDataType().isFloating();
        return positions == null || isReal || end < limit ? this : checked(limit, isRead);
    }

    /** Checks positions, and finds their end: the limit, if they are not read. */
    private Positions checked(int limit, boolean isRead) {
        if (positions.getDataType().isInteger()) {
            boolean isKnown = isRead || Indices.areChecked(positions);
            int known = isKnown ? 1 + Indices.requireBelow(positions, limit, "position", remedy(limit)) : limit;
            return new Positions(first, length, positions, known);
        }
        Check.that(
                positions.getDataType() != DataType.BOOLEAN,
                () -> POSITIONS + " of shape " + positions.getShape()
                        + " have data type boolean: expected integer or real numbers; " + MASK_REMEDY);
        DataTypes.requireEmbedding(positions, "the array of positions");
        double[] each = values();
        double largest = -1;
        for (int i = 0; i < each.length; i++) {
            int index = i;
            Check.that(
                    Double.isFinite(each[i]),
                    () -> "position " + each[index] + " at index " + index + " of " + positions.getShape()
                            + ": expected a finite number; check how it was computed");
            largest = Math.max(largest, Math.abs(each[i]));
        }
        return new Positions(first, length, positions, (int) (Math.floor(largest) + 1), DoubleBuffer.wrap(each));
    }

    private double[] values() {
        if (positions == null) {
            return IntStream.range(first, first + length).asDoubleStream().toArray();
        }
        return reals == null ? HostData.doubles(positions) : reals.array();
    }

    /** Returns one more than the greatest position, which is read. */
    public int readEnd() {
        return positions == null ? end : checked(UNLIMITED, true).end;
    }

    /** Returns some of these tokens, counted from the first. */
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

    /** Returns these tokens and those that follow, which have positions if these have. The array is a new one. */
    public Positions followedBy(Temporaries temporaries, Positions next) {
        NDArray later = next.positions;
        if (later == null || length == 0) {
            NDArray copy = later == null ? null : temporaries.add(later.duplicate());
            return new Positions(first, length + next.length, copy, next.end);
        }
        NDArray earlier = positions == null ? indices(temporaries, later) : positions;
        DataType type = earlier.getDataType() == later.getDataType() ? later.getDataType() : DataType.FLOAT64;
        NDArray typed = temporaries.addUnless(earlier, Arithmetic.toType(earlier, type));
        NDArray added = temporaries.addUnless(later, Arithmetic.toType(later, type));
        NDList both = new NDList(fitted(temporaries, typed, added), fitted(temporaries, added, typed));
        return new Positions(
                first, length + next.length, temporaries.add(NDArrays.concat(both, -1)), Math.max(end, next.end));
    }

    private NDArray indices(Temporaries temporaries, NDArray like) {
        NDArray indices =
                temporaries.add(like.getManager().arange(first, first + length, 1, DataType.INT32, like.getDevice()));
        return temporaries.add(indices.reshape(1, length));
    }

    /** Positions for the axes and the batch of others too. */
    private static NDArray fitted(Temporaries temporaries, NDArray positions, NDArray others) {
        int last = others.getShape().dimension() - 1;
        Shape steps = Shape.update(others.getShape(), last, positions.getShape().getLastDimension());
        if (steps.equals(positions.getShape())) {
            return positions;
        }
        NDArray column = temporaries.add(others.get(NDIndex.sliceAxis(last, 0, 1)));
        return temporaries.add(positions.add(temporaries.add(column.sub(column))));
    }

    /**
     * Returns the rows of these tokens in a shape that broadcasts over an array (…, T, …, W).
     *
     * @param axis the axis of T
     */
    public NDArray broadcastRows(Temporaries temporaries, NDArray x, int axis, Source source) {
        Check.that(
                positions == null || positions.getShape().dimension() < 3,
                () -> POSITIONS + " of shape " + positions.getShape()
                        + ": expected (T) or (B, T); give one position for each token");
        return broadcast(temporaries, rows(temporaries, x, source), x, axis);
    }

    /** Returns the rows of these tokens in the data type of an array. */
    public NDArray rows(Temporaries temporaries, NDArray like, Source source) {
        return source.rows(temporaries, this, like, like.getDataType());
    }

    /** Returns rows (T, W), (1 or B, T, W) or (T, B, W) with axes of size 1 for all others of an array. */
    public static NDArray broadcast(Temporaries temporaries, NDArray rows, NDArray x, int axis) {
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
        return temporaries.add(rows.reshape(sizes));
    }

    /**
     * Returns the rows of an array of positions, which need not belong to a sequence. The result is a new array, the
     * shape of the positions + (W), on their device and manager. Throws {@link IllegalArgumentException} for an integer
     * out of range that is read, and a real number that is not finite.
     */
    public static NDArray lookUp(NDArray positions, int limit, boolean isRead, Source source, DataType type) {
        Positions tokens = new Positions(0, 0, positions, limit).checked(limit, isRead);
        try (Temporaries temporaries = new Temporaries()) {
            return temporaries.keep(source.rows(temporaries, tokens, positions, type));
        }
    }
}
