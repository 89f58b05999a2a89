package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Product;
import io.github.djlpositional.internal.StartPosition;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;

/**
 * Learned vectors for relative positions, added to the keys and to the values, after Shaw, Uszkoreit and Vaswani,
 * <em>Self-Attention with Relative Position Representations</em> (2018). Positions farther apart than a clipping distance k
 * share the vectors of k. All heads share the vectors.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(ShawRelativePositionBlock.builder().setHeadSize(64).build())
 *         .build();
 * }</pre>
 *
 * <p>With a<sup>K</sup> and a<sup>V</sup> the vectors and c(d) = max(-k, min(k, d)), a score of the paper's equation 4 is
 * q<sub>i</sub> · (k<sub>j</sub> + a<sup>K</sup><sub>c(j - i)</sub>), and a result of its equation 3
 * Σ<sub>j</sub> p<sub>ij</sub> · (v<sub>j</sub> + a<sup>V</sup><sub>c(j - i)</sub>). Queries meet the 2k + 1 vectors, not one
 * for each pair of positions, and weights are summed by relative position before they meet them: no array of the shape
 * (T, F, H) is made.
 *
 * <h2>Inputs and output</h2>
 *
 * B batch, T queries, F keys, N heads, H head size, D embedding size.
 *
 * <ul>
 *   <li>{@code [queries]}: (B, N, T, H), of the data type of the vectors. The queries have the positions s … s + T - 1 and the
 *       keys 0 … s + T - 1, where s is the forward parameter {@code startPosition}, an Integer or Long, 0 without it.
 *   <li>{@code [queries, keys]}: keys is (…, F, D); they have the positions 0 … F - 1.
 * </ul>
 *
 * The output is the term of the keys, q<sub>i</sub> · a<sup>K</sup><sub>c(j - i)</sub>, unscaled: (B, N, T, F), on the
 * queries' device, attached to their manager and the caller's to close.
 *
 * <p>A forward throws {@link IllegalArgumentException} for queries of another shape or data type and a negative start.
 */
public final class ShawRelativePositionBlock extends ScoreTermBlock {

    private static final int DEFAULT_MAX_DISTANCE = 16;

    private final int headSize;
    private final int maxDistance;
    private final Parameter keyVectors;

    /** Null where only the keys have vectors. */
    private final Parameter valueVectors;

    private ShawRelativePositionBlock(Builder builder) {
        super(new BlockSettings(ShawRelativePositionBlock.class)
                .with("headSize", builder.headSize)
                .with("maxDistance", builder.maxDistance)
                .with("values", builder.values));
        headSize = builder.headSize;
        maxDistance = builder.maxDistance;
        keyVectors = addParameter(vectors("keys"));
        valueVectors = builder.values ? addParameter(vectors("values")) : null;
    }

    private Parameter vectors(String name) {
        // so that their mean norm is that of the projected keys at a start after Glorot and Bengio
        return LearnedTerms.table(name, tableShape(), new NormalInitializer((float) (1 / Math.sqrt(headSize))));
    }

    private Shape tableShape() {
        return new Shape(2L * maxDistance + 1, headSize);
    }

    /**
     * Returns a builder.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Makes a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static ShawRelativePositionBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(ShawRelativePositionBlock.class, arguments);
        Builder builder = builder();
        builder.setHeadSize(given.getInt("headSize"));
        given.optInt("maxDistance").ifPresent(builder::optMaxDistance);
        given.optFlag("values").ifPresent(builder::optValues);
        given.requireNoOthers();
        return builder.build();
    }

    /**
     * Returns the vectors that are added to the keys, the first for keys k or more before the query.
     *
     * @return the parameter a<sup>K</sup>, (2k + 1, H), in the model's data type; this block's
     */
    public Parameter getKeyVectors() {
        return keyVectors;
    }

