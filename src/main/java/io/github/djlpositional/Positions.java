package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TokenPositions;
import io.github.djlpositional.internal.options.Check;

/**
 * The positions of consecutive tokens: their indices, or an array of integers or real numbers, for all sequences or for
 * each, on one axis or several. A forward creates this object once, and passes it to all blocks within, so that an
 * array is read at most once. A program that calls several blocks with the same positions may create the object itself
 * and pass it as the forward parameter {@link PositionalEncodingBlock#POSITIONS}:
 *
 * <pre>{@code
 * params.add(PositionalEncodingBlock.POSITIONS, Positions.of(times)); // (B, T), in seconds
 * }</pre>
 *
 * The object does not own its array, and is valid as long as the array is. Do not change the elements in the meantime.
 */
public final class Positions implements TokenPositions {

    /** Positions for an attention, whose encodings determine the number of axes. */
    private static final int ANY_AXES = -1;

    private final int first;
    private final int count;

    /** Null if the position of each token is its index. */
    private final NDArray array;

    private final int end;

    /** What was read from the array; null without an array. */
    private final Elements elements;

    private Positions(int first, int count, NDArray array, int end, Elements elements) {
        this.first = first;
        this.count = count;
        this.array = array;
        this.end = end;
        this.elements = elements;
    }

    /** What was read from an array: all objects with the same elements share it. */
    private static final class Elements {

        /** The elements, row-major; null if they were not read. */
        private volatile double[] doubles;

        /** The bounds of the elements, all of which are finite; null if they are not known. */
        private volatile Indices.Bounds bounds;

        Elements(double[] doubles) {
            this.doubles = doubles;
        }
    }

    /**
     * {@return tokens whose positions are their indices}
     *
     * @param first the index of the first token, at least 0
     * @param count the number of tokens, at least 0
     */
    public static Positions of(int first, int count) {
        return new Positions(first, count, null, first + count, null);
    }

    /**
     * {@return the positions of all tokens of a sequence, from index 0 on}
     *
     * @param array (T), (1 or B, T), or (axes, 1 or B, T), of an integer or floating-point type
     */
    public static Positions of(NDArray array) {
        Shape shape = array.getShape();
        // a scalar does not fit any tokens
        int count = shape.dimension() == 0 ? 0 : Math.toIntExact(shape.getLastDimension());
        return new Positions(0, count, array, ForwardParameters.UNLIMITED, new Elements(null));
    }

    /**
     * {@return the explicit positions of a forward: an input, or the forward parameter
     * {@link PositionalEncodingBlock#POSITIONS}; null for none}
     *
     * @param input positions that were given as an input; null for none
     * @param params the forward parameters; null for none
     * @throws IllegalArgumentException if both are given, or one of them and a start position
     */
    public static Positions explicit(NDArray input, PairList<String, Object> params) {
        return ofParameter(ForwardParameters.positions(input, params));
    }

    /**
     * {@return the explicit positions of the memory of a cross-attention: the forward parameter
     * {@link io.github.djlpositional.attention.MultiHeadAttentionBlock#MEMORY_POSITIONS}; null for none}
     *
     * @param params the forward parameters; null for none
     */
    public static Positions ofMemory(PairList<String, Object> params) {
        return ofParameter(ForwardParameters.positions(ForwardParameters.MEMORY_POSITIONS, params));
    }

    private static Positions ofParameter(Object positions) {
        return positions == null || positions instanceof Positions ? (Positions) positions : of((NDArray) positions);
    }

