package io.github.djlpositional.examples;

import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.modality.Classifications;
import ai.djl.translate.ArgumentsUtil;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorFactory;
import ai.djl.util.Pair;
import java.io.IOException;
import java.io.Serializable;
import java.lang.reflect.Type;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;

/**
 * Makes what turns a sentence into the encoder's input, and its scores into {@link Classifications} of the classes
 * {@code in order} and {@code shuffled}; or into a {@link Judgement}, from an encoder that was loaded with the argument
 * {@value EncoderBlockFactory#EMBEDDING}.
 */
public final class WordOrderTranslatorFactory implements TranslatorFactory, Serializable {

    private static final long serialVersionUID = 1L;

    /** For DJL, which names this class in {@code serving.properties}. */
    public WordOrderTranslatorFactory() {}

    @Override
    public Set<Pair<Type, Type>> getSupportedTypes() {
        return Set.of(new Pair<>(String.class, Classifications.class), new Pair<>(String.class, Judgement.class));
    }

    /** Refuses other types than {@link #getSupportedTypes} has. */
    void requireSupported(Class<?> input, Class<?> output) {
        if (!isSupported(input, output)) {
            throw new IllegalArgumentException(input.getName() + " to " + output.getName()
                    + ": allowed is String to Classifications or Judgement; ask for one of these");
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws TranslateException if the model's folder has no vocabulary, or another than its sizes say
     * @throws IllegalArgumentException for other types than a String and Classifications or a Judgement, or if the
     *     encoder was not loaded for these
     */
    @Override
    @SuppressWarnings("unchecked") // the types are checked
    public <I, O> Translator<I, O> newInstance(Class<I> input, Class<O> output, Model model, Map<String, ?> arguments)
            throws TranslateException {
        requireSupported(input, output);
        boolean embeds = output == Judgement.class;
        if (embeds != ArgumentsUtil.booleanValue(arguments, EncoderBlockFactory.EMBEDDING)) {
            throw new IllegalArgumentException("the argument " + EncoderBlockFactory.EMBEDDING + " is "
                    + arguments.get(EncoderBlockFactory.EMBEDDING) + " for String to " + output.getSimpleName()
                    + ": allowed is true for Judgement alone; set it in the Criteria with optArgument");
        }
        Path folder = model.getModelPath();
        try {
            EncoderProperties saved = EncoderProperties.read(folder);
            Vocabulary vocabulary = EncoderFolder.readVocabulary(folder, saved);
            int maxWords = saved.spec().maxWords();
            return (Translator<I, O>)
                    (embeds
                            ? new JudgementTranslator(vocabulary, maxWords)
                            : new WordOrderTranslator(vocabulary, maxWords));
        } catch (IOException | MalformedModelException e) {
            throw new TranslateException("model folder '" + folder + "' cannot be read: " + e.getMessage(), e);
        }
    }
}
