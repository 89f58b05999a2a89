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

    /** A published convention and its arguments. */
    private sealed interface Convention {
        GridEncoding create();
    }

    private record Tensor2tensor(int axes, int channels, double minTimescale, double maxTimescale)
            implements Convention {

        @Override
        public GridEncoding create() {
            check(axes, channels, 2 * axes, 1);
            int size = 2 * (channels / (2 * axes));
            return new GridEncoding(
                    this, axes, channels, SinusoidalEncoding.tensor2tensor(size, minTimescale, maxTimescale), false);
        }
    }

    private record Multidim(int axes, int channels) implements Convention {

        @Override
        public GridEncoding create() {
            check(axes, channels, 1, 1);
            int size = 2 * ((channels + 2 * axes - 1) / (2 * axes));
            return new GridEncoding(this, axes, channels, SinusoidalEncoding.vaswani(size), false);
        }
    }

    private record VisionTransformer(int channels) implements Convention {

        @Override
        public GridEncoding create() {
            check(2, channels, 4, 4);
            return new GridEncoding(this, 2, channels, SinusoidalEncoding.xTransformers(channels / 2), true);
        }
    }

    private record SimpleVit(int channels) implements Convention {

        @Override
        public GridEncoding create() {
            check(2, channels, 8, 4);
            return new GridEncoding(this, 2, channels, SinusoidalEncoding.fairseq(channels / 2), true);
        }
    }

    private static void check(int axes, int channels, int least, int divisor) {
        Check.that(axes == 2 || axes == 3, () -> axes + " axes: expected 2 or 3; for one axis use SinusoidalEncoding");
        Check.between("channel count", channels, least, SinusoidalEncoding.MAX_DIMENSIONS);
        Check.that(
                channels % divisor == 0,
                () -> "channel count " + channels + ": expected a multiple of " + divisor
                        + "; both axes need as many sines as cosines");
    }

    private final Convention convention;
    private final int axes;
    private final int channels;

    /**
     * The encoding of each axis. Channels beyond those of all axes are zero; dimensions beyond the channels are
     * dropped.
     */
    private final SinusoidalEncoding encoding;

    /** Whether the channels of the last axis, the columns, come first. */
    private final boolean lastAxisFirst;

    private GridEncoding(
            Convention convention, int axes, int channels, SinusoidalEncoding encoding, boolean lastAxisFirst) {
        this.convention = convention;
        this.axes = axes;
        this.channels = channels;
        this.encoding = encoding;
        this.lastAxisFirst = lastAxisFirst;
    }

    /**
     * {@return the encoding of tensor2tensor's {@code add_timing_signal_nd}} Each of n axes has ⌊C / 2n⌋ frequencies,
     * all sines, then all cosines. The first axis comes first; the remaining channels are zero.
     *
     * @param axes the number of the grid's axes, 2 or 3
     * @param channels C, from 2 · axes to 2,097,152
     * @param minTimescale as for {@link SinusoidalEncoding#tensor2tensor}, usually 1
     * @param maxTimescale as for {@link SinusoidalEncoding#tensor2tensor}, usually 10,000
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static GridEncoding tensor2tensor(int axes, int channels, double minTimescale, double maxTimescale) {
        return new Tensor2tensor(axes, channels, minTimescale, maxTimescale).create();
    }

    /**
     * {@return the encoding of multidim-positional-encoding's {@code PositionalEncoding2D} and
     * {@code PositionalEncoding3D}} Each of n axes has the encoding of <em>Attention Is All You Need</em> of size 2 ·
     * ⌈C / 2n⌉. The first axis comes first; dimensions beyond C are dropped.
     *
     * @param axes the number of the grid's axes, 2 or 3
     * @param channels C, from 1 to 2,097,152
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static GridEncoding multidim(int axes, int channels) {
        return new Multidim(axes, channels).create();
    }

    /**
     * {@return the two-dimensional sine-cosine encoding of MAE, as computed by its {@code get_2d_sincos_pos_embed} (He
     * et al., <em>Masked Autoencoders Are Scalable Vision Learners</em>, 2022)} The first half of the channels encodes
     * the column, the second half the row; each has all sines, then all cosines.
     *
     * @param channels C, from 4 to 2,097,152, divisible by 4
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     */
    public static GridEncoding visionTransformer(int channels) {
        return new VisionTransformer(channels).create();
    }

    /**
     * {@return the two-dimensional sine-cosine encoding of Simple ViT, {@code posemb_sincos_2d} in big_vision and
     * vit-pytorch (Beyer et al., <em>Better plain ViT baselines for ImageNet-1k</em>, 2022)} It differs from
     * {@link #visionTransformer} in its C / 4 frequencies, which go from 1 to 1 / 10,000.
     *
     * @param channels C, from 8 to 2,097,152, divisible by 4
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     */
    public static GridEncoding simpleVit(int channels) {
        return new SimpleVit(channels).create();
    }

    /**
     * {@return the encoding that a map of {@link #getArguments} describes}
     *
     * @param arguments {@code kind}, which is {@code tensor2tensor}, {@code multidim}, {@code visionTransformer} or
     *     {@code simpleVit}, and all arguments of that factory by name
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static GridEncoding fromArguments(Map<?, ?> arguments) {
        return Records.read(Convention.class, arguments).create();
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
        return lastAxisFirst && block < axes ? axes - 1 - block : block;
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
        double values = IntStream.of(sizes).asDoubleStream().reduce(channels, (product, size) -> product * size);
        Check.that(
                sizes.length == axes && IntStream.of(sizes).allMatch(size -> size > 0) && values <= Integer.MAX_VALUE,
                () -> "grid sizes " + Arrays.toString(sizes) + ": expected " + axes + " positive sizes with at most "
                        + Integer.MAX_VALUE + " values in all; pass one size for each axis");
        int end = channelsFirst ? channels : sizes[0];
        Check.that(
                first >= 0 && count >= 0 && first <= end - count,
                () -> count + " rows from row " + first + ": expected a range within 0 to " + end
                        + "; use a range of the first axis");
        // cells are counted with the last axis fastest; a step along axis i passes strides[i] of them
        int[] strides = new int[axes + 1];
        strides[axes] = 1;
        for (int axis = axes - 1; axis >= 0; axis--) {
            strides[axis] = strides[axis + 1] * sizes[axis];
        }
        int rowLength = channelsFirst ? strides[0] : strides[1] * channels;
        PositionTable.checkRoom(count, rowLength, format, out);
        int width = encoding.getEmbeddingSize();
        double[] onAxis = axisValues(IntStream.of(sizes).max().orElseThrow());
        IntStream.range(0, count).parallel().forEach(row -> {
            for (int i = 0; i < rowLength; i++) {
                int channel = channelsFirst ? first + row : i % channels;
                int cell = channelsFirst ? i : (first + row) * strides[1] + i / channels;
                int axis = axisOf(channel);
                double value =
                        axis == axes ? 0 : onAxis[cell / strides[axis + 1] % sizes[axis] * width + channel % width];
                format.put(out, row * rowLength + i, value);
            }
        });
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

    @Override
    public boolean equals(Object other) {
        return other instanceof GridEncoding that
                && axes == that.axes
                && channels == that.channels
                && encoding.equals(that.encoding)
                && lastAxisFirst == that.lastAxisFirst;
    }

    @Override
    public int hashCode() {
        return Objects.hash(axes, channels, encoding);
    }

    @Override
    public String toString() {
        return "GridEncoding." + Records.describe((Record) convention);
    }
}
