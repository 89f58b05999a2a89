package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.GrowingTable;
import io.github.djlpositional.internal.Product;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Objects;

/**
 * The relative positional encoding of Dai et al., <em>Transformer-XL: Attentive Language Models beyond a Fixed-Length
 * Context</em> (2019), section 3.3: sinusoids of the distance between query and key, projected by a learned matrix, and two
 * learned biases that stand for the query where its own position would be.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(TransformerXlPositionBlock.builder().setEmbeddingSize(512).setHeadCount(8).build())
 *         .build();
 * }</pre>
 *
 * <p>A score is (q<sub>i</sub> + u) · k<sub>j</sub> + (q<sub>i</sub> + v) · W R<sub>i - j</sub>, with R the sinusoids, W the
 * projection, u the content bias and v the position bias. W R is computed once for each distance and reaches the keys by the
 * relative shift of the paper's appendix B. What the paper keeps of the segment before is a {@link KeyValueCache} here,
 * in inference; its recurrence in training is not part of this.
 *
 * <h2>Inputs and output</h2>
 *
 * B batch, T queries, F keys, N heads, H head size, D = N · H embedding size, E size of the sinusoids, which is D unless
 * {@code optEncoding} says otherwise.
 *
 * <ul>
 *   <li>{@code [queries]}: (B, N, T, H), of the data type of the biases. The queries have the positions s … s + T - 1 and the
 *       keys 0 … s + T - 1, where s is the forward parameter {@code startPosition}, an Integer or Long, 0 without it.
 *   <li>{@code [queries, keys]}: keys is (…, F, D); they have the positions 0 … F - 1.
 * </ul>
 *
 * The output is the term of the positions, (q<sub>i</sub> + v) · W R<sub>i - j</sub>, unscaled: (B, N, T, F), on the queries'
 * device, attached to their manager and the caller's to close.
 *
 * <p>There is no greatest position: the table of sinusoids grows with the longest sequence. It is no parameter, and lives as
 * that of {@link io.github.djlpositional.PositionalEncodingBlock} does.
 *
 * <p>A forward throws {@link IllegalArgumentException} for queries of another shape or data type and a negative start.
 */
public final class TransformerXlPositionBlock extends ScoreTermBlock {

    /** The published code's. */
    private static final float STANDARD_DEVIATION = 0.02f;

    private final SinusoidalEncoding encoding;
    private final int headCount;
    private final int headSize;
    private final Parameter contentBias;
    private final Parameter positionBias;
    private final Parameter projection;

    /** The sinusoids of distances length - 1 down to -(length - 1): (2 · length - 1, E). */
    private final GrowingTable table;

    private TransformerXlPositionBlock(Builder builder, SinusoidalEncoding encoding) {
        super(new BlockSettings(TransformerXlPositionBlock.class)
                .with("embeddingSize", builder.embeddingSize)
                .with("headCount", builder.headCount)
                .with("encoding", encoding));
        this.encoding = encoding;
        headCount = builder.headCount;
        headSize = builder.embeddingSize / headCount;
        contentBias =
                addParameter(LearnedTerms.table("contentBias", biasShape(), new NormalInitializer(STANDARD_DEVIATION)));
        positionBias = addParameter(
                LearnedTerms.table("positionBias", biasShape(), new NormalInitializer(STANDARD_DEVIATION)));
        projection = addParameter(Parameter.builder()
                .setName("projection")
                .setType(Parameter.Type.WEIGHT)
                .optShape(new Shape(builder.embeddingSize, encoding.getEmbeddingSize()))
                .build());
        table = tableOf(this::sinusoids);
    }

    private Shape biasShape() {
        return new Shape(headCount, headSize);
    }

    private ConstantArray sinusoids(int length) {
        return new ConstantArray(
                new Shape(2L * length - 1, encoding.getEmbeddingSize()),
                (first, count, format, out) -> write(length - 1 - first, count, format, out));
    }

    /** Writes the sinusoids of so many distances, from the given one down. */
    private void write(int distance, int count, FloatFormat format, ByteBuffer out) {
        double[] distances = new double[count];
        for (int row = 0; row < count; row++) {
            distances[row] = distance - row;
        }
        encoding.write(distances, format, out);
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
    public static TransformerXlPositionBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(TransformerXlPositionBlock.class, arguments);
        Builder builder = builder();
        builder.setEmbeddingSize(given.getInt("embeddingSize"));
        builder.setHeadCount(given.getInt("headCount"));
        given.optMap("encoding").map(SinusoidalEncoding::fromArguments).ifPresent(builder::optEncoding);
        given.requireNoOthers();
        return builder.build();
    }

    /**
     * Returns the sinusoids of a distance.
     *
     * @return R, of size E; immutable
     */
    public SinusoidalEncoding getEncoding() {
        return encoding;
    }

    /**
     * Returns the content bias, which is added to each query in its product with the keys.
     *
     * @return the parameter u, {@code r_w_bias} in the published code, (N, H), in the model's data type; this block's
     */
    public Parameter getContentBias() {
        return contentBias;
    }

