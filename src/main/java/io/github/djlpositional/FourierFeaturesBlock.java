package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.FourierFeatures;
import java.util.Map;
import java.util.Objects;

/**
 * Encodes real coordinates, such as points of a scene, places in an image or times, by {@link FourierFeatures}: random
 * or given frequencies, powers of two, sinusoids, or Time2Vec.
 *
 * <pre>{@code
 * Block points = FourierFeaturesBlock.builder()
 *         .setFeatures(FourierFeatures.powersOfTwo(3, 10, true, false))
 *         .build();                       // (B, S, 3) -> (B, S, 60)
 * }</pre>
 *
 * <p>The input is (…, C), FLOAT16, FLOAT32 or FLOAT64; with learned features it has the data type of the parameters.
 * The output is (…, D) with D features, of its data type, on its device and manager, and the caller's to close.
 * Gradients reach the coordinates and the learned parameters. FLOAT16 is computed in FLOAT32, other types as they are:
 * an angle a is wrong by up to (C + 1) · |a| · 2<sup>-24</sup> in FLOAT32. Fixed frequencies are not parameters. They
 * live as the table of {@link PositionalEncodingBlock} does.
 *
 * <p>A forward throws {@link IllegalArgumentException} for another number of inputs, of coordinates, or another data
 * type.
 */
public final class FourierFeaturesBlock extends ConfiguredBlock {

    record Settings(FourierFeatures features, Boolean learned, Boolean logarithm) {
        Settings {
            Check.given("features", features);
            learned = Objects.requireNonNullElse(learned, false);
            logarithm = Objects.requireNonNullElse(logarithm, false);
        }
    }

    private final Settings settings;

    /** The rows of A, and φ; null if they are learned. */
    private final ConstantTable fixed;

    private final Parameter frequencies;
    private final Parameter phases;

    private FourierFeaturesBlock(Settings settings) {
        super(settings);
        this.settings = settings;
        FourierFeatures features = settings.features;
        Shape row = new Shape(features.getEmbeddingSize());
        int coordinates = features.getCoordinates();
        if (settings.learned) {
            frequencies = addLearned("frequencies", new Shape(coordinates).addAll(row), rows(features));
            phases = addLearned("phases", new Shape(1).addAll(row), from(coordinates, rows(features)));
            fixed = null;
        } else {
            frequencies = null;
            phases = null;
            fixed = addTable(ConstantTable.ofPositions(row, coordinates + 1, coordinates + 1, rows(features)));
        }
    }

    private Parameter addLearned(String name, Shape shape, HostData.Rows rows) {
        return addParameter(
                name,
                shape,
                (manager, created, type) -> HostData.computed(manager, manager.getDevice(), created, type, rows));
    }

    /** The rows of A, and φ. */
    static HostData.Rows rows(FourierFeatures features) {
        int width = features.getEmbeddingSize();
        return (first, count, format, out) -> {
            for (int i = 0; i < count * width; i++) {
                format.put(out, i, features.get(first + i / width, i % width));
            }
        };
    }

    private static HostData.Rows from(int start, HostData.Rows rows) {
        return (first, count, format, out) -> rows.write(start + first, count, format, out);
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
    public static FourierFeaturesBlock fromArguments(Map<?, ?> arguments) {
        return new FourierFeaturesBlock(Records.read(Settings.class, arguments));
    }

    /** {@return the function from coordinates to features, with learned features their initial values} */
    public FourierFeatures getFeatures() {
        return settings.features;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        DataType type = x.getDataType();
        DataType wide = type == DataType.FLOAT16 ? DataType.FLOAT32 : type;
        try (Temporaries temporaries = new Temporaries()) {
            NDArray a;
            NDArray phi;
            if (settings.learned) {
                a = value(this, frequencies, parameterStore, x, training);
                phi = value(this, phases, parameterStore, x, training);
                DataTypes.requireSame(x, a, "learned frequencies");
                a = temporaries.addUnless(a, a.toType(wide, false));
                phi = temporaries.addUnless(phi, phi.toType(wide, false));
            } else {
                NDArray all = fixed.table(0, x, wide);
                int coordinates = settings.features.getCoordinates();
                a = temporaries.add(all.get(x.getManager(), NDIndex.sliceAxis(0, 0, coordinates)));
                phi = temporaries.add(all.get(x.getManager(), NDIndex.sliceAxis(0, coordinates, coordinates + 1L)));
            }
            Shape shape = getOutputShapes(new Shape[] {x.getShape()})[0];
            if (shape.size() == 0) {
                return new NDList(x.getManager().create(shape, type, x.getDevice()));
            }
            NDArray real = temporaries.addUnless(x, x.toType(wide, false));
            NDArray given = settings.logarithm ? temporaries.add(real.log()) : real;
            NDArray flat = temporaries.add(given.reshape(-1, settings.features.getCoordinates()));
            NDArray y = features(temporaries, flat, a, phi, settings.features.getLinearCount());
            NDArray shaped = temporaries.add(y.reshape(shape));
            return new NDList(temporaries.keep(temporaries.addUnless(shaped, shaped.toType(type, false))));
        }
    }

    /** sin(x · A + φ), (n, D), with the angles themselves in the first columns; x is (n, C). */
    static NDArray features(Temporaries temporaries, NDArray x, NDArray a, NDArray phi, int linear) {
        NDArray angles = temporaries.add(temporaries.add(x.matMul(a)).add(phi));
        if (linear == 0) {
            return temporaries.add(angles.sin());
        }
        NDArray first = temporaries.add(angles.get(NDIndex.sliceAxis(1, 0, linear)));
        NDArray others = temporaries.add(
                angles.get(NDIndex.sliceAxis(1, linear, angles.getShape().get(1))));
        return temporaries.add(first.concat(temporaries.add(others.sin()), 1));
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if there is not one input of C coordinates
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        Shape shape = inputShapes[0];
        return new Shape[] {shape.slice(0, shape.dimension() - 1).add(settings.features.getEmbeddingSize())};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 1, "[x], the coordinates");
        Shape shape = inputShapes[0];
        int coordinates = settings.features.getCoordinates();
        long last = shape.dimension() == 0 ? 0 : shape.get(shape.dimension() - 1);
        Check.that(
                last == -1 || last == coordinates,
                () -> "input of shape " + shape + ": expected (…, " + coordinates
                        + "); give such an input, for a single coordinate with expandDims(-1), or use other features");
    }

    /** Builds a {@link FourierFeaturesBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);

        private Builder() {}

        /**
         * Sets the function from coordinates to features.
         *
         * @param features the features
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder setFeatures(FourierFeatures features) {
            return options.set("features", features);
        }

        /**
         * Sets whether A and φ are parameters, {@code frequencies} (C, D) and {@code phases} (1, D), which begin with
         * the numbers of the features (default: false). Time2Vec needs it.
         *
         * @param learned true to train them
         * @return this builder
         */
        public Builder optLearned(boolean learned) {
            return options.set("learned", learned);
        }

        /**
         * Sets whether the natural logarithm of the input is encoded, as diffusers' {@code GaussianFourierProjection}
         * does with noise levels (default: false). Inputs must then be positive.
         *
         * @param logarithm true for the logarithm
         * @return this builder
         */
        public Builder optLogarithm(boolean logarithm) {
            return options.set("logarithm", logarithm);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if the features are missing
         */
        public FourierFeaturesBlock build() {
            return new FourierFeaturesBlock(options.build());
        }
    }
}
