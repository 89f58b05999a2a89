package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A trained encoder and its vocabulary, ready to judge sentences. */
final class SavedEncoder implements AutoCloseable {

    private final Model model;
    private final Vocabulary vocabulary;
    private final int maxWords;
    private final Predictor<String, Classifications> predictor;

    private SavedEncoder(Model model, Vocabulary vocabulary, int maxWords) {
        this.model = model;
        this.vocabulary = vocabulary;
        this.maxWords = maxWords;
        predictor = model.newPredictor(new WordOrderTranslator(vocabulary, maxWords));
    }

    /** A model without weights, to be trained and saved, or loaded. */
    static Model newModel(Engine engine, Device device) {
        return Model.newInstance(EncoderFolder.MODEL, device, engine.getEngineName());
    }

    /** Gives a trained model a judge's face; closing this closes the model. */
    static SavedEncoder of(Model trained, EncoderSpec spec, Vocabulary vocabulary) {
        return new SavedEncoder(trained, vocabulary, spec.maxWords());
    }

    /** Loads a folder that {@link EncoderFolder#save} wrote, into new objects. */
    static SavedEncoder load(Path folder, Engine engine, Device device) {
        Model model = EncoderLoader.load(folder, engine, device, Classifications.class);
        try {
            Path files = model.getModelPath();
            EncoderSpec spec = EncoderFolder.readSpec(files);
            return new SavedEncoder(model, EncoderFolder.readVocabulary(files, spec), spec.maxWords());
        } catch (IOException | MalformedModelException e) {
            model.close();
            throw EncoderFolder.unreadable(folder, e);
        }
    }

    /**
     * Judges sentences.
     *
     * @param sentences each with at least one word
     * @return for each the probability that its words are in order
     */
    List<Double> judge(List<String> sentences) {
        try {
            return predictor.batchPredict(sentences).stream()
                    .map(judgement ->
                            judgement.get(WordOrderTranslator.IN_ORDER).getProbability())
                    .toList();
        } catch (TranslateException e) {
            if (e.getCause() instanceof UserError error) {
                throw error;
            }
            throw new IllegalStateException("the sentences could not be judged", e);
        }
    }

    /**
     * Looks into the attention.
     *
     * @param sentence with at least one word
     * @return what each of its words looks at
     */
    AttentionMaps attentionOf(String sentence) {
        List<String> words = SentenceTranslator.wordsOf(sentence);
        List<String> taken = words.subList(0, Math.min(words.size(), maxWords));
        try (NDManager manager = model.getNDManager().newSubManager()) {
            NDList ids = new NDList(manager.create(vocabulary.idsOf(taken)).expandDims(0));
            NDList maps = ((TransformerEncoder) model.getBlock()).attentionOf(new ParameterStore(manager, false), ids);
            return new AttentionMaps(
                    taken, maps.stream().map(SavedEncoder::heads).toList());
        }
    }

    /** (1, heads, T, T) as one array for each head. */
    private static List<double[]> heads(NDArray map) {
        return map.squeeze(0).split(map.getShape().get(1)).stream()
                .map(head -> head.toType(DataType.FLOAT64, false).toDoubleArray())
                .toList();
    }

    @Override
    public void close() {
        predictor.close();
        model.close();
    }
}
