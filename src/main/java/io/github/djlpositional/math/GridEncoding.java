package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.internal.options.WithoutOption;
import io.github.djlpositional.options.HasArguments;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;

/**
 * The function from a place in a grid of two or three dimensions to its sinusoidal encoding. The channels are parts,
 * one after the other. Each part encodes the coordinate on one axis with a {@link SinusoidalEncoding}, or with a range
 * of its dimensions. Channels after the last part are zero.
 *
 * <p>The coordinate of index i on an axis of size n is scale · (i + offset), or scale · (i + offset) / (n + ε) if it is
 * normalized. By default it is i. It is rounded to a double, at which the parts are evaluated.
 *
 * <pre>{@code
 * // the row in the first half of the channels, the column in the second
 * GridEncoding encoding = GridEncoding.builder()
 *         .setAxes(2)
 *         .add(0, SinusoidalEncoding.vaswani(128))
 *         .add(1, SinusoidalEncoding.vaswani(128))
 *         .build();
 * }</pre>
 *
 * <p>With X(n) for {@code SinusoidalEncoding.xTransformers(n)}, C channels, and the axes 0 for rows and 1 for columns,
 * or 0, 1 and 2 for volumes, other published conventions are:
 *
 * <ul>
 *   <li>timm's {@code build_sincos2d_pos_embed}: {@code add(0, X(C/2), 0, C/4)}, {@code add(1, X(C/2), 0, C/4)},
 *       {@code add(0, X(C/2), C/4, C/4)}, {@code add(1, X(C/2), C/4, C/4)}; with {@code interleave_sin_cos},
 *       {@code add(0, X(C/2))}, {@code add(1, X(C/2))}
 *   <li>PixArt with {@code base_size} b and {@code interpolation_scale} s: {@code add(1, X(C/2))}, {@code add(0,
 *       X(C/2))}, {@code optScale(b / s)}, {@code optNormalized(0)}
 *   <li>Stable Diffusion 3 with {@code pos_embed_max_size} M and {@code base_size} b: {@code add(1, X(C/2))},
 *       {@code add(0, X(C/2))}, {@code optScale(b)}, {@code optNormalized(0)}, {@code optCenterCrop(M)}
 *   <li>diffusers' {@code get_3d_sincos_pos_embed} of (T, H, W): {@code add(0, X(C/4))}, {@code add(2, X(3*C/8))},
 *       {@code add(1, X(3*C/8))}
 *   <li>MONAI's {@code build_sincos_position_embedding} of (H, W, D): {@code add(1, X(C/3))}, {@code add(0, X(C/3))},
 *       {@code add(2, X(C/3))}
 * </ul>
 *
 * <p>Immutable and safe to share. Two encodings are equal if their options are.
 */
public final class GridEncoding implements HasArguments {

    /** The values of one axis are computed once, and stored as doubles. */
    private static final int MAX_VALUES_OF_AXIS = 1 << 27;

    /** The channels that {@code count} dimensions of an encoding have, from {@code first} on. */
    record Part(
            int axis,
            SinusoidalEncoding encoding,
            @Default("0") int first,
            Integer count) {
        Part {
            int size = Check.present("encoding", encoding).getEmbeddingSize();
            Check.between("first", first, 0, size);
            count = count == null ? size - first : count;
            Check.between("count", count, 0, size - first);
        }
    }

    record Options(
            @Range(min = 2, max = 3) int axes,
            List<Part> parts,
            Integer channels,
            @Default("0") @Range double offset,
            @Default("1") @Range double scale,
            @Range(min = 0) Double epsilon,
            @Range(min = 1) Integer centerCrop) {

        Options {
            parts = List.copyOf(Check.present("parts", parts));
            parts.forEach(part -> Check.between("axis", part.axis, 0, axes - 1L));
            long used = parts.stream().mapToLong(Part::count).sum();
            Check.between(
                    "channel count",
                    channels == null ? used : channels,
                    Math.max(1, used),
                    SinusoidalEncoding.MAX_DIMENSIONS);
            channels = channels == null ? (int) used : channels;
        }
    }

