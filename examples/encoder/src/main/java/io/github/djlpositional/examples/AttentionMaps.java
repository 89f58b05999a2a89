package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.ParameterStore;
import java.nio.file.Path;
import java.util.List;

/**
 * The attention probabilities of an encoder for one sentence, in every layer and head.
 *
 * @param words the words of the sentence, up to the encoder's maximum; unknown words unchanged
 * @param layers for each layer and head T × T probabilities, row by row: the attention of word i to word j
 */
public record AttentionMaps(List<String> words, List<List<double[]>> layers) {

    /**
     * Computes the attention of a saved encoder.
     *
     * @param file a file that {@code train-encoder} saved
     * @param sentences each with at least one word
     * @return the maps of each sentence
     * @throws UserError if the file is not a saved encoder, or a sentence has no words
     */
    public static List<AttentionMaps> of(Path file, List<String> sentences) {
        try (ZooModel<String, Classifications> model =
                EncoderFile.load(file, Engine.getEngine("PyTorch"), Device.cpu(), Classifications.class)) {
            return sentences.stream().map(sentence -> of(model, sentence)).toList();
        }
    }

    private static AttentionMaps of(ZooModel<String, Classifications> model, String sentence) {
        SentenceTranslator<Classifications> translator = (SentenceTranslator<Classifications>) model.getTranslator();
        List<String> words = translator.wordsOf(sentence);
        try (NDManager manager = model.getNDManager().newSubManager()) {
            NDList ids = new NDList(translator.idsOf(words, manager).expandDims(0));
            return of(
                    words,
                    ((TransformerEncoder) model.getBlock()).attentionOf(new ParameterStore(manager, false), ids));
        }
    }

    /**
     * Copies the attention of one sentence from an engine.
     *
     * @param words its words or tokens
     * @param layers the probabilities of each layer, (1, heads, T, T)
     * @return the maps
     */
    public static AttentionMaps of(List<String> words, NDList layers) {
        return new AttentionMaps(
                words, layers.stream().map(AttentionMaps::heads).toList());
    }

    /** Splits (1, heads, T, T) into one array for each head. */
    private static List<double[]> heads(NDArray map) {
        return map.squeeze(0).split(map.getShape().get(1)).stream()
                .map(head -> head.toType(DataType.FLOAT64, false).toDoubleArray())
                .toList();
    }

    /**
     * Returns the attention of one word to another.
     *
     * @param layer from 0
     * @param head from 0
     * @param from the position of the word that attends
     * @param to the position of the word that is attended to
     * @return from 0 to 1; the sum over {@code to} is 1
     */
    public double weight(int layer, int head, int from, int to) {
        return layers.get(layer).get(head)[from * words.size() + to];
    }
}
