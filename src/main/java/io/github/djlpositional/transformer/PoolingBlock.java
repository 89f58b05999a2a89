package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import java.util.Map;

/**
 * Combines the vectors of the tokens of a sequence into one vector, for a classifier or a sentence embedding. It ends a
 * {@link ai.djl.nn.SequentialBlock} whose blocks pass on the mask of padding:
 *
 * <pre>{@code
 * new SequentialBlock()
 *         .add(InputEmbeddingBlock.builder() … .optPaddingIndex(0).optReturnMask(true).build()) // [x, mask]
 *         .add(TransformerLayerBlock.builder() … .optReturnMask(true).build())                  // [x, mask]
 *         .add(PoolingBlock.builder().setPooling(Pooling.MEAN).build())                         // (B, D)
 *         .add(Linear.builder().setUnits(2).build());
 * }</pre>
 *
 * <p>The inputs are {@code [x]} or {@code [x, mask]}: x is (B, T, D), and the mask is (B, T), false or 0 for hidden
 * tokens, of any type. The output is (B, D) in the data type of x: zeros for a sequence without a visible token.
 * Vectors of hidden tokens must be finite.
 */
public final class PoolingBlock extends OptionsBlock {

    record Options(Pooling pooling) {

        Options {
            Check.present("pooling", pooling);
        }
    }

    private final Options options;

    private PoolingBlock(Options options) {
        super(options);
        this.options = options;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static PoolingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        NDArray mask = inputs.size() == 1 ? null : inputs.get(1);
        if (mask != null) {
            DataTypes.requireSameEngine(mask, x, "input");
        }
        return new NDList(options.pooling.of(x, mask));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        Shape x = inputShapes[0];
        return new Shape[] {new Shape(x.get(0), x.get(2))};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 2, "[x] or [x, mask]");
        Shape x = inputShapes[0];
        Check.that(
                x.dimension() == 3,
                () -> "input of shape " + x + ": expected (B, T, D); pass the vectors of all tokens");
        if (inputShapes.length == 2) {
            Shape mask = inputShapes[1];
            Check.that(
                    mask.dimension() == 2 && Check.agree(mask.get(0), x.get(0)) && Check.agree(mask.get(1), x.get(1)),
                    () -> "mask of shape " + mask + " for an input of shape " + x + ": expected " + x.slice(0, 2)
                            + "; pass one number for each token");
        }
    }

    /** Builds a {@link PoolingBlock}. */
    public static final class Builder extends BlockBuilder<PoolingBlock, Builder> {

        private Builder() {
            super(Options.class, PoolingBlock::new);
        }

        /** Sets how the vectors become one. */
        public Builder setPooling(Pooling pooling) {
            return set("pooling", pooling);
        }
    }
}
