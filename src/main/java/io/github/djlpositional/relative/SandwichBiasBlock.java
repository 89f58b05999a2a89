package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.Rows;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Sandwich: the dot product of the sinusoids of the query's and the key's position, which depends only on their
 * distance, divided by a number that differs between heads. After Chi, Fan, Rudnicky and Ramadge, <em>Dissecting
 * Transformer Length Extrapolation via the Lens of Receptive Field Analysis</em> (2023), section 5 and appendix. For
 * the query's position i and the key's position j, the bias of head h = 1 … N is
 *
 * <pre>
 * N / (8h) · Σₖ cos((i - j) · θₖ)      with the frequencies θ of the sinusoids
 * </pre>
 *
 * <p>There are no parameters.
 *
 * @see <a href="https://arxiv.org/abs/2212.10356">Dissecting Transformer Length Extrapolation via the Lens of Receptive
 *     Field Analysis</a>
 */
public final class SandwichBiasBlock extends ScoreTermBlock {

    record Options(@Range(min = 1) int headCount, SinusoidalEncoding encoding) {
        Options {
            encoding = Objects.requireNonNullElseGet(encoding, () -> SinusoidalEncoding.vaswani(128));
            int size = encoding.getEmbeddingSize();
            Check.that(size % 2 == 0, () -> "sinusoids of size " + size + ": expected an even size; use " + (size + 1));
        }
    }

    private final Options options;
    private final ConstantTable table;

    /** The frequency of each sinusoid, (E, 1), and the factor of each head, (N, 1). */
    private final ConstantTable frequencies;

    private final ConstantTable factors;

    private SandwichBiasBlock(Options options) {
        super(options, options.headCount);
        this.options = options;
        int heads = options.headCount;
        frequencies = addColumn(options.encoding.getEmbeddingSize(), options.encoding::frequency);
        // two sinusoids share a frequency
        factors = addColumn(heads, head -> heads / (16.0 * (head + 1)));
        table = addDistances(new BiasesOfHeads(options.encoding, options.headCount));
    }

    /** The biases of all heads. The similarity is computed once for each distance. */
    private record BiasesOfHeads(SinusoidalEncoding encoding, int width) implements Rows {

        @Override
        public void write(double[] distances, FloatFormat format, ByteBuffer out) {
            Rows.requireRoom(distances.length, width, format, out);
            IntStream.range(0, distances.length).parallel().forEach(row -> {
                double similarity = encoding.similarity(distances[row]);
                for (int head = 0; head < width; head++) {
                    format.put(out, row * width + head, similarity * width / (8.0 * (head + 1)));
                }
            });
        }
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static SandwichBiasBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** With explicit positions, the sinusoids may be computed for each query and key. */
    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases)
                .withPairSize(
                        call -> call.hasPositions() ? sequences(call) * 2L * options.encoding.getEmbeddingSize() : 0));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        return biases(table, distances, d -> {
            NDArray angles =
                    d.expandDims(1).mul(frequencies.array(d, d.getDataType()).transpose(1, 0));
            NDArray sums = angles.cos().sum(new int[] {1}).expandDims(0);
            return factors.array(d, d.getDataType()).mul(sums);
        });
    }

    /** Builds a {@link SandwichBiasBlock}. */
    public static final class Builder extends HeadsBuilder<SandwichBiasBlock, Builder> {

        private Builder() {
            super(Options.class, SandwichBiasBlock::new);
        }

        /**
         * Sets the sinusoids, of an even size (default: the encoding of the original transformer with size 128, as in
         * the paper).
         */
        public Builder optEncoding(SinusoidalEncoding encoding) {
            return set("encoding", encoding);
        }
    }
}
