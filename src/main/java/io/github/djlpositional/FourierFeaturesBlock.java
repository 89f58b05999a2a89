package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.Rows;
import java.util.Map;

/**
 * Encodes real coordinates, such as points of a scene, pixels of an image or times, by {@link FourierFeatures}: random
 * or custom frequencies, powers of two, sinusoids, or Time2Vec.
 *
 * <pre>{@code
 * Block points = FourierFeaturesBlock.builder()
 *         .setFeatures(FourierFeatures.powersOfTwo(3, 10, true, false))
 *         .build();                       // (B, S, 3) -> (B, S, 60)
 * }</pre>
 *
 * <p>The input is (…, C) and the output (…, D), with C coordinates and D features. In FLOAT32, the error of an angle a
 * is at most (C + 1) · |a| · 2<sup>-24</sup>. Fixed frequencies are constants; learned frequencies are a parameter.
 *
 * <p>The {@linkplain io.github.djlpositional package description} has the rules for all blocks.
 *
 * @see <a href="https://arxiv.org/abs/2006.10739">Fourier Features Let Networks Learn High Frequency Functions in Low
 *     Dimensional Domains</a>
 */
public final class FourierFeaturesBlock extends OptionsBlock {

    record Options(
            FourierFeatures features, @Default("false") boolean learned) {
        Options {
            Check.present("features", features);
        }
    }

    private final Options options;

    /** The rows of A, and φ, (C + 1, D); null if they are learned. */
    private final ConstantTable fixed;

    /** Null if they are fixed. */
    private final Parameter learned;

    private FourierFeaturesBlock(Options options) {
        super(options);
        this.options = options;
        Rows rows = Rows.of(
                options.features.getEmbeddingSize(), (row, dimension) -> options.features.get((int) row, dimension));
        int height = options.features.coordinates() + 1;
        fixed = options.learned ? null : addTable(ConstantTable.ofPositions(rows, height, height));
        learned = options.learned
                ? addParameter(
                        "features",
                        new Shape(height, rows.width()),
                        (manager, size, type) -> HostData.computed(manager, manager.getDevice(), size, type, rows))
                : null;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static FourierFeaturesBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        DataType type = x.getDataType();
        DataType wide = type == DataType.FLOAT16 ? DataType.FLOAT32 : type;
        NDArray rows =
                fixed == null ? DataTypes.value(this, learned, parameterStore, x, training) : fixed.array(x, wide);
        if (fixed == null) {
            DataTypes.requireSame(x, rows, "learned features");
        }
        Shape shape = getOutputShapes(new Shape[] {x.getShape()})[0];
        if (shape.size() == 0) {
            return new NDList(x.getManager().create(shape, type, x.getDevice()));
        }
        return new NDList(Temporaries.result(() -> {
            NDArray wideX = Arithmetic.toType(x, wide);
            NDArray wideRows = Arithmetic.toType(rows, wide);
            return Arithmetic.toType(encode(options.features, wideX, wideRows).reshape(shape), type);
        }));
    }

    /**
     * sin(x · A + φ), (n, D), with the angles themselves in the first columns.
     *
     * @param inputs the coordinates, any shape of n · C values
     * @param rows the rows of A, and φ
     */
    private static NDArray encode(FourierFeatures features, NDArray inputs, NDArray rows) {
        NDArray x = features.logarithm() ? inputs.log() : inputs;
        int coordinates = features.coordinates();
        NDArray a = rows.get(x.getManager(), NDIndex.sliceAxis(0, 0, coordinates));
        NDArray phases = rows.get(x.getManager(), NDIndex.sliceAxis(0, coordinates, coordinates + 1L));
        NDArray angles = x.reshape(-1, coordinates).matMul(a).add(phases);
        int linear = features.linearCount();
        if (linear == 0) {
            return angles.sin();
        }
        NDArray others = angles.get(NDIndex.sliceAxis(1, linear, features.getEmbeddingSize()));
        return angles.get(NDIndex.sliceAxis(1, 0, linear)).concat(others.sin(), 1);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        Shape shape = inputShapes[0];
        return new Shape[] {shape.slice(0, shape.dimension() - 1).add(options.features.getEmbeddingSize())};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 1, "[x], the coordinates");
        Shape shape = inputShapes[0];
        int coordinates = options.features.coordinates();
        long last = shape.dimension() == 0 ? 0 : shape.get(shape.dimension() - 1);
        Check.that(
                last == -1 || last == coordinates,
                () -> "input of shape " + shape + ": expected (…, " + coordinates
                        + "); pass an input of this shape (use expandDims(-1) for one coordinate), or use other"
                        + " features");
    }

    /** Builds a {@link FourierFeaturesBlock}. */
    public static final class Builder extends BlockBuilder<FourierFeaturesBlock, Builder> {

        private Builder() {
            super(Options.class, FourierFeaturesBlock::new);
        }

        /** Sets the function from coordinates to features. */
        public Builder setFeatures(FourierFeatures features) {
            return set("features", features);
        }

        /**
         * Sets whether A and φ are learned (default: false); Time2Vec requires it. The parameter {@code features}, (C +
         * 1, D), is initialized with the rows of A, followed by φ.
         */
        public Builder optLearned(boolean learned) {
            return set("learned", learned);
        }
    }
}
