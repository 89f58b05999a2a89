package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.Rows;
import java.util.List;
import java.util.Map;

/**
 * Disentangled attention: learned vectors of relative positions, projected for the queries and for the keys. After He
 * et al., <em>DeBERTa: Decoding-enhanced BERT with Disentangled Attention</em> (2021), section 3.1, with the
 * logarithmic buckets of DeBERTa V2 and V3. A score is
 *
 * <pre>
 * (qᵢ · kⱼ + qᵢ · Wₖ P[δ(i - j)] + kⱼ · W_q P[δ(i - j)]) / √(3H)
 * </pre>
 *
 * <p>The second term is called content-to-position, the third position-to-content. With k buckets on each side, δ(d) =
 * d + k for |d| ≤ k / 2. Larger distances share buckets, which grow logarithmically up to the maximum distance. An
 * attention with this encoding has the scale 1 / √(3H), unless another is set; with one of the two terms, 1 / √(2H).
 *
 * <p>P and the projections are parameters of this block: {@code vectors}, (2k, D), {@code keyWeight} and
 * {@code queryWeight}, (D, D), {@code keyBias} and {@code queryBias}, (D); with {@link Builder#optVectorNormEpsilon} P
 * is normalized first, and {@code vectorScale} and {@code vectorOffset}, (D), are parameters too. In a published model,
 * all layers share P, which is {@code rel_embeddings}, and with {@code share_att_key} the projections are those of the
 * attention; {@code HuggingFaceModel} loads them into each block.
 *
 * <p>D = N · H. The term depends on the keys too: in the block's own forward, {@code [queries, keys]} are (B, N, T, H)
 * and (B, N, F, H), and {@code [x]} stands for {@code [x, x]}. The output is the sum of both terms, unscaled.
 *
 * @see <a href="https://arxiv.org/abs/2006.03654">DeBERTa: Decoding-enhanced BERT with Disentangled Attention</a>
 */
