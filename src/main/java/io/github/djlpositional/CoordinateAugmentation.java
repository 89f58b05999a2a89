package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;

/**
 * Changes the coordinates of patches randomly in training, which makes an encoder robust to other image sizes and
 * proportions: Siméoni et al., <em>DINOv3</em> (2025), section 3.2, and {@code RopePositionEmbedding} of the published
 * code. All coordinates on an axis are shifted by the same number, then multiplied by a factor for this axis and by one
 * for all axes:
 *
 * <pre>
 * (c + shift · u) · jitter^v · rescale^w, with u and v for each axis, and w for all, from -1 to 1
 * </pre>
 *
 * <p>The coordinates are usually those of {@code RotaryPresets.dinov3Positions}, from -1 to 1. A
 * {@code VisionTransformerBlock} with {@code optAugmentation} changes its own coordinates in each training forward. For
 * another block, change the positions before its forward:
 *
 * <pre>{@code
 * params.add(PositionalEncodingBlock.POSITIONS, new CoordinateAugmentation(0, 1, 2).apply(positions, 5));
 * }</pre>
 *
 * @param shift the largest shift, 0 or more and finite (default: 0); {@code pos_embed_shift} of Hugging Face
 *     transformers
 * @param jitter the largest factor of an axis, 1 or more and finite (default: 1); {@code pos_embed_jitter}
 * @param rescale the largest factor of all axes, 1 or more and finite (default: 1); {@code pos_embed_rescale}, 2 in
 *     DINOv3
 * @see <a href="https://arxiv.org/abs/2508.10104">DINOv3</a>
 */
public record CoordinateAugmentation(
        @Default("0") double shift,
        @Default("1") double jitter,
        @Default("1") double rescale) {

    /**
     * Creates an augmentation.
     *
     * @param shift 0 or more and finite
     * @param jitter 1 or more and finite
     * @param rescale 1 or more and finite
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public CoordinateAugmentation {
        Check.that(
                shift >= 0 && shift < Double.POSITIVE_INFINITY,
                "shift " + shift + ": expected 0 or more and finite; set it to 0 for none");
        requireFactor("jitter", jitter);
        requireFactor("rescale", rescale);
    }

    private static void requireFactor(String name, double factor) {
        Check.that(
                factor >= 1 && factor < Double.POSITIVE_INFINITY,
                () -> name + " " + factor + ": expected 1 or more and finite, since factors are from 1 / " + name
                        + " to " + name + "; set it to 1 for none");
    }

    /**
     * {@return the changed positions: a new array, which the caller closes} The random numbers are those of the engine,
     * which {@code Engine.setRandomSeed} repeats.
     *
     * @param positions (axes, T) or (axes, B, T), of a floating-point type
     * @param leadingTokens the number of tokens before the patches, whose positions are not changed, such as a class
     *     token and registers
     * @throws IllegalArgumentException if the positions have another shape or an integer type, or there are fewer
     *     tokens
     */
    public NDArray apply(NDArray positions, int leadingTokens) {
        requirePositions(positions, leadingTokens);
        Shape shape = new Shape(numbers(positions));
        NDArray random = positions.getManager().randomUniform(-1, 1, shape, DataType.FLOAT32, positions.getDevice());
        try (random) {
            return apply(positions, leadingTokens, random);
        }
    }

    /**
     * {@return the positions changed by given random numbers: a new array, which the caller closes}
     *
     * @param positions as for {@link #apply(NDArray, int)}
     * @param leadingTokens as for {@link #apply(NDArray, int)}
     * @param random (2 · axes + 1), from -1 to 1, of a floating-point type: for the shifts of the axes, for their
     *     factors, and for the factor of all
     * @throws IllegalArgumentException if an array has another shape or an integer type, or there are fewer tokens
     */
    public NDArray apply(NDArray positions, int leadingTokens, NDArray random) {
        requirePositions(positions, leadingTokens);
        DataTypes.requireEmbedding(random, "the array of random numbers");
        int numbers = numbers(positions);
        Check.that(
                random.getShape().equals(new Shape(numbers)),
                () -> "random numbers of shape " + random.getShape() + " for positions " + positions.getShape()
                        + ": expected (" + numbers + "), two for each axis and one for all; pass as many");
        return Temporaries.result(() -> {
            int axes = (numbers - 1) / 2;
            NDArray all = Arithmetic.toType(random, positions.getDataType()).toDevice(positions.getDevice(), false);
            NDArray ofAxes = all.get(NDIndex.sliceAxis(0, axes, 2L * axes));
            NDArray ofAll = all.get(NDIndex.sliceAxis(0, 2L * axes, numbers));
            NDArray shifts = Arithmetic.multiply(all.get(NDIndex.sliceAxis(0, 0, axes)), shift);
            NDArray factors = Arithmetic.multiply(ofAxes, StrictMath.log(jitter))
                    .add(Arithmetic.multiply(ofAll, StrictMath.log(rescale)))
                    .exp();
            Shape shape = positions.getShape();
            int last = shape.dimension() - 1;
            Shape perAxis = shape.dimension() == 2 ? new Shape(axes, 1) : new Shape(axes, 1, 1);
            NDArray patches = leadingTokens == 0
                    ? positions
                    : positions.get(NDIndex.sliceAxis(last, leadingTokens, shape.get(last)));
            NDArray changed = patches.add(shifts.reshape(perAxis)).mul(factors.reshape(perAxis));
            return leadingTokens == 0
                    ? changed
                    : positions.get(NDIndex.sliceAxis(last, 0, leadingTokens)).concat(changed, last);
        });
    }

    private static int numbers(NDArray positions) {
        return Math.toIntExact(2 * positions.getShape().get(0) + 1);
    }

    private static void requirePositions(NDArray positions, int leadingTokens) {
        Shape shape = positions.getShape();
        Check.that(
                (shape.dimension() == 2 || shape.dimension() == 3)
                        && shape.size() > 0
                        && DataTypes.isEmbedding(positions.getDataType()),
                () -> "positions of shape " + shape + " and data type " + positions.getDataType()
                        + ": expected (axes, T) or (axes, B, T) of float16, float32 or float64; pass the coordinates of"
                        + " patches, such as the centers, on each axis");
        Check.between("leadingTokens", leadingTokens, 0, shape.getLastDimension() - 1);
    }
}
