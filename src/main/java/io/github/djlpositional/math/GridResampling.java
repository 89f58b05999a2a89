package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Resamples a table of one vector for each cell of a grid to another grid: by the methods of PyTorch's
 * {@code interpolate}, and {@link #GEOMETRIC} for the differences of cells. A method resamples one axis after the
 * other, so it also applies to grids of one axis or of three.
 *
 * <p>Weights are computed and applied in double.
 */
public enum GridResampling {
    /**
     * Keys's cubic convolution with a = -1/2; a smaller grid averages over all cells of the larger one (mode bicubic,
     * {@code antialias}). timm resamples the position tables of vision transformers with it.
     */
    BICUBIC_ANTIALIASED(2, -0.5),

    /**
     * Keys's cubic convolution with a = -3/4 (mode bicubic). Swin's tables are resampled with it, and ViT and DINOv2 in
     * transformers. The original code of DINO and DINOv2 passes a scale factor, which moves the sampling points.
     */
    BICUBIC(2, -0.75),

    /**
     * Linear interpolation between the centers of the cells; a smaller grid averages over all cells of the larger one
     * (mode bilinear, {@code antialias}). SigLIP 2 with images of any proportions (NaFlex) does this.
     */
    BILINEAR_ANTIALIASED(1, 0),

    /** Linear interpolation between the centers of the cells (modes linear, bilinear and trilinear). */
    BILINEAR(1, 0),

    /**
     * Linear interpolation that preserves the first and the last cell of each axis (modes linear, bilinear and
     * trilinear with {@code align_corners}). Qwen3-VL and the vision tower of Llama 3.2 do this.
     */
    BILINEAR_ALIGNED(1, 0),

    /**
     * Linear interpolation of the differences of cells, -(n - 1), …, n - 1 in a window of n cells, as timm resamples
     * the tables of BEiT, Swin and others ({@code resize_rel_pos_bias_table}). The distances between the old rows grow
     * from 1 in the middle by a factor from 1.01 to 1.5, so that they span the new differences: near differences keep
     * their biases. The original code of BEiT interpolates with cubic splines instead. Sizes are odd.
     */
    GEOMETRIC(1, 0);

    private static final double SMALLEST_RATIO = 1.01;
    private static final double LARGEST_RATIO = 1.5;
    private static final double PRECISION_OF_RATIO = 1e-6;

    /** The kernel is zero at this distance and beyond. */
    private final int support;

    private final double a;

    GridResampling(int support, double a) {
        this.support = support;
        this.a = a;
    }

    /**
     * Returns the matrix that resamples one axis: new = matrix · old.
     *
     * @param from the size of the axis, at least 1
     * @param to its new size, at least 1
     * @return a new matrix (to, from), each of its rows with the sum 1
     * @throws IllegalArgumentException if a size is not positive, or is even with {@link #GEOMETRIC}
     */
    public double[][] weights(int from, int to) {
        Check.positive("size", from);
        requireNewSize(from, to);
        return IntStream.range(0, to).mapToObj(i -> weights(from, to, i)).toArray(double[][]::new);
    }

    private void requireNewSize(int from, int to) {
        Check.positive("new size", to);
        Check.that(
                this != GEOMETRIC || (from % 2 == 1 && to % 2 == 1),
                () -> "resampling " + this + " from " + from + " to " + to
                        + " rows: expected odd numbers, 2 · size - 1 for the differences in a window; use another"
                        + " method for the cells themselves");
    }

    /** The weights of the old cells for the new cell i. */
    private double[] weights(int from, int to, int i) {
        boolean isAntialiased = this == BICUBIC_ANTIALIASED || this == BILINEAR_ANTIALIASED;
        double width = isAntialiased ? Math.max((double) from / to, 1) : 1;
        double at = place(from, to, i);
        double[] weights = new double[from];
        int last = (int) Math.floor(at + support * width);
        for (int j = (int) Math.ceil(at - support * width); j <= last; j++) {
            int cell = Math.max(0, Math.min(j, from - 1));
            // averaging skips cells beyond the border; interpolation repeats the border
            if (j == cell || !isAntialiased) {
                weights[cell] += kernel(Math.abs(j - at) / width);
            }
        }
        double sum = Arrays.stream(weights).sum();
        return Arrays.stream(weights).map(weight -> weight / sum).toArray();
    }

    /** The place of the new cell i between the old ones. */
    private double place(int from, int to, int i) {
        return switch (this) {
            case BILINEAR_ALIGNED -> i * ((from - 1) / Math.max(1.0, to - 1));
            case GEOMETRIC -> {
                int difference = i - to / 2;
                int middle = from / 2;
                yield middle + Integer.signum(difference) * rowsFromMiddle(middle, to / 2, Math.abs(difference));
            }
            default -> (i + 0.5) * ((double) from / to) - 0.5;
        };
    }

    /** The place of a distance between rows at the distances 0, 1, 1 + q, 1 + q + q², …, of which the last is row n. */
    private static double rowsFromMiddle(int n, int largest, int distance) {
        double q = ratio(n, largest);
        double step = 1;
        double left = 0;
        int row = 0;
        for (; row < n && left + step < distance; row++) {
            left += step;
            step *= q;
        }
        return row == n ? n : row + (distance - left) / step;
    }

    /** The ratio q for which 1 + q + … + qⁿ⁻¹ is the largest distance, as precise as timm's. */
    private static double ratio(int n, int largest) {
        double low = SMALLEST_RATIO;
        double high = LARGEST_RATIO;
        double q = low;
        while (high - low > PRECISION_OF_RATIO) {
            q = (low + high) / 2;
            boolean isTooLarge = (1 - Math.pow(q, n)) / (1 - q) > largest;
            low = isTooLarge ? low : q;
            high = isTooLarge ? q : high;
        }
        return q;
    }

    /** Keys, Cubic Convolution Interpolation for Digital Image Processing (1981), equation 4; or a triangle. */
    private double kernel(double x) {
        if (x >= support) {
            return 0;
        }
        if (support == 1) {
            return 1 - x;
        }
        return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : a * (((x - 5) * x + 8) * x - 4);
    }

    /**
     * Resamples a table. One for the same grid is copied.
     *
     * @param table one vector for each cell, row-major (from…, C)
     * @param from the sizes of its grid
     * @param to the sizes of the new grid
     * @return a new table, row-major (to…, C)
     * @throws IllegalArgumentException if a size is not positive, the grids have different numbers of axes, the table
     *     does not fit the first grid, the new table would have more than 2<sup>31</sup> - 1 values, or a size is even
     *     with {@link #GEOMETRIC}
     */
    public double[] resample(double[] table, int[] from, int[] to) {
        long cells = IntStream.of(from).asLongStream().reduce(1, (product, size) -> product * size);
        Check.that(
                from.length == to.length && IntStream.of(from).allMatch(size -> size > 0) && table.length % cells == 0,
                () -> "a table of " + table.length + " values to resample from the grid " + Arrays.toString(from)
                        + " to " + Arrays.toString(to) + ": expected as many values for each cell, and as many axes;"
                        + " correct the grids");
        if (Arrays.equals(from, to)) {
            return table.clone();
        }
        double[] resampled = table;
        int inner = table.length;
        for (int axis = 0; axis < from.length; axis++) {
            inner /= from[axis];
            resampled = along(resampled, inner, from[axis], to[axis]);
        }
        return resampled;
    }

    /** The products of a matrix and the middle axis of (…, from, inner). */
    private double[] along(double[] table, int inner, int from, int to) {
        requireNewSize(from, to);
        long size = (long) table.length / from * to;
        Check.that(
                size <= Integer.MAX_VALUE,
                () -> "a resampled table of " + size + " values: expected at most " + Integer.MAX_VALUE
                        + "; use a smaller grid");
        double[] resampled = new double[(int) size];
        int rows = inner == 0 ? 0 : resampled.length / inner;
        IntStream.range(0, rows).parallel().forEach(row -> {
            double[] weights = weights(from, to, row % to);
            for (int j = 0; j < from; j++) {
                int source = (row / to * from + j) * inner;
                for (int i = 0; weights[j] != 0 && i < inner; i++) {
                    resampled[row * inner + i] += weights[j] * table[source + i];
                }
            }
        });
        return resampled;
    }
}
