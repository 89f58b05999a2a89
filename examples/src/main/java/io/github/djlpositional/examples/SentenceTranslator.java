package io.github.djlpositional.examples;

import ai.djl.ndarray.NDList;
import ai.djl.translate.Batchifier;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import java.util.Arrays;
import java.util.List;

/** From a sentence to token ids, and from the encoder's scores to the probability that the words are in order. */
final class SentenceTranslator implements Translator<String, Double> {

    private final Vocabulary vocabulary;
    private final int maxWords;

    SentenceTranslator(Vocabulary vocabulary, int maxWords) {
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
    public Double processOutput(TranslatorContext ctx, NDList scores) {
        return (double) scores.singletonOrThrow().softmax(0).getFloat(WordOrderDataset.IN_ORDER);
    }

    @Override
    public Batchifier getBatchifier() {
        return Batchifier.STACK;
    }
}
