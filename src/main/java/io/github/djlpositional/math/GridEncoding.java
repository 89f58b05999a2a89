package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.arguments.HasArguments;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The function from a place in a grid of two or three dimensions to its sinusoidal encoding: each axis of the grid has some
 * of the channels, and encodes its own coordinate there.
 *
 * <p>Immutable and safe to share. Values are those of the axes' {@link SinusoidalEncoding}s.
 */
public final class GridEncoding implements HasArguments {

    private static final int NOTHING = -1;

    private final Origin origin;
    private final SinusoidalEncoding[] encodings;

    /** The grid's axis that each channel belongs to, or -1 for a channel that is zero. */
    private final int[] axisAt;

    /** The dimension of the axis' encoding that each channel has. */
    private final int[] dimensionAt;

    /**
     * Lays the axes' encodings side by side.
     *
     * @param origin how this was made
     * @param channels C; what the encodings lack is zero, what they have beyond is dropped
     * @param order the axes in the order of their channels
     * @param encodings one for each axis of the grid
     */
    private GridEncoding(Origin origin, int channels, int[] order, SinusoidalEncoding... encodings) {
        this.origin = origin;
        this.encodings = encodings;
        axisAt = new int[channels];
        dimensionAt = new int[channels];
        Arrays.fill(axisAt, NOTHING);
        int channel = 0;
        for (int axis : order) {
            for (int i = 0; i < encodings[axis].getEmbeddingSize() && channel < channels; i++) {
                axisAt[channel] = axis;
                dimensionAt[channel] = i;
                channel++;
            }
        }
    }

    /**
     * Returns the encoding of tensor2tensor's {@code add_timing_signal_nd}: of n axes each has ⌊C / 2n⌋ frequencies, all
     * sines, then all cosines, the first axis first; channels that are left over are zero.
     *
     * @param axes the number of the grid's axes, 2 or 3
     * @param channels C, from 2 · axes to 2,097,152
     * @param minTimescale as for {@link SinusoidalEncoding#tensor2tensor}, usually 1
     * @param maxTimescale as for {@link SinusoidalEncoding#tensor2tensor}, usually 10,000
     * @return the encoding
     * @throws IllegalArgumentException if an argument is out of range
     */
    public static GridEncoding tensor2tensor(int axes, int channels, double minTimescale, double maxTimescale) {
        requireAxes(axes);
        requireChannels(channels, 2 * axes);
        SinusoidalEncoding each =
                SinusoidalEncoding.tensor2tensor(2 * (channels / (2 * axes)), minTimescale, maxTimescale);
        Origin origin = new Origin("tensor2tensor", "tensor2tensor")
                .with("axes", axes)
                .with("channels", channels)
                .with("minTimescale", minTimescale)
                .with("maxTimescale", maxTimescale);
        return alike(origin, axes, channels, each);
    }

    /**
     * Returns the encoding of multidim-positional-encoding's {@code PositionalEncoding2D} and {@code PositionalEncoding3D}:
     * of n axes each has the paper's encoding of size 2 · ⌈C / 2n⌉, the first axis first; what goes beyond C is dropped.
     *
     * @param axes the number of the grid's axes, 2 or 3
     * @param channels C, from 1 to 2,097,152
     * @return the encoding
     * @throws IllegalArgumentException if an argument is out of range
     */
    public static GridEncoding multidim(int axes, int channels) {
        requireAxes(axes);
        requireChannels(channels, 1);
        int perAxis = 2 * ((channels + 2 * axes - 1) / (2 * axes));
        Origin origin = new Origin("multidim", "multidim").with("axes", axes).with("channels", channels);
        return alike(origin, axes, channels, SinusoidalEncoding.vaswani(perAxis));
    }

    /**
     * Returns the two-dimensional sine-cosine encoding of MAE, as its {@code get_2d_sincos_pos_embed}
     * computes it (He et al., <em>Masked Autoencoders Are Scalable Vision Learners</em>, 2022): the first half of the channels
     * encodes the column, the second the row, each all sines, then all cosines.
     *
     * @param channels C, from 4 to 2,097,152, divisible by 4
     * @return the encoding
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     */
    public static GridEncoding visionTransformer(int channels) {
        requireChannels(channels, 4);
        requireFourfold(channels);
        SinusoidalEncoding each = SinusoidalEncoding.xTransformers(channels / 2);
        Origin origin = new Origin("visionTransformer", "visionTransformer").with("channels", channels);
        return new GridEncoding(origin, channels, new int[] {1, 0}, each, each);
    }