    private final Options options;
    private final int axes;
    private final int channels;

    private GridEncoding(Options options) {
        this.options = options;
        axes = options.axes;
        channels = options.channels;
    }

    private static void requireAxes(int axes) {
        Check.that(axes == 2 || axes == 3, () -> axes + " axes: expected 2 or 3; for one axis use SinusoidalEncoding");
    }

    private static void check(int axes, int channels, int smallest, int divisor) {
        requireAxes(axes);
        Check.between("channel count", channels, smallest, SinusoidalEncoding.MAX_DIMENSIONS);
        Check.that(
                channels % divisor == 0,
                () -> "channel count " + channels + ": expected a multiple of " + divisor
                        + ", for as many sines as cosines on each axis; use a multiple");
    }

    /** One part for each axis, in this order. */
    private static Builder parts(int axes, SinusoidalEncoding encoding, int... order) {
        Builder builder = builder().setAxes(axes);
        IntStream.of(order).forEach(axis -> builder.add(axis, encoding));
        return builder;
    }

    private static int[] inOrder(int axes) {
        return IntStream.range(0, axes).toArray();
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
     * @see <a href="https://arxiv.org/abs/1803.07416">Tensor2Tensor for Neural Machine Translation</a>
     */
    public static GridEncoding tensor2tensor(int axes, int channels, double minTimescale, double maxTimescale) {
        check(axes, channels, 2 * axes, 1);
        int size = 2 * (channels / (2 * axes));
        SinusoidalEncoding encoding = SinusoidalEncoding.tensor2tensor(size, minTimescale, maxTimescale);
        return parts(axes, encoding, inOrder(axes)).optChannels(channels).build();
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
        check(axes, channels, 1, 1);
        int size = 2 * ((channels + 2 * axes - 1) / (2 * axes));
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(size);
        Builder builder = builder().setAxes(axes);
        for (int axis = 0; axis < axes; axis++) {
            builder.add(axis, encoding, 0, Math.max(0, Math.min(size, channels - axis * size)));
        }
        return builder.build();
    }

    /**
     * {@return the two-dimensional sine-cosine encoding of MAE, as computed by its {@code get_2d_sincos_pos_embed} (He
     * et al., <em>Masked Autoencoders Are Scalable Vision Learners</em>, 2022)} The first half of the channels encodes
     * the column, the second half the row; each has all sines, then all cosines.
     *
     * @param channels C, from 4 to 2,097,152, divisible by 4
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     * @see <a href="https://arxiv.org/abs/2111.06377">Masked Autoencoders Are Scalable Vision Learners</a>
     */
    public static GridEncoding visionTransformer(int channels) {
        check(2, channels, 4, 4);
        return parts(2, SinusoidalEncoding.xTransformers(channels / 2), 1, 0).build();
    }

    /**
     * {@return the two-dimensional sine-cosine encoding of Simple ViT, {@code posemb_sincos_2d} in big_vision and
     * vit-pytorch (Beyer et al., <em>Better plain ViT baselines for ImageNet-1k</em>, 2022)} It differs from
     * {@link #visionTransformer} in its C / 4 frequencies, which go from 1 to 1 / 10,000.
     *
     * @param channels C, from 8 to 2,097,152, divisible by 4
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4
     * @see <a href="https://arxiv.org/abs/2205.01580">Better plain ViT baselines for ImageNet-1k</a>
     */
    public static GridEncoding simpleVit(int channels) {
        check(2, channels, 8, 4);
        return parts(2, SinusoidalEncoding.fairseq(channels / 2), 1, 0).build();
    }

    /**
     * {@return the encoding of DETR's {@code PositionEmbeddingSine} with {@code normalize} (Carion et al.,
     * <em>End-to-End Object Detection with Transformers</em>, 2020)} The first half of the channels encodes the row,
     * the second half the column, each with the encoding of <em>Attention Is All You Need</em>; the coordinate is 2π ·
     * (i + offset) / (n + 10<sup>-6</sup>), where n is the size of the unpadded image.
     *
     * @param channels C, from 4 to 2,097,152, divisible by 4
     * @param offset 1 for DETR, 0.5 for Deformable DETR
     * @throws IllegalArgumentException if C is outside this range or not divisible by 4, or the offset is not finite
     * @see <a href="https://arxiv.org/abs/2005.12872">End-to-End Object Detection with Transformers</a>
     */
    public static GridEncoding detr(int channels, double offset) {
        check(2, channels, 4, 4);
        return parts(2, SinusoidalEncoding.vaswani(channels / 2), 0, 1)
                .optScale(2 * Math.PI)
                .optOffset(offset)
                .optNormalized(1e-6)
                .build();
    }

    /**
     * {@return the encoding that a map of {@link #getArguments} describes}
     *
     * @param arguments {@code axes}; {@code parts}, a list of maps with {@code axis}, {@code encoding} (a map for
     *     {@link SinusoidalEncoding#fromArguments}) and optionally {@code first} and {@code count}; and optionally
     *     {@code channels}, {@code offset}, {@code scale}, {@code epsilon} and {@code centerCrop}, as in the builder
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static GridEncoding fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public Map<String, Object> getArguments() {
        return Settings.arguments(this, options);
    }

    /** {@return the number of the grid's axes, 2 or 3} */
    public int getAxes() {
        return axes;
    }

    /** {@return the number of dimensions of an encoded place, C} */
    public int getEmbeddingSize() {
        return channels;
    }

    /**
     * Returns the coordinate of an index on an axis.
     *
     * @param index i, counted from 0
     * @param size n, the size of the axis
     * @return the coordinate
     * @throws IllegalArgumentException if the axis is longer than the table that it is cropped from
     */
    public double coordinate(double index, double size) {
        Integer centerCrop = options.centerCrop;
        double start = 0;
        double whole = size;
        if (centerCrop != null) {
            Check.that(
                    size <= centerCrop,
                    () -> "an axis of size " + size + " cropped from " + centerCrop + ": expected at most " + centerCrop
                            + "; use a smaller grid");
            whole = centerCrop;
            start = Math.floor((whole - size) / 2);
        }
        double moved = start + index + options.offset;
        return options.scale * (options.epsilon == null ? moved : moved / (whole + options.epsilon));
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
        int dimension = channel;
        for (Part part : options.parts) {
            if (dimension < part.count) {
                return part.encoding.value(place[part.axis], part.first + dimension);
            }
            dimension -= part.count;
        }
        return 0;
    }

    /**
     * Returns the encodings of all cells of a grid, which are computed once for each coordinate.
     *
     * @param sizes the grid's size on each axis
     * @return the encodings, by the index of a cell, with the last axis fastest, and the channel
     * @throws IllegalArgumentException if there is not one positive size for each axis, or the grid has more than
     *     2<sup>31</sup> - 1 values
     */
    public Rows.Value cells(int... sizes) {
        requireGrid(1, sizes);
        int[] strides = strides(sizes);
        double[][] coordinates = new double[sizes.length][];
        Arrays.setAll(
                coordinates,
                axis -> IntStream.range(0, sizes[axis])
                        .mapToDouble(i -> coordinate(i, sizes[axis]))
                        .toArray());
        return cells(coordinates, (axis, cell) -> cell / strides[axis] % sizes[axis]);
    }

    /**
     * Returns the encodings of a batch of padded grids. As in DETR, the index of a cell is the number of visible cells
     * up to it on its line along the axis, less 1, and the size of the line is the number of its visible cells. The
     * values are 0 where this size is 0 and the coordinate is not finite, and in a grid without visible cells.
     *
     * @param sizes the grid's size on each axis
     * @param isVisible false for padding, row-major (B, sizes…)
     * @return the encodings, by the index of a cell, counted over the batch, and the channel
     * @throws IllegalArgumentException if there is not one positive size for each axis, the cells do not fill whole
     *     grids, an axis is longer than the table that it is cropped from, or the grids have more than 2<sup>31</sup> -
     *     1 values
     */
    public Rows.Value cells(int[] sizes, boolean[] isVisible) {
        int ofGrid = requireGrid(1, sizes);
        Check.that(
                isVisible.length % ofGrid == 0,
                () -> isVisible.length + " cells of grids " + Arrays.toString(sizes) + ": expected a multiple of "
                        + ofGrid + "; pass the cells of whole grids");
        requireGrid(isVisible.length / ofGrid, sizes);
        int[] strides = strides(sizes);
        double[][] coordinates = new double[sizes.length][];
        int[][] indices = new int[sizes.length][isVisible.length];
        for (int axis = 0; axis < sizes.length; axis++) {
            double[] ofCells = coordinates(sizes[axis], strides[axis], isVisible);
            for (int first = 0; first < isVisible.length; first += ofGrid) {
                if (IntStream.range(first, first + ofGrid).noneMatch(cell -> isVisible[cell])) {
                    Arrays.fill(ofCells, first, first + ofGrid, Double.NaN);
                }
            }
            // most lines have the same coordinates
            Map<Double, Integer> distinct = new LinkedHashMap<>();
            Arrays.setAll(indices[axis], cell -> distinct.computeIfAbsent(ofCells[cell], each -> distinct.size()));
            coordinates[axis] =
                    distinct.keySet().stream().mapToDouble(each -> each).toArray();
        }
        return cells(coordinates, (axis, cell) -> indices[axis][cell]);
    }

    /** The encodings of cells from the coordinates on each axis, and the index of a cell's coordinate on an axis. */
    private Rows.Value cells(double[][] coordinates, IntBinaryOperator indexOfAxisAndCell) {
        int[] axisOfChannel = new int[channels];
        double[][][] values = new double[axes][][];
        Arrays.setAll(values, axis -> new double[coordinates[axis].length][channels]);
        int next = 0;
        for (Part part : options.parts) {
            for (int dimension = part.first; dimension < part.first + part.count; dimension++) {
                axisOfChannel[next] = part.axis;
                for (int i = 0; i < coordinates[part.axis].length; i++) {
                    double coordinate = coordinates[part.axis][i];
                    values[part.axis][i][next] =
                            Double.isFinite(coordinate) ? part.encoding.value(coordinate, dimension) : 0;
                }
                next++;
            }
        }
        return (cell, channel) -> {
            int axis = axisOfChannel[channel];
            return values[axis][indexOfAxisAndCell.applyAsInt(axis, (int) cell)][channel];
        };
    }

    /** The coordinates of all cells on one axis. */
    private double[] coordinates(int size, int stride, boolean... isVisible) {
        double[] coordinates = new double[isVisible.length];
        for (int cell = 0; cell < isVisible.length; cell++) {
            if (cell / stride % size == 0) {
                int visible = 0;
                for (int i = 0; i < size; i++) {
                    visible += isVisible[cell + i * stride] ? 1 : 0;
                }
                int index = -1;
                for (int i = 0; i < size; i++) {
                    index += isVisible[cell + i * stride] ? 1 : 0;
                    coordinates[cell + i * stride] = coordinate(index, visible);
                }
            }
        }
        return coordinates;
    }

    /** The number of cells that one step along each axis passes; the last axis changes fastest. */
    private static int[] strides(int... sizes) {
        int[] strides = new int[sizes.length];
        for (int axis = sizes.length - 1, stride = 1; axis >= 0; stride *= sizes[axis--]) {
            strides[axis] = stride;
        }
        return strides;
    }

    /** The number of cells of a grid. */
    private int requireGrid(int batch, int... sizes) {
        double values = IntStream.of(sizes)
                .asDoubleStream()
                .reduce((double) batch * channels, (product, size) -> product * size);
        Check.that(
                sizes.length == axes && IntStream.of(sizes).allMatch(size -> size > 0) && values <= Integer.MAX_VALUE,
                () -> "grid sizes " + Arrays.toString(sizes) + ": expected " + axes
                        + " positive sizes with at most " + Integer.MAX_VALUE
                        + " values in all; pass one size for each axis");
        for (int size : sizes) {
            Check.that(
                    (long) size * channels <= MAX_VALUES_OF_AXIS,
                    () -> "an axis of size " + size + " with " + channels + " channels: expected at most "
                            + MAX_VALUES_OF_AXIS + " values; use a smaller grid");
        }
        return IntStream.of(sizes).reduce(1, (product, size) -> product * size);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof GridEncoding that && options.equals(that.options);
    }

    @Override
    public int hashCode() {
        return options.hashCode();
    }

    @Override
    public String toString() {
        return Settings.describe(options);
    }

    /** Builds a {@link GridEncoding}. */
    public static final class Builder extends BlockBuilder<GridEncoding, Builder> {

        private final List<Part> parts = new ArrayList<>();

        private Builder() {
            super(Options.class, GridEncoding::new);
        }

        /**
         * Sets the number of the grid's axes.
         *
         * @param axes 2 or 3
         * @return this builder
         */
        public Builder setAxes(int axes) {
            return set("axes", axes);
        }

        /**
         * Adds the channels of an axis after the previous ones.
         *
         * @param axis the axis, counted from 0: D, H, W or H, W
         * @param encoding the function from the coordinate on this axis to these channels
         * @return this builder
         */
        public Builder add(int axis, SinusoidalEncoding encoding) {
            Check.notNull("encoding", encoding, "a SinusoidalEncoding");
            return add(axis, encoding, 0, encoding.getEmbeddingSize());
        }

        /**
         * Adds a range of dimensions of an encoding, for example only its sines.
         *
         * @param axis the axis, counted from 0
         * @param encoding the function from the coordinate on this axis to its dimensions
         * @param first the first dimension
         * @param count the number of dimensions
         * @return this builder
         * @throws IllegalArgumentException if the encoding does not have these dimensions
         */
        public Builder add(int axis, SinusoidalEncoding encoding, int first, int count) {
            Check.notNull("encoding", encoding, "a SinusoidalEncoding");
            parts.add(new Part(axis, encoding, first, count));
            return set("parts", List.copyOf(parts));
        }

        /**
         * Sets C (default: the number of channels of all parts). Further channels are zero.
         *
         * @param channels at least the number of channels of all parts
         * @return this builder
         */
        public Builder optChannels(int channels) {
            return set("channels", channels);
        }

        /**
         * Sets the number that is added to an index (default: 0).
         *
         * @param offset finite
         * @return this builder
         */
        public Builder optOffset(double offset) {
            return set("offset", offset);
        }

        /**
         * Sets the factor of coordinates (default: 1). For axes of different scales, scale the {@link Frequencies} of
         * their encodings.
         *
         * @param scale finite
         * @return this builder
         */
        public Builder optScale(double scale) {
            return set("scale", scale);
        }

        /**
         * Divides each coordinate by the size of its axis. DETR uses it with the scale 2π and ε = 10<sup>-6</sup>,
         * PixArt with its base size divided by its interpolation scale, and ε = 0. By default coordinates do not depend
         * on the size.
         *
         * @param epsilon ε, which is added to the size; 0 or more
         * @return this builder
         */
        @WithoutOption
        public Builder optNormalized(double epsilon) {
            return set("epsilon", epsilon);
        }

        /**
         * Sets the coordinates to those in the middle of a larger table, as Stable Diffusion 3 does. An axis of size n
         * begins at index ⌊(size - n) / 2⌋, and is normalized by the size of the table.
         *
         * @param size the size of each axis of the table, at least 1
         * @return this builder
         */
        public Builder optCenterCrop(int size) {
            return set("centerCrop", size);
        }
    }
}
