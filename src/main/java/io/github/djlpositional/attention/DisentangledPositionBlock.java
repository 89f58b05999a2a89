package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;
import java.util.Objects;

/**
 * Disentangled attention: learned vectors of relative positions, projected for the queries and for the keys. After He
 * et al., <em>DeBERTa: Decoding-enhanced BERT with Disentangled Attention</em> (2021), section 3.1, with the
 * logarithmic buckets of DeBERTa V2 and V3. A score is
 *
 * <pre>
 * (qᵢ · kⱼ + qᵢ · Wₖ P[δ(i - j)] + kⱼ · W_q P[δ(i - j)]) / √(3H)
 * </pre>
 *
 * <p>The second term is called content to position, the third one position to content. With k buckets on each side,
 * δ(d) = d + k for |d| ≤ k / 2; greater distances share buckets, which grow with the logarithm, up to the greatest
 * distance. An attention with this encoding has the scale 1 / √(3H), unless another is set.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(768)
 *         .setHeadCount(12)
 *         .optRelativeEncoding(
 *                 DisentangledPositionBlock.builder().setEmbeddingSize(768).setHeadCount(12).build())
 *         .build();
 * }</pre>
 *
 * <p>P and the projections are parameters of this block: {@code vectors}, (2k, D), {@code keyWeight} and
 * {@code queryWeight}, (D, D), {@code keyBias} and {@code queryBias}, (D). To load a published model, set the vectors
 * to its {@code rel_embeddings} after their layer normalization; with {@code share_att_key}, copy the weights of the
 * attention's own projections of keys and queries.
 *
 * <p>Inputs and errors are those of {@link ShawRelativePositionBlock}, with D = N · H, but the content of the keys
 * matters: {@code [queries, keys]} are (B, N, T, H) and (B, N, F, H), and {@code [x]} stands for {@code [x, x]}. The
 * output is the sum of both terms, unscaled.
 */
public final class DisentangledPositionBlock extends ScoreTermBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    record Settings(int embeddingSize, int headCount, Integer buckets, Integer maxDistance) {
        Settings {
            buckets = Objects.requireNonNullElse(buckets, 256);
            maxDistance = Objects.requireNonNullElse(maxDistance, 512);
            Check.positive("embeddingSize", embeddingSize);
            MultiHeadAttentionBlock.requireDivides(headCount, embeddingSize);
            Check.between("buckets", buckets, 2, 1 << 20);
            Check.between("maxDistance", maxDistance, buckets / 2 + 2, Positions.UNLIMITED);
        }

        int headSize() {
            return embeddingSize / headCount;
        }

