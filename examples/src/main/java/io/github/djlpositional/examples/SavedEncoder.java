package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.ParameterStore;
import ai.djl.translate.TranslateException;
import java.nio.file.Path;
import java.util.List;

/** A trained encoder and its vocabulary, ready to judge sentences. */
final class SavedEncoder implements AutoCloseable {

    private final Model model;
    private final WordOrderTranslator translator;
    private final Predictor<String, Classifications> predictor;

    private SavedEncoder(Model model, WordOrderTranslator translator) {
        this.model = model;
        this.translator = translator;
        predictor = model.newPredictor(translator);
    }

    /** Gives a trained model a judge's face; closing this closes the model. */
    static SavedEncoder of(Model trained, EncoderSpec spec, Vocabulary vocabulary) {
        return new SavedEncoder(trained, new WordOrderTranslator(vocabulary, spec.maxWords()));
    }

    /** Loads a folder that {@link EncoderFolder#save} wrote, into new objects. */
    static SavedEncoder load(Path folder, Engine engine, Device device) {
        ZooModel<String, Classifications> model = EncoderLoader.load(folder, engine, device, Classifications.class);
        return new SavedEncoder(model, (WordOrderTranslator) model.getTranslator());
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
        List<String> words = translator.wordsOf(sentence);
        try (NDManager manager = model.getNDManager().newSubManager()) {
            NDList ids = new NDList(translator.idsOf(words, manager).expandDims(0));
            NDList maps = ((TransformerEncoder) model.getBlock()).attentionOf(new ParameterStore(manager, false), ids);
            return new AttentionMaps(
                    words, maps.stream().map(SavedEncoder::heads).toList());
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
