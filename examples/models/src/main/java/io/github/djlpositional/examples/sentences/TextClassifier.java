package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.TransformerLayerBlock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A linear layer on the mean over the vectors of a text's tokens.
 *
 * <p>Inputs: those of a {@link BertEncoder}. Output: a score for each class, (B, classes).
 */
final class TextClassifier extends AbstractBlock {

    private final BertEncoder encoder;
    private final Linear head;
    private final int classes;

    TextClassifier(BertEncoder encoder, int classes) {
        this.encoder = addChildBlock("encoder", encoder);
        this.classes = classes;
        head = addChildBlock("head", Linear.builder().setUnits(classes).build());
    }

    /** Trains only the linear layer and the last layers of the encoder; with all layers, the whole encoder. */
    void trainOnlyLastLayers(int count) {
        List<TransformerLayerBlock> layers = encoder.layers();
        encoder.freezeParameters(count < layers.size());
        layers.subList(layers.size() - count, layers.size()).forEach(layer -> layer.freezeParameters(false));
    }

    /** Returns the parameters by Hugging Face's names: those of the encoder, and those of a classifier. */
    Map<String, Parameter> parametersByName() {
        Map<String, Parameter> named = encoder.parametersByName();
        named.put("classifier.weight", head.getDirectParameters().get("weight"));
        named.put("classifier.bias", head.getDirectParameters().get("bias"));
        return named;
    }

    /** Saves the parameters under these names as safetensors. */
    void save(Path file) throws IOException {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        parametersByName().forEach((name, parameter) -> arrays.put(name, parameter.getArray()));
        Safetensors.write(file, arrays);
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray vectors = encoder.forward(store, inputs, training).singletonOrThrow();
        return head.forward(store, new NDList(BertEncoder.mean(vectors, inputs)), training);
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        encoder.initialize(manager, dataType, inputShapes);
        head.initialize(
                manager,
                dataType,
                new Shape(inputShapes[0].get(0), encoder.sizes().size()));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {new Shape(inputShapes[0].get(0), classes)};
    }
}
