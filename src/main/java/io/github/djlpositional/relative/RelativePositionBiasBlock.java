package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.RelativeBuckets;
import io.github.djlpositional.math.Rows;
import java.util.List;
import java.util.Map;

/**
 * A learned bias for each head and each bucket of relative positions, after Raffel et al., <em>Exploring the Limits of
 * Transfer Learning with a Unified Text-to-Text Transformer</em> (T5, 2020), section 2.1. Each near position has its
 * own bucket; far positions share buckets: see {@link RelativeBuckets}. The parameter is {@code biases}, (buckets, N).
 * With real positions, a key less than 1 after the query is in a bucket that integers never use, so that a pretrained
 * bidirectional model has not trained its bias.
 *
 * <p>T5 does not scale its scores: build the attention with {@code optScale(1)}.
 *
 * <p>With {@link Builder#optGateInputSize}, the biases of a query are multiplied by a gate, after Chi et al.,
 * <em>XLM-E: Cross-lingual Language Model Pre-training via ELECTRA</em> (2022), and Chen et al., <em>WavLM: Large-Scale
 * Self-Supervised Pre-Training for Full Stack Speech Processing</em> (2022). For the slice x of head h of the
 * attention's input at the query, (D / N), the gate is
 *
 * <pre>
 * r · (u · s - 1) + 2      with r = σ(sum of the first 4 numbers of W x + b), u = σ(sum of the other 4)
 * </pre>
 *
 * <p>W is the parameter {@code gateWeight}, (8, D / N), b is {@code gateBias}, (8), and s is the number of the head in
 * {@code gateScale}, (N), initially 1. The block's own forward then takes the input of the attention, (B, T, D).
 *
 * <p>Tokens of a page have several coordinates, positions (axes, B, T): the biases of several blocks, each with an
 * {@linkplain Builder#optAxis axis}, are added, as in UDOP (Tang et al., <em>Unifying Vision, Text, and Layout for
 * Universal Document Processing</em>, 2023) and LayoutLMv3 (Huang et al., 2022). With the index of a token, its left
 * and its lower border:
 *
 * <pre>{@code
 * builder.optRelativeEncoding(
 *         RelativePositionBiasBlock.builder().setHeadCount(12).optAxis(0).build(),
 *         RelativePositionBiasBlock.builder().setHeadCount(12).optAxis(1).optBuckets(64).optMaxDistance(256).build(),
 *         RelativePositionBiasBlock.builder().setHeadCount(12).optAxis(2).optBuckets(64).optMaxDistance(256).build())
 * }</pre>
 *
 * <p>T5 has one such block for all layers of a stack: run it once, and pass its output to the attention of every layer
 * as the mask. For padding, add -100,000 (FLOAT16: -30,000) to the output.
 *
 * @see <a href="https://arxiv.org/abs/2110.13900">WavLM: Large-Scale Self-Supervised Pre-Training for Full Stack Speech
 *     Processing</a>
 * @see <a href="https://arxiv.org/abs/1910.10683">Exploring the Limits of Transfer Learning with a Unified Text-to-Text
 *     Transformer</a>
 * @see <a href="https://arxiv.org/abs/2212.02623">Unifying Vision, Text, and Layout for Universal Document
 *     Processing</a>
 * @see <a href="https://arxiv.org/abs/2204.08387">LayoutLMv3: Pre-training for Document AI with Unified Text and Image
 *     Masking</a>
 */