    /**
     * Returns the vectors that are added to the values.
     *
     * @return the parameter a<sup>V</sup>, (2k + 1, H), in the model's data type; this block's; null if the block is built
     *     without
     */
    public Parameter getValueVectors() {
        return valueVectors;
    }

    @Override
    public void requireFits(int headCount, int attentionHeadSize) {
        AttentionSizes.requireSameHeadSize(headSize, attentionHeadSize, this, "setHeadSize(" + attentionHeadSize + ")");
    }

    @Override
    void requireQueries(Shape queries) {
        requireHeads(queries, "queries", -1, headSize);
    }

    @Override
    Shape outputShape(Shape queries, long length, long keyLength) {
        return new Shape(queries.get(0), queries.get(1), length, keyLength);
    }

    /**
     * Which vectors a call meets: those of relative positions first … last, the ends standing for all beyond them. Where all
     * keys are farther before, or behind, the queries than the vectors reach, both are the same end.
     */
    private record Clipped(int first, int last) {

        static Clipped of(int least, int greatest, int maxDistance) {
            return new Clipped(
                    Math.max(-maxDistance, Math.min(maxDistance, least)),
                    Math.max(-maxDistance, Math.min(maxDistance, greatest)));
        }

        /** How many columns stand before that of the first vector. */
        int front(int least, int greatest) {
            return first > greatest ? greatest - least : Math.max(0, first - least);
        }

        /** How many columns stand behind that of the last vector. */
        int end(int least, int greatest) {
            return last < least ? greatest - least : Math.max(0, greatest - last);
        }

        NDArray rows(NDArray table, int maxDistance) {
            return table.get(NDIndex.sliceAxis(0, (long) first + maxDistance, (long) last + maxDistance + 1));
        }
    }

    /**
     * {@inheritDoc}
     *
     * @return scale · q<sub>i</sub> · a<sup>K</sup><sub>c(j - i)</sub>, (B, N, T, F)
     */
    @Override
    public NDArray scoreTerm(AttentionCall call, NDArray queries) {
        NDArray table = vectors(keyVectors, call, queries);
        int least = RelativeShift.least(call);
        int greatest = least + RelativeShift.columns(call) - 1;
        Clipped clipped = Clipped.of(least, greatest, maxDistance);
        try (Temporaries temporaries = new Temporaries()) {
            NDArray rows = temporaries.add(clipped.rows(table, maxDistance));
            NDArray scaled = call.scale() == 1 ? rows : temporaries.add(Product.of(rows, call.scale()));
            NDArray products = temporaries.add(queries.matMul(temporaries.add(scaled.transpose(1, 0))));
            NDArray byPosition =
                    repeatedEnds(temporaries, products, clipped.front(least, greatest), clipped.end(least, greatest));
            return RelativeShift.toKeys(byPosition, call.keyLength());
        }
    }

    /** (B, N, T, C) with the first column so many times more in front, and the last so many times more at the end. */
    private static NDArray repeatedEnds(Temporaries temporaries, NDArray columns, int front, int end) {
        Shape shape = columns.getShape();
        long width = shape.get(3);
        NDList parts = new NDList(columns);
        if (front > 0) {
            NDArray first = temporaries.add(columns.get(NDIndex.sliceAxis(3, 0, 1)));
            parts.add(0, temporaries.add(first.broadcast(withWidth(shape, front))));
        }
        if (end > 0) {
            NDArray last = temporaries.add(columns.get(NDIndex.sliceAxis(3, width - 1, width)));
            parts.add(temporaries.add(last.broadcast(withWidth(shape, end))));
        }
        return parts.size() == 1 ? columns : temporaries.add(NDArrays.concat(parts, 3));
    }

    private static Shape withWidth(Shape shape, int width) {
        return new Shape(shape.get(0), shape.get(1), shape.get(2), width);
    }

