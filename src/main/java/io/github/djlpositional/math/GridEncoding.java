package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.HasArguments;
import io.github.djlpositional.arguments.Records;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The function from a place in a grid of two or three dimensions to its sinusoidal encoding. Each axis of the grid has
 * its own channels, which encode the coordinate on that axis.
 *
 * <p>Immutable and safe to share. Values are those of the axes' {@link SinusoidalEncoding}. Two encodings are equal if
 * all their values are.
 */
public final class GridEncoding implements HasArguments {

    /** A published convention: how many axes and channels, and what each axis has. */
    private sealed interface Convention {
        default int axes() {
            return 2;
        }

        int channels();

        /**
         * The encoding of each axis. Channels beyond those of all axes are zero; dimensions beyond the channels are
         * dropped.
         */
        SinusoidalEncoding encoding();

        /** Whether the channels of the last axis, the columns, come first. */
        default boolean lastAxisFirst() {
            return this instanceof VisionTransformer || this instanceof SimpleVit;
        }
    }

    private record Tensor2tensor(int axes, int channels, double minTimescale, double maxTimescale)
            implements Convention {

        Tensor2tensor {
            checkAxes(axes);
            checkChannels(channels, 2 * axes);
        }

        @Override
        public SinusoidalEncoding encoding() {
            return SinusoidalEncoding.tensor2tensor(2 * (channels / (2 * axes)), minTimescale, maxTimescale);
        }
    }

    private record Multidim(int axes, int channels) implements Convention {

        Multidim {
            checkAxes(axes);
            checkChannels(channels, 1);
        }

        @Override
        public SinusoidalEncoding encoding() {
            return SinusoidalEncoding.vaswani(2 * ((channels + 2 * axes - 1) / (2 * axes)));
        }
    }

    private record VisionTransformer(int channels) implements Convention {

        VisionTransformer {
            checkChannels(channels, 4);
            checkMultipleOfFour(channels);
        }

        @Override
        public SinusoidalEncoding encoding() {
            return SinusoidalEncoding.xTransformers(channels / 2);
        }
    }

    private record SimpleVit(int channels) implements Convention {

        SimpleVit {
            checkChannels(channels, 8);
            checkMultipleOfFour(channels);
        }

        @Override
        public SinusoidalEncoding encoding() {
            return SinusoidalEncoding.fairseq(channels / 2);
        }
    }

    private static void checkAxes(int axes) {
        Check.that(axes == 2 || axes == 3, () -> axes + " axes: expected 2 or 3; for one axis use SinusoidalEncoding");
    }

    private static void checkChannels(int channels, int least) {
        Check.between("channel count", channels, least, SinusoidalEncoding.MAX_DIMENSIONS);
    }

    private static void checkMultipleOfFour(int channels) {
        Check.that(
                channels % 4 == 0,
                () -> "channel count " + channels
                        + ": expected a multiple of 4; both axes need as many sines as cosines");
    }

    private final Convention convention;
    private final int axes;
    private final int channels;
    private final SinusoidalEncoding encoding;

    private GridEncoding(Convention convention) {
        this.convention = convention;
        axes = convention.axes();
        channels = convention.channels();
        encoding = convention.encoding();
    }

    /**
     * Returns the encoding of tensor2tensor's {@code add_timing_signal_nd}. Each of n axes has ⌊C / 2n⌋ frequencies,
     * all sines, then all cosines. The first axis comes first; the remaining channels are zero.
     *
     * @param axes the number of the grid's axes, 2 or 3
     * @param channels C, from 2 · axes to 2,097,152
     * @param minTimescale as for {@link SinusoidalEncoding#tensor2tensor}, usually 1
     * @param maxTimescale as for {@link SinusoidalEncoding#tensor2tensor}, usually 10,000
     * @return the encoding
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static GridEncoding tensor2tensor(int axes, int channels, double minTimescale, double maxTimescale) {
        return new GridEncoding(new Tensor2tensor(axes, channels, minTimescale, maxTimescale));
    }

    /**
     * Returns the encoding of multidim-positional-encoding's {@code PositionalEncoding2D} and
     * {@code PositionalEncoding3D}. Each of n axes has the encoding of <em>Attention Is All You Need</em> of size 2 ·
     * ⌈C / 2n⌉. The first axis comes first; dimensions beyond C are dropped.
     *
     * @param axes the number of the grid's axes, 2 or 3
     * @param channels C, from 1 to 2,097,152
     * @return the encoding
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static GridEncoding multidim(int axes, int channels) {
        return new GridEncoding(new Multidim(axes, channels));
    }

    /**
     * Returns the two-dimensional sine-cosine encoding of MAE, as computed by its {@code get_2d_sincos_pos_embed} (He
     * et al., <em>Masked Autoencoders Are Scalable Vision Learners</em>, 2022). The first half of the channels encodes
     * the column, the second half the row; each has all sines, then all cosines.
     *
     * @param channels C, from 4 to 2,097,152, divisible by 4
     * @return the encoding
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     */
    public static GridEncoding visionTransformer(int channels) {
        return new GridEncoding(new VisionTransformer(channels));
    }

    /**
     * Returns the two-dimensional sine-cosine encoding of Simple ViT, {@code posemb_sincos_2d} in big_vision and
     * vit-pytorch (Beyer et al., <em>Better plain ViT baselines for ImageNet-1k</em>, 2022). It differs from
     * {@link #visionTransformer} in its C / 4 frequencies, which go from 1 to 1 / 10,000.
     *
     * @param channels C, from 8 to 2,097,152, divisible by 4
     * @return the encoding
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     */
    public static GridEncoding simpleVit(int channels) {
        return new GridEncoding(new SimpleVit(channels));
    }

