package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Rotation;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryRows;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.Rows;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Rotary position embedding: rotates each pair of dimensions of queries and keys by an angle proportional to the
 * position, so that their products depend only on the distance. After Su et al., <em>RoFormer: Enhanced Transformer
 * with Rotary Position Embedding</em> (2021), with the context extensions of {@link RotaryScaling}.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(RotaryEmbeddingBlock.builder().setHeadSize(64).build())
 *         .build();
 * }</pre>
 *
 * <p>Of the H dimensions, r consecutive ones are rotated, by default all; the others do not change. If frequencies or
 * axes are set for dimensions instead of pairs, the two dimensions of a pair turn by different angles, as in Hunyuan-VL
 * and V-JEPA 2: a pair (a, b) with the angles φ and ψ becomes (a · cos φ - b · sin φ, b · cos ψ + a · sin ψ). Products
 * then depend on both positions, not on the distance only.
 *
 * <h2>Inputs and output of its own forward</h2>
 *
 * <ul>
 *   <li>{@code [x]}, unless the block has {@linkplain Builder#optXpos XPos}, or queries and keys together,
 *       {@code [queries, keys]}: each (B, N, T, H), or with {@link Builder#optSequenceAxis} (B, T, N, H). Both have the
 *       same B, T and data type; N may differ.
 *   <li>{@code [x, positions]} or {@code [queries, keys, positions]}: positions is (T) or (B, T), of any integer or
 *       floating-point type. A block with {@linkplain Builder#optAxes axes} also accepts (axes, B, T) and (axes, 1, T);
 *       (T) and (B, T) then apply to every axis. Integers may be negative, unless the block has XPos, and their
 *       absolute values are below {@link Builder#optMaxSequenceLength}: others are rejected on a CPU, and give NaN on a
 *       GPU.
 * </ul>
 *
 * The output is x, or queries and keys, rotated: one array for each. Floating-point positions, and all explicit
 * positions of a block with {@link Builder#optAutoExtend}, are read on the host, which waits for a GPU.
 *
 * @see <a href="https://arxiv.org/abs/2104.09864">RoFormer: Enhanced Transformer with Rotary Position Embedding</a>
 * @see <a href="https://arxiv.org/abs/2212.10554">A Length-Extrapolatable Transformer</a>
 */
public final class RotaryEmbeddingBlock extends OptionsBlock implements RelativeEncoding {

    record Options(
            @Range(min = 1) int headSize,
            @Default("0") int rotaryStart,
            Integer rotarySize,
            Double base,
            @Default("INTERLEAVED") PairLayout layout,
            @NotSaved(onlyIf = "None()") RotaryScaling scaling,
            Frequencies frequencies,
            RotaryAxes axes,
            @Range(above = 0) Double xpos,
            @Default("2") @Range(min = 1, max = 2) int sequenceAxis,
            @NotSaved @Default("5000") @Range(min = 1) int maxSequenceLength,
            @NotSaved Integer autoExtend) {

        Options {
            Check.between("rotaryStart", rotaryStart, 0, headSize);
            int rest = headSize - rotaryStart;
            Check.that(
                    frequencies == null || (base == null && scaling == null),
                    "frequencies were given together with " + (base == null ? "a scaling" : "base " + base)
                            + ": expected one or the other; set the frequencies only"
                            + (scaling == null ? "" : "; scaling: " + scaling));
            if (frequencies == null) {
                base = Objects.requireNonNullElse(base, 10_000.0);
                scaling = Objects.requireNonNullElse(scaling, RotaryScaling.none());
                rotarySize = Objects.requireNonNullElse(rotarySize, rest);
            }
            boolean isByDimension = frequencies != null && rotarySize != null && rotarySize == frequencies.size();
            int size = frequencies == null || isByDimension ? rotarySize : 2 * frequencies.size();
            rotarySize = Objects.requireNonNullElse(rotarySize, size);
            Check.that(
                    rotarySize >= 2 && rotarySize % 2 == 0 && rotarySize <= rest,
                    "rotarySize " + rotarySize + " from rotaryStart " + rotaryStart + " with headSize " + headSize
                            + ": expected an even number from 2 to the number of remaining dimensions, " + rest
                            + "; set another rotary size, start or head size");
            Check.that(
                    rotarySize == size,
                    "rotarySize " + rotarySize + " with " + (size / 2)
                            + " frequencies: expected one frequency for each pair or dimension; set as many, or leave"
                            + " the rotary size out");
            int axisCount = axes == null ? 0 : axes.axes().size();
            Check.that(
                    axes == null || 2 * axisCount == rotarySize || axisCount == rotarySize,
                    () -> "axes of " + axisCount + " pairs with rotarySize " + size + ": expected one axis for each of "
                            + size / 2 + " pairs, or for each dimension; set as many; axes: " + axes);
            Check.that(
                    xpos == null || !(isByDimension || axisCount == rotarySize),
                    () -> "xpos " + xpos + " with one angle for each of " + size
                            + " dimensions: expected one for each pair; leave XPos out, or set the frequencies and axes of"
                            + " pairs");
            if (autoExtend != null) {
                Check.between("autoExtend", autoExtend, maxSequenceLength, ForwardParameters.UNLIMITED);
            }
        }

        /** One more than the largest position. */
        int limit() {
            return autoExtend == null ? maxSequenceLength : autoExtend;
        }

        /** The smallest integer position. The factors of XPos are not those of a positive position. */
        int smallest() {
            return xpos == null ? 1 - limit() : 0;
        }

        /** Whether each dimension has an angle of its own, not each pair. */
        boolean isByDimension() {
            return (frequencies != null && frequencies.size() == rotarySize) || hasAxesOfDimensions();
        }

        private boolean hasAxesOfDimensions() {
            return axes != null && axes.axes().size() == rotarySize;
        }

        /** The number of values in a row. */
        int width() {
            return isByDimension() ? 2 * rotarySize : rotarySize;
        }

        /** The rows of queries or keys. */
        Rows rows(boolean areKeys) {
            Frequencies all = scaling == null ? frequencies : scaling.frequencies(rotarySize, base);
            double factor = scaling == null ? 1 : scaling.attentionFactor();
            if (isByDimension()) {
                return RotaryRows.byDimension(all, layout, rotarySize, factor);
            }
            RotaryRows rows = new RotaryRows(all, layout, factor);
            return xpos == null ? rows : rows.withXpos(areKeys ? -xpos : xpos);
        }

        /** 1 if the column has the angle of the axis, and 0 otherwise. */
        double axisIndicator(double axis, int column) {
            int dimension = column % rotarySize;
            int index = hasAxesOfDimensions() ? dimension : layout.pair(dimension, rotarySize / 2);
            return axes.axes().get(index) == axis ? 1 : 0;
        }

        /** -1 if the column is a sine, and 1 for a cosine: the change of the value from a position to its negative. */
        double sign(int column) {
            int pairs = rotarySize / 2;
            boolean isCosine = isByDimension()
                    ? column < rotarySize
                    : layout.firstIndex(layout.pair(column, pairs), pairs) == column;
            return isCosine ? 1 : -1;
        }
    }

    private final Options options;
    private final Rotation rotation;

    /** The rows of queries, (positions, r), or (positions, 2r) with angles by dimension. */
    private final ConstantTable queryTable;

    /** The rows of keys, which differ with XPos. */
    private final ConstantTable keyTable;

    /** What the row of a negative integer position is multiplied by; null if there are none. */
    private final ConstantTable signs;

    /** 1 in the columns of each axis, 0 in the others, (axes, r or 2r); null for one axis. */
    private final ConstantTable columnsOfAxes;

    private RotaryEmbeddingBlock(Options options) {
        super(options);
        this.options = options;
        rotation = new Rotation(options.rotaryStart, options.rotarySize, options.layout, this::rows);
        queryTable = addTable(false);
        keyTable = options.xpos == null ? queryTable : addTable(true);
        signs = options.xpos == null ? addTable(1, (position, column) -> options.sign(column)) : null;
        columnsOfAxes = options.axes == null ? null : addTable(options.axes.axisCount(), options::axisIndicator);
    }

    private ConstantTable addTable(int count, Rows.Value value) {
        return addTable(ConstantTable.ofPositions(Rows.of(options.width(), value), count, count));
    }

    private ConstantTable addTable(boolean areKeys) {
        return addTable(ConstantTable.ofPositions(options.rows(areKeys), options.maxSequenceLength, options.limit()));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static RotaryEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return H, the size of a head} */
    public int getHeadSize() {
        return options.headSize;
    }

    /** {@return r, the number of dimensions of a head that are rotated} */
    public int getRotarySize() {
        return options.rotarySize;
    }

    /** {@return how the frequencies are changed for longer contexts} */
    public RotaryScaling getScaling() {
        return options.scaling == null ? RotaryScaling.none() : options.scaling;
    }

    /** {@return the axis of the position for each pair or dimension; null for one axis} */
    public RotaryAxes getAxes() {
        return options.axes;
    }

    @Override
    public void requireFits(int headCount, int keyValueHeadCount, int attentionHeadSize, int embeddingSize) {
        Check.that(
                options.headSize == attentionHeadSize,
                () -> "headSize " + options.headSize + " of the rotary embedding: expected the attention's head size "
                        + attentionHeadSize + ", its embedding size divided by its head count; use setHeadSize("
                        + attentionHeadSize + "); block: " + this);
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        int count = rotatedCount(inputs.getShapes());
        ForwardParameters.requireNoMemory(
                params, "the forward of a rotary embedding", "pass the positions of each array that is rotated");
        Check.that(
                count == 2 || options.xpos == null,
                () ->
                        "one array to rotate was given: expected [queries, keys], which XPos scales differently; pass both;"
                                + " block: " + this);
        NDList rotated = inputs.subNDList(0, count);
        requireInputs(rotated);
        // queries may have no heads although the keys have
        NDArray x = isEmpty(rotated.head()) ? rotated.get(count - 1) : rotated.head();
        int axis = options.sequenceAxis;
        NDArray input = count < inputs.size() ? inputs.get(count) : null;
        Positions positions =
                Positions.of(x, axis, input, params, options.smallest(), options.limit(), readsPositions());
        mistakes.checkPositions(positions);
        requireAxes(positions);
        return Temporaries.results(() -> {
            NDList results = new NDList();
            NDArray rows = null;
            for (NDArray array : rotated) {
                if (isEmpty(array)) {
                    results.add(array.duplicate());
                } else {
                    boolean needsRows = rows == null || options.xpos != null;
                    rows = needsRows
                            ? ConstantTable.broadcast(rows(array, positions, !results.isEmpty()), array, axis)
                            : rows;
                    results.add(rotation.apply(array, rows, training));
                }
            }
            return results;
        });
    }

    /** Whether the largest explicit position must be known, as for a table that grows. */
    private boolean readsPositions() {
        return options.autoExtend != null;
    }

    private void requireAxes(Positions positions) {
        requireAxes(positions.array(), options.axes == null ? 0 : options.axes.axisCount(), this);
    }

    /** Checks the number of coordinates of explicit positions, or null; 0 axes for a block without several. */
    static void requireAxes(NDArray positions, int axes, RelativeEncoding block) {
        Shape shape = positions == null ? new Shape() : positions.getShape();
        Check.that(
                shape.dimension() != 3 || (axes > 0 && shape.get(0) == axes),
                () -> "positions of shape " + shape + ": expected "
                        + (axes == 0 ? "(T) or (B, T)" : axes + " coordinates, one for each axis")
                        + "; pass as many, or build the block with other axes; block: " + block);
    }

    /** Returns the cosines and sines of tokens, (n, r) or (1 or B, n, r); 2r of each with angles by dimension. */
    private NDArray rows(NDArray like, Positions positions, boolean areKeys) {
        NDArray rows = (areKeys ? keyTable : queryTable).rows(positions, signs, like, like.getDataType());
        return rows.getShape().dimension() < 4 ? rows : joined(rows, like);
    }

    /** The columns of each axis from the rows of its coordinates: from (axes, 1 or B, n, r) to (1 or B, n, r). */
    private NDArray joined(NDArray rows, NDArray like) {
        NDArray columns = columnsOfAxes.array(like, like.getDataType()).reshape(options.axes.axisCount(), 1, 1, -1);
        return rows.mul(columns).sum(new int[] {0});
    }

    private static boolean isEmpty(NDArray array) {
        return array.getShape().size() == 0;
    }

    /** The number of arrays to rotate; positions may follow, which do not have four axes. */
    private static int rotatedCount(Shape... shapes) {
        int count = shapes.length;
        if (count > 1 && shapes[count - 1].dimension() != 4) {
            count--;
        }
        Check.that(
                count == 1 || count == 2,
                count + " arrays to rotate were given: expected [x] or [queries, keys], optionally followed by"
                        + " positions; pass one or two arrays (B, N, T, H)");
        return count;
    }

    private void requireInputs(NDList inputs) {
        NDArray first = inputs.get(0);
        for (NDArray input : inputs) {
            DataTypes.requireEmbedding(input, "input");
            ScoreTermBlock.requireHeads(input.getShape(), "input", -1, options.headSize);
            Check.that(
                    input.getShape().get(0) == first.getShape().get(0)
                            && input.getShape().get(options.sequenceAxis)
                                    == first.getShape().get(options.sequenceAxis)
                            && input.getDataType() == first.getDataType()
                            && input.getDevice().equals(first.getDevice()),
                    () -> "queries " + first.getShape() + " " + first.getDataType() + " on " + first.getDevice()
                            + " and keys " + input.getShape() + " " + input.getDataType() + " on " + input.getDevice()
                            + ": expected the same batch size, sequence length, data type and device; rotate them"
                            + " separately if their positions differ");
        }
    }

    @Override
    public boolean isForCausalAttention() {
        return options.xpos != null;
    }

    @Override
    public List<Term> terms() {
        return List.of(rotation);
    }

    private NDArray rows(AttentionCall call, NDArray like, boolean areKeys) {
        Positions positions = areKeys ? call.keys() : call.queries();
        requireAxes(positions);
        Positions checked = positions.between(options.smallest(), options.limit(), readsPositions());
        return rows(like, checked, areKeys);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape[] shapes = Arrays.copyOf(inputShapes, rotatedCount(inputShapes));
        for (Shape shape : shapes) {
            ScoreTermBlock.requireHeads(shape, "input", -1, options.headSize);
        }
        return shapes;
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        for (Shape shape : getOutputShapes(inputShapes)) {
            // an attention passes (B, N, T, H) even if the block's own forward has another order
            if (options.sequenceAxis == 2) {
                ForwardParameters.requireLength(Math.max(0, shape.get(2)), 0, options.limit());
            }
        }
    }

    /** Builds a {@link RotaryEmbeddingBlock}. */
    public static final class Builder extends BlockBuilder<RotaryEmbeddingBlock, Builder> {

        private Builder() {
            super(Options.class, RotaryEmbeddingBlock::new);
        }

        /** Sets H, the size of a head, at least 2: the attention's embedding size divided by its head count. */
        public Builder setHeadSize(int headSize) {
            return set("headSize", headSize);
        }

        /**
         * Sets the first dimension that is rotated, from 0 (default: 0); DeepSeek rotates the last 64 of 192
         * dimensions, from 128.
         */
        public Builder optRotaryStart(int rotaryStart) {
            return set("rotaryStart", rotaryStart);
        }

        /**
         * Sets r, the number of dimensions that are rotated, from {@link #optRotaryStart} on: even, at least 2
         * (default: up to the last). The frequencies depend on r: GPT-J rotates 64 of 256, GPT-NeoX and Pythia a
         * quarter.
         */
        public Builder optRotarySize(int rotarySize) {
            return set("rotarySize", rotarySize);
        }

        /**
         * Sets the base of the frequencies base<sup>-2k/r</sup>, positive (default: 10,000, as in RoFormer); Llama 3
         * uses 500,000.
         */
        public Builder optBase(double base) {
            return set("base", base);
        }

        /**
         * Sets the r / 2 frequencies, not together with {@link #optBase} or {@link #optScaling}; a pair with frequency
         * 0 is not rotated. With {@link #optRotarySize}, r frequencies are those of the dimensions, each of which then
         * has an angle of its own.
         */
        public Builder optFrequencies(Frequencies frequencies) {
            return set("frequencies", frequencies);
        }

        /**
         * Sets where the two dimensions of a pair are (default: {@link PairLayout#INTERLEAVED}, as in RoFormer and
         * GPT-J). Weights that were trained with {@link PairLayout#CONCATENATED}, such as Hugging Face's Llama, Mistral
         * and Qwen, need that layout; with the other layout, outputs are wrong without an error.
         */
        public Builder optLayout(PairLayout layout) {
            return set("layout", layout);
        }

        /**
         * Sets how the frequencies are changed for longer contexts (default: {@link RotaryScaling#none}). To extend a
         * context, load a model file that was saved without a scaling into a block with one. A file that was saved with
         * a scaling needs the same scaling.
         */
        public Builder optScaling(RotaryScaling scaling) {
            return set("scaling", scaling);
        }

        /**
         * Sets the axis of each of the r / 2 pairs, for positions with several coordinates (default: one axis); r axes
         * are those of the dimensions, each of which then has an angle of its own. {@link RotaryPresets} has the axes
         * of published models.
         */
        public Builder optAxes(RotaryAxes axes) {
            return set("axes", axes);
        }

        /**
         * Scales queries and keys with XPos: Sun et al., <em>A Length-Extrapolatable Transformer</em>, 2022 (default:
         * off). At position p, pair k of a query is also multiplied by ζ<sub>k</sub><sup>p / scaleBase</sup>, and pair
         * k of a key by the inverse, with ζ<sub>k</sub> = (2k / r + 0.4) / 1.4, so that scores decrease with the
         * distance of keys before the query. Use it in a causal attention, since scores grow with the distance of keys
         * after the query.
         *
         * <p>Positions are not centered as in the published code, since only distances matter. The factors of large
         * positions exceed the range of the data type: with the scale base 512, positions up to 3966 fit FLOAT16 and up
         * to 35,694 FLOAT32; a longer {@link #optMaxSequenceLength} throws {@link IllegalArgumentException} when the
         * table is created. See {@link RotaryRows#withXpos}.
         *
         * @param scaleBase a positive number of positions; 512 in the paper
         */
        public Builder optXpos(double scaleBase) {
            return set("xpos", scaleBase);
        }

        /**
         * Sets the axis of T in the arrays of the block's own forward: 2 for (B, N, T, H), the default, or 1 for (B, T,
         * N, H). An attention always passes (B, N, T, H).
         */
        public Builder optSequenceAxis(int sequenceAxis) {
            return set("sequenceAxis", sequenceAxis);
        }

        /** Sets the maximum sequence length, at least 1 (default: 5000). */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            return set("maxSequenceLength", maxSequenceLength);
        }

        /**
         * Extends the table for a longer sequence, up to a limit, instead of rejecting it (default: the table does not
         * grow). See {@link io.github.djlpositional.PositionalEncodingBlock.Builder#optAutoExtend}.
         */
        public Builder optAutoExtend(int limit) {
            return set("autoExtend", limit);
        }
    }
}