    /**
     * {@inheritDoc}
     *
     * @return Σ<sub>j</sub> p<sub>ij</sub> · a<sup>V</sup><sub>c(j - i)</sub>, (B, N, T, H); null if the block is built without
     *     values
     */
    @Override
    public NDArray valueTerm(AttentionCall call, NDArray probabilities) {
        if (valueVectors == null) {
            return null;
        }
        NDArray table = vectors(valueVectors, call, probabilities);
        int least = RelativeShift.least(call);
        int greatest = least + call.keyLength() + call.queryLength() - 2;
        Clipped clipped = Clipped.of(least, greatest, maxDistance);
        try (Temporaries temporaries = new Temporaries()) {
            NDArray byPosition = temporaries.add(RelativeShift.toPositions(probabilities));
            NDArray weights =
                    summedEnds(temporaries, byPosition, clipped.front(least, greatest), clipped.end(least, greatest));
            return weights.matMul(temporaries.add(clipped.rows(table, maxDistance)));
        }
    }

    /** The reverse of {@link #repeatedEnds}: (B, N, T, C), so many columns in front summed into the first that stays. */
    private static NDArray summedEnds(Temporaries temporaries, NDArray columns, int front, int end) {
        if (front == 0 && end == 0) {
            return columns;
        }
        long width = columns.getShape().get(3);
        if (width - front - end == 1) {
            return temporaries.add(columns.sum(new int[] {3}, true));
        }
        NDList parts = new NDList();
        if (front > 0) {
            parts.add(summed(temporaries, columns, 0, front + 1L));
        }
        long from = front > 0 ? front + 1L : 0;
        long to = end > 0 ? width - end - 1 : width;
        if (from < to) {
            parts.add(temporaries.add(columns.get(NDIndex.sliceAxis(3, from, to))));
        }
        if (end > 0) {
            parts.add(summed(temporaries, columns, width - end - 1, width));
        }
        return temporaries.add(NDArrays.concat(parts, 3));
    }

    private static NDArray summed(Temporaries temporaries, NDArray columns, long from, long to) {
        return temporaries.add(
                temporaries.add(columns.get(NDIndex.sliceAxis(3, from, to))).sum(new int[] {3}, true));
    }

    private static NDArray vectors(Parameter parameter, AttentionCall call, NDArray met) {
        NDArray table = call.parameterStore().getValue(parameter, met.getDevice(), call.training());
        DataTypes.requireSame(met, table, "relative vectors");
        return table;
    }

    /** Builds a {@link ShawRelativePositionBlock}. */
    public static final class Builder {

        private int headSize;
        private int maxDistance = DEFAULT_MAX_DISTANCE;
        private boolean values = true;

        private Builder() {}

        /**
         * Sets H, the size of a head: the attention's embedding size by its head count.
         *
         * @param headSize at least 1
         * @return this builder
         */
        public Builder setHeadSize(int headSize) {
            this.headSize = headSize;
            return this;
        }

        /**
         * Sets k, the distance from which on all share a vector; 16 without it, the paper's.
         *
         * @param maxDistance steps, at least 1
         * @return this builder
         */
        public Builder optMaxDistance(int maxDistance) {
            this.maxDistance = maxDistance;
            return this;
        }

        /**
         * Sets whether the values have vectors too; true without it. The paper's table 3 finds that those of the keys suffice
         * for translation.
         *
         * @param values false for the keys alone
         * @return this builder
         */
        public Builder optValues(boolean values) {
            this.values = values;
            return this;
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is outside its range
         */
        public ShawRelativePositionBlock build() {
            BuilderChecks.requirePositive("head size", headSize, "setHeadSize(int)");
            BuilderChecks.requirePositive("maximum distance", maxDistance, "optMaxDistance(int)");
            if (maxDistance > StartPosition.UNLIMITED) {
                throw new IllegalArgumentException(
                        "maximum distance " + maxDistance + " is too great: allowed is up to " + StartPosition.UNLIMITED
                                + "; give a smaller one with optMaxDistance(int)");
            }
            return new ShawRelativePositionBlock(this);
        }
    }
}