    /**
     * Returns the position bias, which is added to each query in its product with the projected sinusoids.
     *
     * @return the parameter v, {@code r_r_bias} in the published code, (N, H), in the model's data type; this block's
     */
    public Parameter getPositionBias() {
        return positionBias;
    }

    /**
     * Returns the projection of the sinusoids.
     *
     * @return the parameter W, {@code r_net.weight} in the published code, (N · H, E), in the model's data type; this block's
     */
    public Parameter getProjection() {
        return projection;
    }

    @Override
    public void requireFits(int attentionHeads, int attentionHeadSize) {
        AttentionSizes.requireSameHeadCount(headCount, attentionHeads, this);
        AttentionSizes.requireSameHeadSize(
                headSize, attentionHeadSize, this, "setEmbeddingSize(" + attentionHeads * attentionHeadSize + ")");
    }

    @Override
    void requireQueries(Shape queries) {
        requireHeads(queries, "queries", headCount, headSize);
    }

    @Override
    Shape outputShape(Shape queries, long length, long keyLength) {
        return new Shape(queries.get(0), headCount, length, keyLength);
    }

    /**
     * {@inheritDoc}
     *
     * @return q + u
     */
    @Override
    public NDArray encodeQueries(AttentionCall call, NDArray queries) {
        try (NDArray bias = value(contentBias, call, queries).reshape(1, headCount, 1, headSize)) {
            return queries.add(bias);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @return scale · (q<sub>i</sub> + v) · W R<sub>i - j</sub>, (B, N, T, F)
     */
    @Override
    public NDArray scoreTerm(AttentionCall call, NDArray queries) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray positions =
                    temporaries.add(call.shared() == null ? projected(call, queries) : columns(call.shared(), call));
            NDArray bias = temporaries.add(value(positionBias, call, queries).reshape(1, headCount, 1, headSize));
            NDArray biased = temporaries.add(queries.add(bias));
            NDArray scaled = call.scale() == 1 ? biased : temporaries.add(Product.of(biased, call.scale()));
            NDArray byPosition = temporaries.add(scaled.matMul(positions));
            return RelativeShift.toKeys(byPosition, call.keyLength());
        }
    }

    /**
     * {@inheritDoc}
     *
     * @return W R of every distance that any of the queries has to any key, (1, N, H, columns): the last column belongs to
     *     relative position F - 1
     */
    @Override
    public NDArray sharedTerm(AttentionCall call, NDArray queries) {
        int end = call.firstQuery() + call.queryLength();
        return projected(
                new AttentionCall(
                        call.parameterStore(), call.training(), 0, end, call.keyLength(), false, call.scale(), null),
                queries);
    }

    /** Of the shared columns those of a call. */
    private static NDArray columns(NDArray shared, AttentionCall call) {
        long least = call.keyLength() - shared.getShape().get(3);
        long first = RelativeShift.least(call) - least;
        return shared.get(NDIndex.sliceAxis(3, first, first + RelativeShift.columns(call)));
    }

    /** W R of the distances of a call, (1, N, H, columns). */
    private NDArray projected(AttentionCall call, NDArray queries) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray sinusoids = temporaries.add(DistanceTable.rows(table, call, queries));
            NDArray weight = temporaries.add(value(projection, call, queries).transpose(1, 0));
            NDArray rows = temporaries.add(sinusoids.matMul(weight));
            NDArray heads = temporaries.add(rows.reshape(1, rows.getShape().get(0), headCount, headSize));
            return heads.transpose(0, 2, 3, 1);
        }
    }

    private static NDArray value(Parameter parameter, AttentionCall call, NDArray queries) {
        NDArray value = call.parameterStore().getValue(parameter, queries.getDevice(), call.training());
        DataTypes.requireSame(queries, value, "relative biases");
        return value;
    }

    @Override
    GrowingTable table() {
        return table;
    }

    /** Builds a {@link TransformerXlPositionBlock}. */
    public static final class Builder {

        private int embeddingSize;
        private int headCount;
        private SinusoidalEncoding encoding;

        private Builder() {}

        /**
         * Sets D, the attention's embedding size.
         *
         * @param embeddingSize at least 1, a multiple of the head count
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            this.embeddingSize = embeddingSize;
            return this;
        }

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            this.headCount = headCount;
            return this;
        }

        /**
         * Sets the sinusoids of a distance; without it those of the published code: the paper's frequencies, all sines, then
         * all cosines.
         *
         * @param encoding an encoding of any size, E
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optEncoding(SinusoidalEncoding encoding) {
            this.encoding = Objects.requireNonNull(encoding, "encoding");
            return this;
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is outside its range, or the heads do not divide the embedding size
         */
        public TransformerXlPositionBlock build() {
            BuilderChecks.requirePositive("embedding size", embeddingSize, "setEmbeddingSize(int)");
            AttentionSizes.requireDivides(headCount, embeddingSize);
            return new TransformerXlPositionBlock(
                    this,
                    encoding != null
                            ? encoding
                            : SinusoidalEncoding.builder()
                                    .setEmbeddingSize(embeddingSize)
                                    .optLayout(PairLayout.CONCATENATED)
                                    .build());
        }
    }
}
