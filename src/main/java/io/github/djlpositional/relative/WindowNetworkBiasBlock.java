package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.Rows;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A small network computes the bias of each head from the difference of rows and columns in a window of h by w cells,
 * after Liu et al., <em>Swin Transformer V2: Scaling Up Capacity and Resolution</em> (2022), section 3.3. For a query
 * in row y and column x and a key in row y' and column x', the bias is
 *
 * <pre>
 * 16 · sigmoid(f(u(y - y', h), u(x - x', w)))      with u(d, n) = sign(d) · log₂(1 + 8 |d| / (n - 1)) / 3
 * </pre>
 *
 * <p>f has a hidden layer with ReLU. {@link Form} has the functions of other models: the bias is f itself, of
 * logarithms or of the differences. This is the network of CrossFormer, Wang et al. (2021), section 3.2:
 *
 * <pre>{@code
 * WindowNetworkBiasBlock bias = WindowNetworkBiasBlock.builder()
 *         .setHeadCount(3)
 *         .setWindow(7, 7)
 *         .optForm(Form.LINEAR)
 *         .optHiddenSize(24)        // D / 4
 *         .optHiddenLayers(3)
 *         .optNormalized(true)
 *         .build();
 * }</pre>
 *
 * <p>The parameters are {@code weight1}, (E, 2), {@code bias1}, (E), and {@code weight2}, (N, E), for E hidden units,
 * with the initial values of PyTorch; in other forms also {@code bias2}, (N). Further hidden layers are (E, E). With
 * windows of frames, or of a sequence, the network has three inputs, or one. The parameters fit any window.
 *
 * <p>Tokens are the cells, as in a {@link WindowBiasBlock}. The biases of a class token are 0.
 *
 * @see <a href="https://arxiv.org/abs/2111.09883">Swin Transformer V2: Scaling Up Capacity and Resolution</a>
 * @see <a href="https://arxiv.org/abs/2108.00154">CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale
 *     Attention</a>
 */
public final class WindowNetworkBiasBlock extends ScoreTermBlock {

    /** The inputs of the network f for the difference d of two cells on an axis, and the bias for its output. */
    public enum Form {
        /** sign(d) · log₂(1 + 8 |d| / (n - 1)) / 3, and 16 · sigmoid(f), whose last layer has no bias: Swin V2. */
        SWIN,
        /** sign(d) · ln(1 + |d|), and f: the mode {@code cr} of timm, for example in {@code swinv2_cr}. */
        LOGARITHMIC,
        /** d, and f: CrossFormer. */
        LINEAR
    }

    record Options(
            @Range(min = 1) int headCount,
            @Range(min = 1, max = Window.MAX_DIFFERENCES) List<Integer> window,
            @Default("512") @Range(min = 1) int hiddenSize,
            @Default("1") @Range(min = 1) int hiddenLayers,
            @Default("false") boolean normalized,
            @Default("SWIN") Form form,
            @Default("false") boolean classToken,
            @Range(min = 1, max = Window.MAX_DIFFERENCES) List<Integer> trainedWindow) {

        Options {
            Window.requireWindow("window", window);
            if (form == Form.SWIN) {
                trainedWindow = Objects.requireNonNullElse(trainedWindow, window);
                Window.requireWindow("trainedWindow", trainedWindow);
                Check.that(
                        trainedWindow.size() == window.size(),
                        "trainedWindow " + trainedWindow + " for the window " + window
                                + ": expected as many axes; pass one size for each axis");
            } else {
                Check.that(
                        trainedWindow == null,
                        "trainedWindow " + trainedWindow + " with form " + form + ": expected none, since only "
                                + Form.SWIN + " divides by the size of the window; leave it out");
            }
        }

        /** The input of the network for a difference of two cells on an axis. */
        double input(int difference, int axis) {
            double size = Math.abs(difference);
            return Math.signum(difference)
                    * switch (form) {
                        case SWIN -> Math.log1p(8 * size / Math.max(1, trainedWindow.get(axis) - 1)) / Math.log(8);
                        case LOGARITHMIC -> Math.log1p(size);
                        case LINEAR -> size;
                    };
        }
    }

    private final Options options;
    private final Window window;
    private final BiasNetwork network;

    /** The inputs of the network for each distance. */
    private final ConstantTable inputs;

