package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.util.Utils;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Loads a saved encoder as one model for many threads, each of which makes a predictor of its own from it. */
public final class EncoderLoader {

    private EncoderLoader() {}

    /**
     * Lets a forward of PyTorch's use the thread that it is called from alone, unless the user has said otherwise: for
     * programs whose own threads keep all cores busy. To be called before the engine starts. MXNet reads the
     * environment variable {@code OMP_NUM_THREADS}, which a program cannot set for itself.
     */
    public static void useOneThreadForEachForward() {
        String threads = "ai.djl.pytorch.num_threads";
        if (System.getProperty(threads) == null) {
            System.setProperty(threads, "1");
        }
    }

    /**
     * Loads an encoder.
     *
     * @param <O> what it answers
     * @param folder where {@code train-encoder} saved it, or a folder with nothing but that folder in it, as of a zip
     * @param engine what computes
     * @param device where
     * @param answers {@code Classifications} or {@link Judgement}
     * @return the model; closed by the caller
     * @throws UserError if the folder is not there or cannot be read
     * @throws IllegalArgumentException for other answers than these
     * @throws EngineException if the engine cannot compute there, as without memory for the parameters
     */
    public static <O> ZooModel<String, O> load(Path folder, Engine engine, Device device, Class<O> answers) {
        WordOrderTranslatorFactory translators = new WordOrderTranslatorFactory();
        translators.requireSupported(String.class, answers);
        EncoderFolder.requireThere(folder);
        // not with DJL's Criteria: it would split a path at its commas, and do what a stranger's serving.properties
        // says
        Model model = EncoderFolder.newModel(engine, device);
        try {
            Path files = Utils.getNestedModelDir(folder);
            boolean embeds = answers == Judgement.class;
            model.setBlock(
                    new TransformerEncoder(EncoderFolder.readIntact(files).spec(), embeds));
            EncoderFolder.loadParameters(files, model);
            Translator<String, O> translator = translators.newInstance(
                    String.class, answers, model, Map.of(EncoderBlockFactory.EMBEDDING, embeds));
            return new ZooModel<>(model, translator);
        } catch (EngineException | Error e) {
            // another model would not help
            model.close();
            throw e;
        } catch (IOException | MalformedModelException | TranslateException | RuntimeException e) {
            model.close();
            throw EncoderFolder.unreadable(folder, e);
        }
    }

    /**
     * Checks a saved encoder as far as that goes without an engine: its sizes, and all checksums.
     *
     * @param folder where {@code train-encoder} saved it
     * @return the files that {@link #load} reads
     * @throws UserError if the folder is not there or something in it is not what was saved
     */
    public static List<Path> intactFiles(Path folder) {
        EncoderFolder.requireThere(folder);
        try {
            return EncoderFolder.intactFiles(Utils.getNestedModelDir(folder));
        } catch (IOException | MalformedModelException e) {
            throw EncoderFolder.unreadable(folder, e);
        }
    }
}
