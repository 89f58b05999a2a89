package io.github.djlpositional.examples;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.ArrayList;
import java.util.List;

/**
 * The attention probabilities of an encoder for one sentence, in every layer and head.
 *
 * @param words the words of the sentence, up to the encoder's maximum; unknown words unchanged
 * @param layers for each layer and head T × T probabilities, row by row: the attention of word i to word j
 */
public record AttentionMaps(List<String> words, List<List<double[]>> layers) {

    /** Computes the attention of layers that normalize after each part, for the vectors of words, (1, T, D). */
    public static AttentionMaps of(
            List<String> words, ParameterStore store, NDList vectors, TransformerStackBlock layers) {
        List<List<double[]>> maps = new ArrayList<>();
        NDList x = vectors;
        for (TransformerLayerBlock layer : layers.getLayers()) {
            NDArray heads = layer.getAttention().probabilities(store, x).squeeze(0);
            maps.add(heads.split(heads.getShape().get(0)).stream()
                    .map(head -> head.toType(DataType.FLOAT64, false).toDoubleArray())
                    .toList());
            x = layer.forward(store, x, false);
        }
        return new AttentionMaps(words, maps);
    }

    /** Returns the attention of the word at a position to another, from 0 to 1; the sum over {@code to} is 1. */
    public double weight(int layer, int head, int from, int to) {
        return layers.get(layer).get(head)[from * words.size() + to];
    }
}
