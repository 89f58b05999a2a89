package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * A trained encoder as one zip file. It contains the parameters in DJL's format ({@code encoder-0000.params}), the
 * vocabulary with one word per line ({@code vocabulary.txt}), the log of the training ({@code training.csv}), and
 * {@code serving.properties}, from which DJL's {@link ai.djl.repository.zoo.Criteria} takes the sizes and the classes
 * that create a model.
 */
public final class EncoderFile {

    static final String VOCABULARY = "vocabulary.txt";

    private static final String MODEL = "encoder";
    private static final String PARAMETERS = MODEL + "-0000.params";
    private static final String LOG = "training.csv";
    private static final String SERVING = "serving.properties";

    private EncoderFile() {}

    /** Creates a model without a block, to be trained and saved, or loaded. */
    static Model newModel(Engine engine, Device device) {
        return Model.newInstance(MODEL, device, engine.getEngineName());
    }

    /** Saves an encoder atomically, and replaces the file if it exists. */
    static void save(Path file, Model trained, EncoderSpec spec, Vocabulary vocabulary, TrainingLog log)
            throws IOException {
        Path absolute = file.toAbsolutePath();
        // DJL saves parameters only to a separate file
        Path parameters = absolute.resolveSibling(absolute.getFileName() + "-0000.params");
        trained.setProperty("Epoch", "0");
        try {
            trained.save(absolute.getParent(), absolute.getFileName().toString());
            AtomicFile.write(absolute, out -> {
                ZipOutputStream zip = new ZipOutputStream(out);
                addText(zip, SERVING, serving(spec));
                addText(zip, VOCABULARY, String.join("\n", vocabulary.words()));
                addText(zip, LOG, log.toCsv());
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

    private static String serving(EncoderSpec spec) {
        Map<String, Object> entries = new LinkedHashMap<>();
        entries.put("blockFactory", EncoderFactory.class.getName());
        entries.put("translatorFactory", EncoderFactory.class.getName());
        entries.put("option.modelName", MODEL);
        entries.put("option.epoch", 0);
        entries.putAll(spec.toArguments());
        return entries.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue() + "\n")
                .collect(Collectors.joining());
    }

    /**
     * Makes each forward of PyTorch use only its calling thread, unless the user has set another number: for programs
     * whose own threads keep all cores busy. Call this before the engine starts. MXNet reads the environment variable
     * {@code OMP_NUM_THREADS} instead, which a program cannot set for itself.
     */
    public static void useOneThreadPerForward() {
        String threads = "ai.djl.pytorch.num_threads";
        if (System.getProperty(threads) == null) {
            System.setProperty(threads, "1");
        }
    }

    /**
     * Loads an encoder as one model for many threads, each of which creates its own predictor.
     *
     * @param <O> the type of the answers
     * @param file a file that {@code train-encoder} saved
     * @param engine the engine
     * @param device the device
     * @param answers {@code Classifications} or {@link Judgement}
     * @return the model; closed by the caller
     * @throws UserError if the file does not exist, is damaged, or is not a saved encoder
     * @throws IllegalArgumentException for other types of answers
     * @throws EngineException if the engine fails, for example because there is not enough memory for the parameters
     */
    public static <O> ZooModel<String, O> load(Path file, Engine engine, Device device, Class<O> answers) {
        EncoderFactory factory = new EncoderFactory();
        factory.requireSupported(String.class, answers);
        // DJL's Criteria would cache the file by its path, and run any class that serving.properties names
        Model model = newModel(engine, device);
        try {
            return read(file, root -> {
                Map<String, Object> arguments = arguments(root);
                arguments.put(EncoderFactory.EMBEDDING, answers == Judgement.class);
                model.setBlock(factory.newBlock(model, root, arguments));
                model.load(root, MODEL, Map.of("epoch", "0"));
                return new ZooModel<>(model, factory.newInstance(String.class, answers, model, arguments));
            });
        } catch (RuntimeException | Error e) {
            model.close();
            throw e;
        }
    }

    /**
     * Checks a saved encoder as far as possible without an engine: the checksums of all entries, the sizes, the
     * vocabulary.
     *
     * @param file a file that {@code train-encoder} saved
     * @throws UserError if the file does not exist, is damaged, or is not a saved encoder
     */
    public static void requireIntact(Path file) {
        read(file, root -> EncoderFactory.vocabulary(root, EncoderSpec.fromArguments(arguments(root))));
    }

    /**
     * Reads the log of the training from a saved encoder.
     *
     * @param file a file that {@code train-encoder} saved
     * @return the log
     * @throws UserError if the file does not exist, is damaged, or is not a saved encoder
     */
    public static TrainingLog readLog(Path file) {
        return read(file, root -> TrainingLog.parse(Files.readString(root.resolve(LOG))));
    }

    private static Map<String, Object> arguments(Path root) throws IOException {
        Properties entries = new Properties();
        try (Reader in = Files.newBufferedReader(root.resolve(SERVING))) {
            entries.load(in);
        }
        Map<String, Object> arguments = new HashMap<>();
        entries.forEach((key, value) -> arguments.put((String) key, value));
        return arguments;
    }

    /** Reads something from the root folder of an intact zip. */
    private interface Content<T> {
        T read(Path root) throws IOException, MalformedModelException, TranslateException;
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
        } catch (IOException | MalformedModelException | TranslateException | RuntimeException e) {
            throw new UserError(
                    "model file '" + file + "' cannot be read (" + reason(e)
                            + "): expected a zip that train-encoder saved; train the model again, or name another file"
                            + " with --model",
                    e);
        }
    }

    private static String reason(Exception e) {
        String message = String.valueOf(e.getMessage());
        return e.getClass().getSimpleName() + ": " + message.lines().findFirst().orElse("");
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