    /**
     * {@return the forward parameters with objects of this class in place of arrays of positions, for several blocks;
     * the same parameters if they have no such array}
     *
     * @param params the forward parameters; null for none
     */
    public static PairList<String, Object> once(PairList<String, Object> params) {
        if (params == null
                || !(params.get(ForwardParameters.POSITIONS) instanceof NDArray
                        || params.get(ForwardParameters.MEMORY_POSITIONS) instanceof NDArray)) {
            return params;
        }
        PairList<String, Object> shared = new PairList<>();
        params.forEach(param -> {
            boolean arePositions = ForwardParameters.POSITIONS.equals(param.getKey())
                    || ForwardParameters.MEMORY_POSITIONS.equals(param.getKey());
            boolean isArray = arePositions && param.getValue() instanceof NDArray;
            shared.add(param.getKey(), isArray ? of((NDArray) param.getValue()) : param.getValue());
        });
        return shared;
    }

    /**
     * {@return the positions of the tokens of a forward}
     *
     * @param x the tokens, (B, …, T, …)
     * @param axis the axis of T
     * @param explicit the explicit positions, (T), (1 or B, T), or (axes, 1 or B, T); null for indices
     * @param first the index of the first token
     * @throws IllegalArgumentException if the positions do not fit the tokens, or are boolean
     */
    public static Positions of(NDArray x, int axis, Positions explicit, int first) {
        return of(x, axis, explicit, first, ANY_AXES);
    }

    /**
     * {@return the positions of the tokens of a forward, {@link #between}}
     *
     * @param x the tokens, (B, …, T, …)
     * @param axis the axis of T
     * @param input positions that were given as an input; null for none
     * @param params the forward parameters; null for none
     * @param smallest the smallest integer position, at most 0
     * @param limit one more than the largest integer position
     * @param isRead whether the largest position must be known, for which positions are read on a GPU too
     * @throws IllegalArgumentException if the positions are not valid
     */
    public static Positions of(
            NDArray x,
            int axis,
            NDArray input,
            PairList<String, Object> params,
            int smallest,
            int limit,
            boolean isRead) {
        return unchecked(x, axis, input, params, limit, ANY_AXES).between(smallest, limit, isRead);
    }

    /**
     * {@return the positions of the tokens of a forward, for an encoding of distances, {@link #signed}}
     *
     * @param x the tokens, (B, …, T, …)
     * @param axis the axis of T
     * @param input positions that were given as an input; null for none
     * @param params the forward parameters; null for none
     * @throws IllegalArgumentException if the positions are not valid
     */
    public static Positions of(NDArray x, int axis, NDArray input, PairList<String, Object> params) {
        return unchecked(x, axis, input, params, ForwardParameters.UNLIMITED, ANY_AXES)
                .signed();
    }

    /**
     * Positions of absolute encodings are not negative, and time-major in a time-major input.
     *
     * @param limits one more than the largest coordinate on each axis; empty for positions on one axis only
     */
    static Positions ofAbsolute(
            NDArray x,
            int axis,
            NDArray input,
            PairList<String, Object> params,
            int limit,
            boolean isRead,
            int... limits) {
        Positions positions = unchecked(x, axis, input, params, limit, limits.length);
        if (positions.array == null || positions.array.getShape().dimension() < 3) {
            return positions.below(limit, isRead).withoutNegative();
        }
        for (int i = 0; i < limits.length && positions.array.getDataType().isInteger(); i++) {
            try (NDArray onAxis = positions.onAxis(i).array) {
                of(onAxis)
                        .requireBelow(
                                limits[i],
                                "pass coordinates from 0, or build the block with more on axis " + i + ": setAxes");
            }
        }
        return positions;
    }

    private static Positions unchecked(
            NDArray x, int axis, NDArray input, PairList<String, Object> params, int limit, int axes) {
        Positions explicit = explicit(input, params);
        Check.that(
                explicit != null || Documents.of(params) == null,
                () -> Documents.of(params) + " were given to an encoding outside an attention: expected positions; pass"
                        + " the Documents' positions(x, axis), or documents to the attention");
        int first = explicit == null ? ForwardParameters.start(params, limit) : 0;
        return of(x, axis, explicit, first, axes);
    }

