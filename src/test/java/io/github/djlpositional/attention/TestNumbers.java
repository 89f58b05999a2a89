package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;
import java.util.Random;

/** Numbers and weights that are the same on every engine. */
final class TestNumbers {

    private TestNumbers() {}

    /** Numbers in [-2, 2). */
    static NDArray numbers(NDManager manager, long seed, DataType type, long... shape) {
        Random random = new Random(seed);
        double[] values =
                random.doubles(new Shape(shape).size()).map(x -> 4 * x - 2).toArray();
        NDArray doubles = manager.create(values, new Shape(shape));
        return type == DataType.FLOAT64 ? doubles : doubles.toType(type, true);
    }

    /** Copies the weights of one block to those of the same names of another. */
    static void copyWeights(Block from, Block to) {
        for (Pair<String, Parameter> entry : from.getParameters()) {
            entry.getValue()
                    .getArray()
                    .copyTo(to.getParameters().get(entry.getKey()).getArray());
        }
    }
}
