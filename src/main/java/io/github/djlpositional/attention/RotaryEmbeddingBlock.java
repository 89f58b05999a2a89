package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ModelFile.Compared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.RotaryTable;
import java.util.Arrays;
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
 * <h2>Inputs and output</h2>
 *
 * B batch, N heads, T sequence length, H head size.
 *
 * <ul>
 *   <li>{@code [x]}, or queries and keys together, {@code [queries, keys]}: each (B, N, T, H), FLOAT16, FLOAT32 or
 *       FLOAT64; B, T and the data type are the same for both, N may differ. The steps have the positions s … s + T -
 *       1, where s is the forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#START_POSITION}
 *       (default: 0).
 *   <li>{@code [x, positions]} or {@code [queries, keys, positions]}: positions is (T) or (B, T), of any integer or
 *       real type.
 * </ul>
 *
 * The output is one array for each of x, or of queries and keys, of its shape, device and data type, attached to its
 * manager, and the caller's to close. The input is never written to.
 *
 * <p>The first r of the H dimensions are rotated and the others kept; by default all are rotated. Cosines and sines are
 * computed in double and rounded once to the data type. They are kept in a table like that of
 * {@link io.github.djlpositional.PositionalEncodingBlock}: not a parameter, never saved, created once for each device
 * and data type, and freed with the block's manager or by {@link #clear}. With a scaling that depends on the length
 * (dynamic NTK, LongRoPE), sequences longer than the original length have no table: each forward computes their rows.
 * The length is one more than the greatest position, or than its whole part if it is real. Each sequence of a batch has
 * its own: with positions (B, T) that of its row, in an attention with a mask (B, F) the number of its tokens. Hugging
 * Face's code uses the longest sequence of the batch for all.
 *
 * <p>Explicit integer positions are checked as {@link Builder#optRangeChecks} says. Real positions, and all explicit
 * positions of a block that extends itself or whose scaling depends on the length, are read, which waits for a GPU.
 *
 * <p>A forward throws {@link IllegalArgumentException} for an input of another shape or data type, a sequence that is
 * longer than the table at its start position, a negative start position, and positions that are out of range or have
 * another shape.
 */
public final class RotaryEmbeddingBlock extends ConfiguredBlock implements RelativeEncoding {

    record Settings(
            int headSize,
            Integer rotarySize,
            Double base,
            PairLayout layout,
            @Compared(Compared.Rule.UNLESS_DEFAULT) RotaryScaling scaling,
            Frequencies frequencies,
            @Compared(Compared.Rule.NOT) Integer maxSequenceLength,
            @Compared(Compared.Rule.NOT) Integer autoExtend,
            @Compared(Compared.Rule.NOT) Boolean rangeChecks) {

        Settings {
            Check.positive("headSize", headSize);
            Check.that(
                    frequencies == null || (base == null && scaling == null),
                    "frequencies were given together with base " + base + " and scaling " + scaling
                            + ": expected one or the other; give the frequencies only");
            if (frequencies == null) {
                base = Objects.requireNonNullElse(base, 10_000.0);
                scaling = Objects.requireNonNullElse(scaling, RotaryScaling.none());
                rotarySize = Objects.requireNonNullElse(rotarySize, headSize);
            }
            int size = frequencies == null ? rotarySize : 2 * frequencies.size();
            rotarySize = Objects.requireNonNullElse(rotarySize, size);
            Check.that(
                    rotarySize >= 2 && rotarySize % 2 == 0 && rotarySize <= headSize,
                    "rotarySize " + rotarySize + " with headSize " + headSize
                            + ": expected an even number from 2 to the head size; set another rotary size or head size");
            Check.that(
                    rotarySize == size,
                    "rotarySize " + rotarySize + " with " + (size / 2)
                            + " frequencies: expected one frequency for each pair; give as many, or leave the rotary size out");
            layout = Objects.requireNonNullElse(layout, PairLayout.INTERLEAVED);
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

        /** The function that computes the rows for a sequence length. */
        RotaryTable rows(long length) {
            return scaling == null
                    ? new RotaryTable(frequencies, layout, 1)
                    : new RotaryTable(
                            scaling.frequencies(rotarySize, base, length), layout, scaling.attentionFactor(length));
        }
    }

    private final Settings settings;
    private final Rotation rotation;

    /** The rows up to the length beyond which they depend on the length: (positions, 2r). */
    private final Positions.Table table;

    private RotaryEmbeddingBlock(Settings settings) {
        super(settings);
        this.settings = settings;
        rotation = new Rotation(settings.headSize, settings.rotarySize, settings.layout);
        RotaryTable rows = settings.rows(0);
        int threshold = getScaling().lengthThreshold();
        table = Positions.Table.of(
                rows::write,
                rows::write,
                2 * settings.rotarySize,
                Math.min(settings.maxSequenceLength, threshold),
                Math.min(settings.limit(), threshold));
        addTable(table.table());
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Creates a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
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

    @Override
    public void requireFits(int headCount, int attentionHeadSize) {
        Check.that(
                settings.headSize == attentionHeadSize,
                () -> this + ": expected the attention's head size " + attentionHeadSize
                        + ", its embedding size divided by its head count; use setHeadSize(" + attentionHeadSize + ")");
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        int count = rotatedCount(inputs.getShapes());
        NDList rotated = inputs.subNDList(0, count);
        requireInputs(rotated);
        // queries may have no heads where the keys have some
        NDArray x = isEmpty(rotated.head()) ? rotated.get(count - 1) : rotated.head();
        NDArray explicit = count < inputs.size() ? inputs.get(count) : null;
        long batch = x.getShape().get(0);
        if (keysDependOnLength()
                && batch > 1
                && explicit != null
                && explicit.getShape().equals(new Shape(batch, x.getShape().get(2)))) {
            return oneByOne(parameterStore, inputs, training, params);
        }
        boolean mustKnowPositions = settings.autoExtend != null || keysDependOnLength();
        Positions positions = Positions.of(
                x, 2, explicit, params, settings.limit(), mustKnowPositions ? Boolean.TRUE : settings.rangeChecks);
        NDList results = new NDList();
        try (Temporaries temporaries = new Temporaries()) {
            NDArray rows = isEmpty(x) ? null : positions.rows(temporaries, source(positions.end()));
            for (NDArray input : rotated) {
                results.add(isEmpty(input) ? input.duplicate() : rotation.apply(input, rows));
            }
        }
        return results;
    }

    /** Rotates the sequences of a batch one by one, each with the frequencies for its own length. */
    private NDList oneByOne(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        try (Temporaries temporaries = new Temporaries()) {
            NDList[] rotated = new NDList[inputs.size() - 1];
            Arrays.setAll(rotated, i -> new NDList());
            for (long row = 0; row < inputs.head().getShape().get(0); row++) {
                NDIndex index = NDIndex.sliceAxis(0, row, row + 1);
                NDList one = new NDList();
                inputs.forEach(input -> one.add(temporaries.add(input.get(index))));
                NDList results = forwardInternal(parameterStore, one, training, params);
                for (int i = 0; i < rotated.length; i++) {
                    rotated[i].add(temporaries.add(results.get(i)));
                }
            }
            NDList together = new NDList();
            for (NDList parts : rotated) {
                together.add(NDArrays.concat(parts, 0));
            }
            return together;
        }
    }

    private static boolean isEmpty(NDArray array) {
        return array.getShape().size() == 0;
    }

    private Positions.Source source(long sequenceLength) {
        if (sequenceLength <= getScaling().lengthThreshold()) {
            return table;
        }
        RotaryTable rows = settings.rows(sequenceLength);
        return new Positions.Table(null, rows::write, rows::write, 2 * settings.rotarySize);
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
                            && input.getShape().get(2) == first.getShape().get(2)
                            && input.getDataType() == first.getDataType()
                            && input.getDevice().equals(first.getDevice()),
                    () -> "queries " + first.getShape() + " " + first.getDataType() + " on " + first.getDevice()
                            + " and keys " + input.getShape() + " " + input.getDataType() + " on " + input.getDevice()
                            + ": expected the same batch size, sequence length, data type and device; rotate them one by one"
                            + " if their positions differ");
        }
    }

    private NDArray rotate(AttentionCall call, NDArray x, int start) {
        if (call.sequenceLengths() == null) {
            return rotate(x, start, Math.max(call.keys().end(), call.queries().end()));
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDList rotated = new NDList();
            for (int i = 0; i < call.sequenceLengths().size(); i++) {
                NDArray one = temporaries.add(x.get(NDIndex.sliceAxis(0, i, i + 1L)));
                rotated.add(temporaries.add(
                        rotate(one, start, call.sequenceLengths().get(i))));
            }
            return NDArrays.concat(rotated, 0);
        }
    }

    private NDArray rotate(NDArray x, int start, long sequenceLength) {
        Positions positions = Positions.consecutive(x, 2, start, settings.limit());
        try (Temporaries temporaries = new Temporaries()) {
            return rotation.apply(x, positions.rows(temporaries, source(sequenceLength)));
        }
    }

    @Override
    public NDArray encodeQueries(AttentionCall call, NDArray queries) {
        return rotate(call, queries, call.queries().first());
    }

    @Override
    public NDArray encodeKeys(AttentionCall call, NDArray keys, Span span) {
        return rotate(call, keys, span.first());
    }

    @Override
    public boolean keysDependOnLength() {
        return getScaling().dependsOnLength();
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
            Positions.requireLength(Math.max(0, shape.get(2)), 0, settings.limit());
        }
    }

    /** Builds a {@link RotaryEmbeddingBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets H, the size of a head: the attention's embedding size divided by its head count.
         *
         * @param headSize at least 2
         * @return this builder
         */
        public Builder setHeadSize(int headSize) {
            return options.set("headSize", headSize);
        }

        /**
         * Sets r, the number of a head's dimensions that are rotated, counted from the first (default: H). The
         * frequencies are those of r: GPT-J rotates 64 of 256, GPT-NeoX and Pythia a quarter.
         *
         * @param rotarySize even, from 2 to H
         * @return this builder
         */
        public Builder optRotarySize(int rotarySize) {
            return options.set("rotarySize", rotarySize);
        }

        /**
         * Sets the base of the frequencies, base<sup>-2k/r</sup> (default: 10,000, RoFormer's). Llama 3 uses 500,000.
         *
         * @param base above 1 and finite
         * @return this builder
         */
        public Builder optBase(double base) {
            return options.set("base", base);
        }

        /**
         * Sets the frequencies themselves. A pair with frequency 0 is not rotated. Not together with {@link #optBase}
         * or {@link #optScaling}.
         *
         * @param frequencies r / 2 frequencies
         * @return this builder
         * @throws NullPointerException if they are null
         */
        public Builder optFrequencies(Frequencies frequencies) {
            return options.set("frequencies", frequencies);
        }

        /**
         * Sets where the two dimensions of a pair are (default: {@link PairLayout#INTERLEAVED}, as in RoFormer and
         * GPT-J). Weights that were trained with {@link PairLayout#CONCATENATED}, such as Hugging Face's Llama, Mistral
         * and Qwen, need that layout; with the other one they give wrong outputs, not errors.
         *
         * @param layout the layout
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optLayout(PairLayout layout) {
            return options.set("layout", layout);
        }

        /**
         * Sets how the frequencies are changed for longer contexts (default: {@link RotaryScaling#none}). A model file
         * that was saved without a scaling may be loaded with any, which is how a context is extended. One that was
         * saved with a scaling needs the same.
         *
         * @param scaling the scaling
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optScaling(RotaryScaling scaling) {
            return options.set("scaling", scaling);
        }

        /**
         * Sets the maximum sequence length, which is one more than the greatest position (default: 5000).
         *
         * @param maxSequenceLength at least 1
         * @return this builder
         */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            return options.set("maxSequenceLength", maxSequenceLength);
        }

        /**
         * Lets a longer sequence extend the table instead of being refused. See
         * {@link io.github.djlpositional.PositionalEncodingBlock.Builder#optAutoExtend}.
         *
         * @param limit one more than the greatest position
         * @return this builder
         */
        public Builder optAutoExtend(int limit) {
            return options.set("autoExtend", limit);
        }

        /**
         * Sets whether explicit integer positions are checked before they are looked up (default: on a CPU only). See
         * {@link io.github.djlpositional.PositionalEncodingBlock.Builder#optRangeChecks}.
         *
         * @param rangeChecks true to check on every device, false on none
         * @return this builder
         */
        public Builder optRangeChecks(boolean rangeChecks) {
            return options.set("rangeChecks", rangeChecks);
        }

        /**
         * Builds the block. Its table is created when it is initialized, or at its first forward.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is out of range, the rotary size is odd or greater than the
         *     head size, frequencies are given together with a base or a scaling, or the scaling does not fit the
         *     rotary size
         */
        public RotaryEmbeddingBlock build() {
            return new RotaryEmbeddingBlock(options.build());
        }
    }
}
