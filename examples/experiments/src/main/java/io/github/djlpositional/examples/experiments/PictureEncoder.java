package io.github.djlpositional.examples.experiments;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;

/**
 * A small vision transformer after Dosovitskiy et al., <em>An Image is Worth 16x16 Words</em> (2021), in which each
 * pixel is a token: a linear layer, encoder layers, the mean over the tokens, and a linear head.
 *
 * <p>Input: pictures (B, S, S), FLOAT32. Output: one score for each class, (B, 2).
 */
final class PictureEncoder extends AbstractBlock {

    /** The side of the training pictures. */
    static final int TRAINED_SIDE = 8;

    private static final int SIZE = 64;
    private static final int CLASSES = 2;

    private final Encoding encoding;
    private final int side;
    private final Block pixels =
            addChildBlock("pixels", Linear.builder().setUnits(SIZE).build());
    private final Block positions;
    private final TransformerStackBlock layers;
    private final Block head =
            addChildBlock("head", Linear.builder().setUnits(CLASSES).build());

    /** Builds an encoder of pictures with a side S. */
    PictureEncoder(Encoding encoding, int side) {
        this.encoding = encoding;
        this.side = side;
        Encoding.Sizes sizes = new Encoding.Sizes(SIZE, 4, TRAINED_SIDE, side, false);
        positions = addChildBlock("positions", encoding.absolute(sizes));
        layers = addChildBlock(
                "layers",
                TransformerStackBlock.builder()
                        .setLayers(
                                2,
                                () -> encoding.layer(sizes)
                                        .optFeedForward(FeedForwardBlock.builder()
                                                .setEmbeddingSize(SIZE)
                                                .setHiddenSize(128)
                                                .build()))
                        .build());
    }

    /** Returns an encoder for pictures of another side with the weights of this one. */
    PictureEncoder resized(int newSide, NDManager manager) {
        PictureEncoder resized = new PictureEncoder(encoding, newSide);
        resized.initialize(manager, DataType.FLOAT32, new Shape(1, newSide, newSide));
        Experiment.copyParameters(this, resized);
        for (int i = 0; i < layers.getLayers().size(); i++) {
            List<RelativeEncoding> encodings = resized.relative(i);
            if (!encodings.isEmpty() && encodings.get(0) instanceof WindowBiasBlock window) {
                window.resample((WindowBiasBlock) relative(i).get(0));
            }
        }
        return resized;
    }

    private List<RelativeEncoding> relative(int layer) {
        return layers.getLayers().get(layer).getAttention().getRelativeEncodings();
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray pictures = inputs.singletonOrThrow();
        PairList<String, Object> grid = new PairList<>();
        grid.add(LearnedPositionalEncodingBlock.GRID_SIZES, new Shape(side, side));
        NDArray tokens = pictures.reshape(pictures.getShape().get(0), (long) side * side, 1);
        NDList x = positions.forward(store, pixels.forward(store, new NDList(tokens), training), training, grid);
        x = layers.forward(store, x, training, coordinates(pictures.getManager()));
        return head.forward(store, new NDList(x.singletonOrThrow().mean(new int[] {1})), training);
    }

    /** Returns the forward parameter that says by which coordinates rotary encodings rotate. */
    private PairList<String, Object> coordinates(NDManager manager) {
        PairList<String, Object> parameters = new PairList<>();
        if (encoding == Encoding.ROTARY_SCALED || encoding == Encoding.ROTARY_CONTINUED) {
            int scaledTo = encoding == Encoding.ROTARY_SCALED ? TRAINED_SIDE : side;
            double[][] cells = RotaryPresets.evaPositions(0, scaledTo, side, side);
            NDArray coordinates = manager.create(cells).toType(DataType.FLOAT32, false);
            parameters.add(PositionalEncodingBlock.POSITIONS, coordinates.expandDims(1));
        }
        return parameters;
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        long batch = inputShapes[0].get(0);
        // a learned grid has its own length, whatever the pictures
        Shape tokens = new Shape(batch, -1, SIZE);
        pixels.initialize(manager, dataType, new Shape(batch, (long) side * side, 1));
        positions.initialize(manager, dataType, tokens);
        layers.initialize(manager, dataType, tokens);
        head.initialize(manager, dataType, new Shape(batch, SIZE));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {new Shape(inputShapes[0].get(0), CLASSES)};
    }
}
