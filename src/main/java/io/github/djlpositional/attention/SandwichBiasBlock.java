package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Sandwich: the dot product of the sinusoids of the query's and the key's position, which depends on their distance
 * only, divided by a number for each head. After Chi, Fan, Rudnicky and Ramadge, <em>Dissecting Transformer Length
 * Extrapolation via the Lens of Receptive Field Analysis</em> (2023), section 5 and appendix. For the query's position
 * i and the key's position j, the bias of head h = 1 … N is
 *
 * <pre>
 * N / (8h) · Σₖ cos((i - j) · θₖ)      with the frequencies θ of the sinusoids
 * </pre>
 *
 * <p>There are no parameters. {@link RelativeEncoding} describes inputs, output and errors.
 *
 * @see <a href="https://arxiv.org/abs/2212.10356">Dissecting Transformer Length Extrapolation via the Lens of Receptive
 *     Field Analysis</a>
 */
public final class SandwichBiasBlock extends RelativeBiasBlock {

    record Settings(int headCount, SinusoidalEncoding encoding) {
        Settings {
            Check.positive("headCount", headCount);
            encoding = Objects.requireNonNullElseGet(encoding, () -> SinusoidalEncoding.vaswani(128));
            int size = encoding.getEmbeddingSize();
            Check.that(size % 2 == 0, () -> "sinusoids of size " + size + ": expected an even size; use " + (size + 1));
        }
    }

    private final ConstantTable biases;

    private SandwichBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        int heads = settings.headCount;
        biases = addNumbers(heads, distance -> {
            double similarity = settings.encoding.similarity(distance);
            return IntStream.rangeClosed(1, heads)
                    .mapToDouble(head -> similarity * heads / (8.0 * head))
                    .toArray();
        });
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
    public static SandwichBiasBlock fromArguments(Map<?, ?> arguments) {
        return new SandwichBiasBlock(Records.read(Settings.class, arguments));
    }

    @Override
    NDArray biases(AttentionCall call, Distances distances) {
        return distances.biases(biases);
    }

    /** Builds a {@link SandwichBiasBlock}. */
    public static final class Builder extends HeadsBuilder<SandwichBiasBlock, Builder> {

        private Builder() {
            super(Settings.class, SandwichBiasBlock::new);
        }

        /**
         * Sets the sinusoids (default: those of the original transformer, of size 128, as in the paper).
         *
         * @param encoding an encoding of an even size
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optEncoding(SinusoidalEncoding encoding) {
            return set("encoding", encoding);
        }
    }
}
