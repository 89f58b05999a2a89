package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.Temporaries;
import java.util.Map;

/**
 * A bias that falls with the logarithm of the distance between query and key, at a rate that each head learns: the
 * logarithmic variant of Chi, Fan, Ramadge and Rudnicky, <em>KERPLE: Kernelized Relative Positional Embedding for
 * Length Extrapolation</em> (2022), section 4. For the query's position i and the key's position j, the bias of a head
 * is
 *
 * <pre>
 * -b · ln(1 + a · |i - j|)
 * </pre>
 *
 * <p>The numbers a and b of the head, r<sub>2</sub> and r<sub>1</sub> in the paper, must be positive. The parameters
 * are their natural logarithms, so that they stay positive in training.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(KerpleBiasBlock.builder().setHeadCount(8).build())
 *         .build();
 * }</pre>
 *
 * <p>As in the authors' code, the initial values of a are uniform random numbers from 0.01 to 1, and those of b from
 * 0.01 to 2.
 *
 * <p>Inputs, output and errors are those of {@link AlibiBiasBlock}, except that x must have the data type of the
 * parameters, that keys after the query are never masked, and that the output is not rounded only once. FLOAT16 is
 * computed in FLOAT32.
 */
public final class KerpleBiasBlock extends RelativeBiasBlock {

    /** The authors' code raises smaller numbers to this one. */
    private static final float LEAST = 0.01f;

    record Settings(int headCount) {
        Settings {
            Check.positive("headCount", headCount);
        }
    }

    private final Parameter logA;
    private final Parameter logB;
    private final ConstantTable distances;

    private KerpleBiasBlock(Settings settings) {
        super(settings, settings.headCount);
        logA = addParameter("logA", new Shape(settings.headCount), logOfUniform(1));
        logB = addParameter("logB", new Shape(settings.headCount), logOfUniform(2));
        distances = addTable(new Shape(1), (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                format.put(out, i, Math.abs(first + i));
            }
        });
    }

    private static Initializer logOfUniform(float greatest) {
        return (manager, shape, type) -> {
            try (NDArray uniform = manager.randomUniform(LEAST, greatest, shape, type)) {
                return uniform.log();
            }
        };
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
    public static KerpleBiasBlock fromArguments(Map<?, ?> arguments) {
        return new KerpleBiasBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the logarithms of a: the parameter (N), in the model's data type; a parameter of this block} */
    public Parameter getLogA() {
        return logA;
    }

    /** {@return the logarithms of b: the parameter (N), in the model's data type; a parameter of this block} */
    public Parameter getLogB() {
        return logB;
    }

    @Override
    NDArray biases(Temporaries temporaries, AttentionCall call, NDArray queries) {
        DataType type = queries.getDataType() == DataType.FLOAT16 ? DataType.FLOAT32 : queries.getDataType();
        NDArray steps = rows(temporaries, distances, call, queries, type);
        NDArray one = temporaries.add(queries.getManager().ones(new Shape(1), type, queries.getDevice()));
        NDArray scaled = temporaries.add(steps.mul(exp(temporaries, value(temporaries, logA, call, queries), type)));
        NDArray logarithms = temporaries.add(temporaries.add(scaled.add(one)).log());
        NDArray factors = temporaries.add(
                exp(temporaries, value(temporaries, logB, call, queries), type).neg());
        NDArray biases = temporaries.add(logarithms.mul(factors));
        return temporaries.addUnless(biases, biases.toType(queries.getDataType(), false));
    }

    private static NDArray exp(Temporaries temporaries, NDArray logarithms, DataType type) {
        return temporaries.add(temporaries
                .addUnless(logarithms, logarithms.toType(type, false))
                .exp());
    }

    /** Builds a {@link KerpleBiasBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

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
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if the number of heads is not positive
         */
        public KerpleBiasBlock build() {
            return new KerpleBiasBlock(options.build());
        }
    }
}