    /**
     * {@return the positions of the keys of a cross-attention, {@link #signed}}
     *
     * @param keys the keys, (B, …, F, …)
     * @param axis the axis of F
     * @param explicit the explicit positions of the keys, (F), (1 or B, F), or (axes, 1 or B, F); null for indices
     * @throws IllegalArgumentException if the positions do not fit the keys, or are not valid
     */
    public static Positions ofMemory(NDArray keys, int axis, Positions explicit) {
        return of(keys, axis, explicit, 0, ForwardParameters.MEMORY_POSITIONS, ANY_AXES)
                .signed();
    }

    private static Positions of(NDArray x, int axis, Positions explicit, int first, int axes) {
        return of(x, axis, explicit, first, ForwardParameters.POSITIONS, axes);
    }

    private static Positions of(NDArray x, int axis, Positions explicit, int first, String name, int axes) {
        int length = Math.toIntExact(x.getShape().get(axis));
        if (explicit == null) {
            return of(first, length);
        }
        if (explicit.array == null) {
            Check.that(
                    explicit.count == length,
                    () -> name + " of " + explicit.count + " indices do not fit input " + x.getShape() + ": expected "
                            + length + "; pass one position for each token");
            return explicit;
        }
        requireFits(x, axis, name, explicit.array, axes);
        return new Positions(first, length, explicit.array, explicit.end, explicit.elements);
    }

    private static void requireFits(NDArray x, int axis, String name, NDArray positions, int axes) {
        DataTypes.requireSameEngine(positions, x, "embeddings");
        Shape input = x.getShape();
        Shape shape = positions.getShape();
        long length = input.get(axis);
        Shape all = new Shape(length);
        Shape perSequence = axis > 0
                ? new Shape(input.get(0), length)
                : input.dimension() == 3 ? new Shape(length, input.get(1)) : all;
        boolean isRelative = axes == ANY_AXES;
        boolean isOnAxes = shape.dimension() == 3 && (isRelative || (axes > 0 && shape.get(0) == axes));
        Shape onAxis = isOnAxes ? shape.slice(1) : shape;
        boolean isShared =
                (axis > 0 || isRelative) && onAxis.dimension() == 2 && onAxis.get(0) == 1 && onAxis.get(1) == length;
        Check.that(
                isShared || shape.equals(all) || onAxis.equals(perSequence),
                () -> name + " of shape " + shape + " do not fit "
                        + (name.equals(ForwardParameters.MEMORY_POSITIONS) ? "keys " : "input ") + input
                        + (isRelative ? ", " + input.get(0) + " sequences of " + length + " tokens" : "")
                        + ": expected "
                        + all + (perSequence.equals(all) ? "" : " or " + perSequence)
                        + (isRelative ? ", also for each axis" : axes > 0 ? ", or for each of " + axes + " axes" : "")
                        + "; pass one position for each token");
        Check.that(
                positions.getDataType() != DataType.BOOLEAN,
                () -> name + " of shape " + shape
                        + " have data type boolean: expected integers or floating-point numbers; a second input is an"
                        + " array of positions: pass the mask to the attention, [x, mask]; see docs/using.md#masks");
    }

    /**
     * {@return these positions, after checking that integers are from 0 to a limit, and that real ones are finite}
     *
     * @param limit one more than the largest integer position
     * @param isRead whether the largest position must be known, for which positions are read on a GPU too
     * @throws IllegalArgumentException if a position is not valid
     */
    public Positions below(int limit, boolean isRead) {
        return between(0, limit, isRead);
    }

    /**
     * {@return these positions, after checking that integers are from a smallest number to before a limit, on a CPU or
     * if they are read, and that real ones are finite}
     *
     * @param smallest the smallest integer position, at most 0
     * @param limit one more than the largest integer position
     * @param isRead whether the largest position must be known, for which positions are read on a GPU too
     * @throws IllegalArgumentException if a position is not valid
     */
    public Positions between(int smallest, int limit, boolean isRead) {
        if (array != null && array.getDataType().isInteger()) {
            boolean isKnown = end < ForwardParameters.UNLIMITED && end <= limit;
            return isKnown || !(isRead || Indices.areChecked(array)) ? this : within(smallest, limit);
        }
        return real(limit);
    }