    /**
     * Returns the two-dimensional sine-cosine encoding of Simple ViT, {@code posemb_sincos_2d} in big_vision and vit-pytorch
     * (Beyer et al., <em>Better plain ViT baselines for ImageNet-1k</em>, 2022): as {@link #visionTransformer}, but with the
     * C / 4 frequencies from 1 to 1 / 10,000.
     *
     * @param channels C, from 8 to 2,097,152, divisible by 4
     * @return the encoding
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     */
    public static GridEncoding simpleVit(int channels) {
        requireChannels(channels, 8);
        requireFourfold(channels);
        SinusoidalEncoding each = SinusoidalEncoding.fairseq(channels / 2);
        Origin origin = new Origin("simpleVit", "simpleVit").with("channels", channels);
        return new GridEncoding(origin, channels, new int[] {1, 0}, each, each);
    }

    /**
     * Makes an encoding from the plain values that {@link #getArguments} returns.
     *
     * @param arguments {@code kind}, which is tensor2tensor, multidim, visionTransformer or simpleVit, and all arguments of
     *     that factory
     * @return the encoding
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static GridEncoding fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(GridEncoding.class, arguments);
        GridEncoding encoding = switch (given.getText("kind")) {
            case "tensor2tensor" ->
                tensor2tensor(
                        given.getInt("axes"),
                        given.getInt("channels"),
                        given.getDouble("minTimescale"),
                        given.getDouble("maxTimescale"));
            case "multidim" -> multidim(given.getInt("axes"), given.getInt("channels"));
            case "visionTransformer" -> visionTransformer(given.getInt("channels"));
            case "simpleVit" -> simpleVit(given.getInt("channels"));
            default -> throw given.refused("kind", "tensor2tensor, multidim, visionTransformer or simpleVit");
        };
        given.requireNoOthers();
        return encoding;
    }

    @Override
    public Record getSettings() {
        return null;
    }

    @Override
    public Map<String, Object> getArguments() {
        return origin.arguments();
    }

    private static GridEncoding alike(Origin origin, int axes, int channels, SinusoidalEncoding each) {
        SinusoidalEncoding[] encodings = new SinusoidalEncoding[axes];
        Arrays.fill(encodings, each);
        return new GridEncoding(origin, channels, IntStream.range(0, axes).toArray(), encodings);
    }

    private static void requireFourfold(int channels) {
        if (channels % 4 != 0) {
            throw new IllegalArgumentException("channel count " + channels
                    + " is not divisible by 4: allowed is a multiple of 4; give both axes a sine and a cosine alike");
        }
    }

    private static void requireAxes(int axes) {
        if (axes != 2 && axes != 3) {
            throw new IllegalArgumentException(
                    axes + " axes were given: allowed are 2 or 3; for one use SinusoidalEncoding");
        }
    }

    private static void requireChannels(int channels, int least) {
        if (channels < least || channels > SinusoidalEncoding.MOST_DIMENSIONS) {
            throw new IllegalArgumentException("channel count " + channels + " is outside " + least + " to "
                    + SinusoidalEncoding.MOST_DIMENSIONS + ": give the channels that each place of the grid has");
        }
    }

    /**
     * Returns the number of the grid's axes.
     *
     * @return 2 or 3
     */
    public int getAxes() {
        return encodings.length;
    }

    /**
     * Returns the number of dimensions of an encoded place.
     *
     * @return C
     */
    public int getEmbeddingSize() {
        return axisAt.length;
    }

    /**
     * Returns one channel of one place's encoding.
     *
     * @param channel 0 … C - 1
     * @param place the coordinate on each axis
     * @return the value, in [-1, 1]
     * @throws IllegalArgumentException if the channel is out of range, the number of coordinates is not that of the axes, or
     *     the coordinate on the channel's axis is not finite
     */
    public double value(int channel, double... place) {
        if (channel < 0 || channel >= axisAt.length) {
            throw new IllegalArgumentException("channel " + channel + " is outside 0 to " + (axisAt.length - 1)
                    + ": give a channel of this encoding, which has " + axisAt.length);
        }
        if (place.length != encodings.length) {
            throw new IllegalArgumentException(place.length + " coordinates were given for a grid of "
                    + encodings.length + " axes: give one for each axis");
        }
        int axis = axisAt[channel];
        return axis == NOTHING ? 0 : encodings[axis].value(place[axis], dimensionAt[channel]);
    }