public final class DisentangledPositionBlock extends ScoreTermBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    record Options(
            @Range(min = 1) int embeddingSize,
            @Range(min = 1) int headCount,
            @Default("256") @Range(min = 2, max = 1 << 20) int buckets,
            @Default("512") int maxDistance,
            @Default("true") boolean logarithmic,
            @Default("true") boolean contentToPosition,
            @Default("true") boolean positionToContent,
            @Range(above = 0) Double vectorNormEpsilon) {

        Options {
            Check.divides("headCount", headCount, "embeddingSize", embeddingSize);
            if (logarithmic) {
                Check.between("maxDistance", maxDistance, buckets / 2 + 2, ForwardParameters.UNLIMITED);
            }
            Check.that(
                    contentToPosition || positionToContent,
                    "contentToPosition false and positionToContent false: expected one term or both; leave one of the"
                            + " calls out, or use no encoding");
        }

        /** The number of products in a score. */
        int products() {
            return 1 + (contentToPosition ? 1 : 0) + (positionToContent ? 1 : 0);
        }

        int headSize() {
            return embeddingSize / headCount;
        }

        /** The distance from which all keys on a side share a row. */
        int lastDistance() {
            int last = logarithmic ? maxDistance : buckets;
            while (row(last) != row(ForwardParameters.UNLIMITED) || row(-last) != row(-ForwardParameters.UNLIMITED)) {
                last = (int) Math.min(ForwardParameters.UNLIMITED, 2L * last);
            }
            return last;
        }

        /** The index of the row of P for a query's position minus a key's. */
        int row(int difference) {
            int middle = buckets / 2;
            int distance = Math.abs(difference);
            if (distance > middle && logarithmic) {
                double fraction = Math.log((double) distance / middle) / Math.log((maxDistance - 1.0) / middle);
                distance = middle + (int) Math.min(buckets, Math.ceil(fraction * (middle - 1)));
            }
            int bucket = difference < 0 ? -distance : distance;
            return Math.max(-buckets, Math.min(buckets - 1, bucket)) + buckets;
        }
    }

    private final Options options;
    private final Parameter vectors;

    /** Null for none. */
    private final Layer vectorNorm;

    /** Null without the content-to-position term. */
    private final Layer keyProjection;

    /** Null without the position-to-content term. */
    private final Layer queryProjection;

    private final ConstantTable bucketRows;
    private final int lastDistance;

    private DisentangledPositionBlock(Options options) {
        super(options, options.headCount, options.headSize());
        this.options = options;
        int size = options.embeddingSize;
        vectors = addParameter(
                "vectors", new Shape(2L * options.buckets, size), new NormalInitializer(STANDARD_DEVIATION));
        vectorNorm = options.vectorNormEpsilon == null ? null : addNorm("vectorScale", "vectorOffset", size);
        keyProjection = options.contentToPosition ? addLayer("keyWeight", "keyBias", size, size) : null;
        queryProjection = options.positionToContent ? addLayer("queryWeight", "queryBias", size, size) : null;
        lastDistance = options.lastDistance();
        bucketRows = addDistances(Rows.of(1, (distance, column) -> options.row((int) -distance)));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static DisentangledPositionBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public Double defaultScale() {
        return 1 / Math.sqrt((double) options.products() * options.headSize());
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.scores(this::scores));
    }

    private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
        requireKeys(call, queries, keys);
        if (call.queries().count() > 1 && isByDistance(call)) {
            Distances distances = call.distances(queries);
            return sum(
                    keyProjection == null ? null : byQueryAndDistance(call, queries, distances),
                    queryProjection == null ? null : byKeyAndDistance(call, queries, keys, distances));
        }
        NDArray rows = call.queries().count() == 1 && !call.hasPositions()
                ? call.shared(vectors, 1, call.distances(queries), this::rowIndices)
                        .expandDims(1)
                : bucketIndices(call, queries);
        NDArray byQuery =
                keyProjection == null ? null : selected(queries.matMul(projected(keyProjection, call, queries)), rows);
        NDArray byKey = queryProjection == null ? null : byKey(call, queries, keys, rows);
        return scaled(call, sum(byQuery, byKey));
    }

    /** The sum of two terms, of which one may be null. */
    private static NDArray sum(NDArray byQuery, NDArray byKey) {
        return byQuery == null ? byKey : byKey == null ? byQuery : byQuery.add(byKey);
    }

    /** Whether products for each distance are faster than products for each row of P, which are then selected. */
    private boolean isByDistance(AttentionCall call) {
        return !call.hasPositions() && !call.causal();
    }

    private NDArray byQueryAndDistance(AttentionCall call, NDArray queries, Distances distances) {
        return RelativeShift.products(
                queries,
                columns(keyProjection, call, queries, distances),
                call.keys().count());
    }

    /** For a key, the distance decreases from the first query to the last. */
    private NDArray byKeyAndDistance(AttentionCall call, NDArray queries, NDArray keys, Distances distances) {
        return RelativeShift.products(
                        ofHeads(queries, keys),
                        columns(queryProjection, call, queries, distances).flip(3),
                        call.queries().count())
                .transpose(0, 1, 3, 2);
    }

    /** The products of each key and the row of W_q P for each query, (B, N, T, F). */
    private NDArray byKey(AttentionCall call, NDArray queries, NDArray keys, NDArray bucketIndices) {
        if (call.queries().count() == 1) {
            // only the row for each key's distance
            NDArray rows = call.hasPositions()
                    ? rowsOfKeys(call, queries, bucketIndices.squeeze(1))
                    : call.shared(
                            bucketRows,
                            2,
                            call.distances(queries),
                            distances -> rowsOfKeys(call, queries, rowIndices(distances)));
            return ofHeads(queries, keys).mul(rows).sum(new int[] {3}).expandDims(2);
        }
        // the products of keys and W_q P, (B, N, F, 2k)
        NDArray products = call.shared(
                this, 2, keys, all -> ofHeads(queries, all).matMul(projected(queryProjection, call, queries)));
        return selected(products, bucketIndices.transpose(0, 2, 1)).transpose(0, 1, 3, 2);
    }

    /** W P + b of consecutive distances, times the scale, (1, N, H, size). */
    private NDArray columns(Layer layer, AttentionCall call, NDArray queries, Distances distances) {
        return call.shared(layer, 3, distances, each -> {
            NDArray rows = Indices.lookUp(rowIndices(each), flat(layer, call, queries), queries.getManager());
            return scaled(call, byHead(rows)).transpose(0, 1, 3, 2);
        });
    }

    /** The indices of the rows of P for consecutive distances, (1, size), INT32. */
    private NDArray rowIndices(Distances distances) {
        NDArray rows = constants(bucketRows, distances, lastDistance, DataType.FLOAT32);
        return Arithmetic.toType(rows.reshape(1, distances.size()), DataType.INT32);
    }

    /** The row of W_q P for each key, (1 or B, N, F, H). */
    private NDArray rowsOfKeys(AttentionCall call, NDArray queries, NDArray bucketIndices) {
        return byHead(Indices.lookUp(bucketIndices, flat(queryProjection, call, queries), queries.getManager()));
    }

    /** From (1 or B, F, N · H) to (1 or B, N, F, H). */
    private NDArray byHead(NDArray rows) {
        Shape shape = rows.getShape();
        return rows.reshape(shape.get(0), shape.get(1), options.headCount, options.headSize())
                .transpose(0, 2, 1, 3);
    }

    /** W P + b, (1, N, H, 2k). */
    private NDArray projected(Layer layer, AttentionCall call, NDArray queries) {
        return flat(layer, call, queries)
                .reshape(1, -1, options.headCount, options.headSize())
                .transpose(0, 2, 3, 1);
    }

    /** W P + b, (2k, N · H). */
    private NDArray flat(Layer layer, AttentionCall call, NDArray queries) {
        return call.shared(layer.weight(), () -> linear(layer, call, vectors(call, queries)));
    }

    /** P, (2k, D). */
    private NDArray vectors(AttentionCall call, NDArray queries) {
        NDArray all = call.value(vectors, queries);
        return vectorNorm == null ? all : normalized(vectorNorm, call, all, options.vectorNormEpsilon.floatValue());
    }

    /** The index of the row of P for each query and key, (1 or B, T, F), INT32. */
    private NDArray bucketIndices(AttentionCall call, NDArray queries) {
        int limit = Math.min(
                lastDistance, Math.max(call.queries().end(), call.keys().end()));
        NDArray found = constants(bucketRows, call.distancesOfPairs(queries, DataType.INT32), limit, DataType.FLOAT32);
        return Arithmetic.toType(found.squeeze(3), DataType.INT32);
    }

    /** Builds a {@link DisentangledPositionBlock}. */
    public static final class Builder extends HeadsBuilder<DisentangledPositionBlock, Builder> {

        private Builder() {
            super(Options.class, DisentangledPositionBlock::new);
        }

        /** Sets D, the attention's embedding size, a multiple of the head count. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets k, the number of buckets on each side, from 2 to 2<sup>20</sup> (default: 256, {@code position_buckets}
         * of V2 and V3).
         */
        public Builder optBuckets(int buckets) {
            return set("buckets", buckets);
        }

        /**
         * Gives each distance up to k a row of its own instead of sharing logarithmic buckets, as in DeBERTa V1, and in
         * V2 with {@code position_buckets} -1, where k is {@code max_relative_positions} (default: true). With false,
         * the maximum distance has no effect.
         */
        public Builder optLogarithmic(boolean logarithmic) {
            return set("logarithmic", logarithmic);
        }

        /**
         * Adds the term q · W<sub>k</sub> P, {@code c2p} in {@code pos_att_type} (default: true). Without it, the scale
         * is 1 / √(2H), and there are no {@code keyWeight} and {@code keyBias}.
         */
        public Builder optContentToPosition(boolean contentToPosition) {
            return set("contentToPosition", contentToPosition);
        }

        /**
         * Adds the term k · W<sub>q</sub> P, {@code p2c} in {@code pos_att_type} (default: true). Without it, the scale
         * is 1 / √(2H), and there are no {@code queryWeight} and {@code queryBias}.
         */
        public Builder optPositionToContent(boolean positionToContent) {
            return set("positionToContent", positionToContent);
        }

        /**
         * Normalizes P, with a layer normalization of this epsilon, as V2 and V3 do with {@code norm_rel_ebd} (default:
         * no normalization).
         */
        public Builder optVectorNormEpsilon(double epsilon) {
            return set("vectorNormEpsilon", epsilon);
        }

        /**
         * Sets the distance in positions from which all keys share a bucket, at least k / 2 + 2 (default: 512,
         * {@code max_position_embeddings} of V2 and V3).
         */
        public Builder optMaxDistance(int maxDistance) {
            return set("maxDistance", maxDistance);
        }
    }
}
