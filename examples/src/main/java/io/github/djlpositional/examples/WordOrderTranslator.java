package io.github.djlpositional.examples;

import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDList;
import ai.djl.translate.TranslatorContext;
import java.util.List;

/**
 * From a sentence to token ids, and from the encoder's scores to the probabilities that its words are in order and not.
 */
final class WordOrderTranslator extends SentenceTranslator<Classifications> {

    /** The name of the class of sentences whose words are in order. */
    static final String IN_ORDER = "in order";

    /** By label. */
    private static final List<String> CLASSES = List.of("shuffled", IN_ORDER);

    WordOrderTranslator(Vocabulary vocabulary, int maxWords) {
        super(vocabulary, maxWords);
    }

    @Override
    public Classifications processOutput(TranslatorContext ctx, NDList scores) {
        return new Classifications(CLASSES, scores.singletonOrThrow().softmax(0));
    }
}
