package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.GridResampling;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A learned bias of each head for each difference of rows and columns in a window of h by w cells: that of Liu et al.,
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
 * these, for example those that a masked autoencoder keeps. A position outside the window is refused.
 *
 * <p>The bias of a query in row y and column x for a key in row y' and column x' is row (y - y' + h - 1) · (2w - 1) + x
 * - x' + w - 1 of the parameter {@code biases}, ((2h - 1) · (2w - 1), N). With a class token, the parameter has three
 * more rows: for the class token as the query, as the key, and as both. These are the tables of the published models.
 *
 * <p>{@link #resample} makes biases for a window from those of another one.
 *
 * <p>With {@code optHiddenSize}, a network of one hidden layer with ReLU computes the rows instead, as in Liu et al.,
 * <em>Swin Transformer V2</em> (2022), section 3.3: 16 · sigmoid(f(u(y - y', h), u(x - x', w))) with u(d, n) = sign(d)
 * · log<sub>2</sub>(1 + 8 |d| / (n - 1)) / 3. Its parameters are {@code weight1}, (E, 2), {@code bias1}, (E), and
 * {@code weight2}, (N, E), for E hidden units.
 *
 * <p>Inputs, output and errors are those of {@link KerpleBiasBlock}, in FLOAT16 too.
 */
public final class WindowBiasBlock extends WindowTermBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    record Settings(
            int headCount, List<Integer> window, Boolean classToken, Integer hiddenSize, List<Integer> trainedWindow) {
        Settings {
            classToken = Objects.requireNonNullElse(classToken, false);
            Check.positive("headCount", headCount);
            requireWindow("window", window);
            trainedWindow = Objects.requireNonNullElse(trainedWindow, window);
            requireWindow("trainedWindow", trainedWindow);
            Check.that(
                    hiddenSize == null || !classToken,
                    "a class token with hiddenSize: expected one of them; leave out optHiddenSize(int)");
            Check.positive("hiddenSize", Objects.requireNonNullElse(hiddenSize, 1));
            Check.that(
                    hiddenSize != null || trainedWindow.equals(window),
                    "trainedWindow " + trainedWindow
                            + " without hiddenSize: expected the network of Swin V2; resize the table instead");
        }

        int height() {
            return window.get(0);
        }

        int width() {
            return window.get(1);
        }

        int[] differences() {
            return new int[] {2 * height() - 1, 2 * width() - 1};
        }

        int rows() {
            return differences()[0] * differences()[1];
        }

        /** The coordinate of a query whose difference from a key's coordinate tells the row of the table. */
        int ofQuery(int position) {
            return classToken && position == 0 ? 4 * rows() : ofCell(position);
        }

        int ofKey(int position) {
            return classToken && position == 0 ? -8 * rows() : ofCell(position);
        }

        private int ofCell(int position) {
            int cell = classToken ? position - 1 : position;
            return cell / width() * (2 * width() - 1) + cell % width();
        }
    }

    private final Settings settings;

    /** Null for a network. */
    private final Parameter biases;

    /** Null for a table of biases. */
    private final BiasNetwork network;

    private final ConstantTable inputs;

    private WindowBiasBlock(Settings settings) {
        super(
                settings,
                settings.headCount,
                -1,
                settings.height() * settings.width() + (settings.classToken ? 1 : 0),
                settings::ofQuery,
                settings::ofKey);
        this.settings = settings;
        int rows = settings.rows();
        if (settings.hiddenSize == null) {
            Shape shape = new Shape(settings.classToken ? rows + 3 : rows, settings.headCount);
            biases = addParameter("biases", shape, new NormalInitializer(STANDARD_DEVIATION));
            network = null;
            inputs = null;
        } else {
            biases = null;
            network = new BiasNetwork(this, false, false, 2, List.of(settings.hiddenSize), settings.headCount);
            inputs = addTable(ConstantTable.ofPositions(new Shape(2), rows, rows, (first, count, format, out) -> {
                int columns = 2 * settings.width() - 1;
                for (int i = 0; i < count; i++) {
                    int y = (first + i) / columns - settings.height() + 1;
                    int x = (first + i) % columns - settings.width() + 1;
                    format.put(out, 2 * i, logarithmic(y, settings.trainedWindow.get(0)));
                    format.put(out, 2 * i + 1, logarithmic(x, settings.trainedWindow.get(1)));
                }
            }));
        }
    }

    private static double logarithmic(int difference, int size) {
        double share = 8.0 * Math.abs(difference) / Math.max(1, size - 1);
        return Math.signum(difference) * Math.log1p(share) / Math.log(8);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Creates a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static WindowBiasBlock fromArguments(Map<?, ?> arguments) {
        return new WindowBiasBlock(Records.read(Settings.class, arguments));
    }

    /**
     * {@return the table of biases: the parameter ((2h - 1) · (2w - 1), N), with a class token three rows more, in the
     * model's data type; a parameter of this block; null with a network}
     */
    public Parameter getBiases() {
        return biases;
    }

    /**
     * Sets the biases to those of a block for another window, for example a loaded one. They are resampled by
     * {@link GridResampling#BICUBIC}, as those of Swin; the rows of a class token are copied.
     *
     * @param trained a block with as many heads, and with a class token if this block has one; unchanged
     * @throws IllegalArgumentException if it does not fit, a block has a network, or a block has no values
     */
    public void resample(WindowBiasBlock trained) {
        Check.that(
                biases != null
                        && trained.biases != null
                        && settings.headCount == trained.settings.headCount
                        && settings.classToken.equals(trained.settings.classToken),
                () -> trained + " with " + this
                        + ": expected tables of biases for the same heads and tokens; build one for another window only");
        resample(
                GridResampling.BICUBIC, trained.biases, trained.settings.differences(), biases, settings.differences());
    }

    @Override
    public NDArray scoreTerm(AttentionCall call, NDArray queries, NDArray keys) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray table =
                    network == null ? value(temporaries, biases, call, queries) : computed(temporaries, call, queries);
            NDArray rows = temporaries.add(Indices.lookUp(
                    temporaries.add(indices(temporaries, call, queries).toType(DataType.INT32, false)),
                    table,
                    queries.getManager()));
            return rows.transpose(0, 3, 1, 2);
        }
    }

    private NDArray computed(Temporaries temporaries, AttentionCall call, NDArray queries) {
        NDArray differences = inputs.table(settings.rows(), queries, PlainAttention.scoreType(queries));
        NDArray logits = network.biases(temporaries, call, differences);
        NDArray table = temporaries.add(Arithmetic.multiply(temporaries.add(Activation.sigmoid(logits)), 16));
        return AttentionMethod.toType(temporaries, table, queries.getDataType());
    }

    /** The row of each query and key, (1 or B, T, F), FLOAT32. */
    private NDArray indices(Temporaries temporaries, AttentionCall call, NDArray queries) {
        int rows = settings.rows();
        NDArray differences = difference(temporaries, call, queries, 0, 1, rows / 2);
        if (!settings.classToken) {
            return differences;
        }
        // two cells: less than rows; the class token as the query: from 4 times as many, as the key: 8, as both: 12
        NDArray none = temporaries.add(queries.getManager().zeros(new Shape(1), DataType.FLOAT32, queries.getDevice()));
        NDArray cells = temporaries.add(differences.minimum(temporaries.add(none.add(rows))));
        NDArray withKey = temporaries.add(cells.add(reaches(temporaries, differences, 8 * rows)));
        return temporaries.add(withKey.add(reaches(temporaries, differences, 12 * rows)));
    }

    /** 1 for numbers that are at least a limit, 0 for others. */
    private static NDArray reaches(Temporaries temporaries, NDArray numbers, int limit) {
        return temporaries.add(temporaries.add(numbers.gte(limit)).toType(DataType.FLOAT32, false));
    }

    /** Builds a {@link WindowBiasBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            return options.set("headCount", headCount);
        }

        /**
         * Sets the window.
         *
         * @param height h, the number of rows of cells, at least 1
         * @param width w, the number of cells in a row, at least 1
         * @return this builder
         */
        public Builder setWindow(int height, int width) {
            return options.set("window", List.of(height, width));
        }

        /**
         * Sets whether a class token comes before the cells (default: false).
         *
         * @param classToken true for BEiT
         * @return this builder
         */
        public Builder optClassToken(boolean classToken) {
            return options.set("classToken", classToken);
        }

        /**
         * Sets E, the number of hidden units of a network that computes the biases (default: a table of biases).
         *
         * @param hiddenSize at least 1; 512 in Swin V2
         * @return this builder
         */
        public Builder optHiddenSize(int hiddenSize) {
            return options.set("hiddenSize", hiddenSize);
        }

        /**
         * Sets the window that the network was trained with, for use with another one (default: the window).
         *
         * @param height its number of rows, at least 1
         * @param width its number of columns, at least 1
         * @return this builder
         */
        public Builder optTrainedWindow(int height, int width) {
            return options.set("trainedWindow", List.of(height, width));
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is out of range
         */
        public WindowBiasBlock build() {
            return new WindowBiasBlock(options.build());
        }
    }
}