    /**
     * {@return these positions for an encoding of distances, after checking that integers are between -2<sup>29</sup>
     * and 2<sup>29</sup>, on a CPU, and that real ones are finite}
     *
     * @throws IllegalArgumentException if a position is not valid
     */
    public Positions signed() {
        int limit = ForwardParameters.UNLIMITED;
        if (array != null && array.getDataType().isInteger()) {
            return end < limit || !Indices.areChecked(array) ? this : within(1 - limit, limit);
        }
        return real(limit);
    }

    /** Checks that integers are from a smallest number to before a limit. The end of negative ones is not known. */
    private Positions within(int smallest, int limit) {
        Indices.Bounds bounds = requireWithin(smallest, limit, remedy(limit));
        return bounds.smallest() < 0 ? this : withEnd(1 + (int) bounds.largest());
    }

    /** Checks that explicit integers are from 0 to before a limit, where they are read. */
    void requireBelow(int limit, String remedy) {
        if (Indices.areChecked(array)) {
            requireWithin(0, limit, remedy);
        }
    }

    private Indices.Bounds requireWithin(int smallest, int limit, String remedy) {
        Indices.Bounds bounds = elements.bounds;
        if (bounds == null) {
            bounds = Indices.bounds(array);
            elements.bounds = bounds;
        }
        Indices.requireWithin(array, bounds, smallest, limit, "position", remedy);
        return bounds;
    }

    private static String remedy(int limit) {
        return ForwardParameters.remedy(limit)
                + "; for times, pass real positions: convert them with toType(DataType.FLOAT64, false), and subtract the"
                + " first";
    }

    /** Checks indices, or that real positions are finite. */
    private Positions real(int limit) {
        if (array == null) {
            ForwardParameters.requireLength(count, first, limit);
            return this;
        }
        Indices.Bounds bounds = boundsOfReals();
        return withEnd((int) (Math.floor(Math.max(Math.abs(bounds.smallest()), Math.abs(bounds.largest()))) + 1));
    }

    private Indices.Bounds boundsOfReals() {
        Indices.Bounds known = elements.bounds;
        if (known != null) {
            return known;
        }
        DataTypes.requireEmbedding(array, "the array of positions");
        double[] all = toDoubles();
        double smallest = all.length == 0 ? 0 : all[0];
        double largest = all.length == 0 ? -1 : all[0];
        for (int i = 0; i < all.length; i++) {
            if (!Double.isFinite(all[i])) {
                throw new IllegalArgumentException("position " + all[i] + " at index " + i + " of " + array.getShape()
                        + ": expected a finite number; check how it was computed");
            }
            smallest = Math.min(smallest, all[i]);
            largest = Math.max(largest, all[i]);
        }
        InputMistakes.checkRounding(array, all);
        elements.bounds = new Indices.Bounds(smallest, largest);
        return elements.bounds;
    }

    private Positions withEnd(int known) {
        return new Positions(first, count, array, known, elements);
    }

    /**
     * {@return the same tokens with the positions of another array, such as a copy or some of its rows}
     *
     * @param other explicit positions, (…, n); null for indices
     * @param otherEnd one more than the largest of them, or a larger number
     */
    public Positions with(NDArray other, int otherEnd) {
        return new Positions(first, count, other, otherEnd, other == null ? null : new Elements(null));
    }

    private Positions withoutNegative() {
        Check.that(
                !areReal() || boundsOfReals().smallest() >= 0,
                () -> "position " + boundsOfReals().smallest() + " of " + array.getShape()
                        + ": expected 0 or more; count positions from 0, or use a RotaryEmbeddingBlock for others");
        return this;
    }

    @Override
    public int first() {
        return first;
    }

    @Override
    public int count() {
        return count;
    }

