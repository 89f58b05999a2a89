package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDList;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.translate.ArgumentsUtil;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorFactory;
import ai.djl.util.Pair;
import java.io.IOException;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Creates the block and the translator of a saved encoder. DJL finds this class by its name in
 * {@code serving.properties}.
 *
 * <p>The translator turns a sentence into {@link Classifications} of the classes {@code in order} and {@code shuffled},
 * or, with the argument {@value #EMBEDDING}, into a {@link Judgement}.
 */
public final class EncoderFactory implements BlockFactory, TranslatorFactory {

    /**
     * The argument of DJL's {@code Criteria} that requests the sentence's embedding: true or false (default: false).
     */
    public static final String EMBEDDING = "embedding";

    /** The name of the class of sentences whose words are in order. */
    static final String IN_ORDER = "in order";

    private static final List<String> CLASSES = List.of("shuffled", IN_ORDER);

    /**
     * {@inheritDoc}
     *
     * @param model not used
     * @param modelPath the folder of the unpacked encoder
     * @param arguments the sizes, from {@code serving.properties}, and {@value #EMBEDDING}
     * @return a new encoder without weights
     * @throws IllegalArgumentException if a size is missing or out of range
     */
    @Override
    public Block newBlock(Model model, Path modelPath, Map<String, ?> arguments) {
        return new TransformerEncoder(
                EncoderSpec.fromArguments(arguments), ArgumentsUtil.booleanValue(arguments, EMBEDDING));
    }

    @Override
    public Set<Pair<Type, Type>> getSupportedTypes() {
        return Set.of(new Pair<>(String.class, Classifications.class), new Pair<>(String.class, Judgement.class));
    }

    void requireSupported(Class<?> input, Class<?> output) {
        Check.that(
                isSupported(input, output),
                () -> input.getName() + " to " + output.getName()
                        + ": expected String to Classifications or Judgement; use one of these");
    }

    /**
     * {@inheritDoc}
     *
     * @throws TranslateException if the model has no vocabulary, or one of another size
     * @throws IllegalArgumentException for other types than String and Classifications or Judgement, or if
     *     {@value #EMBEDDING} does not fit the output type
     */
    @Override
    @SuppressWarnings("unchecked") // the types are checked
    public <I, O> Translator<I, O> newInstance(Class<I> input, Class<O> output, Model model, Map<String, ?> arguments)
            throws TranslateException {
        requireSupported(input, output);
        boolean embeds = output == Judgement.class;
        Check.that(
                embeds == ArgumentsUtil.booleanValue(arguments, EMBEDDING),
                () -> "argument " + EMBEDDING + " " + arguments.get(EMBEDDING) + " for String to "
                        + output.getSimpleName()
                        + ": expected true for Judgement and false for Classifications; set it in the Criteria with"
                        + " optArgument");
        EncoderSpec spec = EncoderSpec.fromArguments(arguments);
        try {
            Vocabulary vocabulary = vocabulary(model.getModelPath(), spec);
            return (Translator<I, O>)
                    (embeds
                            ? new SentenceTranslator<>(vocabulary, spec.maxWords(), EncoderFactory::judgement)
                            : classifier(vocabulary, spec));
        } catch (IOException e) {
            throw new TranslateException("the vocabulary cannot be read: " + e, e);
        }
    }

    /** Creates the translator from a sentence to the probabilities of both classes. */
    static SentenceTranslator<Classifications> classifier(Vocabulary vocabulary, EncoderSpec spec) {
        return new SentenceTranslator<>(
                vocabulary,
                spec.maxWords(),
                scores -> new Classifications(CLASSES, scores.singletonOrThrow().softmax(0)));
    }

    private static Judgement judgement(NDList outputs) {
        float inOrder = outputs.get(0).softmax(0).toFloatArray()[WordOrderDataset.IN_ORDER];
        List<Float> embedding = new ArrayList<>();
        for (float value : outputs.get(1).toFloatArray()) {
            embedding.add(value);
        }
        return new Judgement(inOrder, embedding);
    }

    /** Reads the vocabulary of an unpacked encoder. */
    static Vocabulary vocabulary(Path folder, EncoderSpec spec) throws IOException {
        Vocabulary vocabulary = Vocabulary.of(Files.readAllLines(folder.resolve(EncoderFile.VOCABULARY)));
        if (vocabulary.size() != spec.vocabularySize()) {
            throw new IOException(EncoderFile.VOCABULARY + " has " + vocabulary.size() + " ids, vocabularySize is "
                    + spec.vocabularySize());
        }
        return vocabulary;
    }
}
