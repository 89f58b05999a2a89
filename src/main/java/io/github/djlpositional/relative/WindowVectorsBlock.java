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
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.GridResampling;
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
 * <p>It is added to the scaled score and is not scaled. All heads share the vectors, which are initially 0: the
 * parameters {@code rows}, (2h - 1, H), and {@code columns}, (2w - 1, H), {@code rel_pos_h} and {@code rel_pos_w} in
 * the published code. Tokens are the cells, as in a {@link WindowBiasBlock}.
 *
 * @see <a href="https://arxiv.org/abs/2112.01526">MViTv2: Improved Multiscale Vision Transformers for Classification
 *     and Detection</a>
 * @see <a href="https://arxiv.org/abs/2203.16527">Exploring Plain Vision Transformer Backbones for Object Detection</a>
 * @see <a href="https://arxiv.org/abs/2304.02643">Segment Anything</a>
 */
public final class WindowVectorsBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headSize,
            @Range(min = 1, max = Window.MAX_DIFFERENCES) List<Integer> window) {

        Options {
            Window.requireWindow("window", window);
        }
    }

    private final Options options;
    private final Parameter rows;
    private final Parameter columns;
    private final ConstantTable rowsOfTokens;
    private final ConstantTable columnsOfTokens;

    private WindowVectorsBlock(Options options) {
        super(options, -1, options.headSize);
        this.options = options;
        int height = options.window.get(0);
        int width = options.window.get(1);
        rowsOfTokens = addColumn(height * width, position -> Math.floorDiv(position, width));
        columnsOfTokens = addColumn(height * width, position -> position % width);
        rows = addParameter("rows", new Shape(2L * options.window.get(0) - 1, options.headSize), Initializer.ZEROS);
        columns =
                addParameter("columns", new Shape(2L * options.window.get(1) - 1, options.headSize), Initializer.ZEROS);
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
     * @param trained a block for heads of the same size; it is not changed
     * @throws IllegalArgumentException if it does not fit, or a block has no values
     */
    public void resample(WindowVectorsBlock trained) {
        Check.that(
                options.headSize == trained.options.headSize,
                () -> "trained vectors with headSize " + trained.options.headSize + ": expected " + options.headSize
                        + "; pass a block that differs only in its window; blocks: " + trained + ", " + this);
        List<Parameter> from = List.of(trained.rows, trained.columns);
        List<Parameter> to = List.of(rows, columns);
        for (int axis = 0; axis < 2; axis++) {
            int[] before = {2 * trained.options.window.get(axis) - 1};
            Window.resample(
                    GridResampling.BILINEAR, from.get(axis), before, to.get(axis), 2 * options.window.get(axis) - 1);
        }
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.scores(this::scores));
    }

    private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
        return products(call, queries, rowsOfTokens, rows).add(products(call, queries, columnsOfTokens, columns));
    }

    /** The products of the queries with the vectors of one coordinate, (B, N, T, F). */
    private NDArray products(AttentionCall call, NDArray queries, ConstantTable coordinates, Parameter vectors) {
        NDArray table = call.value(vectors, queries).transpose(1, 0);
        NDArray ofQueries = Window.coordinates(coordinates, call.queries(), queries, this);
        NDArray ofKeys = Window.coordinates(coordinates, call.keys(), queries, this);
        NDArray differences = ofQueries.expandDims(2).sub(ofKeys.expandDims(1));
        int zero = Math.toIntExact(table.getShape().get(1) / 2);
        return selected(Arithmetic.multiplyRows(queries, table), Arithmetic.add(differences, zero));
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

        /** Sets the window: h, the number of rows of cells, and w, the number of cells in a row, each at least 1. */
        public Builder setWindow(int height, int width) {
            return set("window", List.of(height, width));
        }
    }
}
