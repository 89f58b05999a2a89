package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.math.FloatFormat;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * The position of each step of a sequence, and the rows of a table that belong to them: consecutive positions from a
 * start, explicit integer positions, or explicit real ones.
 *
 * @param input the input, (…, T, …)
 * @param axis the axis of T, from 0
 * @param explicit the shape of explicit positions; null for consecutive ones
 * @param end one more than the greatest position; the limit, if explicit positions were not read
 * @param lookup gets the rows
 */
public record Positions(NDArray input, int axis, Shape explicit, int end, Lookup lookup) {

    /** The key of the forward parameter that gives the position of the first step. */
    public static final String START = "startPosition";

    /** The key of the forward parameter that holds a cache of keys and values. */
    public static final String CACHE = "keyValueCache";

    /** The key of the forward parameter that gives the position of every step. */
    public static final String POSITIONS = "positions";

    private static final List<String> NAMES = List.of(START, CACHE, POSITIONS);

    /** The limit where no table limits the positions: small enough that the lengths of two sequences can be added. */
    public static final int UNLIMITED = 1 << 29;

    /** The rows of positions. */
    public interface Source {

        /**
         * Returns the rows of consecutive positions, (1, count, W), for use with x. Temporaries closes them, unless
         * they are kept.
         */
        NDArray consecutive(Temporaries temporaries, int first, int count, NDArray x);

        /**
         * Returns the rows of integer positions below {@code end}: a new array on the manager of x, the shape of the
         * positions + (W).
         */
        NDArray lookUp(NDArray positions, int end, NDArray x, DataType type);

        /** Returns the rows of real positions of a shape: a new array on the manager of x, the shape + (W). */
        NDArray compute(double[] positions, Shape shape, NDArray x, DataType type);
    }

    /** Computes the rows of any positions. */
    @FunctionalInterface
    public interface RealRows {
        /** Writes the rows, row-major, from the start of the buffer. */
        void write(double[] positions, FloatFormat format, ByteBuffer out);
    }

    /** The rows in the shape that a source returns them; closed by temporaries, unless the source keeps them. */
    @FunctionalInterface
    public interface Lookup {
        NDArray rows(Temporaries temporaries, Source source);
    }

    /**
     * Reads the positions of a forward. The input is (…, T, W), or (T, B, W) with the axis 0; explicit positions are
     * (T), or (B, T) and (T, B), where B may be 1: the forward's second input, or {@link #given} as a forward
     * parameter. Without them, positions are consecutive. The limit is one more than the greatest position. Throws
     * {@link IllegalArgumentException} for positions that are not valid, or that are given together with a start
     * position, unless that is where a cache stands.
     *
     * @param isRead whether the greatest position must be known, for which explicit positions are read on a GPU too
     */
    public static Positions of(
            NDArray input, int axis, NDArray second, PairList<String, Object> params, int limit, boolean isRead) {
        NDArray explicit = given(second, params);
        if (explicit == null) {
            return consecutive(input, axis, start(params, input.getShape().get(axis), limit), limit);
        }
        requireNoStart(params);
        return explicit(input, axis, explicit, limit, isRead);
    }

    /** Refuses a start position beside explicit positions, unless it is where a cache stands. */
    public static void requireNoStart(PairList<String, Object> params) {
        Object start = startOf(params);
        Check.that(
                start == null || params.contains(CACHE),
                () -> "both positions and " + START + "=" + start
                        + " were given: expected one of them; give the positions of all steps, or the start");
    }

    /** Returns explicit positions, like {@link #of}. */
    public static Positions explicit(NDArray input, int axis, NDArray explicit, int limit, boolean isRead) {
        DataTypes.requireSameEngine(explicit, input, "embeddings");
        Shape shape = explicit.getShape();
        requireShape(shape, input.getShape(), axis);
        DataType type = input.getDataType();
        if (explicit.getDataType().isInteger()) {
            int end = end(explicit, limit, isRead);
            return new Positions(
                    input,
                    axis,
                    shape,
                    end,
                    (temporaries, source) -> temporaries.add(source.lookUp(explicit, end, input, type)));
        }
        double[] values = reals(explicit, limit);
        int end = (int) Math.floor(Arrays.stream(values).max().orElse(-1)) + 1;
        return new Positions(
                input,
                axis,
                shape,
                end,
                (temporaries, source) -> temporaries.add(source.compute(values, shape, input, type)));
    }

