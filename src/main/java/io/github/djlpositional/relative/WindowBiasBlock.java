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
 * A learned bias for each head and each difference of rows and columns in a window of h by w cells, after Liu et al.,
 * <em>Swin Transformer: Hierarchical Vision Transformer using Shifted Windows</em> (2021), section 3.2; or of frames,
 * rows and columns in a window of f by h by w cells, after Liu et al., <em>Video Swin Transformer</em> (2022).
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(96)
 *         .setHeadCount(3)
 *         .optRelativeEncoding(WindowBiasBlock.builder().setHeadCount(3).setWindow(7, 7).build())
 *         .build();               // (windows, 49, 96) -> (windows, 49, 96)
 * }</pre>
 *
 * <p>The tokens are the cells, row by row, and frame by frame with {@code setWindow(f, h, w)}; a class token, as in
 * BEiT (Bao et al., 2021), comes before them. With the forward parameter
 * {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, tokens are any of these, for example the visible
 * patches of a masked autoencoder; without positions, they are the first cells of the window. A position outside the
 * window is rejected; on a GPU, where positions are not read, it gets the biases of another position.
 *
 * <p>The bias of a query in row y and column x for a key in row y' and column x' is row (y - y' + h - 1) · (2w - 1) + x
 * - x' + w - 1 of the parameter {@code biases}, ((2h - 1) · (2w - 1), N). Frames z and z' add (z - z' + f - 1) · (2h -
 * 1) · (2w - 1), and the parameter has (2f - 1) times as many rows. With a class token, it has three more rows: for the
 * class token as the query, as the key, and as both. These are the tables of the published models.
 * {@link #resample(WindowBiasBlock, GridResampling)} converts biases to another window.
 *
 * @see <a href="https://arxiv.org/abs/2103.14030">Swin Transformer: Hierarchical Vision Transformer using Shifted
 *     Windows</a>
 * @see <a href="https://arxiv.org/abs/2106.13230">Video Swin Transformer</a>
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
    }

    private final Options options;
    private final Window window;
    private final Parameter biases;

    /** The row of the biases for each distance. */
    private final ConstantTable rows;

    private final ConstantTable queryCoordinates;
    private final ConstantTable keyCoordinates;

    private WindowBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        window = new Window(options.window, options.classToken);
        queryCoordinates = addColumn(window.tokens(), window::queryCoordinate);
        keyCoordinates = addColumn(window.tokens(), window::keyCoordinate);
        rows = addDistances(Rows.of(1, (distance, column) -> window.row((int) distance)), window.limit());
        Shape shape = new Shape(window.rows(), options.headCount);
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
        return window.shape();
    }

    /**
     * {@return the table of biases, the parameter ((2h - 1) · (2w - 1), N), for windows of frames ((2f - 1) · (2h - 1)
     * · (2w - 1), N); with a class token, it has three more rows}
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
     * @param trained a block with the same numbers of heads and axes, and with a class token if this block has one; it
     *     is not changed
     * @param method {@link GridResampling#BICUBIC} in Swin, {@link GridResampling#BILINEAR} in the BEiT of Hugging Face
     *     transformers, {@link GridResampling#GEOMETRIC} in timm
     * @throws IllegalArgumentException if it does not fit, or a block has no values
     */
    public void resample(WindowBiasBlock trained, GridResampling method) {
        Options from = trained.options;
        Check.that(
                options.headCount == from.headCount && options.classToken == from.classToken,
                () -> "trained biases with headCount " + from.headCount + " and classToken " + from.classToken
                        + ": expected " + options.headCount + " and " + options.classToken
                        + "; pass a block that differs only in its window; blocks: " + trained + ", " + this);
        int[] sizes = trained.window.differencesOfAxes();
        Window.resample(method, trained.biases, sizes, biases, window.differencesOfAxes());
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.bias(
                this::biases, Window.coordinates(queryCoordinates, this), Window.coordinates(keyCoordinates, this)));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray indices = constants(rows, distances, window.limit(), DataType.FLOAT32);
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
