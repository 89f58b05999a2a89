package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.Rows;
import java.util.List;
import java.util.Map;

/**
 * A learned bias of each head for each difference of rows and columns in a window of h by w cells, after Liu et al.,
 * <em>Swin Transformer: Hierarchical Vision Transformer using Shifted Windows</em> (2021), section 3.2.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(96)
 *         .setHeadCount(3)
 *         .optRelativeEncoding(WindowBiasBlock.builder().setHeadCount(3).setWindow(7, 7).build())
 *         .build();               // (windows, 49, 96) -> (windows, 49, 96)
 * }</pre>
 *
 * <p>The tokens are the cells, row by row; a class token, as in BEiT (Bao et al., 2021), comes before them. With the
 * forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, tokens are any of these, for
 * example the visible patches of a masked autoencoder; without positions, they are the first cells of the window. A
 * position outside the window is rejected; on a GPU, where positions are not read, it gets the biases of another
 * position.
 *
 * <p>The bias of a query in row y and column x for a key in row y' and column x' is row (y - y' + h - 1) · (2w - 1) + x
 * - x' + w - 1 of the parameter {@code biases}, ((2h - 1) · (2w - 1), N). With a class token, the parameter has three
 * more rows: for the class token as the query, as the key, and as both. These are the tables of the published models.
 * {@link #resample(WindowBiasBlock, GridResampling)} converts biases to another window.
 *
 * @see <a href="https://arxiv.org/abs/2103.14030">Swin Transformer: Hierarchical Vision Transformer using Shifted
 *     Windows</a>
 * @see <a href="https://arxiv.org/abs/2106.08254">BEiT: BERT Pre-Training of Image Transformers</a>
 */
public final class WindowBiasBlock extends ScoreTermBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    record Options(
            @Range(min = 1) int headCount,
            @Range(min = 1, max = Window.MAX_DIFFERENCES) List<Integer> window,
            @Default("false") boolean classToken) {

        Options {
            Window.requireWindow("window", window);
        }

        /** The number of differences of two cells. */
        int rows() {
            return Window.differences(window)[0] * Window.differences(window)[1];
        }

        int tokens() {
            return window.get(0) * window.get(1) + (classToken ? 1 : 0);
        }

        /** The coordinate of a token. The differences of the class token differ from all differences of two cells. */
        int coordinate(int position, int classTokenMultiple) {
            if (!classToken) {
                return Window.coordinate(window, position);
            }
            return position == 0 ? classTokenMultiple * rows() : Window.coordinate(window, position - 1);
        }

        /** More than any distance. */
        int limit() {
            return 4 * rows();
        }

        /**
         * The row of the biases for a distance: first the rows of two cells, then the rows of the class token as the
         * query, whose coordinate is larger by rows(), as the key, larger by twice as much, and as both.
         */
        int row(int distance) {
            int row = rows() / 2 - distance;
            return row < rows() || !classToken
                    ? Math.max(0, Math.min(rows() - 1, row))
                    : rows() + Math.min(2, row / rows() - 1);
        }
    }

    private final Options options;
    private final Parameter biases;

    /** The row of the biases for each distance. */
    private final ConstantTable rows;

    private final ConstantTable queryCoordinates;
    private final ConstantTable keyCoordinates;

    private WindowBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        queryCoordinates = addColumn(options.tokens(), position -> options.coordinate(position, 1));
        keyCoordinates = addColumn(options.tokens(), position -> options.coordinate(position, -2));
        rows = addDistances(Rows.of(1, (distance, column) -> options.row((int) distance)), options.limit());
        Shape shape = new Shape(options.rows() + (options.classToken ? 3 : 0), options.headCount);
        biases = addParameter("biases", shape, new NormalInitializer(STANDARD_DEVIATION));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static WindowBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public Shape getWindow() {
        return new Shape(options.window.get(0), options.window.get(1));
    }

    /**
     * {@return the table of biases, the parameter ((2h - 1) · (2w - 1), N); with a class token, it has three more rows}
     */
    public Parameter getBiases() {
        return biases;
    }

    /**
     * Sets the biases from a block for another window with {@link GridResampling#BICUBIC}, as in Swin.
     *
     * @param trained as for {@link #resample(WindowBiasBlock, GridResampling)}
     * @throws IllegalArgumentException if it does not fit, or a block has no values
     */
    public void resample(WindowBiasBlock trained) {
        resample(trained, GridResampling.BICUBIC);
    }

    /**
     * Sets the biases from a block for another window, for example a loaded one. The rows of a class token are copied.
     *
     * @param trained a block with the same number of heads, and with a class token if this block has one; it is not
     *     changed
     * @param method {@link GridResampling#BICUBIC} in Swin, {@link GridResampling#BILINEAR} in the BEiT of Hugging Face
     *     transformers
     * @throws IllegalArgumentException if it does not fit, or a block has no values
     */
    public void resample(WindowBiasBlock trained, GridResampling method) {
        Options from = trained.options;
        Check.that(
                options.headCount == from.headCount && options.classToken == from.classToken,
                () -> "trained biases with headCount " + from.headCount + " and classToken " + from.classToken
                        + ": expected " + options.headCount + " and " + options.classToken
                        + "; pass a block that differs only in its window; blocks: " + trained + ", " + this);
        int[] sizes = Window.differences(from.window);
        Window.resample(method, trained.biases, sizes, biases, Window.differences(options.window));
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.bias(
                this::biases, Window.coordinates(queryCoordinates, this), Window.coordinates(keyCoordinates, this)));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray indices = constants(rows, distances, options.limit(), DataType.FLOAT32);
        return lookUp(call.value(biases, distances.like()), indices);
    }

    /** Builds a {@link WindowBiasBlock}. */
    public static final class Builder extends Window.Builder<WindowBiasBlock, Builder> {

        private Builder() {
            super(Options.class, WindowBiasBlock::new);
        }

        /** Puts a class token before the cells, as in BEiT (default: false). */
        public Builder optClassToken(boolean classToken) {
            return set("classToken", classToken);
        }
    }
}
