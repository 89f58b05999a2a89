package io.github.djlpositional.examples.spark;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.EncoderLoader;
import io.github.djlpositional.examples.Judgement;
import java.nio.file.Path;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one model of this executor, which all of its tasks share; each has a predictor of its own. It is loaded for the
 * first task and lives as long as the executor's JVM.
 */
final class ExecutorModel {

    private static final Logger LOGGER = LoggerFactory.getLogger(ExecutorModel.class);

    private static Path loadedFrom;
    private static ZooModel<String, Judgement> model;

    private ExecutorModel() {}

    /** Told when a task finds no model yet and loads it. */
    interface LoadListener {
        /** The time that it took, the start of the engine included. */
        void loaded(Duration time);
    }

    /**
     * Makes a predictor, which the caller closes.
     *
     * @param folder the unpacked model: another one for each application, so that one JVM can run several in turn
     * @param listener told of a load
     */
    static synchronized Predictor<String, Judgement> newPredictor(Path folder, LoadListener listener) {
        if (!folder.equals(loadedFrom)) {
            if (model != null) {
                model.close();
                model = null;
            }
            loadedFrom = null;
            long start = System.nanoTime();
            // DJL would call home once a day, and waits for an answer where there is no network
            System.setProperty("OPT_OUT_TRACKING", "true");
            // an executor runs as many tasks as it has cores
            EncoderLoader.useOneThreadForEachForward();
            model = EncoderLoader.load(folder, Engine.getEngine("PyTorch"), Device.cpu(), Judgement.class);
            loadedFrom = folder;
            Duration time = Duration.ofNanos(System.nanoTime() - start);
            LOGGER.info("Loaded the encoder in {} ms", time.toMillis());
            listener.loaded(time);
        }
        return model.newPredictor();
    }
}
