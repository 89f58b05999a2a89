package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * The folder that keeps a trained encoder: {@code encoder-0000.params} as DJL writes it, the sizes and checksums in
 * {@code encoder.properties}, {@code vocabulary.txt} with one word a line, and {@code serving.properties}, which tells
 * DJL's {@link ai.djl.repository.zoo.Criteria} which classes make a working model of them.
 */
final class EncoderFolder {

    /** What DJL calls the model. */
    private static final String MODEL = "encoder";

    private static final String PARAMETERS = MODEL + "-0000.params";
    private static final String WORDS = "vocabulary.txt";
    private static final String SERVING = "serving.properties";

    /** For DJL, which would else take the highest number before {@code .params} that is in the folder. */
    private static final Map<String, String> SAVED_EPOCH = Map.of("epoch", "0");

    private EncoderFolder() {}

    /** A model without weights, to be trained and saved, or loaded. */
    static Model newModel(Engine engine, Device device) {
        return Model.newInstance(MODEL, device, engine.getEngineName());
    }

    /**
     * Writes everything, in place of what was saved before; who is killed meanwhile leaves the one or the other.
     *
     * @param folder where it goes
     * @param trained a model with its parameters
     * @param spec its sizes
     * @param vocabulary its words
     * @param log how it was trained
     */
    static void save(Path folder, Model trained, EncoderSpec spec, Vocabulary vocabulary, TrainingLog log)
            throws IOException {
        FolderUpdate.of(folder, beside -> write(beside, trained, spec, vocabulary, log));
    }

    private static void write(Path folder, Model trained, EncoderSpec spec, Vocabulary vocabulary, TrainingLog log)
            throws IOException {
        Properties serving = new Properties();
        serving.setProperty("option.modelName", MODEL);
        serving.setProperty("blockFactory", EncoderBlockFactory.class.getName());
        serving.setProperty("translatorFactory", WordOrderTranslatorFactory.class.getName());
        try (Writer out = Files.newBufferedWriter(folder.resolve(SERVING))) {
            serving.store(out, null);
        }
        Files.write(folder.resolve(WORDS), vocabulary.words());
        trained.setProperty("Epoch", "0");
        trained.save(folder, MODEL);
        EncoderProperties.write(folder, spec, folder.resolve(PARAMETERS), folder.resolve(WORDS));
        log.write(folder);
    }

    /**
     * Reads the sizes, and refuses parameters that are not the ones that were saved. DJL would believe the lengths in a
     * damaged file, whatever memory they ask for, and every number in it; and sizes that are not those of the file
     * would be built first, whatever memory that takes.
     */
    static EncoderProperties readIntact(Path folder) throws IOException, MalformedModelException {
        FolderUpdate.finish(folder);
        EncoderProperties saved = EncoderProperties.read(folder);
        Path parameters = folder.resolve(PARAMETERS);
        long bytes = Files.size(parameters);
        long least = saved.spec().leastWeights() * Float.BYTES;
        if (bytes < least) {
            throw new MalformedModelException(PARAMETERS + " is cut off or of another model: it has " + bytes
                    + " bytes, the sizes in " + EncoderProperties.FILE + " ask for " + least + " or more");
        }
        saved.requireParameters(parameters);
        return saved;
    }

    /**
     * Refuses a folder in which DJL, when it is not told the epoch or the name, could find other parameters than those
     * checked.
     */
    static void requireNoOtherParameters(Path folder) throws IOException, MalformedModelException {
        try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "*.params")) {
            for (Path each : found) {
                if (!each.getFileName().toString().equals(PARAMETERS)) {
                    throw new MalformedModelException(each.getFileName()
                            + " is there too, which DJL could take instead of " + PARAMETERS + ": remove it");
                }
            }
        }
    }

    /** Gives a model that has its block the parameters. */
    static void loadParameters(Path folder, Model model) throws IOException, MalformedModelException {
        model.load(folder, MODEL, SAVED_EPOCH);
    }

    /** What has to be there to load the encoder, once all of it is known to be what was saved. */
    static List<Path> intactFiles(Path folder) throws IOException, MalformedModelException {
        readVocabulary(folder, readIntact(folder));
        return List.of(folder.resolve(EncoderProperties.FILE), folder.resolve(PARAMETERS), folder.resolve(WORDS));
    }

    /** What the user is told of a folder that does not load. */
    static UserError unreadable(Path folder, Exception e) {
        return new UserError(
                "model folder '" + folder + "' cannot be read (" + summary(e)
                        + "): train the model again, or name another folder with --model",
                e);
    }

    /** What the innermost cause that knows these files says, or else the innermost of all. */
    private static String summary(Throwable e) {
        Throwable told = e;
        for (Throwable each = e; each != null; each = each.getCause()) {
            told = told instanceof MalformedModelException && !(each instanceof MalformedModelException) ? told : each;
        }
        String message = String.valueOf(told.getMessage()).lines().findFirst().orElse("");
        return told instanceof MalformedModelException
                ? message
                : told.getClass().getSimpleName() + ": " + message;
    }

    /** Refuses a folder that is not there. */
    static void requireThere(Path folder) {
        if (!Files.isDirectory(folder)) {
            throw new UserError("model folder '" + folder + "' is not there: train a model first, or name its folder"
                    + " with --model");
        }
    }

    /** The vocabulary of the encoder in a folder. */
    static Vocabulary readVocabulary(Path folder, EncoderProperties saved) throws IOException, MalformedModelException {
        Path file = folder.resolve(WORDS);
        saved.requireVocabulary(file);
        Vocabulary vocabulary = Vocabulary.of(lines(file));
        if (vocabulary.size() != saved.spec().vocabularySize()) {
            throw new MalformedModelException(WORDS + " has " + vocabulary.size() + " ids, " + EncoderProperties.FILE
                    + " says " + saved.spec().vocabularySize());
        }
        return vocabulary;
    }

    private static List<String> lines(Path file) throws IOException, MalformedModelException {
        try {
            return Files.readAllLines(file);
        } catch (CharacterCodingException e) {
            throw new MalformedModelException(WORDS + " is no text in UTF-8: " + e.getMessage(), e);
        }
    }
}
