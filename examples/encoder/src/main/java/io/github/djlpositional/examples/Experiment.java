package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import java.util.List;
import java.util.Map;

/** What encoders learn in a comparison, and what they are measured on. */
interface Experiment {

    /** Returns what the examples are, in a line. */
    String examples();

    /** Returns the title of the picture. */
    String title();

    /** Returns what is measured. */
    default String measure() {
        return "accuracy";
    }

    /** Returns what the sizes of the examples count. */
    String unit();

    /** Returns the highest learning rate of the training. */
    float learningRate();

    /** Returns a shape of the input. */
    Shape input();

    /** Builds an encoder to train. */
    Block block(Encoding encoding);

    /** Returns the training examples. */
    Minibatches training(int seed);

    /** Returns the kinds that a trained encoder is measured as. */
    default List<Encoding> variants(Encoding trained) {
        return List.of(trained);
    }

    /** Measures a trained encoder as a kind, by the sizes of the examples. */
    Map<String, Double> measure(Model trained, Encoding as);

    /** Returns the table of learned biases; empty if there is none. */
    default String biases() {
        return "";
    }

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