public final class RelativePositionBiasBlock extends ScoreTermBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    /** The numbers r and u, each of which is a sum of some outputs of a layer. */
    private static final int GATES = 2;

    private static final int GATE_UNITS = 4;

    record Options(
            @Range(min = 1) int headCount,
            @Default("true") boolean bidirectional,
            @Default("32") int buckets,
            @Default("128") int maxDistance,
            @Range(min = 0) Integer axis,
            @Default("false") boolean truncated,
            @Default("false") boolean scaled,
            @Range(min = 1) Integer gateInputSize) {

        Options {
            if (gateInputSize != null) {
                Check.divides("headCount", headCount, "gateInputSize", gateInputSize);
                Check.that(
                        axis == null,
                        () -> "axis " + axis + " with gateInputSize " + gateInputSize
                                + ": expected one of them; use a block for each");
            }
        }
    }

    private final Options options;
    private final Parameter biases;

    /** Null without gates. */
    private final Layer gates;

    /** Null without gates. */
    private final Parameter gateScale;

    /**
     * The buckets as floats, which represent them exactly. Creating an array on the host in each forward would wait for
     * a GPU.
     */
    private final ConstantTable bucketRows;

    /** The {@linkplain RelativeBuckets#boundaries boundaries} of buckets, for real positions. */
    private final ConstantTable boundaries;

    /** The bucket up to each boundary, and the one after the last. */
    private final ConstantTable ascending;

    private RelativePositionBiasBlock(Options options) {
        super(options, options.headCount, -1, options.gateInputSize == null ? -1 : options.gateInputSize);
        this.options = options;
        RelativeBuckets buckets = RelativeBuckets.of(options.bidirectional, options.buckets, options.maxDistance);
        biases = addParameter(
                "biases", new Shape(buckets.size(), options.headCount), new NormalInitializer(STANDARD_DEVIATION));
        boolean isGated = options.gateInputSize != null;
        gates = isGated
                ? addLayer("gateWeight", "gateBias", options.gateInputSize / options.headCount, GATES * GATE_UNITS)
                : null;
        gateScale = isGated ? addParameter("gateScale", new Shape(options.headCount), Initializer.ONES) : null;
        bucketRows = addDistances(Rows.of(1, (distance, column) -> buckets.bucket(distance)));
        double[] largest = buckets.boundaries();
        boundaries = addColumn(largest.length, row -> largest[row]);
        ascending = addColumn(
                buckets.size(), row -> buckets.bucket(row < largest.length ? largest[row] : Double.POSITIVE_INFINITY));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static RelativePositionBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    String sizeMethod() {
        return "optGateInputSize";
    }

    /** {@return the learned biases, the parameter (buckets, N)} */
    public Parameter getBiases() {
        return biases;
    }

    /** With real positions, MXNet compares each distance with all boundaries. */
    @Override
    public List<Term> terms() {
        return List.of(term().withPairSize(call -> call.hasRealPositions() ? sequences(call) * options.buckets : 0));
    }

    private Term term() {
        if (gates != null) {
            return Term.scoresOfTokens(this::gates, null, (call, gate, none) -> gatedBiases(call, gate));
        }
        return options.axis == null
                ? Term.bias(this::biases)
                : Term.bias(this::biases, this::coordinates, this::coordinates);
    }

    private NDArray coordinates(Positions tokens, NDArray like) {
        return tokens.onAxis(options.axis).toArray(like, tokens.areReal() ? DataType.FLOAT64 : DataType.INT32);
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray unscaled = unscaled(call, distances);
        return options.scaled ? scaled(call, unscaled) : unscaled;
    }

    private NDArray unscaled(AttentionCall call, Distances distances) {
        NDArray like = distances.like();
        if (call.hasRealPositions()) {
            return ofRealDistances(call, like, distances.toArray(DataType.FLOAT64));
        }
        return lookUp(call.value(biases, like), constants(bucketRows, distances, limit(call), DataType.FLOAT32));
    }

    private NDArray ofRealDistances(AttentionCall call, NDArray like, NDArray exact) {
        NDArray distances = options.truncated ? exact.trunc() : exact;
        NDArray all = boundaries.array(distances, DataType.FLOAT64).reshape(-1);
        NDArray sorted = lookUp(call.value(biases, like), ascending.array(like, DataType.FLOAT32));
        return lookUp(sorted.transpose(1, 0), Indices.countBelow(distances, all));
    }

    private int limit(AttentionCall call) {
        return Math.min(
                options.maxDistance, Math.max(call.queries().end(), call.keys().end()));
    }

    /** The gate of each token and head, (B, T, N). */
    private NDArray gates(AttentionCall call, NDArray input) {
        requireInput(input);
        NDArray heads = input.reshape(input.getShape().get(0), input.getShape().get(1), options.headCount, -1);
        NDArray sums = linear(gates, call, heads)
                .reshape(heads.getShape().slice(0, 3).add(GATES).add(GATE_UNITS))
                .sum(new int[] {4});
        NDArray ru = Activation.sigmoid(sums); // (B, T, N, 2)
        NDArray r = ru.get(NDIndex.sliceAxis(3, 0, 1)).squeeze(3);
        NDArray u = ru.get(NDIndex.sliceAxis(3, 1, 2)).squeeze(3);
        return Arithmetic.add(r.mul(Arithmetic.add(u.mul(call.value(gateScale, input)), -1)), 2);
    }

    /** The biases times the gates of the queries, (B, T, N): (B, N, T, F). */
    private NDArray gatedBiases(AttentionCall call, NDArray gate) {
        NDArray ofQueries = gate.transpose(0, 2, 1).expandDims(3); // (B, N, T, 1)
        if (call.hasPositions()) {
            return ofQueries.mul(biasesOfPairs(call, gate));
        }
        NDArray line = call.shared(biases, 1, call.distances(gate), distances -> biases(call, distances));
        NDArray columns = line.reshape(1, options.headCount, 1, -1);
        return call.queries().count() == 1
                ? ofQueries.mul(columns)
                : RelativeShift.products(ofQueries, columns, call.keys().count());
    }

    /** The bias of each query and key, (1 or B, N, T, F). */
    private NDArray biasesOfPairs(AttentionCall call, NDArray like) {
        DataType type = call.hasRealPositions() ? DataType.FLOAT64 : DataType.INT32;
        NDArray distances = call.distancesOfPairs(like, type); // (1 or B, T, F)
        NDArray found = call.hasRealPositions()
                ? ofRealDistances(call, like, distances)
                : lookUp(call.value(biases, like), constants(bucketRows, distances, limit(call), DataType.FLOAT32));
        NDArray ofHeads = found.reshape(new Shape(options.headCount).addAll(distances.getShape()))
                .swapAxes(0, 1);
        return options.scaled ? scaled(call, ofHeads) : ofHeads;
    }

    /** Builds a {@link RelativePositionBiasBlock}. */
    public static final class Builder extends HeadsBuilder<RelativePositionBiasBlock, Builder> {

        private Builder() {
            super(Options.class, RelativePositionBiasBlock::new);
        }

        /**
         * Uses different buckets for keys before and after the query (default: true, as in an encoder). With false, as
         * in a decoder, all buckets are for keys before the query.
         */
        public Builder optBidirectional(boolean bidirectional) {
            return set("bidirectional", bidirectional);
        }

        /** Sets the number of buckets, from 2 to 4096 (default: 32); if bidirectional, it is even and at least 4. */
        public Builder optBuckets(int buckets) {
            return set("buckets", buckets);
        }

        /**
         * Sets the distance from which all positions share the last bucket (default: 128): more than half the number of
         * buckets, or more than a quarter of it if bidirectional.
         */
        public Builder optMaxDistance(int maxDistance) {
            return set("maxDistance", maxDistance);
        }

        /**
         * Multiplies the biases of a query by a gate of its token, as in WavLM, and sets D, the embedding size of the
         * attention, a multiple of the head count (default: no gates).
         */
        public Builder optGateInputSize(int embeddingSize) {
            return set("gateInputSize", embeddingSize);
        }

        /**
         * Uses the coordinate on one axis of positions (axes, B, T), counted from 0; positions on one axis are those of
         * every axis (default: positions on one axis only).
         */
        public Builder optAxis(int axis) {
            return set("axis", axis);
        }

        /** Rounds the distances between real positions toward zero, as UDOP does (default: false). */
        public Builder optTruncated(boolean truncated) {
            return set("truncated", truncated);
        }

        /**
         * Also multiplies the biases by the scale of the attention, usually 1 / √H, as in LayoutLMv3 (default: false).
         */
        public Builder optScaled(boolean scaled) {
            return set("scaled", scaled);
        }
    }
}