    /** Returns consecutive positions from a start, which must end below the limit. */
    public static Positions consecutive(NDArray input, int axis, int start, int limit) {
        long length = input.getShape().get(axis);
        requireLength(length, start, limit);
        return new Positions(
                input,
                axis,
                null,
                Math.toIntExact(start + length),
                (temporaries, source) -> source.consecutive(temporaries, start, (int) length, input));
    }

    /** One more than the greatest of integer positions; the limit, if they are not read. */
    private static int end(NDArray positions, int limit, boolean isRead) {
        return isRead || Indices.areChecked(positions)
                ? Indices.requireBelow(positions, limit, "position", remedy(limit)) + 1
                : limit;
    }

    private static String remedy(int limit) {
        return limit >= UNLIMITED
                ? "count positions from 0"
                : "count positions from 0, or build the block with a greater optMaxSequenceLength(int) or"
                        + " optAutoExtend(int)";
    }

    private static double[] reals(NDArray positions, int limit) {
        DataTypes.requireEmbedding(positions, "the array of positions");
        double[] values = HostData.doubles(positions);
        for (int i = 0; i < values.length; i++) {
            if (!(values[i] >= 0 && values[i] < limit)) {
                throw new IllegalArgumentException("position " + values[i] + " at index " + i + " of "
                        + positions.getShape() + ": expected 0 or more and less than " + limit + "; " + remedy(limit));
            }
        }
        return values;
    }

    private static void requireShape(Shape given, Shape input, int axis) {
        int rank = input.dimension();
        Shape all = new Shape(input.get(axis));
        Shape each = axis > 0
                ? new Shape(input.get(0), input.get(axis))
                : rank == 3 ? new Shape(input.get(0), input.get(1)) : all;
        if (!given.equals(all) && !given.equals(each) && !(axis > 0 && given.equals(new Shape(1, input.get(axis))))) {
            throw new IllegalArgumentException("positions of shape " + given + " do not fit input " + input
                    + ": expected " + all + (each.equals(all) ? "" : " or " + each)
                    + "; give one position for each step of the sequence");
        }
    }

