package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.ModelFile.NotCompared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.RotaryTable;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

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
 * <h2>Inputs and output</h2>
 *
 * B batch, N heads, T sequence length, H head size.
 *
 * <ul>
 *   <li>{@code [x]}, unless the block has {@linkplain Builder#optXpos XPos}, or queries and keys together,
 *       {@code [queries, keys]}: each (B, N, T, H), FLOAT16, FLOAT32 or FLOAT64; B, T and the data type are the same
 *       for both, N may differ. The steps have the positions s … s + T - 1, where s is the forward parameter
 *       {@link io.github.djlpositional.PositionalEncodingBlock#START_POSITION} (default: 0).
 *   <li>{@code [x, positions]} or {@code [queries, keys, positions]}: positions is (T) or (B, T), of any integer or
 *       real type; real ones may be any finite numbers. A block with {@linkplain Builder#optAxes axes} also accepts
 *       (axes, B, T) and (axes, 1, T); (T) and (B, T) are then the position on every axis. The positions may be the
 *       forward parameter {@code positions} instead.
 * </ul>
 *
 * With {@link Builder#optSequenceAxis}, the arrays of the block's own forward are (B, T, N, H).
 *
 * <p>The output is one array for each of x, or of queries and keys, of its shape, device and data type, attached to its
 * manager, and the caller's to close. The input is never written to.
 *
 * <p>Of the H dimensions, r consecutive ones are rotated and the others kept; by default all are rotated. Cosines and
 * sines are computed in double and rounded once to the data type. They are kept in a table, as in
 * {@link io.github.djlpositional.PositionalEncodingBlock}: not a parameter, never saved, created once for each device
 * and data type, and freed with the block's manager or by {@link #clear}.
 *
 * <p>An explicit integer position out of range is an error on a CPU, and gives NaN on a GPU, where it is not read. Real
 * positions, and all explicit positions of a block that extends itself, are read, which waits for a GPU.
 *
 * <p>A forward throws {@link IllegalArgumentException} for an input of another shape or data type, a sequence that is
 * longer than the table at its start position, a negative start position, positions of another shape, integers out of
 * range that are read, and real ones that are not finite.
 *
 * @see <a href="https://arxiv.org/abs/2104.09864">RoFormer: Enhanced Transformer with Rotary Position Embedding</a>
 * @see <a href="https://arxiv.org/abs/2212.10554">A Length-Extrapolatable Transformer</a>
 */
public final class RotaryEmbeddingBlock extends ConfiguredBlock implements RelativeEncoding {

    record Settings(
            int headSize,
            Integer rotaryStart,
            Integer rotarySize,
            Double base,
            PairLayout layout,
            RotaryScaling scaling,
            Frequencies frequencies,
            RotaryAxes axes,
            Double xpos,
            Integer sequenceAxis,
            @NotCompared Integer maxSequenceLength,
            @NotCompared Integer autoExtend) {

        Settings {
            Check.positive("headSize", headSize);
            rotaryStart = Objects.requireNonNullElse(rotaryStart, 0);
            Check.between("rotaryStart", rotaryStart, 0, headSize);
            int rest = headSize - rotaryStart;
            Check.that(
                    frequencies == null || (base == null && scaling == null),
                    "frequencies were given together with base " + base + " and scaling " + scaling
                            + ": expected one or the other; give the frequencies only");
            if (frequencies == null) {
                base = Objects.requireNonNullElse(base, 10_000.0);
                scaling = Objects.requireNonNullElse(scaling, RotaryScaling.none());
                rotarySize = Objects.requireNonNullElse(rotarySize, rest);
            }
            int size = frequencies == null ? rotarySize : 2 * frequencies.size();
            rotarySize = Objects.requireNonNullElse(rotarySize, size);
            Check.that(
                    rotarySize >= 2 && rotarySize % 2 == 0 && rotarySize <= rest,
                    "rotarySize " + rotarySize + " from rotaryStart " + rotaryStart + " with headSize " + headSize
                            + ": expected an even number from 2 to the dimensions that are left, " + rest
                            + "; set another rotary size, start or head size");
            Check.that(
                    rotarySize == size,
                    "rotarySize " + rotarySize + " with " + (size / 2)
                            + " frequencies: expected one frequency for each pair; give as many, or leave the rotary size out");
            layout = Objects.requireNonNullElse(layout, PairLayout.INTERLEAVED);
            Check.that(
                    axes == null || 2 * axes.axisOfPair().size() == rotarySize,
                    () -> "axes " + axes + " with rotarySize " + size + ": expected one axis for each of " + size / 2
                            + " pairs; give as many");
            if (xpos != null) {
                Check.positive("xpos", xpos, "512 in the paper");
            }
            sequenceAxis = Objects.requireNonNullElse(sequenceAxis, 2);
            Check.between("sequenceAxis", sequenceAxis, 1, 2);
            maxSequenceLength = Objects.requireNonNullElse(maxSequenceLength, 5000);
            Check.positive("maxSequenceLength", maxSequenceLength);
            if (autoExtend != null) {
                Check.between("autoExtend", autoExtend, maxSequenceLength, Positions.UNLIMITED);
            }
        }

        /** One more than the greatest position. */
        int limit() {
            return autoExtend == null ? maxSequenceLength : autoExtend;
        }

        /** The rows of queries or keys. */
        Positions.Computed rows(boolean areKeys) {
            RotaryTable rows = scaling == null
                    ? new RotaryTable(frequencies, layout, 1)
                    : new RotaryTable(scaling.frequencies(rotarySize, base), layout, scaling.attentionFactor());
            RotaryTable scaled = xpos == null ? rows : rows.withXpos(areKeys ? -xpos : xpos);
            return new Positions.Computed(scaled::write, rotarySize);
        }

        /** 1 if the column belongs to a pair of the axis, and 0 otherwise. */
        double isOfAxis(int axis, int column) {
            int pair = layout == PairLayout.INTERLEAVED ? column / 2 : column % (rotarySize / 2);
            return axes.axisOfPair().get(pair) == axis ? 1 : 0;
        }
    }

    private final Settings settings;
    private final Rotation rotation;

    /** The rows of queries, (positions, r). */
    private final ConstantTable queryTable;

    /** The rows of keys, which differ with XPos. */
    private final ConstantTable keyTable;

    /** 1 in the columns of the pairs of each axis, 0 in the others, (axes, r); null for one axis. */
    private final ConstantTable columnsOfAxes;

    private RotaryEmbeddingBlock(Settings settings) {
        super(settings);
        this.settings = settings;
        rotation = new Rotation(settings.headSize, settings.rotaryStart, settings.rotarySize, settings.layout);
        queryTable = addTable(false);
        keyTable = settings.xpos == null ? queryTable : addTable(true);
        RotaryAxes axes = settings.axes;
        columnsOfAxes = axes == null
                ? null
                : addTable(ConstantTable.ofPositions(
                        new Shape(settings.rotarySize),
                        axes.axisCount(),
                        axes.axisCount(),
                        HostData.Rows.of(settings.rotarySize, settings::isOfAxis)));
    }

    private ConstantTable addTable(boolean areKeys) {
        return addTable(
                ConstantTable.ofPositions(settings.maxSequenceLength, settings.limit(), settings.rows(areKeys)));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static RotaryEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        return new RotaryEmbeddingBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the size of a head, H} */
    public int getHeadSize() {
        return settings.headSize;
    }

    /** {@return the number of dimensions of a head that are rotated, r} */
    public int getRotarySize() {
        return settings.rotarySize;
    }

    /** {@return how the frequencies are changed for longer contexts} */
    public RotaryScaling getScaling() {
        return settings.scaling == null ? RotaryScaling.none() : settings.scaling;
    }

    /** {@return the axis of the position for each pair; null for one axis} */
    public RotaryAxes getAxes() {
        return settings.axes;
    }

    @Override
    public void requireFits(int headCount, int attentionHeadSize) {
        Check.that(
                settings.headSize == attentionHeadSize,
                () -> this + ": expected the attention's head size " + attentionHeadSize
                        + ", its embedding size divided by its head count; use setHeadSize(" + attentionHeadSize + ")");
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        int count = rotatedCount(inputs.getShapes());
        Check.that(
                count == 2 || settings.xpos == null,
                () -> "one array to rotate was given to " + this
                        + ": expected [queries, keys], which XPos scales differently; pass both");
        NDList rotated = inputs.subNDList(0, count);
        requireInputs(rotated);
        // queries may have no heads where the keys have some
        NDArray x = isEmpty(rotated.head()) ? rotated.get(count - 1) : rotated.head();
        int axis = settings.sequenceAxis;
        NDArray input = count < inputs.size() ? inputs.get(count) : null;
        Positions positions = Positions.of(x, axis, input, params, settings.limit(), readsPositions(), true);
        mistakes.checkPositions(positions.positions(), positions.length());
        requireAxes(positions);
        NDList results = new NDList();
        try (Temporaries temporaries = new Temporaries()) {
            NDArray rows = null;
            for (NDArray array : rotated) {
                if (isEmpty(array)) {
                    results.add(array.duplicate());
                } else {
                    rows = rows == null || settings.xpos != null
                            ? rows(temporaries, array, axis, positions, !results.isEmpty())
                            : rows;
                    results.add(rotation.apply(array, rows));
                }
            }
        }
        return results;
    }

    /** Whether the greatest of explicit positions must be known. */
    private boolean readsPositions() {
        return settings.autoExtend != null;
    }

    private void requireAxes(Positions positions) {
        Shape shape = positions.positions() == null
                ? new Shape()
                : positions.positions().getShape();
        int axes = settings.axes == null ? 0 : settings.axes.axisCount();
        Check.that(
                shape.dimension() != 3 || (axes > 0 && shape.get(0) == axes),
                () -> "positions of shape " + shape + ": expected "
                        + (axes == 0 ? "(T) or (B, T)" : axes + " coordinates, one for each axis") + " of " + this
                        + "; give as many, or build the block with other optAxes");
    }

    /**
     * Returns the cosines and sines of tokens of x, in a shape that broadcasts over it.
     *
     * @param axis the axis of the sequence, 1 or 2
     */
    private NDArray rows(Temporaries temporaries, NDArray x, int axis, Positions positions, boolean areKeys) {
        NDArray rows = positions.rows(temporaries, x, areKeys ? keyTable : queryTable);
        NDArray joined = rows.getShape().dimension() < 4 ? rows : joined(temporaries, rows, x);
        return Positions.broadcast(temporaries, joined, x, axis);
    }

    /** The columns of each pair from the rows of its axis: from (axes, 1 or B, n, r) to (1 or B, n, r). */
    private NDArray joined(Temporaries temporaries, NDArray rows, NDArray x) {
        int axes = settings.axes.axisCount();
        NDArray columns =
                temporaries.add(columnsOfAxes.table(axes, x, x.getDataType()).reshape(axes, 1, 1, -1));
        return temporaries.add(temporaries.add(rows.mul(columns)).sum(new int[] {0}));
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
                count + " arrays to rotate were given: expected [x] or [queries, keys], and positions or none; pass one"
                        + " or two arrays (B, N, T, H)");
        return count;
    }

    private void requireInputs(NDList inputs) {
        NDArray first = inputs.get(0);
        for (NDArray input : inputs) {
            DataTypes.requireEmbedding(input, "input");
            ScoreTermBlock.requireHeads(input.getShape(), "input", -1, settings.headSize);
            Check.that(
                    input.getShape().get(0) == first.getShape().get(0)
                            && input.getShape().get(settings.sequenceAxis)
                                    == first.getShape().get(settings.sequenceAxis)
                            && input.getDataType() == first.getDataType()
                            && input.getDevice().equals(first.getDevice()),
                    () -> "queries " + first.getShape() + " " + first.getDataType() + " on " + first.getDevice()
                            + " and keys " + input.getShape() + " " + input.getDataType() + " on " + input.getDevice()
                            + ": expected the same batch size, sequence length, data type and device; rotate them one by one"
                            + " if their positions differ");
        }
    }

    @Override
    public Set<Term> terms() {
        return Set.of();
    }

    @Override
    public NDArray encodeQueries(AttentionCall call, NDArray queries) {
        return rotate(queries, call.queries(), false);
    }

    @Override
    public NDArray encodeKeys(AttentionCall call, NDArray keys) {
        return rotate(keys, call.keys(), true);
    }

    private NDArray rotate(NDArray x, Positions tokens, boolean areKeys) {
        requireAxes(tokens);
        Positions positions = tokens.below(settings.limit(), readsPositions());
        try (Temporaries temporaries = new Temporaries()) {
            return rotation.apply(x, rows(temporaries, x, 2, positions, areKeys));
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape[] shapes = Arrays.copyOf(inputShapes, rotatedCount(inputShapes));
        for (Shape shape : shapes) {
            ScoreTermBlock.requireHeads(shape, "input", -1, settings.headSize);
        }
        return shapes;
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        for (Shape shape : getOutputShapes(inputShapes)) {
            // an attention gives (B, N, T, H) also where the block's own forward has another order
            if (settings.sequenceAxis == 2) {
                Positions.requireLength(Math.max(0, shape.get(2)), 0, settings.limit());
            }
        }
    }

    /** Builds a {@link RotaryEmbeddingBlock}. */
    public static final class Builder extends OptionsBuilder<RotaryEmbeddingBlock, Builder> {

        private Builder() {
            super(Settings.class, RotaryEmbeddingBlock::new);
        }

        /**
         * Sets H, the size of a head: the attention's embedding size divided by its head count.
         *
         * @param headSize at least 2
         * @return this builder
         */
        public Builder setHeadSize(int headSize) {
            return set("headSize", headSize);
        }

        /**
         * Sets the first dimension that is rotated (default: 0). DeepSeek rotates the last 64 of 192 dimensions, from
         * 128.
         *
         * @param rotaryStart counted from 0, less than H
         * @return this builder
         */
        public Builder optRotaryStart(int rotaryStart) {
            return set("rotaryStart", rotaryStart);
        }

        /**
         * Sets r, the number of a head's dimensions that are rotated, counted from {@link #optRotaryStart} (default: up
         * to the last). The frequencies depend on r: GPT-J rotates 64 of 256, GPT-NeoX and Pythia a quarter.
         *
         * @param rotarySize even, from 2 to the number of dimensions from the start
         * @return this builder
         */
        public Builder optRotarySize(int rotarySize) {
            return set("rotarySize", rotarySize);
        }

        /**
         * Sets the base of the frequencies, base<sup>-2k/r</sup> (default: 10,000, RoFormer's). Llama 3 uses 500,000.
         *
         * @param base above 1 and finite
         * @return this builder
         */
        public Builder optBase(double base) {
            return set("base", base);
        }

        /**
         * Sets the frequencies themselves. A pair with frequency 0 is not rotated. Not together with {@link #optBase}
         * or {@link #optScaling}.
         *
         * @param frequencies r / 2 frequencies
         * @return this builder
         */
        public Builder optFrequencies(Frequencies frequencies) {
            return set("frequencies", frequencies);
        }

        /**
         * Sets where the two dimensions of a pair are (default: {@link PairLayout#INTERLEAVED}, as in RoFormer and
         * GPT-J). Weights that were trained with {@link PairLayout#CONCATENATED}, such as Hugging Face's Llama, Mistral
         * and Qwen, need that layout; with the other one they give wrong outputs, not errors.
         *
         * @param layout the layout
         * @return this builder
         */
        public Builder optLayout(PairLayout layout) {
            return set("layout", layout);
        }

        /**
         * Sets how the frequencies are changed for longer contexts (default: {@link RotaryScaling#none}). A model file
         * that was saved without a scaling may be loaded with any, which is how a context is extended. One that was
         * saved with a scaling needs the same.
         *
         * @param scaling the scaling
         * @return this builder
         */
        public Builder optScaling(RotaryScaling scaling) {
            return set("scaling", scaling);
        }

        /**
         * Sets the axis of the position for each pair, for positions with several coordinates (default: one axis). See
         * {@link RotaryPresets} for those of published models.
         *
         * @param axes the axes of r / 2 pairs
         * @return this builder
         */
        public Builder optAxes(RotaryAxes axes) {
            return set("axes", axes);
        }

        /**
         * Scales queries and keys by XPos: Sun et al., <em>A Length-Extrapolatable Transformer</em> (2022). At position
         * p, pair k of a query is also multiplied by ζ<sub>k</sub><sup>p / scaleBase</sup> and that of a key by its
         * inverse, with ζ<sub>k</sub> = (2k / r + 0.4) / 1.4, so that scores decrease with the distance of keys before
         * the query. Use it in a causal attention, since scores grow with the distance of keys after the query.
         *
         * <p>Only distances matter, so positions are not centered as in the published code. The factors of late
         * positions exceed the data type: with the scale base 512, positions up to 3966 fit FLOAT16 and up to 35,694
         * FLOAT32; a longer {@link #optMaxSequenceLength} throws {@link IllegalArgumentException} when the table is
         * created. See {@link RotaryTable#withXpos}.
         *
         * @param scaleBase in positions, positive and finite; 512 in the paper
         * @return this builder
         */
        public Builder optXpos(double scaleBase) {
            return set("xpos", scaleBase);
        }

        /**
         * Sets the axis of T in the arrays of the block's own forward: 2 for (B, N, T, H), which is the default, or 1
         * for (B, T, N, H). It is never derived from the shape. An attention always gives (B, N, T, H).
         *
         * @param sequenceAxis 1 or 2
         * @return this builder
         */
        public Builder optSequenceAxis(int sequenceAxis) {
            return set("sequenceAxis", sequenceAxis);
        }

        /**
         * Sets the maximum sequence length, which is one more than the greatest position (default: 5000).
         *
         * @param maxSequenceLength at least 1
         * @return this builder
         */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            return set("maxSequenceLength", maxSequenceLength);
        }

        /**
         * Lets a longer sequence extend the table instead of being refused. See
         * {@link io.github.djlpositional.PositionalEncodingBlock.Builder#optAutoExtend}.
         *
         * @param limit one more than the greatest position
         * @return this builder
         */
        public Builder optAutoExtend(int limit) {
            return set("autoExtend", limit);
        }
    }
}