        /** The row of P for a query's position less a key's. */
        int row(int difference) {
            int middle = buckets / 2;
            int distance = Math.abs(difference);
            if (distance > middle) {
                double share = Math.log((double) distance / middle) / Math.log((maxDistance - 1.0) / middle);
                distance = middle + (int) Math.min(buckets, Math.ceil(share * (middle - 1)));
            }
            int bucket = difference < 0 ? -distance : distance;
            return Math.max(-buckets, Math.min(buckets - 1, bucket)) + buckets;
        }
    }

    private final Settings settings;
    private final Parameter vectors;
    private final Parameter keyWeight;
    private final Parameter keyBias;
    private final Parameter queryWeight;
    private final Parameter queryBias;
    private final ConstantTable rows;

    private DisentangledPositionBlock(Settings settings) {
        super(settings, settings.headCount, settings.headSize());
        this.settings = settings;
        int size = settings.embeddingSize;
        vectors = addParameter(
                "vectors", new Shape(2L * settings.buckets, size), new NormalInitializer(STANDARD_DEVIATION));
        keyWeight = addWeights("keyWeight", size, new Shape(size, size));
        keyBias = addWeights("keyBias", size, new Shape(size));
        queryWeight = addWeights("queryWeight", size, new Shape(size, size));
        queryBias = addWeights("queryBias", size, new Shape(size));
        rows = addTable(RelativeTermBlock.tableOf(new Shape(1), (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                format.put(out, i, settings.row(-(first + i)));
            }
        }));
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
    public static DisentangledPositionBlock fromArguments(Map<?, ?> arguments) {
        return new DisentangledPositionBlock(Records.read(Settings.class, arguments));
    }

    @Override
    public Double defaultScale() {
        return 1 / Math.sqrt(3.0 * settings.headSize());
    }

    @Override
    public NDArray scoreTerm(AttentionCall call, NDArray queries, NDArray keys) {
        requireHeads(keys.getShape(), "keys", -1, settings.headSize());
        Check.that(
                keys.getShape().get(2) == call.keys().length(),
                () -> "keys of shape " + keys.getShape() + " with "
                        + call.keys().length()
                        + " keys from position 0: expected as many; give queries and keys");
        try (Temporaries temporaries = new Temporaries()) {
            NDArray chosen = rows(temporaries, call, queries);
            NDArray toPosition =
                    temporaries.add(queries.matMul(projected(temporaries, call, queries, keyWeight, keyBias)));
            NDArray toContent = temporaries.add(ofHeads(temporaries, queries, keys)
                    .matMul(projected(temporaries, call, queries, queryWeight, queryBias)));
            NDArray byQuery = selected(temporaries, toPosition, chosen);
            NDArray byKey = selected(temporaries, toContent, temporaries.add(chosen.transpose(0, 2, 1)));
            NDArray sum = temporaries.add(
                    temporaries.add(byQuery.transpose(0, 3, 1, 2)).add(temporaries.add(byKey.transpose(0, 3, 2, 1))));
            return temporaries.keep(scaled(temporaries, call, sum));
        }
    }

    /** The row of P for each query and key, (1 or B, T, F), INT32. */
    private NDArray rows(Temporaries temporaries, AttentionCall call, NDArray queries) {
        AttentionCall all = RelativeTermBlock.allOf(call);
        NDArray table = temporaries.add(RelativeTermBlock.rows(temporaries, rows, all, queries, DataType.FLOAT32)
                .squeeze(0));
        NDArray indices = RelativeTermBlock.indices(temporaries, call, queries);
        NDArray found = temporaries.add(Indices.lookUp(indices, table, queries.getManager()));
        return temporaries.add(temporaries.add(found.squeeze(3)).toType(DataType.INT32, false));
    }

    /** The keys in the data type of the queries, of as many heads. */
    private static NDArray ofHeads(Temporaries temporaries, NDArray queries, NDArray keys) {
        NDArray typed = AttentionMethod.toType(temporaries, keys, queries.getDataType());
        long group = queries.getShape().get(1) / keys.getShape().get(1);
        return group == 1 ? typed : temporaries.add(typed.repeat(1, group));
    }

    /** W P + b, (1, N, H, 2k). */
    private NDArray projected(
            Temporaries temporaries, AttentionCall call, NDArray queries, Parameter weight, Parameter bias) {
        NDArray flat = temporaries.add(Linear.linear(
                        value(temporaries, vectors, call, queries),
                        value(temporaries, weight, call, queries),
                        value(temporaries, bias, call, queries))
                .singletonOrThrow());
        NDArray heads =
                temporaries.add(flat.reshape(1, flat.getShape().get(0), settings.headCount, settings.headSize()));
        return temporaries.add(heads.transpose(0, 2, 3, 1));
    }

    /** Builds a {@link DisentangledPositionBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets D, the attention's embedding size.
         *
         * @param embeddingSize at least 1, a multiple of the head count
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return options.set("embeddingSize", embeddingSize);
        }

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
         * Sets k, the number of buckets of each side (default: 256, {@code position_buckets} of V2 and V3).
         *
         * @param buckets from 2 to 2<sup>20</sup>
         * @return this builder
         */
        public Builder optBuckets(int buckets) {
            return options.set("buckets", buckets);
        }

        /**
         * Sets the distance from which all keys share a bucket (default: 512, {@code max_position_embeddings} of V2 and
         * V3).
         *
         * @param maxDistance in positions; more than half of the buckets and one
         * @return this builder
         */
        public Builder optMaxDistance(int maxDistance) {
            return options.set("maxDistance", maxDistance);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is out of range
         */
        public DisentangledPositionBlock build() {
            return new DisentangledPositionBlock(options.build());
        }
    }
}
