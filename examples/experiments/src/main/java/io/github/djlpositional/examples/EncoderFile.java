package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.util.JsonUtils;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * A trained encoder as one zip file: the parameters in DJL's format ({@code encoder-0000.params}), the vocabulary with
 * one word per line ({@code vocabulary.txt}), and {@code serving.properties}, which tells DJL's
 * {@link ai.djl.repository.zoo.Criteria} the sizes and the class that creates a model.
 */
public final class EncoderFile {

    private static final String MODEL = "encoder";
    private static final String PARAMETERS = MODEL + "-0000.params";
    private static final String VOCABULARY = "vocabulary.txt";
    private static final String SERVING = "serving.properties";
    private static final String SPEC = "spec";

    private EncoderFile() {}

    /** Creates a model without a block, to be trained and saved, or loaded. */
    static Model newModel(Engine engine, Device device) {
        return Model.newInstance(MODEL, device, engine.getEngineName());
    }

    /** Saves an encoder atomically, and replaces the file if it exists. */
    static void save(Path file, Model trained, EncoderSpec spec, Vocabulary vocabulary) throws IOException {
        String settings =
                """
                blockFactory=%1$s
                translatorFactory=%1$s
                option.modelName=%2$s
                option.epoch=0
                %3$s=%4$s
                """.formatted(SentenceTranslator.Factory.class.getName(), MODEL, SPEC, JsonUtils.GSON.toJson(spec));
        Path absolute = file.toAbsolutePath();
        // DJL saves parameters only to a separate file
        Path parameters = absolute.resolveSibling(absolute.getFileName() + "-0000.params");
        trained.setProperty("Epoch", "0");
        try {
            trained.save(absolute.getParent(), absolute.getFileName().toString());
            AtomicFile.write(absolute, out -> {
                ZipOutputStream zip = new ZipOutputStream(out);
                addText(zip, SERVING, settings);
                addText(zip, VOCABULARY, String.join("\n", vocabulary.words()));
                zip.putNextEntry(new ZipEntry(PARAMETERS));
                Files.copy(parameters, zip);
                zip.finish();
            });
        } finally {
            Files.deleteIfExists(parameters);
        }
    }

    private static void addText(ZipOutputStream zip, String name, String text) throws IOException {
        zip.putNextEntry(new ZipEntry(name));
        zip.write(text.getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
    }

    /**
     * Loads an encoder as one model for many threads, each of which creates its own predictor.
     *
     * @param file a file that {@code train-encoder} saved
     * @return the model; closed by the caller
     * @throws UserError if the file does not exist, is damaged, or is not a saved encoder
     * @throws EngineException if the engine fails, for example because there is not enough memory for the parameters
     */
    public static ZooModel<String, Judgement> load(Path file, Engine engine, Device device) {
        // DJL's Criteria would cache the file by its path, and run any class that serving.properties names
        Model model = newModel(engine, device);
        try {
            return read(file, root -> {
                EncoderSpec spec = spec(root);
                model.setBlock(new TransformerEncoder(spec));
                model.load(root, MODEL, Map.of("epoch", "0"));
                return new ZooModel<>(model, translator(root, spec));
            });
        } catch (RuntimeException | Error e) {
            model.close();
            throw e;
        }
    }

    /**
     * Checks that a file is a saved encoder, without an engine.
     *
     * @throws UserError if the file does not exist, is damaged, or is not a saved encoder
     */
    public static void check(Path file) {
        read(file, EncoderFile::spec);
    }

    private static EncoderSpec spec(Path root) throws IOException {
        Properties settings = new Properties();
        try (Reader in = Files.newBufferedReader(root.resolve(SERVING))) {
            settings.load(in);
        }
        return spec(Map.of(SPEC, settings.getProperty(SPEC, "")));
    }

    /** Reads the sizes from the entries of {@code serving.properties}. */
    static EncoderSpec spec(Map<String, ?> settings) {
        return Check.present(SPEC, JsonUtils.GSON.fromJson((String) settings.get(SPEC), EncoderSpec.class));
    }

    /** Creates the translator of an unpacked encoder. */
    static SentenceTranslator translator(Path root, EncoderSpec spec) throws IOException {
        Vocabulary vocabulary = Vocabulary.of(Files.readAllLines(root.resolve(VOCABULARY)));
        if (vocabulary.size() != spec.vocabulary()) {
            throw new IOException(VOCABULARY + " has " + vocabulary.size() + " ids instead of " + spec.vocabulary());
        }
        return new SentenceTranslator(vocabulary, spec.maxWords());
    }

    /** Reads something from the root folder of an intact zip. */
    private interface Content<T> {
        T read(Path root) throws IOException, MalformedModelException;
    }

    private static <T> T read(Path file, Content<T> content) {
        if (!Files.exists(file)) {
            throw new UserError("model file '" + file + "' does not exist: train a model first, or name its file with"
                    + " --model");
        }
        try {
            requireChecksums(file);
            try (FileSystem zip = FileSystems.newFileSystem(file)) {
                return content.read(zip.getPath("/"));
            }
        } catch (EngineException e) {
            // another file would not help
            throw e;
        } catch (IOException | MalformedModelException | RuntimeException e) {
            // Gson wraps the failed check of a size
            Throwable reason = e instanceof RuntimeException && e.getCause() != null ? e.getCause() : e;
            throw new UserError(
                    "model file '" + file + "' cannot be read (" + reason
                            + "): expected a zip that train-encoder saved; train the model again, or name another file"
                            + " with --model",
                    e);
        }
    }

    /** Compares the content of each entry with its CRC, which {@link FileSystems} does not. */
    private static void requireChecksums(Path file) throws IOException {
        boolean hasSettings = false;
        try (InputStream in = Files.newInputStream(file);
                ZipInputStream zip = new ZipInputStream(in)) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                hasSettings |= entry.getName().equals(SERVING);
                zip.closeEntry();
            }
        }
        if (!hasSettings) {
            throw new IOException("it has no entry " + SERVING);
        }
    }
}
