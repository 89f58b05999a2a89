package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Default;
import io.github.djlpositional.options.Range;
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
 * <p>The tokens are the cells, row by row; with a class token, as in BEiT (Bao et al., 2021), it comes before them.
 * With the forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, tokens are any of
 * these, for example those that a masked autoencoder keeps; without positions, they are the window's first ones. A
 * position outside the window is rejected.
 *
 * <p>The bias of a query in row y and column x for a key in row y' and column x' is row (y - y' + h - 1) · (2w - 1) + x
 * - x' + w - 1 of the parameter {@code biases}, ((2h - 1) · (2w - 1), N). With a class token, the parameter has three
 * more rows: for the class token as the query, as the key, and as both. These are the tables of the published models.
 * {@link #resample} makes biases for a window from the biases for another one.
 *
 * @see <a href="https://arxiv.org/abs/2103.14030">Swin Transformer: Hierarchical Vision Transformer using Shifted
 *     Windows</a>
 * @see <a href="https://arxiv.org/abs/2106.08254">BEiT: BERT Pre-Training of Image Transformers</a>
 */
public final class WindowBiasBlock extends WindowTermBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    record Options(
            @Range(min = 1) int headCount,
            @Range(min = 1, max = MAX_DIFFERENCES) List<Integer> window,
            @Default("false") boolean classToken) {

        Options {
            requireWindow("window", window);
        }

        int rows() {
            return differences(window)[0] * differences(window)[1];
        }

        /** The coordinate of a token. The differences of the class token are unlike any of two cells. */
        int coordinate(int position, int ofClassToken) {
            if (!classToken) {
                return ofCell(window, position);
            }
            return position == 0 ? ofClassToken * rows() : ofCell(window, position - 1);
        }
    }

    private final Options options;
    private final Parameter biases;

    private WindowBiasBlock(Options options) {
        super(
                options,
                options.headCount,
                -1,
                options.window.get(0) * options.window.get(1) + (options.classToken ? 1 : 0),
                position -> options.coordinate(position, 4),
                position -> options.coordinate(position, -8));
        this.options = options;
        Shape shape = new Shape(options.rows() + (options.classToken ? 3 : 0), options.headCount);
        biases = addParameter("biases", shape, new NormalInitializer(STANDARD_DEVIATION));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return the block that {@link #getArguments} describes}
     *
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static WindowBiasBlock fromArguments(Map<?, ?> arguments) {
        return builder().setAll(arguments).build();
    }

    /** {@return the table of biases, the parameter ((2h - 1) · (2w - 1), N), with a class token three rows more} */
    public Parameter getBiases() {
        return biases;
    }

    /**
     * Sets the biases from a block for another window, for example a loaded one. They are resampled by
     * {@link GridResampling#BICUBIC}, as in Swin; the rows of a class token are copied.
     *
     * @param trained a block with as many heads, and with a class token if this block has one; unchanged
     * @throws IllegalArgumentException if it does not fit, or a block has no values
     */
    public void resample(WindowBiasBlock trained) {
        Options from = trained.options;
        Check.that(
                options.headCount == from.headCount && options.classToken == from.classToken,
                () -> "trained biases with headCount " + from.headCount + " and classToken " + from.classToken
                        + ": expected " + options.headCount + " and " + options.classToken
                        + "; build a block for another window only; blocks: " + trained + ", " + this);
        int[] sizes = differences(from.window);
        resample(GridResampling.BICUBIC, trained.biases, sizes, biases, differences(options.window));
    }

    @Override
    NDArray term(AttentionCall call, NDArray queries, NDArray keys) {
        int rows = options.rows();
        NDArray row = difference(call, queries, 0, 1, rows / 2);
        if (options.classToken) {
            // two cells: less than rows; the class token as the query: from 4 times as many, as the key: 8, as both: 12
            NDArray isKey = row.gte(Arithmetic.number(row, 8 * rows));
            NDArray isBoth = row.gte(Arithmetic.number(row, 12 * rows));
            row = row.minimum(Arithmetic.number(row, rows))
                    .add(Arithmetic.toType(isKey, DataType.FLOAT32))
                    .add(Arithmetic.toType(isBoth, DataType.FLOAT32));
        }
        return lookUp(row, value(biases, call, queries), queries);
    }

    /** Builds a {@link WindowBiasBlock}. */
    public static final class Builder extends WindowBuilder<WindowBiasBlock, Builder> {

        private Builder() {
            super(Options.class, WindowBiasBlock::new);
        }

        /** Puts a class token before the cells, as in BEiT (default: false). */
        public Builder optClassToken(boolean classToken) {
            return set("classToken", classToken);
        }
    }
}
