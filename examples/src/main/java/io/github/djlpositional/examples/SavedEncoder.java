package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;

/**
 * A trained encoder and its vocabulary, and the folder that keeps them: {@code encoder-0000.params} as DJL writes it, the
 * sizes in {@code encoder.properties}, and {@code vocabulary.txt} with one word a line.
 */
final class SavedEncoder implements AutoCloseable {

    private static final String NAME = "encoder";
    private static final String SIZES = "encoder.properties";
    private static final String WORDS = "vocabulary.txt";

    private final Model model;
    private final Vocabulary vocabulary;
    private final int maxWords;
    private final Predictor<String, Double> predictor;

    private SavedEncoder(Model model, Vocabulary vocabulary, int maxWords) {
        this.model = model;
        this.vocabulary = vocabulary;
        this.maxWords = maxWords;
        predictor = model.newPredictor(new SentenceTranslator(vocabulary, maxWords));
    }

    /** A model without weights, to be trained and saved, or loaded. */
    static Model newModel(Engine engine, Device device) {
        return Model.newInstance(NAME, device, engine.getEngineName());
    }

    /** Gives a trained model a judge's face; closing this closes the model. */
    static SavedEncoder of(Model trained, EncoderSpec spec, Vocabulary vocabulary) {
        return new SavedEncoder(trained, vocabulary, spec.maxWords());
    }

    /** Makes the folder, so that what cannot be saved is known before it is trained. */
    static void prepare(Path folder) {
        try {
            Files.createDirectories(folder);
            Files.delete(Files.createTempFile(folder, NAME, ".tmp"));
        } catch (IOException e) {
            throw new UserError(
                    "output folder '" + folder + "' cannot be written to (" + e + "): name another with --out", e);
        }
    }

    /** Writes the model, its sizes and its vocabulary. */
    static void save(Path folder, Model trained, EncoderSpec spec, Vocabulary vocabulary) throws IOException {
        Properties sizes = new Properties();
        sizes.setProperty("encoding", spec.encoding().name());
        sizes.setProperty("vocabularySize", Integer.toString(spec.vocabularySize()));
        sizes.setProperty("maxWords", Integer.toString(spec.maxWords()));
        sizes.setProperty("embeddingSize", Integer.toString(spec.embeddingSize()));
        sizes.setProperty("layers", Integer.toString(spec.layers()));
        sizes.setProperty("heads", Integer.toString(spec.heads()));
        sizes.setProperty("feedForwardSize", Integer.toString(spec.feedForwardSize()));
        sizes.setProperty("dropoutRate", Float.toString(spec.dropoutRate()));
        try (Writer out = Files.newBufferedWriter(folder.resolve(SIZES))) {
            sizes.store(out, null);
        }
        Files.write(folder.resolve(WORDS), vocabulary.words());
        trained.setProperty("Epoch", "0");
        trained.save(folder, NAME);
    }

    /** Loads a folder that {@link #save} wrote, into new objects. */
    static SavedEncoder load(Path folder, Engine engine, Device device) {
        if (!Files.isDirectory(folder)) {
            throw new UserError("model folder '" + folder + "' is not there: train a model first, or name its folder"
                    + " with --model");
        }
        Model model = newModel(engine, device);
        try {
            EncoderSpec spec = readSpec(folder.resolve(SIZES));
            Vocabulary vocabulary = Vocabulary.of(Files.readAllLines(folder.resolve(WORDS)));
            if (vocabulary.size() != spec.vocabularySize()) {
                throw new MalformedModelException(
                        WORDS + " has " + vocabulary.size() + " ids, " + SIZES + " says " + spec.vocabularySize());
            }
            model.setBlock(new TransformerEncoder(spec));
            model.load(folder, NAME);
            // DJL takes a file that does not begin as its own do for one of the engine's, and loads nothing
            if (!model.getBlock().isInitialized()) {
                throw new MalformedModelException("its parameters are no file of DJL's");
            }
            return new SavedEncoder(model, vocabulary, spec.maxWords());
        } catch (IOException | MalformedModelException | RuntimeException e) {
            model.close();
            throw new UserError(
                    "model folder '" + folder + "' cannot be read (" + summary(e)
                            + "): train the model again, or name another folder with --model",
                    e);
        }
    }

    private static String summary(Throwable e) {
        String message = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
        return e instanceof MalformedModelException ? message : e.getClass().getSimpleName() + ": " + message;
    }

    private static EncoderSpec readSpec(Path file) throws IOException, MalformedModelException {
        Properties sizes = new Properties();
        try (Reader in = Files.newBufferedReader(file)) {
            sizes.load(in);
        }
        return new EncoderSpec(
                Encoding.valueOf(required(sizes, "encoding")),
                Integer.parseInt(required(sizes, "vocabularySize")),
                Integer.parseInt(required(sizes, "maxWords")),
                Integer.parseInt(required(sizes, "embeddingSize")),
                Integer.parseInt(required(sizes, "layers")),
                Integer.parseInt(required(sizes, "heads")),
                Integer.parseInt(required(sizes, "feedForwardSize")),
                Float.parseFloat(required(sizes, "dropoutRate")));
    }

    private static String required(Properties sizes, String key) throws MalformedModelException {
        String value = sizes.getProperty(key);
        if (value == null) {
            throw new MalformedModelException(SIZES + " has no " + key);
        }
        return value;
    }

    /**
     * Judges sentences.
     *
     * @param sentences each with at least one word
     * @return for each the probability that its words are in order
     */
    List<Double> judge(List<String> sentences) {
        try {
            return predictor.batchPredict(sentences);
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
        List<String> words = SentenceTranslator.wordsOf(sentence);
        List<String> taken = words.subList(0, Math.min(words.size(), maxWords));
        try (NDManager manager = model.getNDManager().newSubManager()) {
            NDList ids = new NDList(manager.create(vocabulary.idsOf(taken)).expandDims(0));
            NDList maps = ((TransformerEncoder) model.getBlock()).attentionOf(new ParameterStore(manager, false), ids);
            return new AttentionMaps(
                    taken, maps.stream().map(SavedEncoder::heads).toList());
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
