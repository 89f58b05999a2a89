package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
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

    private final ConstantTable table;

    /** The frequencies, (E / 2, 1), and the factor of each head, (N, 1). */
    private final ConstantTable frequencies;

    private final ConstantTable factors;

    private SandwichBiasBlock(Options options) {
        super(options, options.headCount);
        int heads = options.headCount;
        int size = options.encoding.getEmbeddingSize();
        // two sinusoids share each frequency
        double[] sorted = IntStream.range(0, size)
                .mapToDouble(options.encoding::frequency)
                .sorted()
                .toArray();
        frequencies = addColumn(size / 2, pair -> sorted[2 * pair]);
        factors = addColumn(heads, head -> heads / (8.0 * (head + 1)));
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

    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        return biases(table, distances, this::products);
    }

    /** cos(j - i) = cos(i) · cos(j) + sin(i) · sin(j): a product of sinusoids of queries and of keys, (N, size). */
    private NDArray products(Distances distances) {
        NDArray queries = Arithmetic.toType(distances.queries(), DataType.FLOAT64);
        NDArray keys = Arithmetic.toType(distances.keys(), DataType.FLOAT64);
        // sinusoids of small numbers are more accurate
        NDArray first = keys.get(":, :1");
        NDArray sums = sinusoids(queries.sub(first))
                .matMul(sinusoids(keys.sub(first)).transpose(0, 2, 1))
                .reshape(1, distances.size());
        return factors.array(sums, DataType.FLOAT64).mul(sums);
    }

    /** The cosines and the sines of positions, (1 or B, n, E). */
    private NDArray sinusoids(NDArray positions) {
        NDArray row = frequencies.array(positions, DataType.FLOAT64).transpose(1, 0);
        NDArray angles = positions.expandDims(2).mul(row);
        return angles.cos().concat(angles.sin(), 2);
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
