package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
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
 * <p>f has a hidden layer with ReLU. Its parameters are {@code weight1}, (E, 2), {@code bias1}, (E), and
 * {@code weight2}, (N, E), for E hidden units, with the initial values of PyTorch. They fit any window. Tokens are the
 * cells, as in a {@link WindowBiasBlock} without a class token.
 *
 * @see <a href="https://arxiv.org/abs/2111.09883">Swin Transformer V2: Scaling Up Capacity and Resolution</a>
 */
public final class WindowNetworkBiasBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headCount,
            @Range(min = 1, max = Window.MAX_DIFFERENCES) List<Integer> window,
            @Default("512") @Range(min = 1) int hiddenSize,
            @Range(min = 1, max = Window.MAX_DIFFERENCES) List<Integer> trainedWindow) {

        Options {
            Window.requireWindow("window", window);
            trainedWindow = Objects.requireNonNullElse(trainedWindow, window);
            Window.requireWindow("trainedWindow", trainedWindow);
        }

        /** The largest distance of two cells. */
        int maxDistance() {
            return Window.differences(window)[0] * Window.differences(window)[1] / 2;
        }

        /** u for a difference of rows, on axis 0, or of columns, on axis 1. */
        double input(double distance, int axis) {
            int columns = Window.differences(window)[1];
            int row = maxDistance() - (int) distance;
            int difference = (axis == 0 ? row / columns : row % columns) - window.get(axis) + 1;
            double scaled = 8.0 * Math.abs(difference) / Math.max(1, trainedWindow.get(axis) - 1);
            return Math.signum(difference) * Math.log1p(scaled) / Math.log(8);
        }
    }

    private final Options options;
    private final int limit;
    private final BiasNetwork network;

    /** The inputs of the network for each distance. */
    private final ConstantTable inputs;

    private final ConstantTable coordinates;

    private WindowNetworkBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        coordinates = addColumn(
                options.window.get(0) * options.window.get(1), cell -> Window.coordinate(options.window, cell));
        network = new BiasNetwork(this, BiasNetwork.RELU, false, false, 2, options.hiddenSize, options.headCount);
        limit = options.maxDistance();
        inputs = addDistances(Rows.of(2, options::input), limit);
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
        return new Shape(options.window.get(0), options.window.get(1));
    }

    @Override
    public List<Term> terms() {
        Term.Coordinates ofCells = Window.coordinates(coordinates, this);
        return List.of(Term.bias(this::biases, ofCells, ofCells));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray like = distances.like();
        NDArray table = constants(inputs, distances, limit, DataTypes.ofScores(like));
        NDArray logits = network.biases(call, table.transpose(1, 0));
        return Arithmetic.multiply(Activation.sigmoid(logits), 16);
    }

    /** Builds a {@link WindowNetworkBiasBlock}. */
    public static final class Builder extends Window.Builder<WindowNetworkBiasBlock, Builder> {

        private Builder() {
            super(Options.class, WindowNetworkBiasBlock::new);
        }

        /** Sets E, the number of hidden units, at least 1 (default: 512, as in Swin V2). */
        public Builder optHiddenSize(int hiddenSize) {
            return set("hiddenSize", hiddenSize);
        }

        /**
         * Sets the window that the network was trained with, in rows and columns, for use with another window (default:
         * the window of the block).
         */
        public Builder optTrainedWindow(int height, int width) {
            return set("trainedWindow", List.of(height, width));
        }
    }
}
