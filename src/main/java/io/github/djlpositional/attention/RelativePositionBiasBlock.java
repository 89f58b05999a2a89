package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.math.RelativeBuckets;
import java.util.Map;
import java.util.Objects;

/**
 * A learned bias of each head for each bucket of relative positions, after Raffel et al., <em>Exploring the Limits of
 * Transfer Learning with a Unified Text-to-Text Transformer</em> (T5, 2020), section 2.1. Each near position has its
 * own bucket; far positions share buckets: see {@link RelativeBuckets}.
 *
 * <p>T5 does not scale its scores: build the attention with {@code optScale(1)}. {@link RelativeEncoding} describes
 * inputs, output and errors.
 *
 * <p>T5 has one such block for all layers of a stack: run it once, and pass its output to the attention of every layer
 * as the mask. If there is padding, add -100,000 (FLOAT16: -30,000) to the output there.
 *
 * @see <a href="https://arxiv.org/abs/1910.10683">Exploring the Limits of Transfer Learning with a Unified Text-to-Text
 *     Transformer</a>
 */
public final class RelativePositionBiasBlock extends RelativeBiasBlock {

    private static final float STANDARD_DEVIATION = 0.02f;

    record Settings(int headCount, Boolean bidirectional, Integer buckets, Integer maxDistance) {
        Settings {
            bidirectional = Objects.requireNonNullElse(bidirectional, true);
            buckets = Objects.requireNonNullElse(buckets, 32);
            maxDistance = Objects.requireNonNullElse(maxDistance, 128);
            Check.positive("headCount", headCount);
        }
    }

    private final Parameter biases;

    /**
     * The buckets as floats, which hold them exactly. An array that each forward creates on the host would make it wait
     * for a GPU.
     */
    private final ConstantTable bucketNumbers;

    private RelativePositionBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        RelativeBuckets buckets = RelativeBuckets.of(settings.bidirectional, settings.buckets, settings.maxDistance);
        biases = addParameter(
                "biases", new Shape(buckets.size(), settings.headCount), new NormalInitializer(STANDARD_DEVIATION));
        bucketNumbers = addNumbers(buckets::bucket);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the arguments that {@link #getArguments} returns}
     *
     * @param arguments see {@link RelativeEncoding#fromArguments}
     */
    public static RelativePositionBiasBlock fromArguments(Map<?, ?> arguments) {
        return new RelativePositionBiasBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the learned biases: the parameter (buckets, N), in the model's data type; a parameter of this block} */
    public Parameter getBiases() {
        return biases;
    }

    @Override
    NDArray biases(AttentionCall call, Distances distances) {
        NDArray numbers = distances.numbers(bucketNumbers);
        NDArray indices = Arithmetic.toType(numbers, DataType.INT32);
        return Indices.lookUp(indices, value(biases, call, numbers), numbers.getManager())
                .transpose(1, 0);
    }

    /** Builds a {@link RelativePositionBiasBlock}. */
    public static final class Builder extends HeadsBuilder<RelativePositionBiasBlock, Builder> {

        private Builder() {
            super(Settings.class, RelativePositionBiasBlock::new);
        }

        /**
         * Sets whether keys before and after the query have different buckets (default: true, as in an encoder). In a
         * decoder, which sees no key after the query, all buckets are for keys before it.
         *
         * @param bidirectional false for a decoder
         * @return this builder
         */
        public Builder optBidirectional(boolean bidirectional) {
            return set("bidirectional", bidirectional);
        }

        /**
         * Sets the number of buckets (default: 32).
         *
         * @param buckets from 2 to 4096; if bidirectional, even and at least 4
         * @return this builder
         */
        public Builder optBuckets(int buckets) {
            return set("buckets", buckets);
        }

        /**
         * Sets the distance from which all positions share the last bucket (default: 128).
         *
         * @param maxDistance steps; more than half of the buckets, or a quarter of them if bidirectional
         * @return this builder
         */
        public Builder optMaxDistance(int maxDistance) {
            return set("maxDistance", maxDistance);
        }
    }
}
