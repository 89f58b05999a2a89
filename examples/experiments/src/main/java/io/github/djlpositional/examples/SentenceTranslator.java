package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.translate.Batchifier;
import ai.djl.translate.PaddingStackBatchifier;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import ai.djl.translate.TranslatorFactory;
import ai.djl.util.Pair;
import java.io.IOException;
import java.lang.reflect.Type;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Translates a sentence into token ids, and the outputs of the encoder into a judgement.
 *
 * <p>A batch is padded to its longest sentence. The encoder masks padding in the attention and in the mean, so a
 * sentence gets the same answer in every batch except for rounding, because sums of different lengths are added in a
 * different order.
 */
final class SentenceTranslator implements Translator<String, Judgement> {

    private final Vocabulary vocabulary;
    private final int maxWords;

    SentenceTranslator(Vocabulary vocabulary, int maxWords) {
        this.vocabulary = vocabulary;
        this.maxWords = maxWords;
    }

    /**
     * Creates the block and the translator of a saved encoder. DJL finds this class by its name in
     * {@code serving.properties}, and passes the entries of that file as arguments.
     */
    public static final class Factory implements BlockFactory, TranslatorFactory {

        @Override
        public Block newBlock(Model model, Path folder, Map<String, ?> arguments) {
            return new TransformerEncoder(EncoderFile.spec(arguments));
        }

        @Override
        public Set<Pair<Type, Type>> getSupportedTypes() {
            return Set.of(new Pair<>(String.class, Judgement.class));
        }

        @Override
        @SuppressWarnings("unchecked") // DJL has checked the types
        public <I, O> Translator<I, O> newInstance(Class<I> input, Class<O> output, Model model, Map<String, ?> args)
                throws TranslateException {
            try {
                return (Translator<I, O>) EncoderFile.translator(model.getModelPath(), EncoderFile.spec(args));
            } catch (IOException e) {
                throw new TranslateException("the vocabulary cannot be read: " + e, e);
            }
        }
    }

    @Override
    public NDList processInput(TranslatorContext ctx, String sentence) {
        return new NDList(idsOf(wordsOf(sentence), ctx.getNDManager()));
    }

    @Override
    public Judgement processOutput(TranslatorContext ctx, NDList outputs) {
        float inOrder = outputs.get(0).softmax(0).getFloat(OrderDataset.IN_ORDER);
        List<Float> embedding = new ArrayList<>();
        for (float value : outputs.get(1).toFloatArray()) {
            embedding.add(value);
        }
        return new Judgement(inOrder, embedding);
    }

    /** Returns at least one word. Words beyond the encoder's maximum are cut off, as in training. */
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