    /**
     * Creates an encoding from the map that {@link #getArguments} returns.
     *
     * @param arguments {@code kind}, which is {@code tensor2tensor}, {@code multidim}, {@code visionTransformer} or
     *     {@code simpleVit}, and all arguments of that factory by name
     * @return the encoding
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static GridEncoding fromArguments(Map<?, ?> arguments) {
        return new GridEncoding(Records.read(Convention.class, arguments));
    }

    @Override
    public Record getSettings() {
        return (Record) convention;
    }

    /** {@return the number of the grid's axes, 2 or 3} */
    public int getAxes() {
        return axes;
    }

    /** {@return the number of dimensions of an encoded place, C} */
    public int getEmbeddingSize() {
        return channels;
    }

    /** The axis that a channel encodes, or the number of axes for a channel that is zero. */
    private int axisOf(int channel) {
        int block = Math.min(axes, channel / encoding.getEmbeddingSize());
        return convention.lastAxisFirst() && block < axes ? axes - 1 - block : block;
    }

    /**
     * Returns one channel of one place's encoding.
     *
     * @param channel 0 … C - 1
     * @param place the coordinate on each axis
     * @return the value, in [-1, 1]
     * @throws IllegalArgumentException if the channel is out of range, there is not one coordinate for each axis, or
     *     the coordinate on the channel's axis is not finite
     */
    public double value(int channel, double... place) {
        Check.that(
                channel >= 0 && channel < channels,
                () -> "channel " + channel + ": expected 0 to " + (channels - 1) + "; use a channel of this encoding");
        Check.that(
                place.length == axes,
                () -> place.length + " coordinates for a grid of " + axes + " axes: expected " + axes
                        + "; pass one coordinate for each axis");
        int axis = axisOf(channel);
        return axis == axes ? 0 : encoding.value(place[axis], channel % encoding.getEmbeddingSize());
    }

    /**
     * Writes the encodings of a whole grid, or of a range of its first axis. Each value is rounded to the nearest
     * number of the format.
     *
     * @param sizes the grid's size on each axis
     * @param channelsFirst true for the shape (C, sizes…), false for (sizes…, C)
     * @param first the start of the range on the first axis of that shape
     * @param count the length of the range
     * @param format the format that values are rounded to
     * @param out the destination, row-major from the start of the buffer; its position does not change
     * @throws IllegalArgumentException if there is not one positive size for each axis, the range is not within the
     *     first axis, or the buffer is too small
     */
    public void write(int[] sizes, boolean channelsFirst, int first, int count, FloatFormat format, ByteBuffer out) {
        checkSizes(sizes);
        int end = channelsFirst ? channels : sizes[0];
        Check.that(
                first >= 0 && count >= 0 && first <= end - count,
                () -> count + " rows from row " + first + ": expected a range within 0 to " + end
                        + "; use a range of the first axis");
        int cells = Arrays.stream(sizes).reduce(1, Math::multiplyExact);
        int rowLength = channelsFirst ? cells : cells / sizes[0] * channels;
        TableBounds.checkRoom(count, rowLength, format, out);
        int width = encoding.getEmbeddingSize();
        double[] values = axisValues(Arrays.stream(sizes).max().orElseThrow());
        IntStream.range(0, count).parallel().forEach(row -> {
            int[] place = new int[axes];
            for (int i = 0; i < rowLength; i++) {
                int channel = channelsFirst ? first + row : i % channels;
                int cell = channelsFirst ? i : (first + row) * (cells / sizes[0]) + i / channels;
                locate(cell, sizes, place);
                int axis = axisOf(channel);
                double value = axis == axes ? 0 : values[place[axis] * width + channel % width];
                format.put(out, row * rowLength + i, value);
            }
        });
    }

    private void checkSizes(int... sizes) {
        long values = channels;
        for (int size : sizes) {
            values = size < 1 || values > Integer.MAX_VALUE ? -1 : values * size;
        }
        Check.that(
                sizes.length == axes && values >= 1 && values <= Integer.MAX_VALUE,
                () -> "grid sizes " + Arrays.toString(sizes) + ": expected " + axes + " positive sizes with at most "
                        + Integer.MAX_VALUE + " values in all; pass one size for each axis");
    }

    /** The encodings of the coordinates 0 to size - 1 on any axis. */
    private double[] axisValues(int size) {
        int width = encoding.getEmbeddingSize();
        double[] values = new double[Math.multiplyExact(size, width)];
        for (int position = 0; position < size; position++) {
            for (int dimension = 0; dimension < width; dimension++) {
                values[position * width + dimension] = encoding.value(position, dimension);
            }
        }
        return values;
    }

    /** The coordinates of a cell. Cells are counted with the last axis fastest. */
    private static void locate(int cell, int[] sizes, int[] place) {
        int rest = cell;
        for (int axis = sizes.length - 1; axis >= 0; axis--) {
            place[axis] = rest % sizes[axis];
            rest /= sizes[axis];
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof GridEncoding that
                && axes == that.axes
                && channels == that.channels
                && encoding.equals(that.encoding)
                && convention.lastAxisFirst() == that.convention.lastAxisFirst();
    }

    @Override
    public int hashCode() {
        return Objects.hash(axes, channels, encoding);
    }

    /** Returns the convention and its arguments, for example {@code GridEncoding.multidim(axes=2, channels=64)}. */
    @Override
    public String toString() {
        return "GridEncoding." + Records.describe((Record) convention);
    }
}
