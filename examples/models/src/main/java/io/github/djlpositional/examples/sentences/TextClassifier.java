package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An encoder, and a linear layer on the mean over the vectors of a text's tokens. */
record TextClassifier(BertEncoder encoder, Linear head) {

    /**
     * Creates a classifier whose training changes the linear layer and the last layers of the encoder, or all of it.
     */
    static TextClassifier of(BertEncoder encoder, int classes, int trainedLayers) {
        List<TransformerLayerBlock> layers = encoder.layers();
        encoder.freezeParameters(trainedLayers < layers.size());
        layers.subList(layers.size() - trainedLayers, layers.size()).forEach(layer -> layer.freezeParameters(false));
        return new TextClassifier(encoder, Linear.builder().setUnits(classes).build());
    }

    /** Returns a block that maps the inputs of the encoder to a score for each class, (B, classes). */
    Block block() {
        return new SequentialBlock().add(encoder).add(BertEncoder::mean).add(head);
    }

    /** Saves the parameters as safetensors, under the names that Hugging Face gives to an encoder and a classifier. */
    void save(Path file) throws IOException {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        encoder.parametersByName().forEach((name, parameter) -> arrays.put(name, parameter.getArray()));
        head.getDirectParameters()
                .forEach(parameter -> arrays.put(
                        "classifier." + parameter.getKey(), parameter.getValue().getArray()));
        Safetensors.write(file, arrays);
    }
}
