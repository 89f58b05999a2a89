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
import java.util.function.Function;

/**
 * Translates a sentence into token ids, and the outputs of the encoder into an answer.
 *
 * <p>A batch is padded to its longest sentence. The encoder masks padding in the attention and in the mean, so a
 * sentence gets the same answer in every batch except for rounding, because sums of different lengths are added in a
 * different order.
 *
 * @param <O> the type of the answers
 */
final class SentenceTranslator<O> implements Translator<String, O> {

    private final Vocabulary vocabulary;
    private final int maxWords;
    private final Function<NDList, O> answer;

    SentenceTranslator(Vocabulary vocabulary, int maxWords, Function<NDList, O> answer) {
        this.vocabulary = vocabulary;
        this.maxWords = maxWords;
        this.answer = answer;
    }

    @Override
    public NDList processInput(TranslatorContext ctx, String sentence) {
        return new NDList(idsOf(wordsOf(sentence), ctx.getNDManager()));
    }

    @Override
    public O processOutput(TranslatorContext ctx, NDList outputs) {
        return answer.apply(outputs);
    }

    /**
     * Returns the words of a sentence, at least one. Words beyond the encoder's maximum are cut off, as in training.
     */
    List<String> wordsOf(String sentence) {
        List<String> words = Glosses.words(sentence);
        if (words.isEmpty()) {
            throw new UserError("sentence '" + sentence + "' has no words: enter at least one");
        }
        return words.subList(0, Math.min(words.size(), maxWords));
    }

    /** Returns the ids (T) of T words; closed with the manager. */
    NDArray idsOf(List<String> words, NDManager manager) {
        return manager.create(vocabulary.idsOf(words));
    }

    @Override
    public Batchifier getBatchifier() {
        return PaddingStackBatchifier.builder()
                .addPad(0, 0, manager -> manager.full(new Shape(1), TransformerEncoder.PADDING, DataType.INT32))
                .build();
    }
}
