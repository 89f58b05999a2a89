package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;
import java.util.Objects;
import java.util.stream.LongStream;

/**
 * Learned vectors for relative positions, added to the keys and to the values, after Shaw, Uszkoreit and Vaswani,
 * <em>Self-Attention with Relative Position Representations</em> (2018). Positions farther apart than a clipping
 * distance k share the vectors of k. All heads share the vectors.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(ShawRelativePositionBlock.builder().setHeadSize(64).build())
 *         .build();
 * }</pre>
 *
 * <p>With a<sup>K</sup> and a<sup>V</sup> the vectors and c(d) = max(-k, min(k, d)), a score is q<sub>i</sub> ·
 * (k<sub>j</sub> + a<sup>K</sup><sub>c(j - i)</sub>) (equation 4 of the paper), and a result is Σ<sub>j</sub>
 * p<sub>ij</sub> · (v<sub>j</sub> + a<sup>V</sup><sub>c(j - i)</sub>) (equation 3). Queries are multiplied by the 2k +
 * 1 vectors, not by one vector for each pair of positions, and weights are summed by relative position before they are
 * multiplied by vectors. No array of the shape (T, F, H) is created.
 *
 * <h2>Inputs and output</h2>
 *
 * B batch, T queries, F keys, N heads, H head size, D embedding size.
 *
 * <ul>
 *   <li>{@code [queries]}: (B, N, T, H), of the data type of the vectors. The queries have the positions s … s + T - 1
 *       and the keys 0 … s + T - 1, where s is the forward parameter {@code startPosition}, an Integer or a Long
 *       (default: 0).
 *   <li>{@code [queries, keys]}: keys is (…, F, D); they have the positions 0 … F - 1.
 * </ul>
 *
 * The output is the term of the keys, q<sub>i</sub> · a<sup>K</sup><sub>c(j - i)</sub>, unscaled: (B, N, T, F), on the
 * device of the queries, attached to their manager, and the caller's to close.
 *
 * <p>A forward throws {@link IllegalArgumentException} for queries of another shape or data type, and for a negative
 * start position.
 */
public final class ShawRelativePositionBlock extends RelativeTermBlock {

    record Settings(int headSize, Integer maxDistance, Boolean values) {
        Settings {
            maxDistance = Objects.requireNonNullElse(maxDistance, 16);
            values = Objects.requireNonNullElse(values, true);
            Check.positive("headSize", headSize);
            Check.between("maxDistance", maxDistance, 1, Positions.UNLIMITED);
        }
    }

    private final Settings settings;
    private final Parameter keyVectors;

    /** Null if only the keys have vectors. */
    private final Parameter valueVectors;

    private ShawRelativePositionBlock(Settings settings) {
        super(settings, -1, settings.headSize);
        this.settings = settings;
        keyVectors = addVectors("keys");
        valueVectors = settings.values ? addVectors("values") : null;
    }