    /**
     * Returns the positions that a forward is given for its steps, as an input or as the forward parameter
     * {@value #POSITIONS}; null for none. Throws {@link IllegalArgumentException} for both.
     */
    public static NDArray given(NDArray input, PairList<String, Object> params) {
        requireSpelling(params);
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

    private static Object startOf(PairList<String, Object> params) {
        return params == null ? null : params.get(START);
    }

    /**
     * Returns the start position, 0 if none is given, of a number of consecutive positions below the limit. Throws
     * {@link IllegalArgumentException} if it is not a whole number, or one of the positions is out of range.
     */
    public static int start(PairList<String, Object> params, long length, int limit) {
        requireSpelling(params);
        Object start = startOf(params);
        if (start == null) {
            requireLength(length, 0, limit);
            return 0;
        }
        Check.that(
                start instanceof Integer || start instanceof Long,
                () -> START + " is the " + start.getClass().getSimpleName() + " " + start
                        + ": expected an Integer or a Long; give the number of the first position");
        long first = ((Number) start).longValue();
        Check.that(
                first >= 0 && first <= limit,
                () -> START + " " + first + ": expected 0 to " + limit + "; " + remedy(limit));
        requireLength(length, first, limit);
        return (int) first;
    }

    /** Refuses forward parameters that are spelled almost like {@value #START} or {@value #CACHE}. */
    public static void requireSpelling(PairList<String, Object> params) {
        if (params == null) {
            return;
        }
        for (int i = 0; i < params.size(); i++) {
            String key = params.keyAt(i);
            if (key == null || NAMES.contains(key)) {
                continue;
            }
            for (String name : NAMES) {
                Check.that(
                        !isSpelledLike(key, name),
                        () -> "forward parameter '" + key + "': expected '" + name + "'; correct the name");
            }
        }
    }

    /** Whether a key is a name but for case and separators. */
    private static boolean isSpelledLike(String key, String name) {
        int matched = 0;
        for (int i = 0; i < key.length(); i++) {
            char letter = key.charAt(i);
            if ("_. -".indexOf(letter) < 0) {
                if (matched == name.length()
                        || Character.toLowerCase(letter) != Character.toLowerCase(name.charAt(matched))) {
                    return false;
                }
                matched++;
            }
        }
        return matched == name.length();
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

    /**
     * Returns the rows of the positions, of which there is at least one, in a shape that broadcasts over the input (…,
     * T, W).
     */
    public NDArray rows(Temporaries temporaries, Source source) {
        NDArray rows = lookup.rows(temporaries, source);
        int rank = input.getShape().dimension();
        if (explicit != null && explicit.dimension() == 2) {
            return rank == 3 ? rows : temporaries.add(wide(rows, explicit.get(0)));
        }
        boolean fits = axis == rank - 2 && (rank > 2 || explicit != null);
        return fits ? rows : temporaries.add(wide(rows, 1));
    }

    /** The rows with axes of size 1 for all axes of the input but the batch, the sequence and the last. */
    private NDArray wide(NDArray rows, long batch) {
        long[] wide = new long[input.getShape().dimension()];
        Arrays.fill(wide, 1);
        wide[0] = batch;
        wide[axis] = input.getShape().get(axis);
        wide[wide.length - 1] = rows.getShape().get(rows.getShape().dimension() - 1);
        return rows.reshape(wide);
    }

    /**
     * Returns the rows of an array of positions, which need not belong to a sequence. The result is a new array, the
     * shape of the positions + (W), on their device and manager. Throws {@link IllegalArgumentException} for a position
     * out of range that is read.
     */
    public static NDArray lookUp(NDArray positions, int limit, boolean isRead, Source source, DataType type) {
        return positions.getDataType().isInteger()
                ? source.lookUp(positions, end(positions, limit, isRead), positions, type)
                : source.compute(reals(positions, limit), positions.getShape(), positions, type);
    }

    /**
     * Rows that are computed from positions: integer positions are looked up in a table of constants, if there is one.
     *
     * @param table the table; null if each forward computes its rows
     * @param rows computes the rows of consecutive positions
     * @param realRows computes the rows of any positions
     * @param width the number of values in a row
     */
    public record Table(ConstantTable table, HostData.Rows rows, RealRows realRows, int width) implements Source {

        /** Describes a table that may grow from a length to a limit. */
        public static Table of(HostData.Rows rows, RealRows realRows, int width, int length, int limit) {
            return new Table(ConstantTable.ofPositions(new Shape(width), length, limit, rows), rows, realRows, width);
        }

        @Override
        public NDArray consecutive(Temporaries temporaries, int first, int count, NDArray x) {
            DataType type = x.getDataType();
            if (table != null) {
                return table.rows(temporaries, first, count, x, type);
            }
            HostData.Rows shifted = (from, number, format, out) -> rows.write(first + from, number, format, out);
            NDArray computed = temporaries.add(
                    HostData.computed(x.getManager(), x.getDevice(), new Shape(count, width), type, shifted));
            return temporaries.add(computed.expandDims(0));
        }

        @Override
        public NDArray lookUp(NDArray positions, int end, NDArray x, DataType type) {
            Shape shape = positions.getShape();
            return table == null || shape.size() == 0
                    ? compute(HostData.doubles(positions), shape, x, type)
                    : Indices.lookUpGiven(positions, table.table(end, x, type), x.getManager());
        }

        @Override
        public NDArray compute(double[] positions, Shape shape, NDArray x, DataType type) {
            Shape all = shape.add(width);
            if (all.size() == 0) {
                return x.getManager().create(all, type, x.getDevice());
            }
            try (NDArray computed = HostData.computed(
                    x.getManager(),
                    x.getDevice(),
                    new Shape(positions.length, width),
                    type,
                    (from, count, format, out) ->
                            realRows.write(Arrays.copyOfRange(positions, from, from + count), format, out))) {
                return computed.reshape(all);
            }
        }
    }
}