    /**
     * {@return explicit positions, whose last axis is n; null if the position of each token is its index} In an
     * attention they are (1 or B, n), or (axes, 1 or B, n), INT32 or FLOAT64, on the device of the queries.
     */
    @Override
    public NDArray array() {
        return array;
    }

    /**
     * {@return one more than the largest position, or a larger number: 2<sup>29</sup> if integers are on a GPU and were
     * not read, or if one is negative; negative real positions count as positive ones}
     */
    @Override
    public int end() {
        return end;
    }

    /** {@return whether an integer position is negative, or may be, since positions are on a GPU and were not read} */
    @Override
    public boolean mayBeNegative() {
        return array != null && array.getDataType().isInteger() && end == ForwardParameters.UNLIMITED;
    }

    /**
     * {@return one more than the largest absolute value of a position, or a larger number: 2<sup>29</sup> if integers
     * are on a GPU and were not read}
     */
    @Override
    public int reach() {
        Indices.Bounds bounds = mayBeNegative() ? elements.bounds : null;
        return bounds == null ? end : (int) Math.max(-bounds.smallest(), bounds.largest()) + 1;
    }

    /** {@return whether positions are floating-point numbers, such as times} */
    public boolean areReal() {
        return array != null && array.getDataType().isFloating();
    }

    /** {@return explicit positions, row-major; do not change them} The array is read once, which waits for a GPU. */
    @Override
    public double[] toDoubles() {
        double[] known = elements.doubles;
        if (known == null) {
            known = HostData.doubles(array);
            elements.doubles = known;
        }
        return known;
    }

    /**
     * {@return the position of each token, (1 or B, n): a new array, or {@link #array}}
     *
     * @param like an array on the device of the result
     * @param type the type of the result; an integer type in an encoding that takes no real positions
     * @throws IllegalArgumentException for an integer type if the positions are floating-point numbers; if they are on
     *     several axes
     */
    public NDArray toArray(NDArray like, DataType type) {
        if (array == null) {
            return Temporaries.result(
                    () -> Indices.range(like, first, count, type).reshape(1, count));
        }
        Check.that(
                array.getShape().dimension() == 2,
                () -> ForwardParameters.POSITIONS + " of shape " + array.getShape()
                        + " are on several axes: expected one number for each token, (T) or (B, T), for this"
                        + " encoding; use a RotaryEmbeddingBlock for several axes, or the optAxis(int) of a"
                        + " RelativePositionBiasBlock");
        DataTypes.requireWhole(type, array);
        return Arithmetic.toType(array, type);
    }

    /**
     * {@return the positions on one axis, whose array is a new view, or the same if these are on one axis, which stands
     * for every axis}
     *
     * @param axis the axis, counted from 0
     * @throws IllegalArgumentException if these positions are on fewer axes
     */
    public Positions onAxis(int axis) {
        if (array == null || array.getShape().dimension() < 3) {
            return this;
        }
        Shape shape = array.getShape();
        Check.that(
                axis < shape.get(0),
                () -> ForwardParameters.POSITIONS + " of shape " + shape + " for the axis " + axis
                        + ": expected at least " + (axis + 1L)
                        + " coordinates of each token; pass as many, or build the block with another axis");
        NDArray onAxis = Temporaries.result(
                () -> array.get(NDIndex.sliceAxis(0, axis, axis + 1L)).squeeze(0));
        return with(onAxis, end);
    }

    /**
     * {@return these positions in the form that an attention needs: (1 or B, n), or (axes, 1 or B, n), INT32 or
     * FLOAT64, on the device of an array} Their array is a new one, or the same if it has this form.
     *
     * @param x an array
     */
    public Positions like(NDArray x) {
        if (array == null) {
            return this;
        }
        DataType type = array.getDataType().isInteger() ? DataType.INT32 : DataType.FLOAT64;
        boolean isSame = array.getDataType() == type
                && array.getDevice().equals(x.getDevice())
                && array.getShape().dimension() > 1;
        return isSame
                ? this
                : new Positions(
                        first,
                        count,
                        Temporaries.result(() -> {
                            NDArray moved = Arithmetic.toType(array, type).toDevice(x.getDevice(), false);
                            return array.getShape().dimension() == 1 ? moved.expandDims(0) : moved;
                        }),
                        end,
                        elements);
    }