    private Parameter addVectors(String name) {
        // the mean norm is then that of projected keys initialized after Glorot and Bengio
        float deviation = (float) (1 / Math.sqrt(settings.headSize));
        return addParameter(
                name, new Shape(2L * settings.maxDistance + 1, settings.headSize), new NormalInitializer(deviation));
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
    public static ShawRelativePositionBlock fromArguments(Map<?, ?> arguments) {
        return new ShawRelativePositionBlock(Records.read(Settings.class, arguments));
    }

    /**
     * {@return the vectors that are added to the keys: the parameter a<sup>K</sup>, (2k + 1, H), in the model's data
     * type; a parameter of this block} The first is for keys that are k or more before the query.
     */
    public Parameter getKeyVectors() {
        return keyVectors;
    }

    /**
     * {@return the vectors that are added to the values: the parameter a<sup>V</sup>, (2k + 1, H), in the model's data
     * type; a parameter of this block; null if the block was built with {@code optValues(false)}}
     */
    public Parameter getValueVectors() {
        return valueVectors;
    }

    /**
     * The vectors for consecutive relative positions: those of first … last, of which the first also stands for
     * {@code front} more positions before it, and the last for {@code end} more positions after it. If all positions
     * are clipped to the same end, first and last are equal.
     */
    private record Clipped(int first, int last, int front, int end) {

        static Clipped of(int least, int count, int maxDistance) {
            int greatest = least + count - 1;
            int first = Math.max(-maxDistance, Math.min(maxDistance, least));
            int last = Math.max(-maxDistance, Math.min(maxDistance, greatest));
            return new Clipped(
                    first,
                    last,
                    Math.max(0, Math.min(first, greatest) - least),
                    Math.max(0, greatest - Math.max(last, least)));
        }

        NDArray rows(Temporaries temporaries, NDArray vectors) {
            long zero = vectors.getShape().get(0) / 2;
            return temporaries.add(vectors.get(NDIndex.sliceAxis(0, zero + first, zero + last + 1)));
        }
    }

    @Override
    boolean isConstant(AttentionCall call) {
        return valueVectors == null && super.isConstant(call);
    }

    @Override
    NDArray termOfPositions(Temporaries temporaries, AttentionCall call, NDArray queries, NDArray indices) {
        NDArray vectors = ofPositions(temporaries, keyVectors, call, queries, indices);
        NDArray byQuery = temporaries.add(scaled(temporaries, call, queries).transpose(0, 2, 1, 3));
        NDArray products = temporaries.add(byQuery.matMul(temporaries.add(vectors.transpose(0, 1, 3, 2))));
        return temporaries.add(products.transpose(0, 2, 1, 3));
    }

    /** The vector of each query and key, (1 or B, T, F, H). */
    private NDArray ofPositions(
            Temporaries temporaries, Parameter vectors, AttentionCall call, NDArray input, NDArray indices) {
        int zero = allOf(call).queries().length() - 1;
        NDArray rows = temporaries.add(indices.add(settings.maxDistance - zero));
        // clip of DJL's PyTorch engine leaves its limits open
        NDArray least = temporaries.add(input.getManager().zeros(new Shape(1), DataType.INT32, input.getDevice()));
        NDArray greatest = temporaries.add(least.add(2 * settings.maxDistance));
        NDArray clipped = temporaries.add(temporaries.add(rows.maximum(least)).minimum(greatest));
        return temporaries.add(Indices.lookUp(clipped, value(temporaries, vectors, call, input), input.getManager()));
    }

    @Override
    NDArray termOfIndices(AttentionCall call, NDArray queries) {
        Clipped clipped = Clipped.of(RelativeShift.least(call), RelativeShift.columns(call), settings.maxDistance);
        try (Temporaries temporaries = new Temporaries()) {
            NDArray vectors = value(temporaries, keyVectors, call, queries);
            NDArray rows = scaled(temporaries, call, clipped.rows(temporaries, vectors));
            NDArray products = temporaries.add(queries.matMul(temporaries.add(rows.transpose(1, 0))));
            return RelativeShift.toKeys(
                    repeatedEnds(temporaries, products, clipped), call.keys().length());
        }
    }

    /** Repeats the first and the last column: (B, N, T, C) to (B, N, T, front + C + end). */
    private static NDArray repeatedEnds(Temporaries temporaries, NDArray columns, Clipped clipped) {
        NDList parts = new NDList(columns);
        if (clipped.front > 0) {
            parts.add(0, repeated(temporaries, columns, 0, clipped.front));
        }
        if (clipped.end > 0) {
            parts.add(repeated(temporaries, columns, columns.getShape().get(3) - 1, clipped.end));
        }
        return parts.size() == 1 ? columns : temporaries.add(NDArrays.concat(parts, 3));
    }

    private static NDArray repeated(Temporaries temporaries, NDArray columns, long column, int count) {
        return temporaries.add(
                cut(temporaries, columns, column, column + 1).broadcast(Shape.update(columns.getShape(), 3, count)));
    }

    private static NDArray cut(Temporaries temporaries, NDArray columns, long from, long to) {
        return temporaries.add(columns.get(NDIndex.sliceAxis(3, from, to)));
    }

    @Override
    public NDArray valueTerm(AttentionCall call, NDArray probabilities) {
        if (valueVectors == null) {
            return null;
        }
        try (Temporaries temporaries = new Temporaries()) {
            if (call.hasPositions()) {
                NDArray indices = indices(temporaries, call, probabilities);
                NDArray vectors = ofPositions(temporaries, valueVectors, call, probabilities, indices);
                NDArray byQuery = temporaries.add(probabilities.transpose(0, 2, 1, 3));
                return temporaries.add(byQuery.matMul(vectors)).transpose(0, 2, 1, 3);
            }
            NDArray vectors = value(temporaries, valueVectors, call, probabilities);
            NDArray byPosition = temporaries.add(RelativeShift.toPositions(probabilities));
            int count = call.keys().length() + call.queries().length() - 1;
            Clipped clipped = Clipped.of(RelativeShift.least(call), count, settings.maxDistance);
            return summedEnds(temporaries, byPosition, clipped).matMul(clipped.rows(temporaries, vectors));
        }
    }

    /** The reverse of {@link #repeatedEnds}: sums the columns that are repeated there. */
    private static NDArray summedEnds(Temporaries temporaries, NDArray columns, Clipped clipped) {
        long width = columns.getShape().get(3);
        // where the middle, which is not summed, begins and ends
        long from = clipped.front > 0 ? clipped.front + 1L : 0;
        long to = clipped.end > 0 ? width - clipped.end - 1 : width;
        if (to - from == width) {
            return columns;
        }
        if (clipped.first == clipped.last) {
            return temporaries.add(columns.sum(new int[] {3}, true));
        }
        // a split has one array of gradients, where slices would have one each
        NDList parts = columns.split(
                LongStream.of(from, to)
                        .filter(at -> at > 0 && at < width)
                        .distinct()
                        .toArray(),
                3);
        parts.forEach(temporaries::add);
        if (from > 0) {
            parts.set(0, temporaries.add(parts.head().sum(new int[] {3}, true)));
        }
        if (to < width) {
            int last = parts.size() - 1;
            parts.set(last, temporaries.add(parts.get(last).sum(new int[] {3}, true)));
        }
        return temporaries.add(NDArrays.concat(parts, 3));
    }

    /** Builds a {@link ShawRelativePositionBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets H, the size of a head: the attention's embedding size by its head count.
         *
         * @param headSize at least 1
         * @return this builder
         */
        public Builder setHeadSize(int headSize) {
            return options.set("headSize", headSize);
        }

        /**
         * Sets k, the distance from which all positions share a vector (default: 16, as in the paper).
         *
         * @param maxDistance steps, from 1 to 2<sup>29</sup>
         * @return this builder
         */
        public Builder optMaxDistance(int maxDistance) {
            return options.set("maxDistance", maxDistance);
        }

        /**
         * Sets whether the values have vectors too (default: true). According to table 3 of the paper, the vectors of
         * the keys suffice for translation.
         *
         * @param values false if only the keys have vectors
         * @return this builder
         */
        public Builder optValues(boolean values) {
            return options.set("values", values);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is out of range
         */
        public ShawRelativePositionBlock build() {
            return new ShawRelativePositionBlock(options.build());
        }
    }
}
