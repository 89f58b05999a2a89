package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ModelNotFoundException;
import ai.djl.repository.zoo.ZooModel;
import java.io.IOException;
import java.nio.file.Path;

/** Loads a saved encoder as one model for many threads, each of which makes a predictor of its own from it. */
public final class EncoderLoader {

    private EncoderLoader() {}

    /**
     * Lets a forward of PyTorch's use the thread that it is called from alone, unless the user has said otherwise: for
     * programs whose own threads keep all cores busy. To be called before the engine starts. MXNet reads the environment
     * variable {@code OMP_NUM_THREADS}, which a program cannot set for itself.
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
     * @param folder where {@code train-encoder} saved it
     * @param engine what computes
     * @param device where
     * @param answers {@code Classifications} or {@link Judgement}
     * @return the model; closed by the caller
     * @throws UserError if the folder is not there or cannot be read
     */
    public static <O> ZooModel<String, O> load(Path folder, Engine engine, Device device, Class<O> answers) {
        EncoderFolder.requireThere(folder);
        // what serving.properties says too: named here, since a folder of somebody else's could name any class
        Criteria<String, O> criteria = Criteria.builder()
                .setTypes(String.class, answers)
                .optModelPath(folder)
                .optModelName(EncoderFolder.MODEL)
                .optArgument("blockFactory", new EncoderBlockFactory())
                .optArgument(EncoderBlockFactory.EMBEDDING, answers == Judgement.class)
                .optTranslatorFactory(new WordOrderTranslatorFactory())
                .optEngine(engine.getEngineName())
                .optDevice(device)
                .build();
        try {
            return criteria.loadModel();
        } catch (IOException | ModelNotFoundException | MalformedModelException | RuntimeException e) {
            throw EncoderFolder.unreadable(folder, e);
        }
    }
}
