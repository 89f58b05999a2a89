package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** What encoders learn in a comparison, and what they are measured on. */
interface Experiment {

    /**
     * A description of an experiment.
     *
     * @param examples what the examples are, in a line
     * @param title the title of the picture
     * @param measure {@code accuracy} or {@code loss}
     * @param unit what the sizes of the examples count
     * @param learningRate the highest learning rate of the training
     * @param input a shape of the input
     */
    record Description(String examples, String title, String measure, String unit, float learningRate, Shape input) {}

    Description description();

    /** Builds an encoder to train. */
    Block block(Encoding encoding);

    Minibatches training(int seed);

    /** Returns the kinds that a trained encoder is measured as. */
    default List<Encoding> variants(Encoding trained) {
        return List.of(trained);
    }

    /** Measures a trained encoder as a kind, by the sizes of the examples. */
    Map<String, Double> measure(Model trained, Encoding as);

    /** Saves what else was measured of the trained encoders. */
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
