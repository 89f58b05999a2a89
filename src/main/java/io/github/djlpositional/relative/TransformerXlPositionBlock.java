package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.Rows;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The relative positional encoding of Dai et al., <em>Transformer-XL: Attentive Language Models beyond a Fixed-Length
 * Context</em> (2019), section 3.3: sinusoids of the distance between query and key, projected by a learned matrix, and
 * two learned biases that are added to the query.
 *
 * <p>A score is (q<sub>i</sub> + u) · k<sub>j</sub> + (q<sub>i</sub> + v) · W R<sub>i - j</sub>, with R the sinusoids,
 * W the projection, u the content bias and v the position bias. W R is computed once for each distance; the relative
 * shift of the paper's appendix B converts products by distance to products by key. In inference, a
 * {@link KeyValueCache} takes the place of the paper's memory of the previous segment; the recurrence in training is
 * not implemented.
 *
 * <p>The parameters are u, {@code contentBias}, and v, {@code positionBias}, (N, H), and W, {@code projection}, (D, E):
 * {@code r_w_bias}, {@code r_r_bias} and {@code r_net.weight} in the published code. D = N · H, and E is the size of
 * the sinusoids, D by default.
 *
 * <p>The output of the block's own forward is the term of the positions, (q<sub>i</sub> + v) · W R<sub>i - j</sub>.
 *
 * @see <a href="https://arxiv.org/abs/1901.02860">Transformer-XL: Attentive Language Models Beyond a Fixed-Length
 *     Context</a>
 */
public final class TransformerXlPositionBlock extends ScoreTermBlock {

    /** As in the published code. */
    private static final float STANDARD_DEVIATION = 0.02f;

    record Options(
            @Range(min = 1) int embeddingSize,
            @Range(min = 1) int headCount,
            SinusoidalEncoding encoding) {

        Options {
            Check.divides("headCount", headCount, "embeddingSize", embeddingSize);
            if (encoding == null) {
                encoding = SinusoidalEncoding.builder()
                        .setEmbeddingSize(embeddingSize)
                        .optLayout(PairLayout.CONCATENATED)
                        .build();
            }
        }

        int headSize() {
            return embeddingSize / headCount;
        }
    }

    private final Options options;
    private final Parameter contentBias;
    private final Parameter positionBias;
    private final Parameter projection;
    private final ConstantTable sinusoids;

    private TransformerXlPositionBlock(Options options) {
        super(options, options.headCount, options.headSize());
        this.options = options;
        Shape biasShape = new Shape(options.headCount, options.headSize());
        int width = options.encoding.getEmbeddingSize();
        contentBias = addParameter("contentBias", biasShape, new NormalInitializer(STANDARD_DEVIATION));
        positionBias = addParameter("positionBias", biasShape, new NormalInitializer(STANDARD_DEVIATION));
        projection = addParameter(Parameter.builder()
                .setName("projection")
                .setType(Parameter.Type.WEIGHT)
                .optShape(new Shape(options.embeddingSize, width))
                .build());
        sinusoids = addDistances(new Negated(options.encoding));
    }

    /** R of relative positions, which are distances with the opposite sign. */
    private record Negated(SinusoidalEncoding encoding) implements Rows {

        @Override
        public int width() {
            return encoding.width();
        }

        @Override
        public void write(double[] positions, FloatFormat format, ByteBuffer out) {
            encoding.write(Arrays.stream(positions).map(position -> -position).toArray(), format, out);
        }
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a builder for the attention of a Conformer: sines and cosines of a distance alternate} It is that of
     * Wav2Vec2-Conformer, FastSpeech2-Conformer, SeamlessM4T and Parakeet (FastConformer), after ESPnet and NeMo, whose
     * {@code pos_bias_u}, {@code pos_bias_v} and {@code linear_pos.weight} are the parameters {@code contentBias},
     * {@code positionBias} and {@code projection}.
     *
     * @param embeddingSize D, the attention's embedding size, a multiple of the head count
     * @param headCount N
     */
    public static Builder conformer(int embeddingSize, int headCount) {
        return builder()
                .setEmbeddingSize(embeddingSize)
                .setHeadCount(headCount)
                .optEncoding(SinusoidalEncoding.vaswani(embeddingSize));
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static TransformerXlPositionBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public List<Term> terms() {
        // with explicit positions, sinusoids for each query and key
        return List.of(
                Term.heads((call, queries) -> biased(contentBias, call, queries), null),
                Term.scores(this::scores)
                        .withPairSize(call ->
                                call.hasPositions() ? sequences(call) * options.encoding.getEmbeddingSize() : 0));
    }

    private NDArray biased(Parameter bias, AttentionCall call, NDArray queries) {
        return queries.add(call.value(bias, queries).reshape(1, options.headCount, 1, options.headSize()));
    }

    private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
        return call.hasPositions() ? termOfPositions(call, queries) : termOfIndices(call, queries);
    }

    private NDArray termOfIndices(AttentionCall call, NDArray queries) {
        NDArray biased = biasedQueries(call, queries);
        Distances needed = call.distances(queries);
        if (call.queries().count() > 1) {
            NDArray columns = call.shared(projection, 3, needed, each -> projected(call, each, queries));
            return RelativeShift.products(biased, columns, call.keys().count());
        }
        // a row for each distance is read faster, and the sequences of a batch become rows of one product
        NDArray rows = call.shared(
                positionBias,
                2,
                needed,
                each -> projected(call, each, queries)
                        .transpose(0, 1, 3, 2)
                        .reshape(-1)
                        .reshape(1, options.headCount, each.size(), options.headSize()));
        return biased.transpose(2, 1, 0, 3).matMul(rows.transpose(0, 1, 3, 2)).transpose(2, 1, 0, 3);
    }

    /** W R of distances, (1, N, H, size). */
    private NDArray projected(AttentionCall call, Distances distances, NDArray queries) {
        return call.value(projection, queries)
                .matMul(constants(sinusoids, distances, ForwardParameters.UNLIMITED, queries.getDataType())
                        .transpose(1, 0))
                .reshape(1, options.headCount, options.headSize(), -1);
    }

    private NDArray termOfPositions(AttentionCall call, NDArray queries) {
        NDArray pairs = call.distancesOfPairs(queries, DataType.INT32);
        // W R for every query and key would be N times as large as R
        NDArray rows = sinusoids
                .compute(HostData.doubles(pairs), queries, queries.getDataType())
                .reshape(pairs.getShape().add(options.encoding.getEmbeddingSize()));
        int width = options.encoding.getEmbeddingSize();
        NDArray weight = call.value(projection, queries).reshape(1, options.headCount, options.headSize(), width);
        NDArray byQuery = biasedQueries(call, queries).matMul(weight).transpose(0, 2, 1, 3);
        return byQuery.matMul(rows.transpose(0, 1, 3, 2)).transpose(0, 2, 1, 3);
    }

    /** q + v times the scale, (B, N, T, H). */
    private NDArray biasedQueries(AttentionCall call, NDArray queries) {
        return scaled(call, biased(positionBias, call, queries));
    }

    /** Builds a {@link TransformerXlPositionBlock}. */
    public static final class Builder extends HeadsBuilder<TransformerXlPositionBlock, Builder> {

        private Builder() {
            super(Options.class, TransformerXlPositionBlock::new);
        }

        /** Sets D, the attention's embedding size, a multiple of the head count. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets the sinusoids of a distance, of any size (default: as in the published code, the frequencies of the
         * original transformer, all sines, then all cosines).
         */
        public Builder optEncoding(SinusoidalEncoding encoding) {
            return set("encoding", encoding);
        }
    }
}
