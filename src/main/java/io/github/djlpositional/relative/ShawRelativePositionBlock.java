package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * Learned vectors for relative positions, added to the keys and to the values, after Shaw, Uszkoreit and Vaswani,
 * <em>Self-Attention with Relative Position Representations</em> (2018). Positions farther apart than a clipping
 * distance k share the vectors of k. All heads share the vectors. They are the parameters {@code keys} and
 * {@code values}, (2k + 1, H), of which the first row is for keys that are k or more before the query. With
 * {@link Builder#optMaxDistanceAfter}, k' is the clipping distance of keys after the query, and there are k + 1 + k'
 * rows.
 *
 * <p>With a<sup>K</sup> and a<sup>V</sup> the vectors and c(d) = max(-k, min(k, d)), a score is q<sub>i</sub> ·
 * (k<sub>j</sub> + a<sup>K</sup><sub>c(j - i)</sub>) (equation 4 of the paper), and a result is Σ<sub>j</sub>
 * p<sub>ij</sub> · (v<sub>j</sub> + a<sup>V</sup><sub>c(j - i)</sub>) (equation 3). Queries are multiplied by the 2k +
 * 1 vectors, not by one vector for each pair of positions, and weights are summed by relative position before they are
 * multiplied by vectors. No array of the shape (T, F, H) is created.
 *
 * <p>The output of the block's own forward is the term of the keys, q<sub>i</sub> · a<sup>K</sup><sub>c(j - i)</sub>.
 * With {@link Builder#optKeyProducts}, k<sub>j</sub> · a<sup>K</sup><sub>c(j - i)</sub> is added to it, and the forward
 * takes {@code [queries, keys]}, (B, N, T, H) and (B, N, F, H).
 *
 * <p>Tables of other code may be in the reverse order, from keys after the query to keys before it:
 * {@code WeightLoader.reverseRows} loads them.
 *
 * @see <a href="https://arxiv.org/abs/1803.02155">Self-Attention with Relative Position Representations</a>
 * @see <a href="https://arxiv.org/abs/2009.13658">Improve Transformer Models with Better Relative Position
 *     Embeddings</a>
 */
public final class ShawRelativePositionBlock extends ScoreTermBlock {

    record Options(
            @Range(min = 1) int headSize,

            @Default("16") @Range(min = 1, max = ForwardParameters.UNLIMITED)
            int maxDistance,

            @Range(min = 0, max = ForwardParameters.UNLIMITED)
            Integer maxDistanceAfter,

            @Default("true") boolean clipped,
            @Default("true") boolean values,
            @Default("false") boolean keyProducts) {

        /** The number of vectors of keys before the query, with one of zeros for the keys beyond. */
        int before() {
            return clipped ? maxDistance : maxDistance + 1;
        }

        /** The same for keys after the query. */
        int after() {
            return clipped ? farthestAfter() : farthestAfter() + 1;
        }

        private int farthestAfter() {
            return maxDistanceAfter == null ? maxDistance : maxDistanceAfter;
        }

        /** The rows of a parameter. */
        long rows() {
            return 1L + maxDistance + farthestAfter();
        }
    }

    private final Options options;
    private final Parameter keyVectors;

    /** Null if only the keys have vectors. */
    private final Parameter valueVectors;

    private ShawRelativePositionBlock(Options options) {
        super(options, -1, options.headSize);
        this.options = options;
        keyVectors = addVectors("keys");
        valueVectors = options.values ? addVectors("values") : null;
    }

    private Parameter addVectors(String name) {
        // gives the vectors the mean norm of keys after a Glorot-initialized projection
        float deviation = (float) (1 / Math.sqrt(options.headSize));
        return addParameter(name, new Shape(options.rows(), options.headSize), new NormalInitializer(deviation));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static ShawRelativePositionBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /**
     * The vectors for consecutive relative positions, from first to last. The first also stands for {@code front} more
     * positions before it, and the last for {@code end} more positions after it. If all positions are clipped to the
     * same end, first and last are equal.
     */
    private record Clipped(int first, int last, int front, int end) {

        static Clipped of(int smallest, int count, Options options) {
            int largest = smallest + count - 1;
            int first = Math.max(-options.before(), Math.min(options.after(), smallest));
            int last = Math.max(-options.before(), Math.min(options.after(), largest));
            return new Clipped(
                    first,
                    last,
                    Math.max(0, Math.min(first, largest) - smallest),
                    Math.max(0, largest - Math.max(last, smallest)));
        }

        /** The vectors, of all of which one is that of the distance 0. */
        NDArray of(NDArray vectors, long zero) {
            return vectors.get(NDIndex.sliceAxis(0, zero + first, zero + last + 1));
        }
    }

    @Override
    public List<Term> terms() {
        Term ofKeys = Term.scores(this::scores).withPairSize(this::pairSize);
        Term ofValues = Term.values(this::weightedVectors).withPairSize(this::pairSize);
        return valueVectors == null ? List.of(ofKeys) : List.of(ofKeys, ofValues);
    }

    /** With explicit positions, a vector for each query and key. */
    private long pairSize(AttentionCall call) {
        return call.hasPositions() ? sequences(call) * options.headSize : 0;
    }

    private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
        NDArray byQuery = call.hasPositions() ? termOfPositions(call, queries) : termOfIndices(call, queries);
        return options.keyProducts ? byQuery.add(termOfKeys(call, queries, keys)) : byQuery;
    }

    private NDArray termOfPositions(AttentionCall call, NDArray queries) {
        NDArray vectors = vectorsOfPairs(keyVectors, call, queries);
        NDArray byQuery = scaled(call, queries).transpose(0, 2, 1, 3);
        return byQuery.matMul(vectors.transpose(0, 1, 3, 2)).transpose(0, 2, 1, 3);
    }

    /** The products of the keys and the vector for each query, (B, N, T, F). */
    private NDArray termOfKeys(AttentionCall call, NDArray queries, NDArray keys) {
        requireKeys(call, queries, keys);
        if (call.queries().count() == 1) {
            NDArray vectors = vectorsOfPairs(keyVectors, call, queries); // (1 or B, 1, F, H)
            return scaled(call, ofHeads(queries, keys).mul(vectors).sum(new int[] {3}))
                    .expandDims(2);
        }
        NDArray products = call.shared(this, 2, keys, all -> {
            NDArray rows = scaled(call, vectors(keyVectors, call, queries));
            return Arithmetic.multiplyRows(ofHeads(queries, all), rows.transpose(1, 0));
        });
        return selected(products, rowsOfPairs(call, queries).transpose(0, 2, 1)).transpose(0, 1, 3, 2);
    }

    /** The vectors of all distances, between rows of zeros for the keys beyond them unless distances are clipped. */
    private NDArray vectors(Parameter parameter, AttentionCall call, NDArray like) {
        return options.clipped
                ? call.value(parameter, like)
                : call.shared(parameter, () -> betweenZeros(call.value(parameter, like), like));
    }

    /** The vector for each query and key, (1 or B, T, F, H). */
    private NDArray vectorsOfPairs(Parameter parameter, AttentionCall call, NDArray input) {
        return Indices.lookUp(rowsOfPairs(call, input), vectors(parameter, call, input), input.getManager());
    }

    /** The row of the vector for each query and key, (1 or B, T, F), INT32. */
    private NDArray rowsOfPairs(AttentionCall call, NDArray like) {
        NDArray rows = Arithmetic.add(call.distancesOfPairs(like, DataType.INT32), options.before());
        int last = options.before() + options.after();
        return rows.maximum(Arithmetic.number(rows, 0)).minimum(Arithmetic.number(rows, last));
    }

    private NDArray termOfIndices(AttentionCall call, NDArray queries) {
        Distances distances = call.distances(queries);
        Clipped clipped = Clipped.of(distances.first(), distances.size(), options);
        NDArray rows = scaled(call, clipped.of(vectors(keyVectors, call, queries), options.before()));
        NDArray products = Arithmetic.multiplyRows(queries, rows.transpose(1, 0));
        return RelativeShift.toKeys(repeatedEnds(products, clipped), call.keys().count());
    }

    /** Repeats the first and the last column: (B, N, T, C) to (B, N, T, front + C + end). */
    private static NDArray repeatedEnds(NDArray columns, Clipped clipped) {
        NDList slices = new NDList(columns);
        if (clipped.front > 0) {
            slices.add(0, repeated(columns, 0, clipped.front));
        }
        if (clipped.end > 0) {
            slices.add(repeated(columns, columns.getShape().get(3) - 1, clipped.end));
        }
        return slices.size() == 1 ? columns : NDArrays.concat(slices, 3);
    }

    private static NDArray repeated(NDArray columns, long column, int count) {
        return columns.get(NDIndex.sliceAxis(3, column, column + 1))
                .broadcast(Shape.update(columns.getShape(), 3, count));
    }

    private NDArray weightedVectors(AttentionCall call, NDArray probabilities) {
        if (call.hasPositions()) {
            NDArray vectors = vectorsOfPairs(valueVectors, call, probabilities);
            return probabilities.transpose(0, 2, 1, 3).matMul(vectors).transpose(0, 2, 1, 3);
        }
        int last = call.queries().first() + call.queries().count() - 1;
        int count = call.keys().count() + call.queries().count() - 1;
        Clipped clipped = Clipped.of(call.keys().first() - last, count, options);
        NDArray vectors = clipped.of(vectors(valueVectors, call, probabilities), options.before());
        return Arithmetic.multiplyRows(summedEnds(RelativeShift.toPositions(probabilities), clipped), vectors);
    }

    /** The reverse of {@link #repeatedEnds}: sums the repeated columns. */
    private static NDArray summedEnds(NDArray columns, Clipped clipped) {
        long width = columns.getShape().get(3);
        // the range of the middle columns, which are not summed
        long from = clipped.front > 0 ? clipped.front + 1L : 0;
        long to = clipped.end > 0 ? width - clipped.end - 1 : width;
        if (to - from == width) {
            return columns;
        }
        if (clipped.first == clipped.last) {
            return columns.sum(new int[] {3}, true);
        }
        long[] cuts = LongStream.of(from, to)
                .filter(at -> at > 0 && at < width)
                .distinct()
                .toArray();
        NDList slices = split(columns, cuts);
        if (from > 0) {
            slices.set(0, slices.head().sum(new int[] {3}, true));
        }
        if (to < width) {
            int last = slices.size() - 1;
            slices.set(last, slices.get(last).sum(new int[] {3}, true));
        }
        return NDArrays.concat(slices, 3);
    }

    /** On PyTorch, a split records one array of gradients, and slices one each; on MXNet, slices are faster. */
    private static NDList split(NDArray columns, long... cuts) {
        if (Arithmetic.isPyTorch(columns)) {
            return columns.split(cuts, 3);
        }
        NDList slices = new NDList();
        long start = 0;
        for (long cut : LongStream.concat(
                        LongStream.of(cuts), LongStream.of(columns.getShape().get(3)))
                .toArray()) {
            slices.add(columns.get(NDIndex.sliceAxis(3, start, cut)));
            start = cut;
        }
        return slices;
    }

    /** Builds a {@link ShawRelativePositionBlock}. */
    public static final class Builder extends BlockBuilder<ShawRelativePositionBlock, Builder> {

        private Builder() {
            super(Options.class, ShawRelativePositionBlock::new);
        }

        /** Sets H, the size of a head, at least 1. */
        public Builder setHeadSize(int headSize) {
            return set("headSize", headSize);
        }

        /**
         * Sets k, the distance from which all positions share a vector, from 1 to 2<sup>29</sup> (default: 16, as in
         * the paper).
         */
        public Builder optMaxDistance(int maxDistance) {
            return set("maxDistance", maxDistance);
        }

        /**
         * Sets k', the distance from which all keys after the query share a vector, from 0 to 2<sup>29</sup> (default:
         * k); {@code right_max_position_embeddings} of Wav2Vec2-BERT, whose {@code left_max_position_embeddings} is k.
         */
        public Builder optMaxDistanceAfter(int maxDistanceAfter) {
            return set("maxDistanceAfter", maxDistanceAfter);
        }

        /**
         * Gives keys beyond the clipping distance the vector of that distance (default: true). With false they have
         * none, as if it were 0: VITS, where k is {@code window_size}.
         */
        public Builder optClipped(boolean clipped) {
            return set("clipped", clipped);
        }

        /**
         * Adds vectors to the values too (default: true); for translation, key vectors suffice (table 3 of the paper).
         */
        public Builder optValues(boolean values) {
            return set("values", values);
        }

        /**
         * Adds the products of the keys and the vectors, too (default: false): method 4 of Huang et al. (2020), BERT's
         * {@code relative_key_query}. Each key is multiplied by all vectors.
         */
        public Builder optKeyProducts(boolean keyProducts) {
            return set("keyProducts", keyProducts);
        }
    }
}
