package io.github.djlpositional.examples.pictures;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.ParameterList;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.TransformerLayerBlock;
import io.github.djlpositional.attention.TransformerStackBlock;
import io.github.djlpositional.attention.WindowBiasBlock;
import java.nio.FloatBuffer;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * A small vision transformer after Dosovitskiy et al., <em>An Image is Worth 16x16 Words</em> (2021), in which each
 * pixel is a token: a linear layer, encoder layers, the mean over the tokens, and a linear head.
 *
 * <p>Input: pictures (B, S, S), FLOAT32. Output: one score for each class, (B, 2).
 */
final class PictureEncoder extends AbstractBlock {

    private static final int SIZE = 64;
    private static final int HEADS = 4;
    private static final int LAYERS = 2;
    private static final int FEED_FORWARD_SIZE = 128;
    private static final int CLASSES = 2;

    private final PictureEncoding encoding;
    private final int side;
    private final Block pixels = addChildBlock("pixels", linear(SIZE));
    private final Block positions;
    private final TransformerStackBlock layers;
    private final Block head = addChildBlock("head", linear(CLASSES));

    /**
     * Builds an encoder.
     *
     * @param encoding the kind of positional encoding
     * @param side S, the side of the pictures
     */
    PictureEncoder(PictureEncoding encoding, int side) {
        this.encoding = encoding;
        this.side = side;
        positions = addChildBlock("positions", encoding.absolute(SIZE, side));
        layers = addChildBlock(
                "layers",
                TransformerStackBlock.builder().setLayers(LAYERS, this::layer).build());
    }

    private TransformerLayerBlock.Builder layer() {
        MultiHeadAttentionBlock.Builder attention =
                MultiHeadAttentionBlock.builder().setEmbeddingSize(SIZE).setHeadCount(HEADS);
        encoding.relative(HEADS, SIZE / HEADS, side).ifPresent(attention::optRelativeEncoding);
        return TransformerLayerBlock.builder().setAttention(attention.build()).setHiddenSize(FEED_FORWARD_SIZE);
    }

    private static Block linear(int units) {
        return Linear.builder().setUnits(units).build();
    }

    /**
     * Returns an encoder for pictures of another size with the weights of this one.
     *
     * @param newSide the side of those pictures
     * @param manager the manager of its parameters
     */
    PictureEncoder resized(int newSide, NDManager manager) {
        PictureEncoder resized = new PictureEncoder(encoding, newSide);
        resized.initialize(manager, DataType.FLOAT32, new Shape(1, newSide, newSide));
        ParameterList from = getParameters();
        ParameterList to = resized.getParameters();
        for (int i = 0; i < from.size(); i++) {
            NDArray source = from.valueAt(i).getArray();
            NDArray target = to.valueAt(i).getArray();
            // the only others are the biases of windows
            if (source.getShape().equals(target.getShape())) {
                source.copyTo(target);
            }
        }
        for (int i = 0; i < LAYERS; i++) {
            RelativeEncoding trained = relative(i);
            RelativeEncoding resampled = resized.relative(i);
            if (trained instanceof WindowBiasBlock window) {
                ((WindowBiasBlock) resampled).resample(window);
            }
        }
        return resized;
    }

    private RelativeEncoding relative(int layer) {
        return layers.getLayers().get(layer).getAttention().getRelativeEncoding();
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray pictures = inputs.singletonOrThrow();
        PairList<String, Object> places = places(pictures.getManager());
        NDArray tokens = pictures.reshape(pictures.getShape().get(0), (long) side * side, 1);
        NDList x = positions.forward(store, pixels.forward(store, new NDList(tokens), training), training, places);
        x = layers.forward(store, x, training, places);
        return head.forward(store, new NDList(x.singletonOrThrow().mean(new int[] {1})), training);
    }

    /** The forward parameters that say where the pixels are. */
    private PairList<String, Object> places(NDManager manager) {
        PairList<String, Object> places = new PairList<>();
        if (encoding == PictureEncoding.LEARNED) {
            places.add(LearnedPositionalEncodingBlock.GRID_SIZES, new Shape(side, side));
        }
        encoding.coordinates(side).ifPresent(coordinates -> {
            double[] values =
                    Stream.of(coordinates).flatMapToDouble(DoubleStream::of).toArray();
            float[] floats = new float[values.length];
            for (int i = 0; i < values.length; i++) {
                floats[i] = (float) values[i];
            }
            Shape shape = new Shape(2, 1, (long) side * side);
            places.add(
                    PositionalEncodingBlock.POSITIONS,
                    manager.create(FloatBuffer.wrap(floats), shape, DataType.FLOAT32));
        });
        return places;
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