    /**
     * Writes the encodings of a whole grid, or some of its first axis: of each value the number of the format that is nearest
     * to it.
     *
     * @param sizes the grid's size on each axis
     * @param channelsFirst true for (C, sizes…), false for (sizes…, C)
     * @param first where on the first axis of that shape to begin
     * @param count how much of the first axis to write
     * @param format what the values are rounded to
     * @param out where they go, row-major from the buffer's start; its position stays
     * @throws IllegalArgumentException if the sizes are not one for each axis and positive, the part is not within the first
     *     axis, or the buffer is too small
     */
    public void write(int[] sizes, boolean channelsFirst, int first, int count, FloatFormat format, ByteBuffer out) {
        requireGrid(sizes);
        requirePart(channelsFirst ? axisAt.length : sizes[0], first, count);
        double[][] byAxis = new double[sizes.length][];
        for (int axis = 0; axis < sizes.length; axis++) {
            byAxis[axis] = axisValues(encodings[axis], sizes[axis]);
        }
        int channels = axisAt.length;
        int cells = Arrays.stream(sizes).reduce(1, Math::multiplyExact);
        int rowLength = channelsFirst ? cells : cells / sizes[0] * channels;
        TableBounds.requireRoom(
                count + " rows of " + rowLength + " values in " + format,
                (long) count * rowLength * format.bytes(),
                out);
        IntStream.range(0, count).parallel().forEach(row -> {
            int[] place = new int[sizes.length];
            for (int i = 0; i < rowLength; i++) {
                int channel = channelsFirst ? first + row : i % channels;
                int cell = channelsFirst ? i : (first + row) * (cells / sizes[0]) + i / channels;
                locate(cell, sizes, place);
                int axis = axisAt[channel];
                double value = axis == NOTHING
                        ? 0
                        : byAxis[axis][place[axis] * encodings[axis].getEmbeddingSize() + dimensionAt[channel]];
                format.put(out, row * rowLength + i, value);
            }
        });
    }

    private void requireGrid(int... sizes) {
        long values = axisAt.length;
        for (int size : sizes) {
            values = size < 1 || values > Integer.MAX_VALUE ? -1 : values * size;
        }
        if (sizes.length != encodings.length || values < 1 || values > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "grid sizes " + Arrays.toString(sizes) + " cannot be encoded: allowed are "
                            + encodings.length + " positive ones with at most " + Integer.MAX_VALUE
                            + " values in all; give one for each axis");
        }
    }

    private static void requirePart(int length, int first, int count) {
        if (first < 0 || count < 0 || first > length - count) {
            throw new IllegalArgumentException("part from " + first + " of " + count
                    + " is outside the first axis: allowed is within 0 to " + length + "; give a part of it");
        }
    }

    private static double[] axisValues(SinusoidalEncoding encoding, int size) {
        int width = encoding.getEmbeddingSize();
        double[] values = new double[Math.multiplyExact(size, width)];
        for (int position = 0; position < size; position++) {
            for (int dimension = 0; dimension < width; dimension++) {
                values[position * width + dimension] = encoding.value(position, dimension);
            }
        }
        return values;
    }

    /** The coordinates of a cell, which are counted with the last axis fastest. */
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
                && Arrays.equals(encodings, that.encodings)
                && Arrays.equals(axisAt, that.axisAt)
                && Arrays.equals(dimensionAt, that.dimensionAt);
    }

    @Override
    public int hashCode() {
        return Objects.hash(Arrays.hashCode(encodings), Arrays.hashCode(axisAt), Arrays.hashCode(dimensionAt));
    }

    /** Returns every setting, for example {@code GridEncoding.multidim(axes=2, channels=64, SinusoidalEncoding(…))}. */
    @Override
    public String toString() {
        return "GridEncoding." + origin + "(axes=" + getAxes() + ", channels=" + getEmbeddingSize() + ", "
                + encodings[0] + ")";
    }
}
