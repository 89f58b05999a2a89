package io.github.djlpositional.examples;

import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDList;
import ai.djl.translate.Batchifier;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import java.util.Arrays;
import java.util.List;

/** From a sentence to token ids, and from the encoder's scores to the probabilities that its words are in order and not. */
final class WordOrderTranslator implements Translator<String, Classifications> {

    /** The name of the class of sentences whose words are in order. */
    static final String IN_ORDER = "in order";

    /** By label. */
    private static final List<String> CLASSES = List.of("shuffled", IN_ORDER);

    private final Vocabulary vocabulary;
    private final int maxWords;

    WordOrderTranslator(Vocabulary vocabulary, int maxWords) {
        this.vocabulary = vocabulary;
        this.maxWords = maxWords;
    }

    @Override
    public NDList processInput(TranslatorContext ctx, String sentence) {
        List<String> words = wordsOf(sentence);
        // padded to one length, so that sentences can be stacked; words beyond the length are cut as in training
        int[] ids = Arrays.copyOf(vocabulary.idsOf(words), maxWords);
        return new NDList(ctx.getNDManager().create(ids));
    }

    /** The words of a sentence, of which there must be some. */
    static List<String> wordsOf(String sentence) {
        List<String> words = Words.of(sentence);
        if (words.isEmpty()) {
            throw new UserError("the sentence '" + sentence + "' has no word: give one or more");
        }
        return words;
    }

    @Override
    public Classifications processOutput(TranslatorContext ctx, NDList scores) {
        return new Classifications(CLASSES, scores.singletonOrThrow().softmax(0));
    }

    @Override
    public Batchifier getBatchifier() {
        return Batchifier.STACK;
    }
}