    /** The column of each distance in the biases of all differences of cells and 0; null without a class token. */
    private final ConstantTable columns;

    private final ConstantTable queryCoordinates;
    private final ConstantTable keyCoordinates;

    private WindowNetworkBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        window = new Window(options.window, options.classToken);
        queryCoordinates = addColumn(window.tokens(), window::queryCoordinate);
        keyCoordinates = addColumn(window.tokens(), window::keyCoordinate);
        network = new BiasNetwork(
                this,
                BiasNetwork.RELU,
                options.normalized,
                options.form != Form.SWIN,
                window.axes(),
                options.hiddenSize,
                options.hiddenLayers,
                options.headCount);
        inputs = addDistances(Rows.of(window.axes(), this::input), window.limit());
        columns = options.classToken
                ? addDistances(Rows.of(1, (distance, column) -> columnOf(distance)), window.limit())
                : null;
    }

    private boolean isOfCells(double distance) {
        return window.row((int) distance) < window.differences();
    }

    private int columnOf(double distance) {
        int differences = window.differences();
        return isOfCells(distance) ? (int) distance + differences / 2 : differences;
    }

    private double input(double distance, int axis) {
        return isOfCells(distance) ? options.input(window.difference(window.row((int) distance), axis), axis) : 0;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static WindowNetworkBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public Shape getWindow() {
        return window.shape();
    }

    /** With explicit positions, the network may be computed for each query and key. */
    @Override
    public List<Term> terms() {
        Term bias = Term.bias(
                this::biases, Window.coordinates(queryCoordinates, this), Window.coordinates(keyCoordinates, this));
        return List.of(bias.withPairSize(
                call -> call.hasPositions() && columns == null ? network.sizePerQueryAndKey(call) : 0));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        DataType type = DataTypes.ofScores(distances.like());
        if (columns == null) {
            return biases(call, constants(inputs, distances, window.limit(), type));
        }
        // of all cells once, since the distances of the class token are far from theirs
        int count = window.differences();
        NDArray ofCells = biases(
                call, inputs.slice(-(count / 2), count, distances.like(), type).squeeze(0));
        NDArray zero = ofCells.getManager().zeros(new Shape(options.headCount, 1), type, ofCells.getDevice());
        NDArray indices = constants(columns, distances, window.limit(), DataType.FLOAT32);
        return lookUp(ofCells.concat(zero, 1).transpose(1, 0), indices);
    }

    /** The biases of differences, (n, axes), of each head, (N, n). */
    private NDArray biases(AttentionCall call, NDArray differences) {
        NDArray outputs = network.biases(call, differences.transpose(1, 0));
        return options.form == Form.SWIN ? Arithmetic.multiply(Activation.sigmoid(outputs), 16) : outputs;
    }

    /** Builds a {@link WindowNetworkBiasBlock}. */
    public static final class Builder extends Window.Builder<WindowNetworkBiasBlock, Builder> {

        private Builder() {
            super(Options.class, WindowNetworkBiasBlock::new);
        }

        /** Sets E, the number of units of a hidden layer, at least 1 (default: 512, as in Swin V2). */
        public Builder optHiddenSize(int hiddenSize) {
            return set("hiddenSize", hiddenSize);
        }

        /** Sets the number of hidden layers, at least 1 (default: 1; CrossFormer has 3). */
        public Builder optHiddenLayers(int hiddenLayers) {
            return set("hiddenLayers", hiddenLayers);
        }

        /**
         * Normalizes each hidden layer before its ReLU, with the parameters {@code scale1}, {@code offset1}, …, (E)
         * (default: false), as CrossFormer does.
         */
        public Builder optNormalized(boolean normalized) {
            return set("normalized", normalized);
        }

        /** Sets the inputs of the network and what becomes of its output (default: {@link Form#SWIN}). */
        public Builder optForm(Form form) {
            return set("form", form);
        }

        /** Puts a class token before the cells, whose biases are 0 (default: false). */
        public Builder optClassToken(boolean classToken) {
            return set("classToken", classToken);
        }

        /**
         * Sets the window that the network was trained with, for use with another window in the form {@link Form#SWIN}
         * (default: the window of the block).
         */
        public Builder optTrainedWindow(int... sizes) {
            return set("trainedWindow", Window.option("trainedWindow", sizes));
        }
    }
}
