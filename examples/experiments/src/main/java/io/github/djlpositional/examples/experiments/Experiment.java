package io.github.djlpositional.examples.experiments;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** What transformers learn in a comparison, and what they are measured on. */
interface Experiment {

    /**
     * A description of an experiment.
     *
     * @param examples what the examples are, in a line
     * @param title the title of the picture
     * @param measure {@code accuracy} or {@code loss}
     * @param unit what the sizes of the examples count
     * @param batches the number of batches in an epoch
     * @param learningRate the highest learning rate of the training
     * @param input a shape of the input
     */
    record Description(
            String examples, String title, String measure, String unit, int batches, float learningRate, Shape input) {}

    Description description();

    /** Builds a transformer to train. */
    Block block(Encoding encoding);

    /** Returns the examples to learn from; the seed determines their order, and the arrays belong to the manager. */
    Dataset training(int seed, NDManager manager);

    /** Returns the kinds that a trained transformer is measured as. */
    default List<Encoding> variants(Encoding trained) {
        return List.of(trained);
    }

    /** Measures a trained transformer as a kind, by the sizes of the examples. */
    Map<String, Double> measure(Model trained, Encoding as) throws IOException, TranslateException;

    /** Saves a trained transformer, if it can be inspected, in a folder that is created. */
    default void save(Model trained, Path folder) throws IOException {}

    /** Saves what else was measured of the trained transformers. */
    default void saveMore(Path folder) throws IOException {}

    /** Copies the parameters that have the same shape in both blocks. */
    static void copyParameters(Block from, Block to) {
        for (int i = 0; i < from.getParameters().size(); i++) {
            NDArray source = from.getParameters().valueAt(i).getArray();
            NDArray target = to.getParameters().valueAt(i).getArray();
            if (source.getShape().equals(target.getShape())) {
                source.copyTo(target);
            }
        }
    }
}
