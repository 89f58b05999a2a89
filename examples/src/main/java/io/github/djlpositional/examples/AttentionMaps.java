package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import java.nio.file.Path;
import java.util.List;

/**
 * What each word of a sentence looks at, in every layer and head of an encoder.
 *
 * @param words the sentence, as far as the encoder takes it; an unknown word as it was given
 * @param layers for each layer and head T × T numbers, row by row: how much word i sees of word j
 */
public record AttentionMaps(List<String> words, List<List<double[]>> layers) {

    /**
     * Looks into a saved encoder.
     *
     * @param folder where {@code train-encoder} saved it
     * @param sentences each with at least one word
     * @return the maps of each sentence
     * @throws UserError if there is no encoder in the folder, or a sentence has no word
     */
    public static List<AttentionMaps> of(Path folder, List<String> sentences) {
        try (SavedEncoder encoder = SavedEncoder.load(folder, Engine.getEngine("PyTorch"), Device.cpu())) {
            return sentences.stream().map(encoder::attentionOf).toList();
        }
    }

    /**
     * Returns how much a word sees of another.
     *
     * @param layer from 0
     * @param head from 0
     * @param from the position of the word that looks
     * @param to the position of the word that is looked at
     * @return from 0 to 1; of all that a word looks at, the sum is 1
     */
    public double weight(int layer, int head, int from, int to) {
        return layers.get(layer).get(head)[from * words.size() + to];
    }
}