    /**
     * {@return the positions of some of these tokens} Their array is a new view, or the same for all tokens.
     *
     * @param from the first token, counted from the first of these
     * @param tokens the number of tokens
     */
    public Positions slice(int from, int tokens) {
        // MXNet cannot slice nothing
        if (array == null || tokens == 0) {
            return of(first + from, tokens);
        }
        if (tokens == count) {
            return this;
        }
        int axis = array.getShape().dimension() - 1;
        double[] all = elements.doubles;
        return new Positions(
                first + from,
                tokens,
                array.get(NDIndex.sliceAxis(axis, from, (long) from + tokens)),
                end,
                new Elements(all == null ? null : columns(all, count, from, tokens)));
    }

    private static double[] columns(double[] all, int width, int from, int to) {
        double[] some = new double[all.length / width * to];
        for (int row = 0; row < all.length / width; row++) {
            System.arraycopy(all, row * width + from, some, row * to, to);
        }
        return some;
    }

    /**
     * {@return the positions of these tokens and those of the next, whose array is a new one}
     *
     * @param next the next tokens, which must have explicit positions if these have
     */
    public Positions followedBy(Positions next) {
        int both = count + next.count;
        if (next.array == null || count == 0) {
            return next.array == null
                    ? new Positions(first, both, null, next.end, null)
                    : new Positions(first, both, next.array.duplicate(), next.end, next.elements);
        }
        NDArray joined = Temporaries.result(() -> {
            NDArray earlier = array == null
                    ? Indices.range(next.array, first, count, DataType.INT32).reshape(1, count)
                    : array;
            DataType type =
                    earlier.getDataType() == next.array.getDataType() ? next.array.getDataType() : DataType.FLOAT64;
            NDArray typed = Arithmetic.toType(earlier, type);
            NDArray added = Arithmetic.toType(next.array, type);
            return NDArrays.concat(new NDList(fitted(typed, added), fitted(added, typed)), -1);
        });
        return new Positions(first, both, joined, Math.max(end, next.end), new Elements(joinedElements(next)));
    }

    /** The elements of these positions and the next; null if they were not read, or if their shapes differ. */
    private double[] joinedElements(Positions next) {
        boolean isKnown = array != null && elements.doubles != null && next.elements.doubles != null;
        if (!isKnown || !withoutTokens(array).equals(withoutTokens(next.array))) {
            return null;
        }
        int rows = elements.doubles.length / count;
        double[] joined = new double[rows * (count + next.count)];
        for (int row = 0; row < rows; row++) {
            int at = row * (count + next.count);
            System.arraycopy(elements.doubles, row * count, joined, at, count);
            System.arraycopy(next.elements.doubles, row * next.count, joined, at + count, next.count);
        }
        return joined;
    }

    private static Shape withoutTokens(NDArray positions) {
        return positions.getShape().slice(0, positions.getShape().dimension() - 1);
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

    /** Returns the rows of any number of positions, the shape of the positions + (W): a new array. */
    static NDArray lookUp(NDArray positions, int limit, boolean isRead, ConstantTable table, DataType type) {
        int count = Math.toIntExact(positions.size());
        Positions tokens = new Positions(0, count, positions, ForwardParameters.UNLIMITED, new Elements(null))
                .below(limit, isRead)
                .withoutNegative();
        return Temporaries.result(() -> table.rows(tokens, positions, type));
    }

    /** {@return the tokens, and the shape of explicit positions} */
    @Override
    public String toString() {
        return "Positions of " + count + " tokens from " + first
                + (array == null ? "" : ", " + array.getDataType() + " " + array.getShape());
    }
}
