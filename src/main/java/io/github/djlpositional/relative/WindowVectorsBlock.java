package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.GridResampling;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Learned vectors for differences of rows and of columns in a window of h by w cells, which are multiplied by the
 * queries: the decomposed relative positions of Li et al., <em>MViTv2: Improved Multiscale Vision Transformers for
 * Classification and Detection</em> (2022), section 4.1, as in ViTDet and the encoder of SAM. For a query q in row y
 * and column x and a key in row y' and column x', the term is
 *
 * <pre>
 * q · a[y - y' + h - 1] + q · b[x - x' + w - 1]
 * </pre>
 *
 * <p>In windows of f by h by w cells, as in MViTv2 for videos, q · c[z - z' + f - 1] for the frames z and z' is added.
 * The term is added to the scaled score and is not scaled. All heads share the vectors, which are initially 0: the
 * parameters {@code frames}, (2f - 1, H), {@code rows}, (2h - 1, H), and {@code columns}, (2w - 1, H);
 * {@code rel_pos_t}, {@code rel_pos_h} and {@code rel_pos_w} in the published code. Tokens are the cells, as in a
 * {@link WindowBiasBlock}. The term of a class token is 0, as a query and as a key.
 *
 * @see <a href="https://arxiv.org/abs/2112.01526">MViTv2: Improved Multiscale Vision Transformers for Classification
 *     and Detection</a>
 * @see <a href="https://arxiv.org/abs/2203.16527">Exploring Plain Vision Transformer Backbones for Object Detection</a>
 * @see <a href="https://arxiv.org/abs/2304.02643">Segment Anything</a>
 */
public final class WindowVectorsBlock extends ScoreTermBlock {

    private static final List<String> AXES = List.of("frames", "rows", "columns");

    record Options(
            @Range(min = 1) int headSize,
            @Range(min = 1, max = Window.MAX_DIFFERENCES) List<Integer> window,
            @Default("false") boolean classToken) {

        Options {
            Window.requireWindow("window", window);
        }
    }

    /** The vectors of the differences on an axis, (2n - 1, H), and the indices of the tokens on it, (tokens, 1). */
    private record Axis(Parameter vectors, ConstantTable queries, ConstantTable keys) {}

    private final Options options;
    private final List<Axis> axes = new ArrayList<>();

    private WindowVectorsBlock(Options options) {
        super(options, -1, options.headSize);
        this.options = options;
        Window window = new Window(options.window, options.classToken);
        for (int axis = 0; axis < window.axes(); axis++) {
            int size = options.window.get(axis);
            String name = AXES.get(AXES.size() - window.axes() + axis);
            Parameter vectors = addParameter(name, new Shape(2L * size - 1, options.headSize), Initializer.ZEROS);
            // all differences of the class token are above those of two cells
            ConstantTable queries = addIndices(window, axis, 2 * size);
            axes.add(new Axis(vectors, queries, options.classToken ? addIndices(window, axis, -size) : queries));
        }
    }

    private ConstantTable addIndices(Window window, int axis, int ofClassToken) {
        return addColumn(
                window.tokens(),
                position -> window.isClassToken(position) ? ofClassToken : window.index(position, axis));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static WindowVectorsBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /**
     * Sets the vectors from a block for another window, for example a loaded one. They are resampled with
     * {@link GridResampling#BILINEAR}, as in SAM.
     *
     * @param trained a block for heads of the same size and windows with as many axes; it is not changed
     * @throws IllegalArgumentException if it does not fit, or a block has no values
     */
    public void resample(WindowVectorsBlock trained) {
        Options from = trained.options;
        Check.that(
                options.headSize == from.headSize && axes.size() == trained.axes.size(),
                () -> "trained vectors with headSize " + from.headSize + " and window " + from.window + ": expected "
                        + options.headSize + " and " + axes.size()
                        + " axes; pass a block that differs only in the sizes of its window; blocks: " + trained + ", "
                        + this);
        int[] before = new Window(from.window, false).differencesOfAxes();
        int[] after = new Window(options.window, false).differencesOfAxes();
        for (int axis = 0; axis < after.length; axis++) {
            Window.resample(
                    GridResampling.BILINEAR,
                    trained.axes.get(axis).vectors,
                    new int[] {before[axis]},
                    axes.get(axis).vectors,
                    after[axis]);
        }
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.scores(this::scores));
    }

    private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
        return axes.stream()
                .map(axis -> products(call, queries, axis))
                .reduce(NDArray::add)
                .orElseThrow();
    }

    /** The products of the queries with the vectors of one axis, (B, N, T, F). */
    private NDArray products(AttentionCall call, NDArray queries, Axis axis) {
        NDArray table = call.value(axis.vectors, queries).transpose(1, 0);
        int rows = Math.toIntExact(table.getShape().get(1));
        NDArray ofQueries = Window.coordinates(axis.queries, call.queries(), queries, this);
        NDArray ofKeys = Window.coordinates(axis.keys, call.keys(), queries, this);
        NDArray differences = ofQueries.expandDims(2).sub(ofKeys.expandDims(1));
        int zero = rows / 2;
        NDArray indices = Arithmetic.add(differences, zero);
        if (options.classToken) {
            table = table.concat(
                    queries.getManager().zeros(new Shape(options.headSize, 1), table.getDataType(), table.getDevice()),
                    1);
            indices = indices.minimum(Arithmetic.number(indices, rows));
        }
        return selected(Arithmetic.multiplyRows(queries, table), indices);
    }

    /** Builds a {@link WindowVectorsBlock}. */
    public static final class Builder extends BlockBuilder<WindowVectorsBlock, Builder> {

        private Builder() {
            super(Options.class, WindowVectorsBlock::new);
        }

        /** Sets H, the size of a head, at least 1. */
        public Builder setHeadSize(int headSize) {
            return set("headSize", headSize);
        }

        /**
         * Sets the window: (h, w), the numbers of rows and columns, (f, h, w) with frames, or one size for a sequence;
         * each at least 1.
         */
        public Builder setWindow(int... sizes) {
            return set("window", Window.option("window", sizes));
        }

        /** Puts a class token before the cells, whose term is 0 (default: false). */
        public Builder optClassToken(boolean classToken) {
            return set("classToken", classToken);
        }
    }
}
