package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;
import io.github.djlpositional.Positions;
import io.github.djlpositional.relative.EncodingType;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Inputs and weights that are the same on every engine, and checks that many tests share. */
public final class TestNumbers {

    /** N of the attentions in the tests. */
    public static final int HEADS = 2;

    /** D of the attentions in the tests. */
    public static final int SIZE = HEADS * EncodingType.HEAD_SIZE;

    private TestNumbers() {}

    /** Numbers in [-2, 2). */
    public static NDArray numbers(NDManager manager, long seed, DataType type, long... shape) {
        Random random = new Random(seed);
        double[] values =
                random.doubles(new Shape(shape).size()).map(x -> 4 * x - 2).toArray();
        NDArray doubles = manager.create(values, new Shape(shape));
        return type == DataType.FLOAT64 ? doubles : doubles.toType(type, true);
    }

    /**
     * Initializes a block for inputs (B, T, D) with weights that are large enough to make attention far from uniform.
     */
    public static <B extends Block> B filled(NDManager manager, B block, DataType type) {
        return filled(manager, block, type, new Shape(-1, -1, SIZE));
    }

    /** The same for other inputs. */
    public static <B extends Block> B filled(NDManager manager, B block, DataType type, Shape... shapes) {
        block.initialize(manager, type, shapes);
        long seed = 1;
        for (Pair<String, Parameter> entry : block.getParameters()) {
            NDArray array = entry.getValue().getArray();
            NDArray values = numbers(manager, seed++, type, array.getShape().getShape());
            values.muli(0.5f).copyTo(array);
        }
        return block;
    }

    /** Copies the weights of a block to all parameters of another, by their names without the number of the child. */
    public static void copyWeights(Block from, Block to) {
        Map<String, NDArray> weights = new HashMap<>();
        for (Pair<String, Parameter> entry : from.getParameters()) {
            weights.put(entry.getKey().substring(2), entry.getValue().getArray());
        }
        for (Pair<String, Parameter> entry : to.getParameters()) {
            NDArray target = entry.getValue().getArray();
            weights.get(entry.getKey().substring(2))
                    .toType(target.getDataType(), false)
                    .copyTo(target);
        }
    }

    /** The call of a causal self-attention of tokens, without one. */
    public static AttentionCall call(NDManager manager, Positions tokens) {
        return new AttentionCall(
                null, DataType.FLOAT32, new ParameterStore(manager, false), false, null, tokens, tokens, true, 1);
    }

    /** Rotates queries or keys as an attention does. */
    public static NDArray rotated(RelativeEncoding encoding, AttentionCall call, NDArray x, boolean areKeys) {
        return ((Rotation) encoding.terms().get(0)).of(encoding, call, x, areKeys);
    }

    /** Checks that a call is rejected, and that the message has these values. */
    public static void refused(ThrowingCallable call, String... values) {
        assertThatIllegalArgumentException()
                .isThrownBy(call)
                .withMessageContaining(": ")
                .withMessageContainingAll(values);
    }

    /** Checks that two arrays have the same shape and elements. */
    public static void requireSame(NDArray actual, NDArray expected) {
        assertThat(actual.getShape()).isEqualTo(expected.getShape());
        assertThat(doubles(actual)).isEqualTo(doubles(expected));
    }

    /** Checks the elements of an array. AssertJ takes seconds for many numbers. */
    public static void requireClose(NDArray actual, double[] expected, double tolerance) {
        double[] values = doubles(actual);
        assertThat(values).hasSameSizeAs(expected);
        for (int i = 0; i < values.length; i++) {
            if (values[i] != expected[i] && !(Math.abs(values[i] - expected[i]) <= tolerance)) {
                assertThat(values[i])
                        .as("element %d of %s", i, actual.getShape())
                        .isCloseTo(expected[i], within(tolerance));
            }
        }
    }

    /** The elements of an array of any real data type. */
    public static double[] doubles(NDArray array) {
        return array.toType(DataType.FLOAT64, false).toDoubleArray();
    }
}
