package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.ModelFile.Compared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Map;
import java.util.Objects;

/**
 * Adds a learned positional encoding to its input: a table of trained vectors, one for each position, as in BERT and
 * GPT-2 and in Vaswani et al., <em>Attention Is All You Need</em> (2017), table 3 row (E).
 *
 * <pre>{@code
 * Block positions = LearnedPositionalEncodingBlock.builder()
 *         .setEmbeddingSize(768)
 *         .optMaxSequenceLength(512)
 *         .build();                       // (B, T, 768) -> the same, T up to 512
 * }</pre>
 *
 * <p>Inputs, output and errors are those of {@link PositionalEncodingBlock}, with two differences: explicit positions
 * must be integers, and x must have the data type of the table. Gradients reach only the rows that were used. A forward
 * throws {@link ai.djl.nn.UninitializedParameterException} in inference if the block was neither initialized nor
 * loaded.
 *
 * <p>DJL cannot save a table of 2 GiB or more (maxSequenceLength · D times the bytes of a number).
 *
 * <p>B batch, T sequence length, D embedding size.
 */
public final class LearnedPositionalEncodingBlock
        extends SequenceEncodingBlock<LearnedPositionalEncodingBlock.Settings> {

    /** BERT's standard deviation, its {@code initializer_range}; GPT-2's code has 0.01 for positions. */
    private static final float STANDARD_DEVIATION = 0.02f;

    record Settings(
            int embeddingSize,
            Integer maxSequenceLength,
            Boolean addToInput,
            Integer sequenceAxis,
            @Compared(Compared.Rule.NOT) SinusoidalEncoding encoding,
            @Compared(Compared.Rule.NOT) Boolean rangeChecks,
            @Compared(Compared.Rule.NOT) Float dropoutRate)
            implements Common {

        Settings {
            // the default is BERT's
            maxSequenceLength = Objects.requireNonNullElse(maxSequenceLength, 512);
            addToInput = Objects.requireNonNullElse(addToInput, true);
            sequenceAxis = Objects.requireNonNullElse(sequenceAxis, DEFAULT_AXIS);
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            check(embeddingSize, sequenceAxis, dropoutRate);
            Check.positive("maxSequenceLength", maxSequenceLength);
            if (encoding != null) {
                requireSize(encoding, embeddingSize);
            }
        }
    }

    private final Parameter table;

    /** Initial encodings that were given have one row for each position; null if none were. */
    private LearnedPositionalEncodingBlock(Settings settings, double[][] given) {
        super(settings);
        HostData.Rows rows = given != null
                ? resized(given, settings.maxSequenceLength)
                : settings.encoding != null ? settings.encoding::write : null;
        Initializer initializer = rows == null
                ? new NormalInitializer(STANDARD_DEVIATION)
                : (manager, shape, type) -> HostData.computed(manager, manager.getDevice(), shape, type, rows);
        table = addParameter("encodings", new Shape(settings.maxSequenceLength, settings.embeddingSize), initializer);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Creates a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values; initial
     *     encodings that were given as an array are not plain values, and are not among them
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static LearnedPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return new LearnedPositionalEncodingBlock(Records.read(Settings.class, arguments), null);
    }

    private static HostData.Rows resized(double[][] given, int height) {
        int width = given[0].length;
        return (first, count, format, out) -> {
            for (int row = 0; row < count; row++) {
                double at = height == 1 ? 0 : (double) (first + row) * (given.length - 1) / (height - 1);
                int below = (int) at;
                int above = Math.min(below + 1, given.length - 1);
                for (int column = 0; column < width; column++) {
                    double low = given[below][column];
                    format.put(out, row * width + column, low + (at - below) * (given[above][column] - low));
                }
            }
        };
    }

    @Override
    public int getMaxSequenceLength() {
        return settings.maxSequenceLength;
    }

    /**
     * {@return the trained table: the parameter (maxSequenceLength, D), in the model's data type; it belongs to this
     * block}
     */
    public Parameter getTable() {
        return table;
    }

    @Override
    int limit() {
        return settings.maxSequenceLength;
    }

    @Override
    NDArray rows(
            Temporaries temporaries, Positions positions, NDArray x, ParameterStore parameterStore, boolean training) {
        NDArray values = value(this, table, parameterStore, x, training);
        DataTypes.requireSame(x, values, "learned table");
        return positions.rows(temporaries, new Learned(values));
    }

    private record Learned(NDArray values) implements Positions.Source {

        @Override
        public NDArray consecutive(Temporaries temporaries, int first, int count, NDArray x) {
            NDArray rows =
                    temporaries.add(values.get(x.getManager(), NDIndex.sliceAxis(0, first, (long) first + count)));
            return temporaries.add(rows.expandDims(0));
        }

        @Override
        public NDArray lookUp(NDArray positions, int end, NDArray x, DataType type) {
            return Indices.lookUp(positions, values, x.getManager());
        }

        @Override
        public NDArray compute(double[] positions, Shape shape, NDArray x, DataType type) {
            throw new IllegalArgumentException("real positions " + shape
                    + " were given to a learned table: expected an integer type; convert them with"
                    + " toType(DataType.INT64, false)");
        }
    }

    /** Builds a {@link LearnedPositionalEncodingBlock}. */
    public static final class Builder extends BaseBuilder<Settings, Builder> {

        private double[][] initialEncodings;

        private Builder() {
            super(Settings.class);
        }

        /**
         * Initializes the table with given vectors, such as those of another model. If their number is not the maximum
         * sequence length, they are resized to it by linear interpolation that keeps the first and the last, as
         * PyTorch's {@code interpolate} does with the mode linear and {@code align_corners}.
         *
         * @param encodings (n, D) or (1, n, D), n at least 1, FLOAT16, FLOAT32 or FLOAT64; the caller's, copied here
         * @return this builder
         * @throws IllegalArgumentException if the array has another rank or data type, or is empty
         */
        public Builder optInitialEncodings(NDArray encodings) {
            Shape shape = encodings.getShape();
            boolean isBatched = shape.dimension() == 3 && shape.get(0) == 1;
            Check.that(
                    (shape.dimension() == 2 || isBatched)
                            && shape.size() > 0
                            && DataTypes.isEmbedding(encodings.getDataType()),
                    () -> "initial encodings of shape " + shape + " and data type " + encodings.getDataType()
                            + ": expected (n, D) or (1, n, D) of float16, float32 or float64; give one vector for each"
                            + " position");
            int width = Math.toIntExact(shape.get(shape.dimension() - 1));
            double[] values = HostData.doubles(encodings);
            initialEncodings = new double[values.length / width][width];
            for (int i = 0; i < values.length; i++) {
                initialEncodings[i / width][i % width] = values[i];
            }
            return this;
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is out of range, or the initial encodings have another size or
         *     are given twice
         */
        public LearnedPositionalEncodingBlock build() {
            double[][] given = initialEncodings;
            Settings settings = options.build(given == null ? Map.of() : Map.of("maxSequenceLength", given.length));
            Check.that(
                    given == null || (settings.encoding == null && given[0].length == settings.embeddingSize),
                    () -> "initial encodings of size " + given[0].length + " were given with embeddingSize "
                            + settings.embeddingSize + " and encoding " + settings.encoding
                            + ": expected the same size and no encoding; give both the same size, and one of both");
            return new LearnedPositionalEncodingBlock(settings, given);
        }
    }
}
