package io.github.djlpositional.examples;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.Batchifier;
import ai.djl.translate.PaddingStackBatchifier;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import java.util.List;

/**
 * From a sentence to token ids; what becomes of the encoder's output is for a subclass to say.
 *
 * <p>A batch is padded to its own longest sentence. The encoder gives padding no attention and leaves it out of the
 * mean, so a sentence has the same answer in every batch, but for rounding: sums of another length are added up in
 * another order.
 */
abstract class SentenceTranslator<O> implements Translator<String, O> {

    private final Vocabulary vocabulary;
    private final int maxWords;

    SentenceTranslator(Vocabulary vocabulary, int maxWords) {
        this.vocabulary = vocabulary;
        this.maxWords = maxWords;
    }

    @Override
    public final NDList processInput(TranslatorContext ctx, String sentence) {
        return new NDList(idsOf(wordsOf(sentence), ctx.getNDManager()));
    }

    /**
     * The words of a sentence, of which there must be some; those beyond the encoder's length are cut, as in training.
     */
    final List<String> wordsOf(String sentence) {
        List<String> words = Words.of(sentence);
        if (words.isEmpty()) {
            throw new UserError("the sentence '" + sentence + "' has no word: give one or more");
        }
        return words.subList(0, Math.min(words.size(), maxWords));
    }

    /** The ids (T) of T words. */
    final NDArray idsOf(List<String> words, NDManager manager) {
        return manager.create(vocabulary.idsOf(words));
    }

    @Override
    public final Batchifier getBatchifier() {
        return PaddingStackBatchifier.builder()
                .addPad(0, 0, manager -> manager.full(new Shape(1), TransformerEncoder.PADDING, DataType.INT32))
                .build();
    }
}
